"""`tests/unit` and `tests/features` as six kinds of processor add its numbers, all at the same time: three instruction sets, one thread and two.

Run: ``python -m scripts.processors --out FILE --seconds 480 [FILE OF TESTS ...]`` where there are cores enough. Each test's outcome is a line of
JSON in ``--out`` as soon as it is known, so that nothing is lost when time is up; what failed is printed at the end.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections import Counter, defaultdict
from itertools import product
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
SETS = ("default", "avx2", "widest")  # of ATEN_CPU_CAPABILITY; the last: whatever the processor has
THREADS = (1, 2)
NAME, FILE = "ATTN_WIDGET_PROCESSOR", "ATTN_WIDGET_OUTCOMES"  # environment of the tests' processes
NARROW = {"MKL_ENABLE_INSTRUCTIONS": "AVX2", "OPENBLAS_CORETYPE": "Haswell"}


def environment(kind: str, threads: int) -> dict[str, str]:
    """The environment in which torch, MKL and OpenBLAS use one of `SETS` and so many threads."""
    names = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")
    own = {name: str(threads) for name in names}
    own |= {
        "CUDA_VISIBLE_DEVICES": "",
        "ONEDNN_MAX_CPU_ISA": "AVX2",
        "OMP_WAIT_POLICY": "passive",
        "HF_HUB_OFFLINE": "1",
    }
    if kind != "widest":
        own |= {**NARROW, "ATEN_CPU_CAPABILITY": kind}
    paths = [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
    kept = {
        name: v for name, v in os.environ.items() if name not in (*NARROW, "ATEN_CPU_CAPABILITY")
    }
    return {**kept, **own, "PYTHONPATH": os.pathsep.join(paths)}


def pytest_runtest_logreport(report: Any) -> None:
    """As a plugin of pytest: one line for each test that was called, or failed before or after that."""
    if "PYTEST_XDIST_WORKER" in os.environ or (report.when != "call" and report.passed):
        return
    record = {"processor": os.environ[NAME], "test": report.nodeid, "outcome": report.outcome}
    record["seconds"] = round(report.duration, 2)
    if report.failed:
        lines = [line for line in str(report.longrepr).splitlines() if line.startswith(("E ", ">"))]
        record["lines"] = lines[:30]
    elif report.skipped:
        record["lines"] = [str(report.longrepr)[-200:]]
    with Path(os.environ[FILE]).open("a") as outcomes:
        outcomes.write(json.dumps(record) + "\n")


def pytest_collectreport(report: Any) -> None:
    if report.failed:
        report.when, report.duration = "collect", 0.0
        pytest_runtest_logreport(report)


def numeric_first() -> list[str]:
    """The files of `tests/unit` and `tests/features`, those of Makefile's NUMERIC first."""
    text = (ROOT / "Makefile").read_text()
    (listed,) = re.findall(r"^NUMERIC := (.*(?:\\\n.*)*)", text, re.M)
    first = {f"test_{name}" for name in re.findall(r"(\w+\.py)", listed)}
    files = sorted(
        path
        for folder in ("unit", "features")
        for path in (ROOT / "tests" / folder).rglob("test_*.py")
    )
    return [str(f.relative_to(ROOT)) for f in sorted(files, key=lambda f: f.name not in first)]


def summary(out: Path) -> None:
    records = [json.loads(line) for line in out.read_text().splitlines()]
    counts: defaultdict[str, Counter[str]] = defaultdict(Counter)
    failed: defaultdict[str, list[str]] = defaultdict(list)
    lines: dict[str, list[str]] = {}
    for record in records:
        counts[record["processor"]][record["outcome"]] += 1
        if record["outcome"] == "failed":
            failed[record["test"]].append(record["processor"])
            lines[record["test"]] = record["lines"]
    for name, count in sorted(counts.items()):
        print(f"{name:10} {dict(count)}")
    for test, names in sorted(failed.items(), key=lambda item: len(item[1])):
        print(f"{test}: {'all' if len(names) >= len(counts) else ', '.join(sorted(names))}")
        print("   ", next((line for line in lines[test] if line.startswith("E ")), "")[:150])


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("tests", nargs="*", help="files or tests; all units if left out")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--seconds", type=float, default=1e9)
    parser.add_argument("--only", metavar="KIND/THREADS", help="such as avx2/1; all if left out")
    parser.add_argument("--workers", type=int, default=2, help="processes of each kind")
    parser.add_argument("--options", nargs=argparse.REMAINDER, default=[], help="of pytest")
    arguments = parser.parse_args()
    end = time.monotonic() + arguments.seconds
    out = arguments.out.resolve()
    out.unlink(missing_ok=True)
    out.touch()
    asked = [*("-p", "scripts.processors", "-p", "no:cacheprovider", "-q", "--no-header")]
    asked += ["--continue-on-collection-errors", "-n", str(arguments.workers), "--dist", "loadfile"]
    running: list[subprocess.Popen[bytes]] = []
    for kind, threads in product(SETS, THREADS):
        if arguments.only not in (None, f"{kind}/{threads}"):
            continue
        own = {NAME: f"{kind}/{threads}", FILE: str(out)}
        command = [sys.executable, "-m", "pytest", *asked, *(arguments.tests or numeric_first())]
        running.append(
            subprocess.Popen(
                [*command, *arguments.options],
                cwd=ROOT,
                env=environment(kind, threads) | own,
                stdout=subprocess.DEVNULL,
                start_new_session=True,
            )
        )
    for process in running:
        try:
            process.wait(max(0.0, end - time.monotonic()))
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    summary(out)


if __name__ == "__main__":
    main()

"""The engine of Ray: a real one on this machine, started once; the same bits as the local engine."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml
from jsonschema import ValidationError

from attn_widget import profile
from attn_widget.errors import InputError
from attn_widget.features.corpus.engines import ray_engine
from attn_widget.features.corpus.engines.cluster import connected, start_ray
from attn_widget.features.corpus.profile import Profile
from attn_widget.features.corpus.reading import chunks
from attn_widget.features.corpus.reading.sources import files_of
from tests.close import assert_close
from tests.unit import tiny_models
from tests.unit.made_texts import corpus

ray = pytest.importorskip("ray")
REPOSITORY = Path(__file__).parents[3]
TEXTS = corpus(1600, 9)  # four chunks


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("model")
    for part in tiny_models.build("bert"):
        part.save_pretrained(folder)
    return str(folder)


@pytest.fixture(scope="module")
def here(model: str) -> Profile:
    return profile(TEXTS, model=model, tagger=None, progress=False)


@pytest.fixture(scope="module")
def cluster() -> Iterator[None]:
    with connected(None, 2):
        yield


def test_a_start_that_takes_too_long_leaves_no_process_behind(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ours, home = "import time; time.sleep(600)", str(Path(ray.__file__).parent)
    other = subprocess.Popen([sys.executable, "-c", ours])
    started: list[subprocess.Popen[bytes]] = []

    def init(**_options: Any) -> None:
        if len(started) == 2:
            return
        started.append(subprocess.Popen([sys.executable, "-c", ours, f"{home}/gcs_server"]))
        raise RuntimeError("The current node timed out during startup.")

    monkeypatch.setattr(ray, "init", init)
    start_ray({})
    assert [process.wait(60) for process in started] == [-signal.SIGKILL] * 2
    assert other.poll() is None
    other.kill()
    other.wait()


def assert_same(one: Profile, other: Profile, model: str) -> None:
    for key in one.keys:
        for a, b in (
            (one.mean[key], other.mean[key]),
            (one.sd[key], other.sd[key]),
            (one.count[key], other.count[key]),
            *zip(one.interval[key], other.interval[key], strict=True),
        ):
            assert np.array_equal(a, b, equal_nan=True), key
    assert one.patterns.equals(other.patterns)
    for by in ("link", "previous", "same word", "sample"):
        found = [p.examples(1, 3, by=by, k=4, model=m) for p, m in ((one, None), (other, model))]
        assert found[0].equals(found[1]), by


@pytest.mark.usefixtures("cluster")
def test_a_killed_caller_and_a_killed_worker_give_the_same_bits(
    here: Profile, model: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Files, another number of workers, another order of chunks; each worker is a process that imports torch."""
    path, work = tmp_path / "texts.txt", tmp_path / "work"
    path.write_text("\n".join(TEXTS))
    options: dict[str, Any] = {
        "engine": "ray", "model": model, "tagger": None, "progress": False, "folder": str(work)
    }  # fmt: skip

    # The caller is a process of its own, on a cluster by its address.
    given = {**options, "workers": 1, "address": ray.get_runtime_context().gcs_address}
    code = f"from attn_widget import profile; profile({str(path)!r}, **{given!r})"
    caller = subprocess.Popen([sys.executable, "-c", code], cwd=REPOSITORY)
    try:
        while not parts_of(work):
            assert caller.poll() is None
            time.sleep(0.005)
    finally:
        caller.kill()
        caller.wait()
    while workers():
        time.sleep(0.1)  # they end with the caller
    before = parts_of(work)
    assert len(before) <= 2

    stop = threading.Event()
    killed: list[int] = []

    def kill() -> None:
        while not stop.wait(0.05):
            if len(parts_of(work)) > len(before) and (found := workers()):
                os.kill(found[0].pid, signal.SIGKILL)
                killed.append(found[0].pid)
                return

    thread = threading.Thread(target=kill)
    thread.start()
    try:
        found = profile(path, workers=2, **options)
    finally:
        stop.set()
        thread.join()
    assert killed
    assert found.n_texts == len(TEXTS) and found.total_tokens == here.total_tokens
    assert_same(here, found, model)
    after = parts_of(work)
    assert len(after) == 4 and after | before == after  # nothing is read a second time

    found.save(tmp_path / "sums.parquet")
    loaded = Profile.load(tmp_path / "sums.parquet")
    assert_same(here, loaded, model)
    kept = loaded.examples(2, 1, by="self", lowest=True)  # neither texts nor the model is needed
    assert kept.equals(here.examples(2, 1, by="self", lowest=True))

    # Nor by the local engine, whose chunks are the same.
    monkeypatch.setattr("attn_widget.features.corpus.engines.local.read_chunk", None)
    profile(path, model=model, tagger=None, progress=False, folder=work)
    assert parts_of(work) == after
    with pytest.raises(InputError, match="not of this run"):
        profile(path, truncation=True, **options)


def parts_of(folder: Path) -> dict[str, int]:
    """The parts of a profile, with the times at which they were written."""
    return {part.name: part.stat().st_mtime_ns for part in folder.glob("part-*")}


def workers() -> list[psutil.Process]:
    """The processes that make parts, of whichever caller."""
    return [child for child in psutil.Process().children(recursive=True) if _is_worker(child)]


def _is_worker(process: Any) -> bool:
    try:
        return "MapWorker" in " ".join(process.cmdline()) and process.is_running()
    except psutil.Error:
        return False


@pytest.mark.usefixtures("cluster")
def test_what_fails_is_listed_and_loses_nothing(model: str, tmp_path: Path) -> None:
    bad, good, blocks = tmp_path / "a.txt", tmp_path / "b.jsonl", tmp_path / "c.parquet"
    corrupt = tmp_path / "d.parquet"
    bad.write_bytes(b"The cat.\n" + "Zwölf.\n".encode("latin-1") + b"dog " * 300 + b"\nThe dog.\n")
    good.write_text('{"text": "The mat."}\n{"text": 5}\n')
    # A chunk without any text that can be read, and a block that is damaged between two that are not.
    pq.write_table(pa.table({"text": ["cat " * 300]}), blocks)
    table = pa.table({"text": ["The red mat.", "The", "The red dog."]})
    pq.write_table(table, corrupt, row_group_size=1, use_dictionary=False, compression="none")
    start = pq.ParquetFile(corrupt).metadata.row_group(1).column(0).data_page_offset
    packed = bytearray(corrupt.read_bytes())
    packed[start : start + 12] = b"\xff" * 12
    corrupt.write_bytes(packed)
    given = {"model": model, "tagger": None, "progress": False}
    found = profile(str(tmp_path / "*.*"), engine="ray", workers=1, **given)
    assert found.n_texts == 5 and repr(found).count("5 of 7 texts") == 1
    failed = sorted(found.failed, key=lambda one: one["source"])
    assert [one["source"] for one in failed] == [
        f"{bad}, line 2", f"{good}, row 1", f"{corrupt}, row group 1", "text 1", "text 4"
    ]  # fmt: skip
    assert failed[3]["index"] == 1 and "302 tokens" in failed[3]["reason"]
    texts = ["The cat.", "The dog.", "The mat.", "The red mat.", "The red dog."]
    wanted = profile(texts, **given)
    for key in found.keys:
        size = [1, *np.ravel(wanted.mean[key])]
        assert_close(found.mean[key], wanted.mean[key], **tiny_models.SUMS, size=size)


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"texts": "nowhere/*.txt"}, "No file matches"),
        ({"texts": []}, "texts is empty"),
        ({"texts": "body.jsonl"}, "no column 'text'"),
        ({"texts": "number.parquet"}, "holds int64, no text"),
        ({"texts": "no.parquet"}, "cannot be read as Parquet"),
        ({"address": "127.0.0.1:9", "folder": "x"}, "No cluster answers"),
        ({"address": "nonsense", "folder": "x"}, "address is 'nonsense'"),
        ({"address": "auto"}, "A cluster needs folder="),
        ({"workers": 0}, "workers is 0"),
        ({"engine": "local", "workers": 2}, "options of engine='ray'"),
    ],
)
def test_what_cannot_work_is_said_before_work_begins(
    options: dict[str, Any], match: str, model: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "body.jsonl").write_text('{"body": "The cat."}\n')
    pq.write_table(pa.table({"text": [1, 2]}), tmp_path / "number.parquet")
    (tmp_path / "no.parquet").write_text("The cat.")
    given = {"texts": ["The cat."], "engine": "ray", "model": model, "progress": False, **options}
    started = time.monotonic()
    with pytest.raises(InputError, match=match):
        profile(**given)
    assert time.monotonic() - started < 60


@pytest.mark.usefixtures("cluster")
def test_a_file_of_one_block_gives_work_to_all(tmp_path: Path) -> None:
    """Ray fills its blocks to 128 MB: one worker would get all chunks of a file."""
    (tmp_path / "texts.txt").write_text("\n".join(TEXTS))
    found = ray_engine._chunks(files_of(tmp_path / "texts.txt"), None, None)
    assert found.materialize().num_blocks() == 5  # and what failed, last


def test_ray_accepts_the_cluster_file() -> None:
    from ray.autoscaler._private.util import prepare_config, validate_config

    path = REPOSITORY / "examples" / "ray-cluster.yaml"
    given = yaml.safe_load(path.read_text("utf-8"))
    filled = prepare_config(given)
    validate_config(filled)
    assert filled["max_workers"] == 63
    with pytest.raises(ValidationError, match="was unexpected"):
        validate_config({**filled, "worker": 3})


def test_chunks_depend_on_the_texts_alone() -> None:
    long = ["a" * 50_000, "b" * 20_000, "c", "d" * 90_000, "e"]
    assert [[text[0] for text in chunk] for chunk in chunks.chunks_of(long)] == [
        ["a"], ["b", "c"], ["d"], ["e"]
    ]  # fmt: skip

"""Sizes of the house: ``python -m scripts.sizes`` prints them as a table.

Lines are those of tracked files, blank ones included; *core* is what lies outside of the folders ``features``.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
LONG = (120, 150)  # lines of a function's body
RULE = "lint/complexity/noExcessiveLinesPerFunction"


def tracked(*folders: str) -> list[Path]:
    listed = subprocess.run(
        ["git", "ls-files", *folders], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return [ROOT / name for name in listed.stdout.splitlines()]


def lines(folder: str, *suffixes: str) -> tuple[int, int]:
    """Lines in the core, and in all."""
    counts = [
        ("features" in path.parts, len(path.read_text(encoding="utf-8").splitlines()))
        for path in tracked(folder)
        if path.suffix in suffixes
    ]
    return sum(n for feature, n in counts if not feature), sum(n for _, n in counts)


def long_functions(least: int) -> int:
    """Functions of the page whose body has more than ``least`` lines, by Biome's rule."""
    rules = {"complexity": {"noExcessiveLinesPerFunction": {"level": "error", "options": {"maxLines": least}}}}  # fmt: skip
    settings: dict[str, Any] = {
        "root": True,
        "linter": {"rules": {"recommended": False, **rules}},
        "formatter": {"enabled": False},
        "assist": {"enabled": False},
    }
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "biome.json").write_text(json.dumps(settings), encoding="utf-8")
        command = ["npx", "biome", "lint", f"--config-path={folder}", "--max-diagnostics=none", "--reporter=json", "js/src"]  # fmt: skip
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    found = json.loads(done.stdout)["diagnostics"]
    return sum(one["category"] == RULE for one in found)


def called(work: Callable[[], object]) -> tuple[int, int]:
    """Files and functions of the package that ``work`` passes."""
    seen: set[tuple[str, int]] = set()

    def profile(frame: FrameType, event: str, _: object) -> None:
        name = frame.f_code.co_filename
        if event == "call" and "/attn_widget/" in name:
            seen.add((name, frame.f_code.co_firstlineno))

    sys.setprofile(profile)
    try:
        work()
    finally:
        sys.setprofile(None)
    return len({name for name, _ in seen}), len(seen)


def names_of(value: object) -> int:
    """Public names behind a dot, those of the package alone: without those that it takes over from ipywidgets."""
    classes = type(value).__mro__
    ours = [cls for cls in classes if cls.__module__.startswith("attn_widget")]
    return sum(
        not name.startswith("_")
        and any(name in vars(cls) for cls in ours)
        and not any(name in vars(cls) for cls in classes if cls not in ours)
        for name in dir(value)
    )  # fmt: skip


def main() -> None:
    import attn_widget as aw

    widgets = [aw.show("the cat sat on the mat", progress=False)]  # warms up
    files, functions = called(lambda: widgets.append(aw.show("the dog ran", progress=False)))
    rows = {
        "Python, core / all": lines("attn_widget", ".py"),
        "page (TypeScript and CSS), core / all": lines("js/src", ".ts", ".tsx", ".css"),
        "files and functions that a warm show() passes": (files, functions),
        "names behind a. / on the widget": (names_of(widgets[0].analysis), names_of(widgets[0])),
        "functions of the page over 120 / 150 lines": tuple(map(long_functions, LONG)),
    }
    for name, values in rows.items():
        print(f"| {name} | {' / '.join(f'{value:,}' for value in values)} |")
    size = (ROOT / "attn_widget/static/widget.js").stat().st_size
    print(f"| `widget.js` | {size:,} bytes |")
    for widget in widgets:
        widget.close()


if __name__ == "__main__":
    main()

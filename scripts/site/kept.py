"""Results that a build leaves for the next one, by the content that they were made from."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path
from typing import Any

from scripts.site.places import KEPT, ROOT


def digest(paths: Iterable[Path], *more: str) -> str:
    """A short hash of files, by path and content, and of words."""
    total = hashlib.sha256("\0".join(more).encode())
    for path in sorted(paths):
        total.update(f"\0{path.relative_to(ROOT).as_posix()}\0".encode())
        total.update(path.read_bytes())
    return total.hexdigest()[:16]


@cache
def package() -> str:
    """Hash of the package's code and data; its scripts reach a page by the site's own files."""
    top = ROOT / "attn_widget"
    folders = [top / "static", *top.rglob("__pycache__")]
    return digest(
        path
        for path in top.rglob("*")
        if path.is_file() and not any(folder in path.parents for folder in folders)
    )


def kept(name: str, made_from: str, make: Callable[[], Any]) -> Any:
    """The value of ``make``, as JSON, or the one that was made from the same before."""
    KEPT.mkdir(parents=True, exist_ok=True)
    path = KEPT / f"{name}-{made_from}.json"
    if not path.exists():
        value = make()
        for earlier in KEPT.glob(f"{name}-????????????????.json"):
            earlier.unlink()
        path.write_text(json.dumps(value), encoding="utf-8")
    return json.loads(path.read_text(encoding="utf-8"))


def write(path: Path, text: str) -> None:
    """Write a page's source, unless it stands there already: Sphinx reads again what is newer than its own copy."""
    if path.exists() and path.read_text(encoding="utf-8") == text:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")

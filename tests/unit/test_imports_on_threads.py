"""Packages that another thread is importing: they stand in `sys.modules` and lack most of their names."""

from __future__ import annotations

import re
import sys
import threading
from pathlib import Path

import pytest

import attn_widget as aw
from attn_widget.host.installed import has_torch, imported
from attn_widget.protocol.initial_payload import versions

PACKAGE = Path(aw.__file__).parent
# What reads the table itself: the helper; the module of a class or function that exists, so that its import has ended.
READERS = {
    "host/installed.py",
    "features/corpus/identity.py",
    "trace/capture.py",
    "host/model_failures.py",
}


@pytest.mark.parametrize("name", ["torch", "transformers"])
def test_a_package_whose_import_goes_on_is_not_imported_yet(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """The import waits before the package has a version, as torch's does for two seconds."""
    lines = "import builtins\nbuiltins.begun.set()\nbuiltins.go_on.wait(60)\n__version__ = '9.9'\n"
    (tmp_path / f"{name}.py").write_text(lines)
    begun, go_on = threading.Event(), threading.Event()
    monkeypatch.setattr("builtins.begun", begun, raising=False)
    monkeypatch.setattr("builtins.go_on", go_on, raising=False)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, name, raising=False)
    thread = threading.Thread(target=__import__, args=(name,))
    thread.start()
    try:
        assert begun.wait(60) and name in sys.modules
        assert imported(name) is None and has_torch()
        assert name not in versions()
    finally:
        go_on.set()
        thread.join()
    assert imported(name) is sys.modules[name]
    assert versions()[name] == "9.9"


def test_what_was_never_imported_or_is_hidden_is_not_imported(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "of_no_one", None)  # pyright: ignore[reportArgumentType]
    assert imported("of_no_one") is None and imported("of_nobody") is None
    assert imported("sys") is sys


def test_the_table_of_modules_is_read_by_the_helper_alone() -> None:
    files = PACKAGE.rglob("*.py")
    found = {
        file.relative_to(PACKAGE).as_posix()
        for file in files
        if re.search(r"sys\.modules(\.get\(|\[)|in sys\.modules", file.read_text(encoding="utf-8"))
    }
    assert found <= READERS

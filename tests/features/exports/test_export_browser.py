"""What is said when there is nothing to draw with, and where a browser is looked for."""

from __future__ import annotations

import builtins
import threading
from pathlib import Path
from typing import Any

import pytest

import attn_widget as aw
from attn_widget.errors import NotAvailableError
from attn_widget.features.exports import browser, chromium


def test_without_playwright_the_message_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    real = builtins.__import__

    def without(name: str, *rest: Any, **more: Any) -> Any:
        if name.startswith("playwright"):
            raise ImportError(name)
        return real(name, *rest, **more)

    widget = aw.show("the cat sat", progress=False)
    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(NotAvailableError, match=r'pip install "attn-widget\[images\]"'):
        widget.save_png(tmp_path / "a.png")
    assert list(tmp_path.iterdir()) == []
    widget.close()


def test_a_browser_that_does_not_start_is_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    broken = tmp_path / "chromium"
    broken.write_text("#!/bin/sh\nexit 3\n")
    broken.chmod(0o755)
    monkeypatch.setenv("CHROMIUM", str(broken))
    widget = aw.show("the cat sat", progress=False)
    with pytest.raises(NotAvailableError, match=rf"{broken} does not start.*Set CHROMIUM"):
        widget.save_png(tmp_path / "a.png")
    widget.close()


def test_without_a_browser_the_message_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("CHROMIUM", str(tmp_path / "none"))
    monkeypatch.setenv("PLAYWRIGHT_BROWSERS_PATH", str(tmp_path))
    widget = aw.show("the cat sat", progress=False)
    with pytest.raises(
        NotAvailableError, match=r"Install Chromium or Google Chrome, or set CHROMIUM"
    ):
        widget.save_png(tmp_path / "a.png")
    widget.close()


def test_a_chosen_browser_comes_first_then_the_path_then_known_places(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name in ("mine", "google-chrome"):
        (tmp_path / name).write_text("#!/bin/sh\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("CHROMIUM", str(tmp_path / "mine"))
    assert chromium.find_chromium() == str(tmp_path / "mine")
    monkeypatch.delenv("CHROMIUM")
    assert chromium.find_chromium() == str(tmp_path / "google-chrome")
    (tmp_path / "google-chrome").unlink()
    program = tmp_path / "Microsoft" / "Edge" / "Application" / "msedge.exe"
    program.parent.mkdir(parents=True)
    program.write_text("")
    monkeypatch.setattr(chromium, "APPLICATIONS", ())
    monkeypatch.setenv("PROGRAMFILES", str(tmp_path))
    assert chromium.find_chromium() == str(program)


def test_drawing_runs_in_a_thread_of_its_own_and_its_errors_come_back() -> None:
    assert browser.in_thread(threading.get_ident) != threading.get_ident()
    with pytest.raises(ZeroDivisionError):
        browser.in_thread(lambda: 1 / 0)

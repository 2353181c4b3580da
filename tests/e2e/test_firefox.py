"""Firefox runs the pages with an engine as Chromium does; skipped where there is no Firefox."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

import attn_widget as aw
from tests.unit import tiny_models

ROOT = Path(__file__).parents[2]
FIREFOX = shutil.which("firefox-esr") or shutil.which("firefox")
pytestmark = pytest.mark.skipif(FIREFOX is None, reason="there is no Firefox")


def driven(folder: Path, *jobs: tuple[Path, list[str]]) -> list[dict[str, Any]]:
    job = folder / "job.json"
    job.write_text(json.dumps([{"address": path.as_uri(), "texts": texts} for path, texts in jobs]))
    assert FIREFOX is not None
    done = subprocess.run(
        ["node", str(ROOT / "js" / "dev" / "firefox.mjs"), FIREFOX, str(job)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert done.returncode == 0, done.stderr
    return list(json.loads(done.stdout))


def test_pages_run_what_is_typed_and_say_what_is_wrong(tmp_path: Path) -> None:
    model = tiny_models.build("bert", "ForMaskedLM")
    given: dict[str, Any] = {"model": model, "tagger": None, "progress": False}
    widget = aw.show("the cat sat", **given)
    inside = aw.to_html(widget, tmp_path / "inside.html", engine=True)
    text = inside.read_text(encoding="utf-8")
    no_worker = tmp_path / "no-worker.html"
    no_worker.write_text(text.replace("worker-src blob:", "worker-src &#x27;none&#x27;"), encoding="utf-8")  # fmt: skip
    long = "cat " * 127
    pages = driven(
        tmp_path,
        (inside, ["the dog", long, "cat"]),
        (no_worker, ["cat"]),
    )
    first, second, third = pages[0]["shown"]
    assert first["tokens"] == ["[CLS]", "the", "dog", "[SEP]"]
    assert "more than 128 tokens" in second["error"]
    assert 3 < len(second["tokens"]) <= 128  # the last text that could be read
    assert third["tokens"] == ["[CLS]", "cat", "[SEP]"]
    assert third["error"] == ""
    assert pages[1]["shown"][0]["tokens"] == ["[CLS]", "cat", "[SEP]"]
    assert pages[0]["errors"] == []  # without a worker the browser reports what its policy refuses

"""The engine in Chromium: in a worker, on the main thread where none is allowed, and refused with a sentence."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser

from tests.close import assert_close
from tests.golden.make_engine import PATH
from tests.unit.tiny_models import RUN as KERNELS

ENGINE = Path(__file__).parents[2] / "attn_widget" / "static" / "engine.js"
GOLDEN = json.loads(PATH.read_text())
RUN = """async () => {
  try {
    const file = Uint8Array.from(atob(window.weights), (character) => character.charCodeAt(0));
    const engine = await attnWidgetEngine.open(file);
    const { ids } = await engine.encode(window.text);
    await engine.run({ ids });
    const error = await engine.hidden(99).catch(({ code, message }) => `${code}: ${message}`);
    return { where: engine.where, ids, attention: [...(await engine.attention())], error };
  } catch (error) {
    return { code: error.code, message: error.message };
  }
}"""
Ask = Callable[..., dict[str, Any]]


@pytest.fixture
def ask(browser: Browser, tmp_path: Path) -> Ask:
    """Opens a page from a file, with a policy or in a sandboxed frame, and runs the golden text."""

    def run(policy: str, sandboxed: bool = False) -> dict[str, Any]:
        path = tmp_path / "engine.html"
        values = f"weights = {json.dumps(GOLDEN['file'])}; text = {json.dumps(GOLDEN['text'])};"
        path.write_text(
            f'<!doctype html><meta charset="utf-8">'
            f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
            f"<script>{values}</script><script>{ENGINE.read_text()}</script>"
        )
        outer = tmp_path / "outer.html"
        outer.write_text(f'<iframe sandbox="allow-scripts" src="{path.name}"></iframe>')
        page = browser.new_page()
        page.goto((outer if sandboxed else path).as_uri())
        frame = page.frames[1] if sandboxed else page.main_frame
        frame.wait_for_function("window.attnWidgetEngine")
        answer: dict[str, Any] = frame.evaluate(RUN)
        page.close()
        return answer

    return run


SCRIPTS = "default-src 'none'; script-src 'unsafe-inline'"


@pytest.mark.parametrize("sandboxed", [False, True])
@pytest.mark.parametrize(
    ("policy", "where"),
    [
        (f"{SCRIPTS} 'wasm-unsafe-eval'; worker-src blob:", "worker"),
        (f"{SCRIPTS} 'wasm-unsafe-eval'; worker-src 'none'", "main thread"),
    ],
)
def test_the_engine_runs_from_a_file(ask: Ask, policy: str, where: str, sandboxed: bool) -> None:
    answer = ask(policy, sandboxed)
    assert answer.get("where") == where, answer
    assert answer["ids"] == GOLDEN["ids"]
    assert_close(answer["attention"], GOLDEN["attention"], **KERNELS)
    assert answer["error"] == "input: hidden state 99 is not in 0 to 2."


@pytest.mark.parametrize("workers", ["blob:", "'none'"])
def test_a_policy_that_forbids_webassembly_is_named(ask: Ask, workers: str) -> None:
    answer = ask(f"{SCRIPTS}; worker-src {workers}")
    assert answer["code"] == "unsupported"
    assert "policy forbids it" in answer["message"]

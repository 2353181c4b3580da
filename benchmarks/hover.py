"""The pointer over the patches of a saved page of a picture: what a move costs, in the first pass over it and in the next.

Run: ``OMP_WAIT_POLICY=passive python -m benchmarks.hover`` (DINOv2-small's shape, 257 tokens and 72 heads, random weights, a drawn picture;
``--model FOLDER --image FILE``: others). Each round opens the page in a new process of the browser, so that nothing of it has run before.
*Script* is of the move's listener, which returns when all that follows is drawn; *wall* the same by the clock, which other work on the machine lengthens.
*Task* is the longest of the main thread until the next move: the listener, or a frame's style, layout and paint. A *rest* on a patch also asks for its rows of all heads, and every thumbnail is drawn again.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import torch
import transformers as tf
from PIL import Image, ImageDraw

import attn_widget as aw
from benchmarks.main_thread import CATEGORIES
from benchmarks.shapes import table
from scripts.lab import chromium
from scripts.page import DRAWN

READY_MS = 1500
MOVES, RESTS, REST_MS = 60, 12, 500
TASK, TASKS = "RunTask", "disabled-by-default-devtools.timeline"
STAGE = '.aw-ribbon [data-aw-part="picture"]'
# To another patch in each frame, seven times from the left to the right.
PASS = """async ([selector, moves, rest]) => {
  const stage = document.querySelector(selector);
  const {x, y, width, height} = stage.getBoundingClientRect();
  const took = [];
  for (let i = 0; i < moves; i++) {
    const clientX = x + width * (0.15 + 0.7 * ((i * 7) % moves) / moves);
    const clientY = y + height * (0.2 + 0.6 * i / moves);
    const start = performance.now();
    stage.dispatchEvent(new PointerEvent('pointermove', {bubbles: true, clientX, clientY}));
    took.push(performance.now() - start);
    await new Promise(done => requestAnimationFrame(() => setTimeout(done, rest)));
  }
  return took;
}"""


def dinov2_small() -> tuple[Any, Any]:
    """DINOv2-small's shape with random weights, and a processor for it."""
    torch.manual_seed(0)
    config = tf.Dinov2Config(hidden_size=384, num_attention_heads=6, image_size=224, patch_size=14)
    size = {"height": 224, "width": 224}
    processor = tf.ViTImageProcessor(size=size, do_rescale=True)
    return tf.Dinov2Model(config).eval(), processor


def drawn() -> Image.Image:
    """A ball in front of a slope of gray."""
    slope = np.linspace(60, 220, 448).astype(np.uint8)
    image = Image.fromarray(np.stack([np.tile(slope[:, None], (1, 448))] * 3, axis=-1))
    ImageDraw.Draw(image).ellipse((120, 150, 300, 330), fill=(190, 40, 30))
    return image


def work(trace: bytes) -> tuple[list[float], list[float]]:
    """CPU ms of each move's listener, and of the longest task of the main thread from there to the next move."""
    events = [event for event in json.loads(trace)["traceEvents"] if "tdur" in event]
    moves = [
        event
        for event in events
        if event["name"] == "EventDispatch" and event["args"]["data"]["type"] == "pointermove"
    ]
    starts = [event["ts"] for event in moves]
    longest = [0.0] * len(moves)
    for event in events:
        if event["name"] == TASK and event["tid"] == moves[0]["tid"]:
            # The move is in the midst of its task.
            at = int(np.searchsorted(starts, event["ts"] + event["dur"])) - 1
            if at >= 0:
                longest[at] = max(longest[at], event["tdur"] / 1000)
    return [event["tdur"] / 1000 for event in moves], longest


def passes(address: str) -> list[list[list[float]]]:
    """CPU ms of each move's script, wall ms of it, CPU ms of its longest task: for the first pass, the second, and rests."""
    found: list[list[list[float]]] = []
    with chromium() as browser:
        # The page's policy forbids what this measuring evaluates in it.
        context = browser.new_context(viewport={"width": 1200, "height": 900}, bypass_csp=True)
        page = context.new_page()
        page.goto(address)
        page.wait_for_function(DRAWN)
        page.locator(STAGE).wait_for()
        page.wait_for_timeout(READY_MS)
        for moves, rest in ((MOVES, 0), (MOVES, 0), (RESTS, REST_MS)):
            browser.start_tracing(page=page, categories=[*CATEGORIES, TASKS])
            wall: list[float] = page.evaluate(PASS, [STAGE, moves, rest])
            script, longest = work(browser.stop_tracing())
            assert len(script) == moves
            found.append([script, wall, longest])
            page.wait_for_timeout(REST_MS)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--model")
    parser.add_argument("--image")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    torch.set_num_threads(2)
    given = options.model or dinov2_small()
    a = aw.analyze(options.image or drawn(), model=given, progress=False)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "page.html"
        aw.to_html(a, path)
        rounds = [passes(path.as_uri()) for _ in range(options.rounds)]
    trace = a.trace
    print(f"{trace.n_tokens} tokens, {trace.n_layers} x {trace.n_heads} heads, CPU ms")
    rows: list[list[str]] = []
    for k, name in enumerate(("first pass", "second pass", "rests")):
        script, wall, task = (np.array([found[k][i] for found in rounds]) for i in range(3))
        parts = [np.percentile(script, (50, 95, 100)), np.percentile(wall, [95])]
        figures = np.concatenate([*parts, np.percentile(task, (50, 95, 100))])
        rows.append([name, *(f"{figure:.1f}" for figure in figures)])
    header = ["", "script p50", "p95", "most", "p95, wall", "task p50", "p95", "most"]
    print(table(header, rows))


if __name__ == "__main__":
    main()

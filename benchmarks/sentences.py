"""The sentence on top of every view, as a page shows it: on 40 texts of many kinds, pairs among them.

Run: ``OMP_WAIT_POLICY=passive python -m benchmarks.sentences`` (the embedded model, for Task a classifier of feelings
over it, for two texts the embedder and the comparison; some fifteen minutes). ``--texts 5`` runs every eighth text,
``--file`` runs the lines of another file (``FIRST ||| SECOND`` is a pair), ``--prose`` the 40 texts of
`benchmarks.opening`, ``--model smollm2`` the prompts of ``prompts.txt`` with a decoder, with ``--chats`` the chats of
``chats.json`` and its replies, ``--views why,inside`` some views alone. ``–``: a view has nothing to add. Exits with 1 where a sentence does not come.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

from playwright.sync_api import Browser, Page, sync_playwright
from playwright.sync_api import TimeoutError as PageTimeout

import attn_widget as aw
from attn_widget.widget.base import SourceWidget
from benchmarks.opening import texts
from scripts.chromium import FLAGS, find_chromium
from scripts.page import mount
from scripts.probe import sentiment

HERE = Path(__file__).parent
KINDS, PROMPTS, CHATS = HERE / "kinds.txt", HERE / "prompts.txt", HERE / "chats.json"
REPLY = 24  # tokens that a decoder writes at most, where a chat ends with its user
BETWEEN = " ||| "
WAIT_MS = 240_000
SILENT = "–"  # the view has nothing to add
WHOLE = 32  # tokens: masked predictions of all positions are waited for
LINES = {"comparison": ".aw-compare-lead", "similarity": "[data-aw-part=headline]"}
# A sentence that stays as it is for a second and a half: nothing is on its way.
SHOWN = """([selector, whole]) => {
  const line = document.querySelector(selector);
  const running = document.querySelector('[data-aw-part=masked-progress]:not([hidden])');
  const waits = whole && running !== null && !running.textContent.includes("Stopped");
  const words = line === null || line.hidden ? "" : line.textContent;
  const ready = words !== "" || line?.dataset.awSilent !== undefined;
  if (words !== window.sentence || !ready) [window.sentence, window.since] = [words, performance.now()];
  return !waits && ready && performance.now() - window.since > 1500;
}"""


def line_of(page: Page, view: str, *, whole: bool = False) -> str:
    """The sentence of a view that is open, ``whole``: of all positions; empty where it does not come."""
    page.evaluate("() => { window.sentence = null; }")
    selector = LINES.get(view, f'.aw-view-{view} [data-aw-part="sentence"]')
    try:
        page.wait_for_function(SHOWN, arg=[selector, whole], timeout=WAIT_MS)
    except PageTimeout:
        return ""
    return " ".join(page.locator(selector).inner_text().split()) or SILENT


def sentences(
    chromium: Browser, widget: SourceWidget, *, views: list[str] | None = None, whole: bool = False
) -> Iterator[tuple[str, str]]:
    """Every view of a widget, or some, with its sentence, in the order of their tabs."""
    page = chromium.new_page(viewport={"width": 1220, "height": 1000})
    mount(page, widget, width=1200)
    tabs = page.locator('[role="tab"][data-view]')
    for view in tabs.evaluate_all("all => all.map(tab => tab.dataset.view)"):
        if views is None or view in views:
            page.locator(f'[role="tab"][data-view="{view}"]').click()
            yield view, line_of(page, view, whole=whole)
    page.close()
    widget.close()


def of_two(chromium: Browser, first: str, second: str) -> Iterator[tuple[str, str]]:
    """The sentences of two texts: their similarity, and their comparison."""
    results = {
        "similarity": lambda: aw.similarity(first, second, progress=False).show(),
        "comparison": lambda: aw.show(aw.compare(first, second, progress=False)),
    }
    for view, result in results.items():
        page = chromium.new_page(viewport={"width": 1220, "height": 1000})
        widget = result()
        mount(page, widget, width=1200)
        yield view, line_of(page, view)
        page.close()
        widget.close()


def of_chats(chromium: Browser, model: aw.Encoder, views: list[str] | None) -> int:
    """Print the sentences of the chats; the number that is missing."""
    missing = 0
    for number, messages in enumerate(json.loads(CHATS.read_text())):
        asks = messages[-1]["role"] == "user"
        run = aw.show(messages, model=model, generate=REPLY if asks else 0, progress=False)
        print(f"\n{number} {run.analysis.text}", flush=True)
        for view, sentence in sentences(chromium, run, views=views):
            print(f"  {view:<12}{sentence or 'MISSING'}", flush=True)
            missing += sentence == ""
    return missing


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--texts", type=int)
    parser.add_argument("--file", type=Path)
    parser.add_argument("--prose", action="store_true")
    parser.add_argument("--model")
    parser.add_argument("--chats", action="store_true")
    parser.add_argument("--views")
    given = parser.parse_args()
    encoder, classifier = aw.load(given.model, progress=False), sentiment()
    if given.prose:
        chosen = [*texts(encoder)]
    else:
        path = given.file or (KINDS if given.model is None else PROMPTS)
        chosen = path.read_text().splitlines()
    chosen = chosen[:: max(1, len(chosen) // (given.texts or len(chosen)))]
    views = None if given.views is None else given.views.split(",")
    missing = 0
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=find_chromium(), args=FLAGS)
        if given.chats:
            missing, chosen = of_chats(chromium, encoder, views), []
        for number, line in enumerate(chosen):
            text, *pair = line.split(BETWEEN)
            n = encoder.encode(text, *pair).n_tokens
            shortened = line if len(line) < 100 else f"{line[:99]}…"
            print(f"\n{number} ({n} tokens) {shortened}", flush=True)
            run = aw.show(text, *pair, model=encoder, progress=False)
            found = sentences(chromium, run, views=views, whole=n <= WHOLE)
            if given.model is None and (views is None or "task" in views):
                classified = aw.show(text, model=classifier, progress=False)
                found = chain(found, sentences(chromium, classified, views=["task"]))
            if pair and given.model is None and (views is None or "similarity" in views):
                found = chain(found, of_two(chromium, text, *pair))
            for view, sentence in found:
                print(f"  {view:<12}{sentence or 'MISSING'}", flush=True)
                missing += sentence == ""
        chromium.close()
    print(f"\n{missing} sentences are missing")
    return int(missing > 0)


if __name__ == "__main__":
    sys.exit(main())

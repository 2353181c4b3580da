"""The sentence on top of every view, on the 40 texts of `benchmarks.opening`, as a page shows it.

Run: ``OMP_WAIT_POLICY=passive python -m benchmarks.sentences`` (the embedded model, and for Task a classifier of
feelings over it; some ten minutes). ``--texts 5`` runs every eighth text, ``--file`` runs the lines of a file instead.
Exits with 1 where a view has no sentence.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

from playwright.sync_api import Browser, Page, sync_playwright
from playwright.sync_api import TimeoutError as PageTimeout

import attn_widget as aw
from benchmarks.opening import TEXTS, texts
from scripts.chromium import FLAGS, find_chromium
from scripts.page import mount
from scripts.probe import sentiment

#: The sentence and, of views that say more once an answer is there, what it holds then.
COMPLETE = {"heads": "chance share", "why": "the largest "}
WAIT_MS = 240_000
WHOLE = 32  # tokens: masked predictions of all positions are waited for
SHOWN = """([view, words, whole]) => {
  const line = document.querySelector(`.aw-view-${view} [data-aw-part=sentence]`);
  const running = document.querySelector('[data-aw-part=masked-progress]:not([hidden])');
  if (whole && running !== null && !running.textContent.includes("Stopped")) return false;
  return line !== null && !line.hidden && line.textContent.includes(words);
}"""


def sentence_of(page: Page, view: str, *, whole: bool) -> str:
    """The sentence of a view that is opened now, ``whole``: of all positions; empty where there is none."""
    page.locator(f'[role="tab"][data-view="{view}"]').click()
    try:
        page.wait_for_function(SHOWN, arg=[view, COMPLETE.get(view, ""), whole], timeout=WAIT_MS)
    except PageTimeout:
        return ""
    line = page.locator(f'.aw-view-{view} [data-aw-part="sentence"]')
    return " ".join(line.inner_text().split())


def sentences(
    chromium: Browser, widget: aw.AttentionWidget, *, only: str | None = None
) -> Iterator[tuple[str, str]]:
    """Every view of a widget, or ``only`` one, with its sentence, in the order of their tabs."""
    page = chromium.new_page(viewport={"width": 1220, "height": 1000})
    mount(page, widget, width=1200)
    tabs = page.locator('[role="tab"][data-view]')
    for view in tabs.evaluate_all("all => all.map(tab => tab.dataset.view)"):
        if view == (only or view):
            yield view, sentence_of(page, view, whole=widget.analysis.n_tokens <= WHOLE)
    page.close()
    widget.close()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--texts", type=int, default=TEXTS)
    parser.add_argument("--file", type=Path)
    arguments = parser.parse_args()
    encoder, classifier = aw.load(progress=False), sentiment()
    if arguments.file is None:
        chosen = [*texts(encoder)][:: max(1, TEXTS // arguments.texts)]
    else:
        chosen = arguments.file.read_text().splitlines()
    missing = 0
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=find_chromium(), args=FLAGS)
        for number, text in enumerate(chosen):
            shortened = text if len(text) < 100 else f"{text[:99]}…"
            print(f"\n{number} ({encoder.encode(text).n_tokens} tokens) {shortened}", flush=True)
            run = aw.show(text, model=encoder, progress=False)
            classified = aw.show(text, model=classifier, progress=False)
            task = sentences(chromium, classified, only="task")
            for view, sentence in chain(sentences(chromium, run), task):
                print(f"  {view:<12}{sentence or 'MISSING'}", flush=True)
                missing += sentence == ""
        chromium.close()
    print(f"\n{missing} sentences are missing")
    return int(missing > 0)


if __name__ == "__main__":
    sys.exit(main())

"""From running a cell to the drawn picture, in JupyterLab: a fresh kernel, and one that has shown a text before.

Run: ``OMP_WAIT_POLICY=passive python -m benchmarks.first_picture`` (the embedded model, 20 tokens; ``--model smollm2``: another).
The clock is the page's own: from the moment the cell is run to the mark that the widget leaves when its first
matrix is on the canvas. The cell of a fresh kernel also imports the package and torch, and loads the weights; next to it
stands a cell that only imports torch, in a kernel of its own just before, because that is most of it.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
from pathlib import Path

from playwright.sync_api import Browser

from attn_widget import load
from benchmarks.shapes import table
from scripts.lab import Lab, Notebook, chromium
from scripts.widget_parts import STEP_MS

TEXTS = (
    "The quick brown fox jumps right over the lazy dog and runs into the dark forest again.",
    "My older sister lives alone in a small house near the river with her two black cats.",
    "The old train to the city was very late again because of heavy snow in the mountains.",
    "A young doctor from the north bought a red car and drove it to the sea today.",
    "The teacher asked the class to read the first three pages of their new book aloud today.",
    "On Monday the king left his castle to meet the people of a village in the south.",
)
TOKENS = 20
RUN_CELL = """async index => {
    const {content, sessionContext} = window.jupyterapp.shell.currentWidget;
    await sessionContext.ready;
    const before = performance.getEntriesByName('aw:drawn').length;
    content.activeCellIndex = index;
    content.deselectAll();
    const started = performance.now();
    window.jupyterapp.commands.execute('notebook:run-cell');
    return [before, started];
}"""
RUN_TO_THE_END = """async () => {
    const {content, sessionContext} = window.jupyterapp.shell.currentWidget;
    await sessionContext.ready;
    content.activeCellIndex = 0;
    const started = performance.now();
    await window.jupyterapp.commands.execute('notebook:run-cell');
    return performance.now() - started;
}"""
OUTLINE = """() => {
    window.outlined = null;
    new MutationObserver((_, observer) => {
        if (document.querySelector('.attn-widget-loading') === null) return;
        window.outlined = performance.now();
        observer.disconnect();
    }).observe(document.body, {childList: true, subtree: true});
}"""
DRAWN = "before => performance.getEntriesByName('aw:drawn').length > before"
LAST = "() => performance.getEntriesByName('aw:drawn').at(-1).startTime"


def drawn_ms(notebook: Notebook, index: int) -> float:
    """Milliseconds from running a cell to its picture."""
    page = notebook.page
    before, started = page.evaluate(RUN_CELL, index)
    page.wait_for_function(DRAWN, arg=before, timeout=STEP_MS)
    return page.evaluate(LAST) - started


def fresh_ms(lab: Lab, browser: Browser, name: str, source: str) -> float:
    """Milliseconds that a cell takes in a kernel of its own."""
    notebook = lab.open(browser, lab.write(name, [source]))
    took = notebook.page.evaluate(RUN_TO_THE_END)
    notebook.close()
    return took


def texts_for(model: str | None) -> list[str]:
    """Six texts of `TOKENS` tokens."""
    encoder = load(model, progress=False)
    if model is None:
        texts = [*TEXTS]
    else:
        texts = [f"{text} {TEXTS[k - 1]}" for k, text in enumerate(TEXTS)]
        ends = [encoder.encode(text).tokens[TOKENS - 1].end for text in texts]
        texts = [text[:end] for text, end in zip(texts, ends, strict=True)]
    lengths = [len(encoder.encode(text).tokens) for text in texts]
    assert set(lengths) == {TOKENS}, lengths
    return texts


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--kernels", type=int, default=5)
    parser.add_argument("--model", default=None, help="as load() takes it; a decoder")
    options = parser.parse_args()
    repeats, model = options.kernels, options.model
    of = "" if model is None else f", model={model!r}"
    cells = [f"aw.show({text!r}{of})" for text in texts_for(model)]
    cells[0] = "import attn_widget as aw\n" + cells[0]
    torch: list[float] = []
    outlined: list[float] = []
    cold: list[float] = []
    warm: list[float] = []
    with tempfile.TemporaryDirectory() as folder, chromium() as browser:
        lab = Lab(Path(folder) / "lab")
        try:
            fresh_ms(
                lab, browser, "warm-up.ipynb", "import attn_widget.widget, torch"
            )  # disk, page
            for number in range(repeats):
                torch.append(fresh_ms(lab, browser, f"torch-{number}.ipynb", "import torch"))
                notebook = lab.open(browser, lab.write(f"picture-{number}.ipynb", cells))
                notebook.page.evaluate(OUTLINE)
                before = notebook.page.evaluate("() => performance.now()")
                cold.append(drawn_ms(notebook, 0))
                outlined.append(notebook.page.evaluate("() => window.outlined") - before)
                warm += [drawn_ms(notebook, index) for index in range(1, len(cells))]
                notebook.close()
        finally:
            lab.close()
    rows = [
        [name, str(len(times)), *(f"{f(times):,.0f}" for f in (min, statistics.median, max))]
        for name, times in (
            ("fresh kernel: `import torch` alone", torch),
            ("fresh kernel: `import attn_widget`, `show()` to its outline", outlined),
            ("fresh kernel: the same to the drawn picture", cold),
            ("later cell: `show()` to the drawn picture", warm),
        )
    ]
    print(table(["cell, 20 tokens", "times", "least, ms", "median, ms", "most, ms"], rows))
    for name, pick in (("least", min), ("median", statistics.median)):
        beyond = pick(cold) - pick(torch)
        print(f"{name}: {pick(cold) / pick(torch):.2f} x import torch, {beyond:,.0f} ms beyond it")


if __name__ == "__main__":
    main()

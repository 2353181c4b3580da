"""From running a cell to the drawn picture, in JupyterLab: a fresh kernel, and one that has shown a text before.

Run: ``OMP_WAIT_POLICY=passive python -m benchmarks.first_picture`` (the embedded model, 20 tokens).
The clock is the page's own: from the moment the cell is run to the mark that the widget leaves when its first
matrix is on the canvas. A fresh kernel also imports torch and transformers, and loads the weights.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
from pathlib import Path

from attn_widget import load
from benchmarks.shapes import table
from scripts.lab import STEP_MS, Lab, Notebook, chromium

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
DRAWN = "before => performance.getEntriesByName('aw:drawn').length > before"
LAST = "() => performance.getEntriesByName('aw:drawn').at(-1).startTime"


def drawn_ms(notebook: Notebook, index: int) -> float:
    """Milliseconds from running a cell to its picture."""
    page = notebook.page
    before, started = page.evaluate(RUN_CELL, index)
    page.wait_for_function(DRAWN, arg=before, timeout=STEP_MS)
    return page.evaluate(LAST) - started


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kernels", type=int, default=3)
    repeats = parser.parse_args().kernels
    encoder = load(progress=False)
    lengths = [len(encoder.encode(text).tokens) for text in TEXTS]
    assert set(lengths) == {TOKENS}, lengths
    cells = [f"aw.show({text!r})" for text in TEXTS]
    cells[0] = "import attn_widget as aw\n" + cells[0]
    cold: list[float] = []
    warm: list[float] = []
    with tempfile.TemporaryDirectory() as folder, chromium() as browser:
        lab = Lab(Path(folder) / "lab")
        try:
            for number in range(repeats):
                notebook = lab.open(browser, lab.write(f"picture-{number}.ipynb", cells))
                cold.append(drawn_ms(notebook, 0))
                warm += [drawn_ms(notebook, index) for index in range(1, len(cells))]
                notebook.close()
        finally:
            lab.close()
    rows = [
        [name, str(len(times)), *(f"{f(times):,.0f}" for f in (min, statistics.median, max))]
        for name, times in (("fresh kernel", cold), ("warm", warm))
    ]
    print(table(["show(), 20 tokens", "times", "least, ms", "median, ms", "most, ms"], rows))


if __name__ == "__main__":
    main()

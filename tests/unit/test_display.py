"""`show()` displays once, wherever it stands: checked in a real kernel."""

from __future__ import annotations

from itertools import groupby

import nbformat
import pytest
from nbclient import NotebookClient

WIDGET = "application/vnd.jupyter.widget-view+json"
SHOW = "aw.show('the cat sat', progress=False)"

CELLS = {
    "last line of a cell": SHOW,
    "middle of a cell": f"w = {SHOW}\nprint('after')",
    "inside display()": f"display({SHOW})",
    "in a loop": f"for i in range(2):\n    print('before', i)\n    {SHOW}",
    "in a box": f"from ipywidgets import VBox\nVBox([{SHOW}])",
    "in an Output": f"from ipywidgets import Output\nout = Output()\nwith out:\n    print('before')\n    display({SHOW})\nout",
    "in an Output on screen": f"out = Output()\ndisplay(out)\nwith out:\n    {SHOW}\n    {SHOW}",
    "in a box in an Output": f"out = Output()\nwith out:\n    display(VBox([{SHOW}, {SHOW}]))\nout",
    "shown again by a later cell": "w",
    "shown twice on purpose": f"u = {SHOW}\ndisplay(u)\ndisplay(u)",
    "after an error": f"try:\n    aw.show('')\nexcept ValueError as error:\n    print(error)\n{SHOW}",
}


@pytest.fixture(scope="module")
def outputs() -> dict[str, list[list[str]]]:
    """For each cell, its outputs in order: what kinds of data each one carries."""
    code = nbformat.v4.new_code_cell
    notebook = nbformat.v4.new_notebook(
        cells=[code("import attn_widget as aw"), *(code(source) for source in CELLS.values())]
    )
    NotebookClient(notebook, timeout=300, kernel_name="python3").execute()
    return {
        name: [
            ["stream"] if output["output_type"] == "stream" else sorted(output.get("data", {}))
            for output in cell["outputs"]
        ]
        for name, cell in zip(CELLS, notebook.cells[1:], strict=True)
    }


def pictures(outputs: list[list[str]]) -> int:
    return sum(WIDGET in kinds for kinds in outputs)


@pytest.mark.parametrize(
    ("cell", "expected"),
    [
        ("last line of a cell", 1),
        ("middle of a cell", 1),
        ("inside display()", 1),
        ("in a loop", 2),
        ("in a box", 1),
        ("shown again by a later cell", 1),
        ("shown twice on purpose", 2),
        ("after an error", 1),
    ],
)
def test_a_widget_is_displayed_as_often_as_meant(
    outputs: dict[str, list[list[str]]], cell: str, expected: int
) -> None:
    assert pictures(outputs[cell]) == expected, outputs[cell]


def test_the_order_with_printed_lines_is_kept(outputs: dict[str, list[list[str]]]) -> None:
    kinds = ["picture" if WIDGET in kinds else kinds[0] for kinds in outputs["in a loop"]]
    # A busy kernel may send a line and its line feed as two messages.
    assert [kind for kind, _ in groupby(kinds)] == ["stream", "picture", "stream", "picture"]


def test_every_picture_has_a_plain_text_beside_it(outputs: dict[str, list[list[str]]]) -> None:
    for cell in outputs.values():
        assert all("text/plain" in kinds for kinds in cell if WIDGET in kinds)


@pytest.mark.parametrize(
    ("cell", "pages"),
    [("in an Output", 1), ("in an Output on screen", 2), ("in a box in an Output", 2)],
)
def test_what_an_output_takes_has_its_page_in_the_cell(
    outputs: dict[str, list[list[str]]], cell: str, pages: int
) -> None:
    """The output of the `Output` comes first, and one for each widget in it after it."""
    taken, *below = outputs[cell]
    assert WIDGET in taken and "text/html" not in taken
    assert len(below) == pages and all({WIDGET, "text/html"} <= {*kinds} for kinds in below)

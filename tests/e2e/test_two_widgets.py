"""Two widgets in one notebook, and a kernel that restarts under them."""

from __future__ import annotations

import pytest
from playwright.sync_api import Locator, expect

from scripts.lab import Lab, Notebook, OpenNotebook
from scripts.widget_parts import Widget, agree, values
from tests.e2e.reference import WEIGHT_ERROR, reference

# Too long for its heads to come with the first paint.
FIRST = (
    "the cat sat on the mat and looked at the birds in the garden, until the dog of the neighbors "
    "came around the house and chased it away"
)
SECOND = "Paris is the capital of France."

pytestmark = pytest.mark.timeout(900)


@pytest.fixture(scope="module")
def notebook(lab: Lab, open_notebook: OpenNotebook) -> Notebook:
    name = lab.write(
        "two.ipynb",
        [
            f"import attn_widget as aw\na = aw.show({FIRST!r}, layer=1, head=2, token=2)",
            f"b = aw.show({SECOND!r}, layer=4, head=3, token=1)",
        ],
    )
    opened = open_notebook(name, height=2400)
    opened.run_all()
    for index in (0, 1):
        opened.widget(index).wait_drawn()
    return opened


def ribbon(widget: Widget) -> Locator:
    return widget.part("ribbon").locator("[data-token]")


def painted(widget: Widget) -> list[float]:
    return values(ribbon(widget))


def seen(widget: Widget) -> tuple[str, str, list[float]]:
    """What a selection decides: the head, the list of the focus token, the painted row."""
    name, keys = widget.part("head-name"), widget.part("focus-keys")
    return name.inner_text(), keys.inner_text(), painted(widget)


def test_each_shows_its_own_text(notebook: Notebook) -> None:
    expect(notebook.page.locator(".attn-widget")).to_have_count(2)
    for index, (text, layer, head, token) in enumerate([(FIRST, 1, 2, 2), (SECOND, 4, 3, 1)]):
        expected = reference(text).weights[layer, head, token]
        agree(ribbon(notebook.widget(index)), expected, atol=WEIGHT_ERROR)


def test_a_click_in_one_leaves_the_other_as_it_was(notebook: Notebook) -> None:
    first, second = notebook.widget(0), notebook.widget(1)
    before = seen(second)
    first.head(5, 7).click()
    first.tab("heads").click()
    expect(first.head(5, 7)).to_have_attribute("aria-pressed", "true")
    expect(first.tab("heads")).to_have_attribute("aria-selected", "true")
    notebook.prints("print(a.layer, a.head, a.view)", "5 7 heads\n")
    assert notebook.python("print(b.layer, b.head, b.view)") == "4 3 attention\n"
    assert seen(second) == before
    first.tab("attention").click()


def test_closing_one_leaves_the_other_alive(notebook: Notebook) -> None:
    notebook.python("c = aw.show('a third one', layer=0, head=0); c.close()")
    notebook.widget(1).head(2, 6).click()
    expect(notebook.widget(1).part("head-name")).to_have_text("L2 · H6")
    expected = reference(SECOND).weights[2, 6, 1]
    agree(ribbon(notebook.widget(1)), expected, atol=WEIGHT_ERROR)


def test_a_kernel_restart_leaves_the_picture_and_is_said(notebook: Notebook) -> None:
    widget = notebook.widget(0)
    widget.head(3, 4).click()
    expect(widget.part("head-name")).to_have_text("L3 · H4")
    agree(ribbon(widget), reference(FIRST).weights[3, 4, 2], atol=WEIGHT_ERROR)
    before = painted(widget)
    notebook.restart_kernel()
    # What was loaded goes on being drawn; what was not is refused in words.
    assert painted(widget) == before
    widget.token(5).click()
    agree(ribbon(widget), reference(FIRST).weights[3, 4, 5], atol=WEIGHT_ERROR)
    widget.head(0, 9).click()
    expect(widget.part("kernel")).to_have_text(
        "The kernel is gone: what is loaded stays usable. Run the cell again."
    )
    expect(widget.part("missing")).to_contain_text("L0 · H9 is not loaded.")
    widget.head(3, 4).click()
    expect(widget.part("head-name")).to_have_text("L3 · H4")


def test_running_again_after_the_restart_shows_both_anew(notebook: Notebook) -> None:
    notebook.run_all()
    for index, (text, layer, head, token) in enumerate([(FIRST, 1, 2, 2), (SECOND, 4, 3, 1)]):
        widget = notebook.widget(index)
        expect(widget.part("head-name")).to_have_text(f"L{layer} · H{head}")
        expected = reference(text).weights[layer, head, token]
        agree(ribbon(widget), expected, atol=WEIGHT_ERROR)

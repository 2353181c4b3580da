"""The menu "Save": its keys, and the numbers of Python's tables."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

import attn_widget as aw
from attn_widget.errors import InputError
from scripts.page import mount
from tests.e2e.saving import Chosen, chosen, save, saving_page, show
from tests.e2e.views import OF_TEXTS, settle

SUMS_OF_WORDS = 4 * 2.0**-24  # of at most four tokens, in float32 and in float64
FORMULA = re.compile(r"[=+\-@\t\r]")
NUMBER = re.compile(r"-?\d+(\.\d+)?(e[+-]?\d+)?")

pytestmark = pytest.mark.timeout(600)


def same_cells(shown: list[Any], expected: list[Any]) -> None:
    """Texts are equal; numbers too, except that sums over the tokens of a word may differ in their last digit."""
    assert len(shown) == len(expected)
    for row, wanted in zip(shown, expected, strict=True):
        for cell, other in zip(row, wanted, strict=True):
            if isinstance(other, float):
                assert cell == pytest.approx(other, rel=SUMS_OF_WORDS, abs=0)
            else:
                assert cell == other


def same_table(file: Path, frame: Any) -> None:
    """A CSV has the columns and cells of a data frame; a text that a spreadsheet would run has a quote in front."""
    columns, *rows = csv.reader(io.StringIO(file.read_bytes().decode("utf-8"), newline=""))
    assert columns == [*frame.columns]
    expected = cells_of(frame)
    numbers: list[list[float]] = []
    for row, wanted in zip(rows, expected, strict=True):
        numbers.append([])
        for cell, other in zip(row, wanted, strict=True):
            if other is None:
                assert cell == ""
            elif isinstance(other, str):
                assert cell == (f"'{other}" if FORMULA.match(other) else other)
            else:
                assert NUMBER.fullmatch(cell)
                numbers[-1].append(float(cell))
    same_cells(numbers, [[c for c in row if isinstance(c, (int, float))] for row in expected])


def same_json(file: Path, widget: Any) -> None:
    """The same as JSON, with the view and the text of its caption."""
    shown, frame = json.loads(file.read_text("utf-8")), widget.to_dataframe()
    same_cells(shown["rows"], cells_of(frame))
    text = getattr(widget, "text", "")
    assert (shown["columns"], shown["view"], shown["text"]) == ([*frame.columns], widget.view, text)


def cells_of(frame: Any) -> list[list[Any]]:
    """The rows, with None for N/A."""
    return [
        [None if cell != cell else cell for cell in row]
        for row in frame.astype(object).to_numpy().tolist()
    ]


@pytest.fixture
def runs() -> Iterator[Chosen]:
    with chosen() as of:
        yield of


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    with saving_page(browser) as opened:
        yield opened


@pytest.mark.parametrize("view", OF_TEXTS)
def test_csv_and_json_of_a_view_have_the_texts_and_numbers_of_python(
    page: Page, runs: Chosen, view: str, tmp_path: Path
) -> None:
    widget = runs(view, layer=2, head=3, token=4)
    show(page, widget)
    table = save(page, "csv", tmp_path)
    same_table(table, widget.to_dataframe())
    same_json(save(page, "json", tmp_path), widget)
    place = "-L2H3" if view in ("attention", "heads", "tree") else ""
    assert table.name == f"attn_widget-{view}{place}.csv"


@pytest.mark.parametrize("view", ["attention", "tree", "predictions"])
@pytest.mark.parametrize(
    "traits",
    [
        {"words": True},
        {"special": False, "words": True},
        {"quantity": "rollout"},
        {"quantity": "scores"},
        {"head": "mean", "special": False},
        {"top_k": 5, "depth": 2, "token": None},
    ],
    ids=str,
)
def test_tables_follow_the_selection_in_the_page_as_in_python(
    page: Page, runs: Chosen, view: str, traits: dict[str, object], tmp_path: Path
) -> None:
    widget = runs(view, **{"layer": 1, "head": 2, "token": 3, **traits})
    show(page, widget)
    same_table(save(page, "csv", tmp_path), widget.to_dataframe())
    same_json(save(page, "json", tmp_path), widget)


@pytest.mark.parametrize("view", ["attention", "heads", "tree"])
def test_tables_of_a_masked_model_agree(
    page: Page, runs: Chosen, view: str, tmp_path: Path
) -> None:
    widget = runs(view, forbids=True, layer=1, head=0, token=2)
    show(page, widget)
    same_table(save(page, "csv", tmp_path), widget.to_dataframe())


def test_a_profile_saves_its_heads_alike(page: Page, tmp_path: Path) -> None:
    widget = aw.show(aw.profile(["The cat sat.", "It rains, again."], progress=False), layer=1)
    mount(page, widget)
    settle(page)
    same_table(save(page, "csv", tmp_path), widget.to_dataframe())
    same_json(save(page, "json", tmp_path), widget)
    with pytest.raises(InputError, match="view is 'tree', expected one of 'heads'"):
        widget.to_dataframe("tree")
    widget.close()


def test_the_menu_is_worked_by_keys_alone(page: Page, runs: Chosen) -> None:
    show(page, runs("tree", layer=2, head=3, token=4))
    button, menu = page.locator('[data-aw-part="save"]'), page.locator('[data-aw-part="save-menu"]')
    button.focus()
    page.keyboard.press("Enter")
    expect(menu).to_be_visible()
    expect(button).to_have_attribute("aria-expanded", "true")
    expect(menu.locator('[data-aw-save="png"]')).to_be_focused()
    page.keyboard.press("ArrowUp")
    expect(menu.locator('[data-aw-save="copy-csv"]')).to_be_focused()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    expect(menu.locator('[data-aw-save="svg"]')).to_be_focused()
    page.keyboard.press("Escape")
    expect(menu).to_be_hidden()
    expect(button).to_be_focused()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("End")
    page.keyboard.press("Home")
    with page.expect_download() as started:
        page.keyboard.press("Enter")
    assert started.value.suggested_filename == "attn_widget-tree-L2H3.png"
    expect(button).to_be_focused()
    expect(page.locator('[data-aw-part="live"]')).to_have_text("Saved attn_widget-tree-L2H3.png")


def test_csv_is_copied_as_it_is_saved(page: Page, runs: Chosen) -> None:
    widget = runs("sentences")
    show(page, widget)
    page.locator('[data-aw-part="save"]').click()
    page.locator('[data-aw-save="copy-csv"]').click()
    expect(page.locator('[data-aw-part="live"]')).to_have_text("CSV copied")
    page.evaluate("document.body.append(document.createElement('textarea'))")
    page.locator("body > textarea").focus()
    page.keyboard.press("Control+V")
    pasted = page.locator("body > textarea").input_value()
    frame = widget.to_dataframe()
    assert pasted.splitlines()[0] == ",".join(frame.columns)
    assert len(pasted.splitlines()) == 1 + len(frame)


def test_a_frame_that_forbids_downloads_is_noticed(page: Page, runs: Chosen) -> None:
    show(page, runs("sentences"))
    page.evaluate(
        """() => {
          const frame = document.createElement("iframe");
          frame.sandbox.add("allow-scripts", "allow-same-origin");
          Object.defineProperty(window, "frameElement", {value: frame});
          Object.defineProperty(window, "parent", {value: frame});
        }"""
    )
    page.locator('[data-aw-part="save"]').click()
    page.locator('[data-aw-save="csv"]').click()
    expect(page.locator('[data-aw-part="error"]')).to_contain_text("does not allow downloads")


def test_the_note_of_a_saved_file_takes_no_clicks_from_the_tabs_below_it(
    page: Page, runs: Chosen, tmp_path: Path
) -> None:
    page.set_viewport_size({"width": 700, "height": 900})
    show(page, runs("attention"))
    save(page, "csv", tmp_path)
    note = page.locator('[data-aw-part="save-note"]').bounding_box()
    tab = page.get_by_role("tab", name="Why").bounding_box()
    assert note is not None and tab is not None
    assert note["x"] < tab["x"] + tab["width"]
    page.get_by_role("tab", name="Why").click(timeout=2000)
    expect(page.locator('[data-aw-part="view"] > [data-view="why"]')).to_be_visible()

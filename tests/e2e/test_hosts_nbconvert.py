"""A saved notebook, converted by nbconvert and opened with the network cut, is alive."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbconvert import HTMLExporter, NotebookExporter, SlidesExporter
from playwright.sync_api import Browser, Page, expect
from traitlets.config import Config

from scripts.widget_parts import STEP_MS
from tests.e2e.saved import offline, select_head, two_widgets

LIVE = Config({"Exporter": {"preprocessors": ["attn_widget.features.exports.notebook.LivePages"]}})


@pytest.fixture(scope="module")
def with_state() -> Any:
    return two_widgets()


@pytest.fixture(scope="module")
def without_state(with_state: Any) -> Any:
    notebook = copy.deepcopy(with_state)
    del notebook.metadata["widgets"]
    return notebook


def converted(exporter: Any, notebook: Any, folder: Path) -> Path:
    text, _ = exporter.from_notebook_node(copy.deepcopy(notebook))
    path = folder / "page.html"
    path.write_text(text, encoding="utf-8")
    return path


@pytest.fixture(scope="module", params=[HTMLExporter, SlidesExporter], ids=["html", "slides"])
def kind(request: pytest.FixtureRequest) -> Any:
    return request.param


@pytest.fixture(scope="module")
def usual(kind: Any, browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> set[str]:
    """What the template itself asks the network for."""
    empty = nbformat.v4.new_notebook(cells=[nbformat.v4.new_markdown_cell("nothing")])
    folder = tmp_path_factory.mktemp("empty")
    with offline(browser, converted(kind(), empty, folder)) as opened:
        return set(opened.asked)


@pytest.mark.parametrize("state", [True, False], ids=["stored state", "no state"])
def test_every_output_is_a_live_page(
    kind: Any,
    usual: set[str],
    state: bool,
    with_state: Any,
    without_state: Any,
    browser: Browser,
    tmp_path: Path,
) -> None:
    exporter = kind(config=LIVE) if state else kind()
    notebook = with_state if state else without_state
    with offline(browser, converted(exporter, notebook, tmp_path)) as opened:
        for number, head in enumerate(("L3 · H5", "L1 · H2")):
            output = opened.page.locator(".attn-widget-output").nth(number)
            output.scroll_into_view_if_needed()
            frame = output.frame_locator("iframe")
            expect(frame.locator('[data-aw-part="head-name"]')).to_have_text(head)
            select_head(frame, 0, 9)
            frame.locator('[data-aw-part="tabs"] [data-view="predictions"]').click()
            expect(frame.locator(".aw-position").first).to_be_visible()
            expect(output.locator("figure")).to_have_count(0)
        assert set(opened.asked) <= usual


def test_a_frame_is_as_high_as_its_page(
    without_state: Any, browser: Browser, tmp_path: Path
) -> None:
    with offline(browser, converted(HTMLExporter(), without_state, tmp_path)) as opened:
        frame = opened.page.locator(".attn-widget-output iframe").first
        content = frame.content_frame
        expect(content.locator('[data-aw-part="head-name"]')).to_be_visible()
        opened.page.wait_for_function(
            "() => document.querySelector('.attn-widget-output iframe').style.height !== '640px'"
        )
        # What is drawn last changes the page's height once more.
        for _ in range(STEP_MS // 100):
            box = frame.bounding_box()
            inside = content.locator("html").evaluate("html => html.scrollHeight")
            assert box is not None
            if box["height"] == pytest.approx(inside, abs=2):
                break
            opened.page.wait_for_timeout(100)
        assert box["height"] == pytest.approx(inside, abs=2)


def test_the_page_has_the_ground_of_the_document(
    without_state: Any, browser: Browser, tmp_path: Path
) -> None:
    for theme in ("light", "dark"):
        exporter = HTMLExporter(theme=theme)
        with offline(browser, converted(exporter, without_state, tmp_path)) as opened:
            widget = opened.page.frame_locator(".attn-widget-output iframe").first.locator(
                ".attn-widget"
            )
            expect(widget).to_have_attribute("data-theme", theme)


def put_in(page: Page, html: str, *, ground: str) -> None:
    """As hosts do that make outputs one after the other: elements by innerHTML would run no script."""
    page.evaluate(
        """([html, ground]) => {
            document.body.style.background = ground;
            const place = document.createElement("div");
            document.body.prepend(place);
            place.append(document.createRange().createContextualFragment(html));
        }""",
        [html, ground],
    )


def test_an_output_that_is_put_into_a_document_waits_for_the_shared_part(
    without_state: Any, browser: Browser, tmp_path: Path
) -> None:
    first, second = (cell.outputs[0].data["text/html"] for cell in without_state.cells[1:])
    path = tmp_path / "empty.html"
    path.write_text("<!doctype html><title>empty</title><body>", encoding="utf-8")
    with offline(browser, path) as opened:
        put_in(opened.page, second, ground="white")
        expect(opened.page.locator("p")).to_contain_text("run the notebook from the top")
        put_in(opened.page, first, ground="white")
        for number, head in enumerate(("L3 · H5", "L1 · H2")):
            frame = opened.page.locator(".attn-widget-output iframe").nth(number).content_frame
            expect(frame.locator('[data-aw-part="head-name"]')).to_have_text(head)
        expect(opened.page.locator("p, figure")).to_have_count(0)


def test_the_page_follows_the_ground_of_the_document(
    without_state: Any, browser: Browser, tmp_path: Path
) -> None:
    page_with_code = without_state.cells[1].outputs[0].data["text/html"]
    path = tmp_path / "empty.html"
    path.write_text("<!doctype html><title>empty</title><body>", encoding="utf-8")
    with offline(browser, path) as opened:
        put_in(opened.page, page_with_code, ground="oklch(0.98 0.01 260)")
        body = opened.page.locator("body")
        widget = opened.page.frame_locator("iframe").locator(".attn-widget")
        expect(widget).to_have_attribute("data-theme", "light")
        body.evaluate("body => { body.style.background = 'oklch(0.2 0.02 260)'; }")
        expect(widget).to_have_attribute("data-theme", "dark")
        body.evaluate("body => { body.style.background = '#fff'; }")
        expect(widget).to_have_attribute("data-theme", "light")
        body.evaluate("body => { body.style.cssText = 'transition: background-color 50ms'; }")
        body.evaluate("body => { body.style.backgroundColor = '#111'; }")
        expect(widget).to_have_attribute("data-theme", "dark")


def test_stored_state_wins_without_the_preprocessor(with_state: Any, tmp_path: Path) -> None:
    """The limit of nbconvert that `LivePages` is for; if it falls, the documentation can be shorter."""
    plain = converted(HTMLExporter(), with_state, tmp_path).read_text()
    assert "attn-widget-output" not in plain
    assert "embed-amd.js" in plain


def test_an_output_whose_shared_part_was_deleted_shows_its_picture_and_what_to_do(
    without_state: Any, browser: Browser, tmp_path: Path
) -> None:
    notebook = copy.deepcopy(without_state)
    del notebook.cells[1]
    with offline(browser, converted(HTMLExporter(), notebook, tmp_path)) as opened:
        output = opened.page.locator(".attn-widget-output")
        expect(output.locator("p")).to_contain_text("run the notebook from the top")
        expect(output.get_by_role("img")).to_be_visible()
    with offline(browser, converted(HTMLExporter(config=LIVE), notebook, tmp_path)) as opened:
        frame = opened.page.frame_locator(".attn-widget-output iframe")
        expect(frame.locator('[data-aw-part="head-name"]')).to_have_text("L1 · H2")


def test_where_scripts_do_not_run_the_picture_is_shown(
    without_state: Any, browser: Browser, tmp_path: Path
) -> None:
    path = converted(HTMLExporter(), without_state, tmp_path)
    context = browser.new_context(java_script_enabled=False, offline=True)
    page = context.new_page()
    page.goto(path.as_uri(), wait_until="commit")
    output = page.locator(".attn-widget-output").first
    expect(output.get_by_role("img")).to_be_visible()
    expect(output.locator("figcaption")).to_contain_text(
        "the cat sat on the mat: attention weights of L3 · H5"
    )
    expect(output.locator("p")).to_contain_text("needs scripts")
    context.close()


def test_a_converted_notebook_holds_no_widget_and_no_state(with_state: Any) -> None:
    text, _ = NotebookExporter(config=LIVE).from_notebook_node(copy.deepcopy(with_state))
    notebook = nbformat.reads(text, as_version=4)
    assert "widgets" not in notebook.metadata
    kinds = [set(output["data"]) for cell in notebook.cells for output in cell.get("outputs", [])]
    assert kinds == [{"text/plain", "text/html", "image/png"}] * 2
    assert text.count('class=\\"attn-widget-code\\"') == 1

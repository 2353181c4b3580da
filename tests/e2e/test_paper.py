"""A widget on paper: laid out anew at the width of a page, whole, without controls; then as it was."""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

import attn_widget as aw
from attn_widget.errors import InputError
from attn_widget.page.page import page_html
from attn_widget.page.saved_run import saved_run
from scripts.page import mount
from tests.e2e.boxes import blank, cut, outside, overlaps
from tests.e2e.pages import CASES, saved_page
from tests.e2e.views import choose, part, settle

PAPER = {"width": 794, "height": 1123}  # A4, px
WIDTH = 700  # px of a printed widget
PAPER_LAID_OUT = "() => document.querySelector('.aw-print-layout .aw-print-title') !== null"
# Parts of which none may lie on another.
PARTS = (
    ".aw-print-title, .aw-ribbon, .aw-heads, .aw-focus, .aw-view, .aw-saved-caption",
    ".aw-grid, .aw-card, .aw-specialization-section, .aw-roles, .aw-heads-table, .aw-heads-bar",
    ".aw-map, .aw-flow, .aw-print-title",
)
CONTROLS = (
    ".aw-tabs, .aw-save, .aw-bar, .aw-ribbon-corner, .aw-segmented, .aw-toggle, .aw-button, "
    ".aw-chips, .aw-slider, summary, input"
)
STATE = """() => {
    const root = document.querySelector('.attn-widget');
    return [root.className, root.dataset.theme, root.querySelectorAll('*').length,
        Math.round(root.getBoundingClientRect().height), root.querySelectorAll('[style*=zoom]').length];
}"""

pytestmark = pytest.mark.timeout(600)


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    context = browser.new_context(viewport={"width": 1200, "height": 1000}, reduced_motion="reduce")
    opened = context.new_page()
    failed: list[str] = []
    opened.on("pageerror", lambda error: failed.append(str(error)))
    yield opened
    context.close()
    assert failed == []


def open_page(page: Page, name: str, view: str) -> None:
    page.goto(saved_page(name).as_uri())
    choose(page, view)
    settle(page)


def print_preview(page: Page) -> None:
    page.set_viewport_size(PAPER)  # pyright: ignore[reportArgumentType]
    page.emulate_media(media="print")
    page.wait_for_function(PAPER_LAID_OUT)
    settle(page)


@pytest.mark.parametrize(("name", "view"), CASES)
def test_a_printed_view_is_whole_and_nothing_lies_on_anything(
    page: Page, name: str, view: str
) -> None:
    open_page(page, name, view)
    before = page.evaluate(STATE)
    print_preview(page)
    box = page.locator(".attn-widget").bounding_box()
    assert box is not None and box["width"] == WIDTH
    assert outside(page, box["x"], box["x"] + WIDTH) == []
    assert overlaps(page, *PARTS) == []
    assert blank(page) == []
    assert cut(page) == []
    expect(page.locator(".attn-widget").locator(CONTROLS).locator("visible=true")).to_have_count(0)
    expect(page.locator(".aw-print-title")).to_contain_text("mini")
    expect(page.locator(".aw-saved-caption")).to_contain_text("torch")
    # Whole on screen again, as it was.
    page.emulate_media(media="screen")
    page.set_viewport_size({"width": 1200, "height": 1000})
    expect(page.locator(".aw-print-layout")).to_have_count(0)
    settle(page)
    # The map of roles was out of sight before.
    assert view == "heads" or page.evaluate(STATE) == before


def test_printed_heads_have_every_row_every_column_and_the_map_of_roles(page: Page) -> None:
    open_page(page, "long", "heads")
    assert page.locator(".aw-role-dot").count() == 0
    chosen = page.locator(".aw-heads-all [data-group][aria-pressed=true]")
    page.locator('.aw-heads-all [data-group="All"]').dispatch_event("click")  # unseen
    columns = page.locator(".aw-heads-all .aw-heads-table thead [data-key]").count()
    page.locator('.aw-heads-all [data-group="Where it looks"]').dispatch_event("click")
    print_preview(page)
    # Roles are a column more.
    expect(page.locator(".aw-role-dot")).to_have_count(72)
    tables = page.locator(".aw-heads-all .aw-heads-table:visible")
    assert tables.count() > 1
    keys: list[str] = []
    for i in range(tables.count()):
        assert tables.nth(i).locator("tbody tr:visible").count() == 72
        own = (
            tables.nth(i)
            .locator("thead [data-key]")
            .evaluate_all("cells => cells.map(cell => cell.dataset.key)")
        )
        assert own[0] == "head"
        keys += own[1:]
    assert len(keys) == len(set(keys)) == columns  # the first column is in each part
    page.emulate_media(media="screen")
    expect(chosen).to_have_text("Where it looks")


def test_printed_text_and_predictions_are_whole(page: Page) -> None:
    open_page(page, "long", "predictions")
    tokens = page.locator(".aw-ribbon-token").count()
    print_preview(page)
    line = page.locator(".aw-ribbon-line").bounding_box()
    last = page.locator(".aw-ribbon-token").last.bounding_box()
    assert line is not None and last is not None
    assert last["y"] + last["height"] <= line["y"] + line["height"] + 4
    rows = page.locator(".aw-position:visible")
    assert rows.count() == tokens
    heights = rows.evaluate_all("rows => rows.map(row => row.getBoundingClientRect().height)")
    assert min(heights) > 10


def pictures(data: bytes) -> list[tuple[int, int, int]]:
    """Width, height and number of different bytes of a PDF's pictures (PDF 32000-1, section 8.9.5)."""
    found: list[tuple[int, int, int]] = []
    for match in re.finditer(rb"<<(?:(?!>>).)*?/Subtype\s*/Image.*?>>\s*stream\r?\n", data, re.S):
        head = match.group()
        width, height = (
            int(re.search(rb"/%s (\d+)" % name, head)[1])  # pyright: ignore[reportOptionalSubscript]
            for name in (b"Width", b"Height")
        )
        body = data[match.end() : data.index(b"endstream", match.end())]
        if b"/FlateDecode" in head:
            body = zlib.decompressobj().decompress(body)
        found.append((width, height, len(set(body))))
    return found


def pages_of(data: bytes) -> int:
    return len(re.findall(rb"/Type\s*/Page\b", data))


@pytest.mark.parametrize("view", ["attention", "heads"])
def test_the_browsers_own_printing_draws_all_in_time(page: Page, view: str) -> None:
    """No preview: the page has the event `beforeprint`, and then it is on paper."""
    open_page(page, "usual", view)
    data = page.pdf(format="A4", print_background=True)
    large = [(w, h) for w, h, kinds in pictures(data) if w >= 1000 and kinds > 8]
    # The grid of heads at three pixels each; the matrix besides.
    assert len(large) >= (2 if view == "attention" else 1), pictures(data)
    # Not a page for each row that was cut, and more than the screen's one.
    assert pages_of(data) in ((1, 2) if view == "attention" else range(4, 9))
    expect(page.locator(".aw-print-layout")).to_have_count(0)


@pytest.mark.parametrize("view", ["attention", "heads", "inside", "task"])
def test_python_saves_a_pdf(view: str, tmp_path: Path) -> None:
    from scripts.probe import sentiment

    model = sentiment() if view == "task" else None
    widget = aw.show("The cat sat on the mat. It slept.", model=model, layer=3, head=5, view=view)
    widget.save_pdf(tmp_path / "a.pdf")
    data = (tmp_path / "a.pdf").read_bytes()
    assert data.startswith(b"%PDF-") and pages_of(data) >= 1
    assert any(w >= 1000 and kinds > 8 for w, _, kinds in pictures(data))
    # A4 is 595.3 x 841.9 points.
    width, height = map(float, re.search(rb"/MediaBox \[0 0 ([\d.]+) ([\d.]+)\]", data).groups())  # pyright: ignore[reportOptionalMemberAccess]
    assert (round(width), round(height)) == (596, 843)
    widget.close()


@pytest.mark.parametrize("paper", ["A4", "Letter"])
def test_the_matrix_of_a_short_text_takes_one_page(paper: str, tmp_path: Path) -> None:
    widget = aw.show("The keys to the cabinet are here.", progress=False)
    widget.save_pdf(tmp_path / "a.pdf", paper=paper)
    assert pages_of((tmp_path / "a.pdf").read_bytes()) == 1
    widget.close()


def test_a_profile_is_printed_too(tmp_path: Path) -> None:
    widget = aw.show(aw.profile(["The cat sat.", "It rains, again."], progress=False), layer=1)
    widget.save_pdf(tmp_path / "a.pdf", paper="Letter")
    data = (tmp_path / "a.pdf").read_bytes()
    assert b"/MediaBox [0 0 612 792]" in data
    with pytest.raises(aw.errors.NotAvailableError, match="has nothing to show"):
        widget.save_pdf(tmp_path / "b.pdf", view="tree")
    widget.close()


def test_bad_arguments_of_save_pdf_are_named(tmp_path: Path) -> None:
    widget = aw.show("the cat sat", progress=False)
    with pytest.raises(InputError, match=r"ends with '\.png', expected '\.pdf'"):
        widget.save_pdf(tmp_path / "a.png")
    with pytest.raises(InputError, match="paper is 'a4', expected one of 'A4', 'Letter'"):
        widget.save_pdf(tmp_path / "a.pdf", paper="a4")
    with pytest.raises(InputError, match="view is 'atention'"):
        widget.save_pdf(tmp_path / "a.pdf", "atention")
    assert list(tmp_path.iterdir()) == []
    widget.close()


KEEP = """() => {
    window.kept = null;
    new MutationObserver(records => {
        for (const frame of records.flatMap(({addedNodes}) => [...addedNodes])) {
            if (frame.tagName !== 'IFRAME') continue;
            frame.contentWindow.print = () => {
                frame.contentWindow.dispatchEvent(new Event('beforeprint'));
                const images = [...frame.contentDocument.images];
                window.kept = {
                    title: frame.contentDocument.title,
                    rows: frame.contentDocument.querySelectorAll('.aw-heads-all tbody tr').length,
                    roles: frame.contentDocument.querySelectorAll('.aw-role-shape').length,
                    images: images.map(image => [image.complete, image.naturalWidth]),
                    width: frame.contentDocument.querySelector('.attn-widget').offsetWidth,
                };
                frame.contentWindow.dispatchEvent(new Event('afterprint'));
            };
        }
    }).observe(document.body, {childList: true});
}"""


def test_the_menu_prints_a_notebooks_widget_alone(page: Page) -> None:
    widget = aw.show("The cat sat on the mat.", layer=3, head=5, view="heads", theme="dark")
    mount(page, widget)
    settle(page)
    before = page.locator(".attn-widget").get_attribute("class")
    page.evaluate(KEEP)
    part(page, "save").click()
    page.locator('[data-aw-save="print"]').click()
    page.wait_for_function("() => window.kept !== null")
    kept = page.evaluate("() => window.kept")
    assert kept["title"] == "Heads: attn_widget/mini · L3 H5"
    assert kept["rows"] >= 72 and kept["roles"] == 72
    assert kept["images"] and all(done and width > 500 for done, width in kept["images"])
    assert kept["width"] == WIDTH
    expect(page.locator("iframe")).to_have_count(0)
    expect(page.locator(".attn-widget")).to_have_attribute("data-theme", "dark")
    assert page.locator(".attn-widget").get_attribute("class") == before
    widget.close()


PRINTED = """() => {
    window.print = () => {
        window.dispatchEvent(new Event('beforeprint'));
        window.kept = [...document.querySelectorAll('.aw-print-layout .aw-print-title')].map(e => e.textContent);
        window.tall = [...document.querySelectorAll('.aw-print-layout')].map(e => e.offsetHeight);
    };
}"""


def test_a_report_prints_all_its_texts(page: Page, tmp_path: Path) -> None:
    aw.report(["the cat sat", "it slept", "dogs bark"], tmp_path / "r.html", progress=False)
    page.goto((tmp_path / "r.html").as_uri())
    choose(page, "predictions")
    page.evaluate(PRINTED)
    page.get_by_role("button", name="Print all texts").click()
    page.wait_for_function("() => window.kept !== undefined")
    # The one that is open, which is not printed then, and each of the three.
    assert page.evaluate("() => window.kept") == ["Predictions: attn_widget/mini"] * 4
    assert min(page.evaluate("() => window.tall")) > 200
    expect(page.locator(".attn-widget")).to_have_count(1)


def test_one_of_several_widgets_is_printed_alone(page: Page, tmp_path: Path) -> None:
    widgets = [aw.show(text, progress=False) for text in ("the cat sat", "it slept")]
    aw.to_html(widgets, tmp_path / "two.html")
    page.goto((tmp_path / "two.html").as_uri())
    expect(page.locator(".attn-widget")).to_have_count(2)
    page.evaluate(
        """() => { window.print = () => {
            window.dispatchEvent(new Event('beforeprint'));
            window.kept = document.querySelectorAll('.aw-print-alone').length;
            const shown = document.createElement('style');
            window.sections = [...document.querySelectorAll('.aw-page-run')].map(
                section => section.querySelector('.aw-print-alone') !== null);
        }; }"""
    )
    second = page.locator(".aw-page-run").nth(1)
    second.locator('[data-aw-part="save"]').click()
    second.locator('[data-aw-save="print"]').click()
    page.wait_for_function("() => window.kept !== undefined")
    assert page.evaluate("() => window.sections") == [False, True]
    for widget in widgets:
        widget.close()


def test_where_the_host_forbids_printing_the_menu_says_so(page: Page) -> None:
    widget = aw.show("the cat sat", progress=False)
    source = page_html(saved_run(widget.source, widget.selection))
    page.set_content(
        "<iframe sandbox='allow-scripts' style='width: 1100px; height: 900px'></iframe>"
    )
    page.evaluate("source => { document.querySelector('iframe').srcdoc = source; }", source)
    frame = page.frame_locator("iframe")
    frame.locator('[data-aw-part="save"]').click()
    frame.locator('[data-aw-save="print"]').click()
    expect(frame.locator('[data-aw-part="error"]')).to_contain_text("does not allow printing")
    expect(frame.locator(".aw-printing")).to_have_count(0)
    widget.close()

"""Pages where scripts do not run, and on paper: what stands there is a picture with labels, or the page itself."""

from __future__ import annotations

import copy
from pathlib import Path

import pytest
from nbconvert import HTMLExporter
from playwright.sync_api import Browser, Page, Route, expect
from traitlets.config import Config

import attn_widget as aw
from tests.e2e.pdf import pictures
from tests.e2e.saved import execute, offline

LIVE = Config({"Exporter": {"preprocessors": ["attn_widget.features.exports.notebook.LivePages"]}})
TEXTS = ("the cat sat on the mat", "it slept", "a dog ran by", "rain fell all day")
BLANK = (300, 150)  # a canvas that was never drawn on
# Everything that was ever painted of the pictures, by frame of animation.
WATCH = """() => {
    window.seen = [];
    const look = () => {
        for (const e of document.querySelectorAll('.aw-static'))
            window.seen.push(getComputedStyle(e).display);
        requestAnimationFrame(look);
    };
    look();
}"""


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    runs = [aw.analyze(text, tagger=None, progress=False) for text in TEXTS[:2]]
    both = aw.compare(*runs, progress=False)
    path = tmp_path_factory.mktemp("saved") / "page.html"
    return aw.to_html([*runs, both], path, views=["attention"])


@pytest.fixture(scope="module")
def converted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A notebook whose results all stand in it in another way, for a network that is cut."""
    notebook = execute(
        (
            "import attn_widget as aw\nfrom ipywidgets import VBox",
            f"a, b = [aw.show(text, progress=False) for text in {TEXTS[:2]}]\nVBox([a, b])",
            f"aw.show(aw.compare({TEXTS[0]!r}, {TEXTS[1]!r}, tagger=None, progress=False))",
            f"aw.show({TEXTS[2]!r}, saved='picture', progress=False)",
            f"aw.similarity({TEXTS[0]!r}, {TEXTS[1]!r}, model='attn_widget/mini', progress=False)",
            f"aw.similarity({TEXTS[0]!r}, {list(TEXTS)}, model='attn_widget/mini', progress=False)",
            f"aw.show(aw.profile({list(TEXTS)}, tagger=None, progress=False))",
        )
    )
    text, _ = HTMLExporter(config=LIVE).from_notebook_node(copy.deepcopy(notebook))
    path = tmp_path_factory.mktemp("converted") / "page.html"
    path.write_text(text, "utf-8")
    return path


def assert_pictures(page: Page) -> None:
    expect(page.get_by_role("img")).to_have_count(3)
    for picture in page.get_by_role("img").all():
        expect(picture).to_be_visible()
    expect(page.get_by_text("needs scripts")).to_be_visible()
    expect(page.locator("svg text").get_by_text("[CLS]").first).to_be_visible()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_page_without_scripts_shows_every_result(
    browser: Browser, saved: Path, scheme: str
) -> None:
    context = browser.new_context(
        java_script_enabled=False,
        color_scheme=scheme,  # pyright: ignore[reportArgumentType]
        viewport={"width": 390, "height": 800},
    )
    page = context.new_page()
    page.goto(saved.as_uri())
    assert_pictures(page)
    context.close()


def test_so_does_a_page_whose_host_forbids_its_scripts_styles_and_pictures(
    browser: Browser, saved: Path
) -> None:
    policy = {"Content-Security-Policy": "default-src 'none'"}

    def answer(route: Route) -> None:
        route.fulfill(
            body=saved.read_bytes(), content_type="text/html; charset=utf-8", headers=policy
        )

    page = browser.new_page()
    page.route("**/*", answer)
    page.goto("https://host.invalid/page.html")
    assert_pictures(page)
    page.close()


def test_where_scripts_run_the_picture_is_never_seen(browser: Browser, saved: Path) -> None:
    with offline(browser, saved) as opened:
        opened.page.add_init_script(f"({WATCH})()")
        opened.page.reload()
        expect(opened.page.locator('[data-aw-part="head-name"]').first).to_be_visible()
        assert set(opened.page.evaluate("() => window.seen")) <= {"none"}
        expect(opened.page.locator(".aw-static")).to_have_count(0)
        expect(opened.page.locator('[data-aw-part="compare"]')).to_have_count(1)
        assert opened.errors == []


def test_every_result_of_a_converted_notebook_is_alive_or_a_picture(
    browser: Browser, converted: Path
) -> None:
    assert "jupyter.widget-view" not in converted.read_text("utf-8")
    with offline(browser, converted) as opened:
        outputs = opened.page.locator(".attn-widget-output")
        expect(outputs).to_have_count(6)
        for i, part in enumerate(
            ("head-name", "head-name", "compare", "similarity", "similarity", "heads")
        ):
            outputs.nth(i).scroll_into_view_if_needed()
            frame = outputs.nth(i).frame_locator("iframe")
            expect(
                frame.locator(
                    f'[data-aw-part="{part}"], [data-aw-part="view"] [data-view="{part}"]'
                ).first
            ).to_be_visible()
            expect(outputs.nth(i).locator("figure")).to_have_count(0)
        alone = opened.page.locator(".attn-widget-picture")
        expect(alone.get_by_role("img")).to_be_visible()
        assert opened.errors == []


@pytest.mark.parametrize("state", [True, False])
def test_what_stands_in_an_output_a_tab_or_an_accordion_is_alive_in_a_converted_notebook(
    browser: Browser, tmp_path: Path, state: bool
) -> None:
    a, b = (f"aw.show({text!r}, progress=False)" for text in TEXTS[:2])
    notebook = execute(
        (
            "import attn_widget as aw\nfrom ipywidgets import Accordion, HBox, Output, Tab, VBox, interact",
            f"out = Output()\nwith out:\n    display({a})\nout",
            f"out = Output()\ndisplay(VBox([out]))\nwith out:\n    {b}",
            f"Tab([{a}, VBox([{b}])])",
            f"Accordion([HBox([{a}])])",
            f"interact(lambda layer: {a}, layer=(0, 5));",
            f"VBox([aw.AttentionWidget(aw.analyze({TEXTS[1]!r}, progress=False))])",
        )
    )
    if not state:  # as JupyterLab stores a notebook
        del notebook.metadata["widgets"]
    text, _ = HTMLExporter(config=LIVE).from_notebook_node(notebook)
    path = tmp_path / "page.html"
    path.write_text(text, "utf-8")
    with offline(browser, path) as opened:
        outputs = opened.page.locator(".attn-widget-output")
        expect(outputs).to_have_count(7)
        for output in outputs.all():
            output.scroll_into_view_if_needed()
            head = output.frame_locator("iframe").locator('[data-aw-part="head-name"]')
            expect(head.first).to_be_visible()
        assert opened.errors == []


def test_frames_out_of_sight_are_drawn_before_they_are_printed(
    browser: Browser, tmp_path: Path
) -> None:
    runs = [aw.analyze(text, tagger=None, progress=False) for text in TEXTS]
    frames = [aw.AttentionWidget(run).as_html() for run in runs]
    path = tmp_path / "frames.html"
    path.write_text(f"<!doctype html>{'<p>text</p>'.join(frames)}", "utf-8")
    with offline(browser, path) as opened:
        for frame in opened.page.locator("iframe").all():
            expect(frame.content_frame.locator('[data-aw-part="head-name"]')).to_have_count(1)
        drawn = [BLANK]
        while (
            BLANK in drawn
        ):  # their layers are read without a sign of it; the test's own limit ends this
            drawn = [size[:2] for size in pictures(opened.page.pdf())]
        assert len(drawn) >= len(TEXTS)


def test_a_converter_that_prints_waits_for_every_page(browser: Browser, converted: Path) -> None:
    """The steps of nbconvert's WebPDFExporter."""
    page = browser.new_page()
    page.emulate_media(media="print")
    page.goto(converted.as_uri(), wait_until="networkidle")
    expect(page.locator(".attn-widget-output > figure")).to_have_count(0)
    expect(page.locator(".attn-widget-picture > figure")).to_have_count(1)
    assert BLANK not in {size[:2] for size in pictures(page.pdf())}
    page.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_page_without_scripts_has_the_picture_of_its_view(
    browser: Browser, tmp_path: Path, scheme: str
) -> None:
    expected = {
        "inside": "L1 attention",
        "why": "[MASK] ",
        "heads": "H11",
        "predictions": "[MASK]: ",
    }
    context = browser.new_context(
        java_script_enabled=False,
        color_scheme=scheme,  # pyright: ignore[reportArgumentType]
    )
    page = context.new_page()
    for view, label in expected.items():
        widget = aw.show("the keys are [MASK] <b>", view=view, tagger=None, progress=False)
        page.goto(widget.to_html(tmp_path / f"{view}.html", views=[view]).as_uri())
        widget.close()
        expect(page.get_by_role("img")).to_be_visible()
        expect(page.locator("svg text", has_text=label).first).to_be_visible()
    context.close()

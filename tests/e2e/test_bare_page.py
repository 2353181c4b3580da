"""The built page without a notebook: hostile and odd texts, both themes, nothing fetched, nothing run."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

import attn_widget as aw
from scripts.page import mount
from tests.golden.make import analysis as masked_analysis

HOSTILE = '<img src=x onerror="window.hit=1"></script><script>window.hit=1</script>'
VIEWS = ("attention", "predictions", "heads")


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    opened = browser.new_page(viewport={"width": 1100, "height": 900})
    asked: list[str] = []
    failed: list[str] = []
    opened.on("request", lambda request: asked.append(request.url))
    opened.on("pageerror", lambda error: failed.append(str(error)))
    opened.on(
        "console",
        lambda line: failed.append(line.text) if line.type in ("error", "warning") else None,
    )
    yield opened
    opened.close()
    assert [url for url in asked if not url.startswith(("about:", "blob:"))] == []
    assert failed == []


def choose(page: Page, view: str) -> None:
    page.locator(f'[role="tab"][data-view="{view}"]').click()
    expect(page.locator(f'[data-aw-part="view"] > [data-view="{view}"]')).to_be_visible()


@pytest.mark.parametrize(
    "text", [HOSTILE, "a\0b \u202eevil\u202c", "שלום עולם 🙂 👩‍👩‍👧‍👦 你好", "x" * 400 + " é"]
)
def test_a_text_stays_a_text_in_every_view(page: Page, text: str) -> None:
    widget = aw.show(text, words=False, progress=False)
    mount(page, widget)
    for view in VIEWS:
        choose(page, view)
        root = page.locator(".attn-widget")
        assert root.locator("img, script, iframe, object, a[href]").count() == 0
    page.locator('[data-aw-part="ribbon"] [data-token="1"]').click()
    assert page.evaluate("window.hit") is None
    shown = page.locator('[data-aw-part="ribbon"] [data-token]')
    expect(shown).to_have_count(widget.analysis.trace.n_tokens)
    widget.close()


@pytest.mark.parametrize("text", ["hi", "word " * 500], ids=["3 tokens", "502 tokens"])
def test_short_and_long_texts_are_drawn(page: Page, text: str) -> None:
    widget = aw.show(text, progress=False)
    mount(page, widget)
    size = page.evaluate("performance.getEntriesByName('aw:drawn').at(-1).detail.size")
    assert size == widget.analysis.trace.n_tokens
    widget.close()


def test_a_cut_text_is_marked_on_screen(page: Page) -> None:
    widget = aw.show("word " * 600, truncation=True, progress=False)
    mount(page, widget)
    mark = page.locator('[data-aw-part="truncated"]')
    expect(mark).to_have_text("Cut: the model reads 512 tokens, the text has 602.")
    widget.close()


def test_the_theme_of_bootstrap_is_followed_in_our_own_colors(page: Page) -> None:
    widget = aw.show("the cat sat", progress=False)
    mount(page, widget)
    root = page.locator(".attn-widget")
    # Shiny has the variables of a light JupyterLab in both of its themes.
    page.evaluate("document.documentElement.style.setProperty('--jp-layout-color0', 'white')")
    for theme, ground in (("dark", "rgb(255, 255, 255)"), ("light", "rgb(0, 0, 0)")):
        page.evaluate("theme => { document.documentElement.dataset.bsTheme = theme; }", theme)
        expect(root).to_have_attribute("data-theme", theme)
        expect(root).not_to_have_css("background-color", ground)
    widget.close()


def test_an_error_is_said_and_the_last_picture_stays(page: Page) -> None:
    widget = aw.show("the cat sat", progress=False)
    mount(page, widget)
    page.locator('[data-aw-part="ribbon"] [data-aw-pos]').first.wait_for()  # the last that comes
    before = page.locator('[data-aw-part="ribbon"]').inner_text()
    error = {"message": "text is empty.", "hint": "<b>Give at least one word.</b>"}
    page.evaluate("error => window.aw.model.set('error', error)", error)
    alert = page.locator('[data-aw-part="error"]')
    expect(alert).to_contain_text("text is empty. <b>Give at least one word.</b>")
    assert page.locator('[data-aw-part="ribbon"]').inner_text() == before
    widget.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_is_legible_on_its_ground(page: Page, scheme: str) -> None:
    widget = aw.show("the cat sat", theme=scheme, progress=False)
    mount(page, widget)
    ratio = page.evaluate(
        """() => {
          const style = getComputedStyle(document.querySelector(".attn-widget"));
          const channels = text => {
            const canvas = Object.assign(document.createElement("canvas"), {width: 1, height: 1});
            const brush = canvas.getContext("2d");
            brush.fillStyle = text;
            brush.fillRect(0, 0, 1, 1);
            return [...brush.getImageData(0, 0, 1, 1).data].slice(0, 3);
          };
          const luminance = text => {
            const [r, g, b] = channels(text).map(c => c / 255)
              .map(c => c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
            return 0.2126 * r + 0.7152 * g + 0.0722 * b;
          };
          const [a, b] = [style.color, style.backgroundColor].map(luminance).sort((x, y) => y - x);
          return (a + 0.05) / (b + 0.05);
        }"""
    )
    assert ratio >= 7
    widget.close()


def test_what_the_mask_forbids_is_hatched_and_named_never_zero(page: Page) -> None:
    widget = aw.AttentionWidget(masked_analysis(), layer=1, head=0, token=2)
    mount(page, widget)
    listed = page.locator('[data-aw-part="focus"]')
    expect(listed.locator("[data-aw-value]")).to_have_count(3)
    expect(listed).to_contain_text("2 masked: this query cannot see them.")
    expect(page.locator('[data-aw-part="bar"]')).to_contain_text("masked")
    page.locator('[data-aw-part="table"] summary').click()
    row = page.locator('[data-aw-part="table"] tbody tr').nth(2)
    expect(row.locator("td").nth(3)).to_have_text("masked")
    expect(row.locator("td").nth(4)).to_have_text("masked")
    expect(row.locator("td")).to_have_count(5)
    widget.close()

"""The inside of a model in a real browser: families, sums that close, the walk, the drawing."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

import attn_widget as aw
from scripts.page import mount
from scripts.widget_parts import agree, values
from tests.close import assert_close
from tests.e2e.views import FLOAT32, part
from tests.unit import tiny_models

TEXT = "The cat sat on the mat, and the dog looked at the bird."
WIDTH = 1000


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    opened = browser.new_page(viewport={"width": WIDTH, "height": 1200}, reduced_motion="reduce")
    errors: list[str] = []
    opened.on("pageerror", lambda error: errors.append(str(error)))
    yield opened
    opened.close()
    assert errors == []


def show(page: Page, family: str) -> aw.AttentionWidget:
    model = tiny_models.build(family)
    widget = aw.show(TEXT, model=model, view="inside", layer=1, head=1, token=2, progress=False)
    mount(page, widget, width=WIDTH)
    expect(part(page, "stage").first).to_be_visible()
    return widget


def open_stage(page: Page, stage: str) -> None:
    page.locator(f'[data-aw-part="stage"][data-stage="{stage}"]').click()
    expect(part(page, "stage-panel")).to_have_attribute("data-stage", stage)


@pytest.mark.parametrize("family", ["bert", "distilbert", "albert", "modernbert", "mobilebert"])
def test_sums_close_in_every_family(page: Page, family: str) -> None:
    show(page, family)
    for stage in ("attention_sum", "ffn_sum"):
        open_stage(page, stage)
        figures = part(page, "chain").locator("[data-aw-value]")
        expect(figures.nth(2)).to_be_visible()
        given, output, total = values(figures)[:3]
        assert_close(given + output, total, terms=1, size=(given, output))


@pytest.mark.parametrize(
    ("family", "lacking"),
    [("bert", []), ("distilbert", ["segment"]), ("modernbert", ["position", "segment"])],
)
def test_what_a_family_lacks_has_no_box_and_a_reason(
    page: Page, family: str, lacking: list[str]
) -> None:
    show(page, family)
    expect(page.locator(".aw-stage.is-absent")).to_have_count(0)
    open_stage(page, "token")
    for stage in ("position", "segment"):
        box = page.locator(f'[data-aw-part="stage"][data-stage="{stage}"]')
        expect(box).to_have_count(0 if stage in lacking else 1)
    for stage in lacking:
        expect(part(page, "stage-panel")).to_contain_text(f"This model has no {stage} embeddings")


def test_the_strips_are_the_model_s_tensors(page: Page) -> None:
    widget = show(page, "bert")
    open_stage(page, "qkv")
    cells = page.locator('[data-tensor="query"] rect[data-dimension]')
    agree(cells, widget.analysis.model.queries(1, 1)[2], rtol=FLOAT32)


def test_a_walk_passes_every_layer_and_keeps_the_focus(page: Page) -> None:
    widget = show(page, "bert")
    open_stage(page, "ffn_norm")
    page.keyboard.press("n")
    expect(part(page, "stage-panel")).to_have_attribute("data-stage", "qkv")
    page.wait_for_function("() => document.activeElement?.dataset.stage === 'qkv'")
    page.wait_for_function(
        "() => document.querySelector('.aw-layer.is-chosen').dataset.layer === '2'"
    )
    page.keyboard.press("p")
    expect(part(page, "stage-panel")).to_have_attribute("data-stage", "ffn_norm")
    page.wait_for_function(
        "() => document.querySelector('.aw-layer.is-chosen').dataset.layer === '1'"
    )
    assert widget.token == 2


@pytest.mark.parametrize("width", [640, 1000, 1400])
def test_a_deep_model_fits(page: Page, width: int) -> None:
    model = tiny_models.build("bert", num_hidden_layers=24)
    widget = aw.show(TEXT, model=model, view="inside", layer=13, head=1, token=2, progress=False)
    page.set_viewport_size({"width": width, "height": 1200})
    mount(page, widget, width=width)
    expect(part(page, "residuals")).to_have_count(24)
    expect(part(page, "change")).to_have_count(23)
    open_stage(page, "hidden")
    beyond = part(page, "view").evaluate(
        """view => {
          const {left, right} = view.getBoundingClientRect();
          return [...view.querySelectorAll('*')]
            .filter(element => element.getClientRects().length > 0)
            .map(element => [element, element.getBoundingClientRect()])
            .filter(([, box]) => box.left < left - 4 || box.right > right + 4)
            .map(([element]) => element.outerHTML.slice(0, 120));
        }"""
    )
    assert beyond == []

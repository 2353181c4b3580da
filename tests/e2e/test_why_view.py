"""The view Why in Chromium, live and saved: what is on screen is Python's, and clicks lead on."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Browser, Page, expect

import attn_widget as aw
from scripts.page import mount
from scripts.probe import sentiment
from scripts.widget_parts import agree
from tests.e2e.runs import shown
from tests.e2e.saved import offline
from tests.e2e.sources import opened
from tests.e2e.test_accessibility import violations
from tests.e2e.views import FLOAT32, choose, part

TEXT = "The keys to the cabinet are here."
TARGET = aw.target(position=6, token="are", against="is", masked=True)
SAID = re.compile("than random|cannot be tested")


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    page = browser.new_page(viewport={"width": 1220, "height": 1000})
    yield page
    page.close()


def unfold(page: Page) -> None:
    """Open what is folded in the view."""
    folded = page.locator(".aw-why-below details:not([open]) > summary")
    while folded.count() > 0:
        folded.first.click()


def check_numbers(page: Page, analysis: aw.Analysis, *, asked: bool = True) -> None:
    """Figures of the target; of one that the page opens with, no word of which has half of the lead, nothing is said."""
    found = analysis.why.contributions(TARGET)
    if asked:
        agree(part(page, "why-value"), np.array([found.value]), rtol=FLOAT32)
    else:
        expect(part(page, "why-value")).to_have_count(0)
    terms = page.locator('[data-aw-part="why-sum"] [data-token] [data-aw-value]')
    order = np.argsort(-np.abs(found.values), kind="stable")[:5]
    agree(terms, found.values[order], rtol=FLOAT32)
    expect(part(page, "why-said")).to_have_text(SAID)
    unfold(page)
    rho = analysis.why.agreement(TARGET).rho
    agree(page.locator('[data-aw-part="why-agreement"] td[data-aw-value]'), rho, rtol=FLOAT32)
    effects = analysis.why.head_effects(TARGET).effects
    strongest = np.sort(np.abs(effects.ravel()))[::-1][:6]
    shown = page.locator('[data-aw-part="why-heads"] [data-aw-value]')
    expect(shown).to_have_count(6)
    values = [
        abs(float(one)) for one in shown.evaluate_all("all => all.map(e => e.dataset.awValue)")
    ]
    np.testing.assert_allclose(values, strongest, rtol=FLOAT32)
    lens = analysis.why.logit_lens(TARGET)
    levels = page.locator('[data-aw-part="lens"] .aw-lens-layers [data-aw-value]')
    agree(levels, lens.probabilities, rtol=FLOAT32)


def test_every_figure_is_pythons_and_a_click_leads_on(page: Page) -> None:
    widget = aw.show(TEXT, target=TARGET, view="why", progress=False)
    mount(page, widget, width=1200)
    choose(page, "why")
    check_numbers(page, widget.analysis)
    choose(page, "inside")
    page.locator('[data-aw-part="inside-lens"] summary').click()
    levels = page.locator('[data-aw-part="inside-lens"] .aw-lens-layers [data-aw-value]')
    agree(levels, widget.analysis.why.logit_lens(TARGET).probabilities, rtol=FLOAT32)
    choose(page, "why")
    # The ribbon has the same numbers.
    ribbon = page.locator(".aw-ribbon-token[data-aw-value]")
    values = widget.analysis.why.contributions(TARGET).values
    agree(ribbon, values, rtol=FLOAT32)

    page.locator('.aw-why-method[data-method="occlusion"]').click()
    occlusion = widget.analysis.why.contributions(TARGET, "occlusion").values
    # Special tokens, which it does not hide, have no number.
    known = occlusion[np.isfinite(occlusion)]
    agree(page.locator(".aw-ribbon-token[data-aw-value]"), known, rtol=FLOAT32)
    assert widget.method == "occlusion"

    page.get_by_text("Shade the grid of heads by this").click()
    heads = page.locator(".aw-grid-head[data-aw-value]")
    agree(heads, widget.analysis.why.head_effects(TARGET).effects, rtol=FLOAT32)
    assert widget.metric == "effect"

    page.get_by_text("Change the question").click()
    page.locator(".aw-why-chip", has_text="nothing").click()
    expect(part(page, "why").locator("h3")).to_have_text("Why are?")
    assert widget.target == {"position": 6, "token": 2024, "masked": True}
    alone = aw.target(position=6, token="are", masked=True)
    agree(part(page, "why-value"), [widget.analysis.why.contributions(alone).value], rtol=FLOAT32)
    widget.close()


def test_a_word_that_is_written(page: Page) -> None:
    widget = aw.show(TEXT, target=TARGET, view="why", progress=False)
    mount(page, widget, width=1200)
    choose(page, "why")
    expect(part(page, "why-said")).to_have_text(SAID)
    page.get_by_text("Change the question").click()
    word = page.locator(".aw-why-word")
    word.fill("xyzzyx")
    word.press("Enter")
    expect(part(page, "error")).to_contain_text("not one entry of the vocabulary")
    expect(part(page, "why").locator("h3")).to_have_text("Why are rather than is?")
    word.fill("were")
    word.press("Enter")
    expect(part(page, "why").locator("h3")).to_contain_text("were")
    assert dict(widget.target or {})["token"] == 2020
    widget.close()


def test_a_classifiers_classes_are_explained(page: Page) -> None:
    widget = aw.show("The movie was boring.", model=sentiment(), view="why", progress=False)
    mount(page, widget, width=1200)
    choose(page, "why")
    expect(part(page, "why-said")).to_have_text(SAID)
    chosen: Any = widget.target
    assert "label" in chosen
    found = widget.analysis.why.contributions(aw.target(**chosen))
    # No word decides, and nobody asked.
    expect(part(page, "why").locator('[data-aw-part="sentence"]')).to_have_attribute(
        "data-aw-silent", "true"
    )
    agree(part(page, "why-sum").locator("[data-aw-value]").last, [found.value], rtol=FLOAT32)
    widget.close()


def check_links(page: Page, analysis: aw.Analysis, target: aw.Target) -> None:
    """A word that is pointed at is marked in text and strips; its number leads to a cell of the matrix."""
    values = analysis.why.contributions(target).values
    strip = page.locator('.aw-why-strip[data-method="decomposition"]')
    strip.locator(f'rect[data-token="{values.argmin()}"]').hover()  # with a minus on it
    marked = page.locator(f'.aw-ribbon-token[data-token="{values.argmin()}"]')
    expect(marked).to_have_class(re.compile("aw-pointed"))
    readout = part(page, "why-readout")
    agree(readout.locator("[data-aw-value]"), [values.min()], rtol=FLOAT32)
    page.locator('.aw-ribbon-token[data-token="2"]').hover()
    expect(strip.locator('rect[data-token="2"]')).to_have_class(re.compile("is-pointed"))
    agree(readout.locator("[data-aw-value]"), [values[2]], rtol=FLOAT32)
    readout.get_by_text("see in the matrix").click()
    expect(part(page, "pair")).to_contain_text("keys")
    expect(page.locator('[role="tab"][data-view="attention"]')).to_have_attribute(
        "aria-selected", "true"
    )


def test_a_saved_page_explains_without_a_kernel(browser: Browser, tmp_path: Path) -> None:
    widget = aw.show(TEXT, view="why", target=TARGET, progress=False)
    other = aw.target(position=6, token="are")
    path = widget.to_html(tmp_path / "why.html", why=[TARGET, other])
    with offline(browser, path) as one:
        choose(one.page, "why")
        check_numbers(one.page, widget.analysis, asked=False)
        one.page.locator(".aw-why-chip", has_text=re.compile("^are$")).click()
        expect(part(one.page, "why").locator("h3")).to_have_text("Why are?")
        agree(
            part(one.page, "why-value"),
            [widget.analysis.why.contributions(other).value],
            rtol=FLOAT32,
        )
        check_links(one.page, widget.analysis, other)
        assert one.asked == [] and one.errors == []
    widget.close()


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_it_can_be_used_by_everyone(page: Page, theme: str) -> None:
    widget = shown(TEXT, target=TARGET, view="why", theme=theme)
    mount(page, widget, width=1000)
    choose(page, "why")
    expect(part(page, "why-said")).to_have_text(SAID)
    expect(part(page, "why-heads")).to_be_visible()
    assert violations(page) == []
    widget.close()


def test_a_prediction_leads_to_its_reasons(page: Page) -> None:
    widget = aw.show(TEXT, view="predictions", progress=False)
    mount(page, widget, width=1200)
    panel = choose(page, "predictions")
    panel.locator('.aw-guess[data-position="6"][data-token-id]').first.click()
    part(page, "why-button").click()
    expect(part(page, "why-said")).to_have_text(SAID)
    chosen: Any = widget.target
    assert widget.view == "why" and chosen["position"] == 6 and "against" in chosen
    widget.close()


def test_a_class_leads_to_its_reasons(page: Page) -> None:
    widget = aw.show("The movie was boring.", model=sentiment(), view="task", progress=False)
    mount(page, widget, width=1200)
    choose(page, "task")
    part(page, "why-button").click()
    expect(part(page, "why-said")).to_have_text(SAID)
    best = int(np.argmax(widget.analysis.model.classification.logits))  # pyright: ignore[reportOptionalMemberAccess]
    assert dict(widget.target or {})["label"] == best
    widget.close()


def test_a_key_switches_a_head_off_and_one_all_on_again(page: Page) -> None:
    widget = aw.show("The keys to the cabinet [MASK] here.", view="predictions", progress=False)
    mount(page, widget, width=1200)
    choose(page, "predictions")
    head = page.locator('.aw-grid-head[data-layer="4"][data-head="10"]')
    head.click()
    head.press("o")
    expect(part(page, "heads-off")).to_have_text("L4 · H10 switched off all on")
    expect(head).to_have_class(re.compile("is-off"))
    expect(head).to_have_attribute("aria-label", re.compile("switched off$"))
    unablated = part(page, "intact")
    expect(unablated).to_contain_text(
        re.compile(r"Switching this head off changes (no|\d+) first choices? \(\d+ positions\)")
    )
    now = widget.analysis.model.softmax(6, token_ids=[2024]).entries[0]["probability"]
    was = widget.analysis.model.unablated.model.softmax(6, token_ids=[2024]).entries[0][
        "probability"
    ]
    agree(unablated.locator('li[data-token="6"] [data-aw-value]'), [was, now], rtol=FLOAT32)
    assert widget.heads_off == [[4, 10]] and violations(page) == []
    second = page.locator('.aw-grid-head[data-layer="3"][data-head="1"]')
    second.click()
    second.press("o")
    expect(part(page, "heads-off")).to_have_text("L3 · H1, L4 · H10 switched off all on")
    expect(unablated).to_contain_text("Switching these 2 heads off")
    both = widget.analysis.model.softmax(6, token_ids=[2024]).entries[0]["probability"]
    agree(unablated.locator('li[data-token="6"] [data-aw-value]'), [was, both], rtol=FLOAT32)
    assert widget.heads_off == [[3, 1], [4, 10]]
    head.press("Shift+O")
    expect(part(page, "heads-off")).to_be_hidden()
    expect(unablated).to_have_count(0)
    assert widget.heads_off == []
    widget.close()


def test_a_saved_page_says_once_and_shortly_what_it_lacks_of_why(
    browser: Browser, tmp_path: Path
) -> None:
    widget = aw.show("The keys to the old cabinet are on the [MASK].", progress=False)
    with opened(browser, widget, "saved", tmp_path) as one:
        view = choose(one.page, "why")
        expect(view.locator('[data-aw-part="why-said"]')).to_have_text(
            "The test of these methods is not in this saved page. It needs a kernel: open the text in a notebook."
        )
        refused = view.locator('[data-aw-part="why-refused"]')
        expect(refused).not_to_have_attribute("open", "")
        expect(refused.locator("summary")).to_have_text(re.compile("^N/A here: [^,]+$"))
        expect(refused.locator("p")).to_have_text("This method is not in this saved page.")
        expect(view.get_by_role("heading", name="Heads that matter")).to_be_visible()
        expect(view.get_by_role("button", name="Ask again")).to_have_count(0)
        expect(view.get_by_text("masking test")).to_be_hidden()
    widget.close()


def test_a_saved_page_of_ten_tokens_has_all_methods_and_their_test(
    browser: Browser, tmp_path: Path
) -> None:
    widget = aw.show("The keys to the cabinet are here", progress=False)
    assert widget.analysis.trace.n_tokens <= 10
    with opened(browser, widget, "saved", tmp_path) as one:
        view = choose(one.page, "why")
        expect(view.locator('[data-aw-part="why-said"]')).to_have_text(SAID)
        expect(view.locator(".aw-why-strip > svg")).to_have_count(10)
        expect(view.get_by_text("N/A")).to_have_count(0)
        expect(view.get_by_role("heading", name="Masking test")).to_be_visible()
    widget.close()

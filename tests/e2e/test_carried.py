"""What attention carries, in the live widget and in a saved page: matrix, heads, sentence, pair, tree, and N/A."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Browser, Locator, Page, expect

import attn_widget as aw
from attn_widget.influence import value_zeroing
from tests.close import assert_close
from tests.e2e.sources import FLOAT32, SOURCES, opened
from tests.e2e.views import choose, part, setting
from tests.unit.tiny_models import EMBEDDED

TEXT = "The keys to the cabinet are here."


def choose_quantity(page: Page, name: str) -> None:
    setting(page, "carried-quantity").select_option(name)


@pytest.mark.parametrize("source", SOURCES)
def test_matrix_heads_and_pair_are_those_of_python(
    browser: Browser, tmp_path: Path, source: str
) -> None:
    widget = aw.show(TEXT, layer=3, head=5, token=2, progress=False)
    analysis = widget.analysis
    with opened(browser, widget, source, tmp_path) as one:
        page = one.page
        part(page, "table").locator("summary").click()
        cells = part(page, "table").locator("tbody [data-aw-value]")

        choose_quantity(page, "norms")
        expect(part(page, "head-name")).to_have_text("norms · L3 · H5")
        one.agree(cells, analysis.mixing.matrix("norms", 3, 5))
        part(page, "focus-keys").locator("button").first.click()
        carried = part(page, "carried").locator("[data-aw-value]")
        # The factors of the head, and with a kernel the layer's sum that closes.
        expect(carried).to_have_count(11 if source == "live" else 3)
        factors = values(carried)[:3]
        weight, length, product = map(float, factors)
        digits = np.dot([length, weight, 1], [one.unit(text) for text in factors])
        assert abs(weight * length - product) <= digits + FLOAT32 * product
        if source == "live":
            expect(part(page, "carried-vector")).to_be_visible()
            *parts, whole = [float(text) for text in values(carried)[6:]]
            assert_close(sum(parts), whole, **EMBEDDED, size=np.abs(parts).sum())
        else:
            expect(part(page, "carried")).to_contain_text("The sum of this pair is not in this")

        choose_quantity(page, "alti")
        expect(part(page, "head-name")).to_have_text("ALTI · L3")
        expect(part(page, "quantity-note")).to_contain_text("belongs to the layer, not to a head")
        one.agree(cells, analysis.mixing.matrix("alti", 3))
        grid = page.locator(".aw-grid-head:visible")
        expect(grid).to_have_count(analysis.trace.n_layers)
        expect(grid.nth(3)).to_have_attribute("aria-pressed", "true")
        grid.nth(1).click()
        expect(grid.nth(1)).to_have_attribute("aria-pressed", "true")
        expect(part(page, "head-name")).to_have_text("ALTI · L1")
        one.agree(cells, analysis.mixing.matrix("alti", 1))

        choose_quantity(page, "norms_rollout")
        expect(part(page, "head-name")).to_have_text("rollout of norms, layers 0–1")
        one.agree(cells, analysis.mixing.rollout("norms", 1))
        choose(page, "tree")
        expect(page.locator('[data-aw-part="tree-legend"]')).to_contain_text("rollout of norms")
        choose(page, "attention")

        choose_quantity(page, "mixing")
        if source == "live":
            sums = part(page, "carried").locator("[data-aw-value]")
            expect(sums).to_have_count(8)
            *parts, whole = [float(text) for text in values(sums)][3:]
            assert_close(sum(parts), whole, **EMBEDDED, size=np.abs(parts).sum())
        else:
            expect(part(page, "carried")).to_contain_text("needs a kernel")
            choose_quantity(page, "value_zeroing_rollout")
            expect(part(page, "error")).to_contain_text("not in this saved page")
            expect(part(page, "missing")).to_contain_text("The picture shows mixing · L1")
            choose_quantity(page, "alti")
            expect(part(page, "error")).to_be_hidden()


def values(found: Locator) -> list[str]:
    return found.evaluate_all("all => all.map(one => one.dataset.awValue)")


def test_slow_value_zeroing_shows_its_progress_and_is_given_up(
    browser: Browser, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(value_zeroing, "TOKENS_AT_ONCE", 1)  # slow on every machine
    widget = aw.show("The cat sat on the mat. " * 30, layer=5, head=5, progress=False)
    with opened(browser, widget, "live", tmp_path) as one:
        choose_quantity(one.page, "value_zeroing_rollout")
        expect(part(one.page, "progress")).to_contain_text(
            f"/ {6 * widget.analysis.trace.n_tokens}"
        )
        part(one.page, "cancel").click()
        expect(part(one.page, "progress")).to_be_hidden()
        expect(setting(one.page, "carried-quantity")).to_have_value("")
        expect(part(one.page, "head-name")).to_have_text("L5 · H5")
        assert widget.quantity == "weights"


def test_a_model_that_has_none_says_why_and_keeps_its_picture(
    browser: Browser, tmp_path: Path
) -> None:
    weights = np.full((2, 2, 3, 3), 1 / 3, dtype=np.float32)
    held = aw.from_attentions(list(weights), ["a", "b", "c"])
    widget = aw.AttentionWidget(held)
    with opened(browser, widget, "live", tmp_path) as one:
        choose_quantity(one.page, "mixing")
        expect(part(one.page, "missing")).to_contain_text("The picture shows L0 · H0")
        expect(part(one.page, "error")).to_be_visible()
        one.page.keyboard.press("Escape")  # the popover may lie over it
        one.page.locator('[data-quantity="weights"]').click()
        expect(part(one.page, "missing")).to_be_hidden()


@pytest.mark.parametrize("source", SOURCES)
def test_sentences_gather_what_is_carried(browser: Browser, tmp_path: Path, source: str) -> None:
    text = "The cat sat on the mat. It was tired because it ran. She slept."
    widget = aw.show(text, layer=3, head=5, quantity="norms", view="sentences", progress=False)
    analysis = widget.analysis
    with opened(browser, widget, source, tmp_path) as one:
        cells = choose(one.page, "sentences").locator(".aw-isa-cell[data-aw-value]")
        of_head = analysis.mixing.matrix("norms", 3, 5)
        one.agree(cells, analysis.sentences.gather(of_head))
        expect(part(one.page, "sentences-carried")).to_contain_text("norms · L3 · H5")
        one.page.locator('[data-aggregation="max"]').click()
        one.agree(cells, analysis.sentences.gather(of_head, "max"))
        one.page.locator('[data-aggregation="mass"]').click()
        part(one.page, "to-weights").click()
        one.agree(cells, analysis.sentences.matrix("mass"))

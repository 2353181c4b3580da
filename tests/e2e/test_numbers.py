"""Numbers read out of the page: each printed one is its full value to the digits shown, and Python's."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator

import numpy as np
import pytest
from playwright.sync_api import Browser, Locator, Page, expect

import attn_widget as aw
from attn_widget.checks.rounding import rounding
from scripts.page import mount
from scripts.probe import sentiment
from scripts.widget_parts import agree
from tests.e2e.views import FLOAT32, choose, part, setting, unfold

TEXT = "The cat sat on the mat. It was tired, and the bank was closed!"
PAIR = "Nobody came to Paris."
VIEWS = ("attention", "heads", "tree", "sentences", "predictions", "inside")
# The text of an element and its full value. Where the text holds several numbers the value has an element
# of its own.
PRINTED = """() => [...document.querySelectorAll('.attn-widget [data-aw-value]')]
    .filter(e => e.getClientRects().length > 0)
    .map(e => [e.textContent.trim(), e.dataset.awValue])"""
SUPERSCRIPTS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻", "0123456789-")
NUMBER = re.compile(r"^[‖<>±]*\s*([−-]?[\d,]*\.?\d+)(?:×10([⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+))?\s*(%|×)?‖?$")


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    opened = browser.new_page(viewport={"width": 1200, "height": 1000}, reduced_motion="reduce")
    yield opened
    opened.close()


def read(text: str) -> tuple[float, float] | None:
    """A printed number, and half a unit of its last digit; None for a text that is no single number."""
    found = NUMBER.match(text)
    if found is None:
        return None
    digits = found[1].replace(",", "").replace("−", "-")
    power = int(found[2].translate(SUPERSCRIPTS)) if found[2] else 0
    power -= 2 if found[3] == "%" else 0
    decimals = len(digits.partition(".")[2])
    return float(digits) * 10.0**power, 0.5 * 10.0 ** (power - decimals)


def test_every_printed_number_is_its_value_to_the_digits_shown(page: Page) -> None:
    widget = aw.show(TEXT, PAIR, layer=3, head=5, token=2, pair=[2, 4], progress=False)
    mount(page, widget, width=1200)
    for view in VIEWS:
        panel = choose(page, view)
        if view == "sentences":
            panel.locator("[data-a='0'][data-b='1']").click()
        printed = page.evaluate(PRINTED)
        compared = 0
        for text, value in printed:
            number = read(text)
            if number is None or not math.isfinite(float(value)):
                continue
            shown, half = number
            if text.startswith("<"):  # too small to be written out
                assert abs(float(value)) < shown, (view, text, value)
                continue
            # A binary fraction may lie a hair beyond the middle between two decimal ones.
            assert abs(shown - float(value)) <= half * (1 + 1e-6), (view, text, value)
            compared += 1
        assert compared >= 10, view
    widget.close()


def test_the_tree_has_the_weights_of_python(page: Page) -> None:
    widget = aw.show(TEXT, layer=3, head=5, token=2, view="tree", progress=False)
    mount(page, widget, width=1200)
    panel = choose(page, "tree")
    setting(page, "tree-bare").click()  # `influence` has special tokens and punctuation
    tree = widget.analysis.heads.tree(2, layer=3, head=5)
    nodes = panel.locator('[data-aw-part="tree-node"]')
    expected = {path: node.weight for path, node in by_path(tree)}
    folded = panel.locator('[role="treeitem"][aria-expanded="false"]')
    while folded.count() > 0:  # what is reached below chance
        folded.first.focus()
        page.keyboard.press("ArrowRight")
    expect(nodes).to_have_count(len(expected))
    for node in nodes.all():
        weight = expected[node.get_attribute("data-path") or ""]
        if weight is not None:
            agree(node.locator("[data-aw-value]"), weight, rtol=FLOAT32)
    widget.close()


def by_path(node: object, above: str = "") -> Iterator[tuple[str, object]]:
    path = f"{above}/{node.token}" if above else str(node.token)  # type: ignore[attr-defined]
    yield path, node
    for child in node.children:  # type: ignore[attr-defined]
        yield from by_path(child, path)


@pytest.mark.parametrize("aggregation", ["mass", "max"])
@pytest.mark.parametrize("scope", ["all", "layer", "head"])
def test_sentences_have_the_attention_of_python(page: Page, aggregation: str, scope: str) -> None:
    widget = aw.show(TEXT, PAIR, layer=3, head=5, view="sentences", progress=False)
    mount(page, widget, width=1200)
    panel = choose(page, "sentences")
    panel.locator(f'[data-aggregation="{aggregation}"]').click()
    part(page, "scope").select_option(scope)
    of = {"all": {}, "layer": {"layer": 3}, "head": {"layer": 3, "head": 5}}[scope]
    expected = widget.analysis.sentences.matrix(aggregation, **of)  # type: ignore[arg-type]
    cells = panel.locator(".aw-isa-cell[data-aw-value]")
    expect(cells).to_have_count(expected.size)
    agree(cells, expected, rtol=FLOAT32)
    widget.close()


@pytest.mark.parametrize("mode", ["as_is", "masked"])
def test_predictions_have_the_probabilities_of_python(page: Page, mode: str) -> None:
    widget = aw.show(TEXT, view="predictions", progress=False)
    mount(page, widget, width=1200)
    panel = choose(page, "predictions")
    panel.locator(f'[data-mode="{mode}"]').click()
    expected = widget.analysis.predictions(mode=mode)  # type: ignore[arg-type]
    guesses = panel.locator(".aw-prediction")
    expect(guesses).to_have_count(expected.probabilities.size)
    agree(guesses, expected.probabilities, rtol=rounding(np.abs(expected.logits).max(), 4))
    originals = panel.locator(".aw-original")
    agree(originals, expected.original_probability, rtol=rounding(np.abs(expected.logits).max(), 4))
    widget.close()


def test_the_next_sentence_has_the_probability_of_python(page: Page) -> None:
    widget = aw.show(TEXT, PAIR, view="predictions", progress=False)
    mount(page, widget, width=1200)
    panel = choose(page, "predictions")
    opened = panel.locator('[data-aw-part="next-sentence-terms"] [data-aw-value]')
    expect(opened.nth(2)).to_be_visible()
    found = widget.analysis.model.next_sentence
    # By class: the logit, its exponential, the probability; then the sums of the last two.
    terms = np.stack([found.logits, found.exponentials, found.probabilities], axis=1)
    sums = [found.exponentials.sum(), 1.0]
    agree(opened, [*terms.ravel(), *sums], rtol=rounding(np.abs(found.logits).max(), 4))
    widget.close()


def test_classes_have_the_probabilities_of_python(page: Page) -> None:
    widget = aw.show(TEXT, model=sentiment(), layer=5, head=3, view="task", progress=False)
    mount(page, widget, width=1200)
    panel = choose(page, "task")
    found = widget.analysis.model.classification
    assert found is not None
    terms = np.stack([found.logits, found.exponentials, found.probabilities], axis=1)
    sums = [found.exponentials.sum(), 1.0]
    cells = panel.locator('[data-aw-part="classes"] [data-aw-value]')
    agree(cells, [*terms.ravel(), *sums], rtol=rounding(np.abs(found.logits).max(), 4))
    setting(page, "first-unit").locator('[data-first-unit="tokens"]').click()
    cells = part(page, "first-layers").locator(".aw-first-token")
    weights = np.stack([widget.analysis.attention(layer, 3)[0] for layer in range(6)])
    expect(cells).to_have_count(weights.size)
    np.testing.assert_allclose(in_order(cells), weights.ravel(), rtol=FLOAT32)
    widget.close()


def in_order(cells: Locator) -> list[float]:
    """Values by layer and token, however the view has sorted its rows."""
    found = cells.evaluate_all(
        "all => all.map(e => [+e.dataset.layer, +e.dataset.token, +e.dataset.awValue])"
    )
    return [value for _, _, value in sorted(found)]


def test_cards_and_grid_have_the_metrics_of_python(page: Page) -> None:
    widget = aw.show(TEXT, layer=3, head=5, view="heads", metric="sparsity", progress=False)
    mount(page, widget, width=1200)
    panel = choose(page, "heads")
    unfold(page, "matrix")
    metrics = widget.analysis.metrics
    grid = part(page, "heads").locator(".aw-grid-head")
    agree(grid, metrics.sparsity, rtol=FLOAT32)
    for key in (
        "confidence_max", "confidence_avg", "focus_entropy", "sparsity", "distribution_median",
        "uniformity",
    ):  # fmt: skip
        card = panel.locator(f'[data-metric="{key}"]').first
        expected = float(getattr(metrics, key)[3, 5])
        agree(card.locator(".aw-card-value"), [expected], rtol=FLOAT32)
    widget.close()

"""JupyterLab runs the quickstart; what is drawn equals what plain transformers compute."""

from __future__ import annotations

import json

import numpy as np
import pytest
from playwright.sync_api import Locator, expect

from scripts.lab import ROOT, Lab, Notebook, OpenNotebook
from scripts.widget_parts import STEP_MS, Widget, agree, values
from tests.e2e.picture import RAMP_ERROR, drawn_shares
from tests.e2e.reference import WEIGHT_ERROR, Reference, reference
from tests.e2e.views import FLOAT32, unfold

TEXT = "the cat sat on the mat"
RESET_MS = 300
RESETS = STEP_MS // RESET_MS

pytestmark = pytest.mark.timeout(900)


@pytest.fixture(scope="module")
def notebook(lab: Lab, open_notebook: OpenNotebook) -> Notebook:
    opened = open_notebook(lab.copy(ROOT / "notebooks" / "quickstart.ipynb"), height=2000)
    opened.run_all()
    return opened


@pytest.fixture
def widget(notebook: Notebook) -> Widget:
    """The first widget, in the state that every test here starts from."""
    first = notebook.widget(0)
    chosen = first.part("ribbon").locator('[data-token][aria-pressed="true"]')
    # What the page said last may reach the kernel after what is run here: then once more.
    for _ in range(RESETS):
        notebook.python(
            "w.layer, w.head, w.token, w.pair = 3, 5, None, None\n"
            "w.view, w.scale, w.theme = 'attention', 'head', 'light'"
        )
        notebook.page.wait_for_timeout(RESET_MS)
        name = first.part("head-name")
        if chosen.count() == 0 and name.count() == 1 and name.inner_text() == "L3 · H5":
            break
    first.element.scroll_into_view_if_needed()
    shows(first, 3, 5)
    expect(chosen).to_have_count(0)
    return first


@pytest.fixture(scope="module")
def plain() -> Reference:
    return reference(TEXT)


def shows(widget: Widget, layer: int, head: int) -> None:
    """Wait until the widget shows one head."""
    expect(widget.part("head-name")).to_have_text(f"L{layer} · H{head}")
    expect(widget.head(layer, head)).to_have_attribute("aria-pressed", "true")


def table(widget: Widget) -> Locator:
    """The matrix as the table below the picture has it, row by row."""
    part = widget.part("table")
    if part.get_attribute("open") is None:
        part.locator("summary").click()
    return part.locator("tbody [data-aw-value]")


@pytest.mark.quick
def test_draws_every_head_with_its_largest_weight(widget: Widget, plain: Reference) -> None:
    buttons = widget.part("heads").locator("[data-layer]")
    expect(buttons).to_have_count(plain.weights.shape[0] * plain.weights.shape[1])
    largest = plain.weights.max(axis=(2, 3)).ravel()
    agree(buttons, largest, atol=WEIGHT_ERROR)


@pytest.mark.quick
def test_draws_the_clicked_head_in_the_colours_of_its_weights(
    widget: Widget, plain: Reference
) -> None:
    widget.head(1, 4).click()
    shows(widget, 1, 4)
    widget.leave()
    weights = plain.weights[1, 4]
    n = len(plain.tokens)
    agree(table(widget), weights, atol=WEIGHT_ERROR)
    np.testing.assert_allclose(
        drawn_shares(widget, n), weights / weights.max(), atol=RAMP_ERROR, rtol=0
    )


@pytest.mark.quick
def test_tells_python_what_was_clicked(widget: Widget, notebook: Notebook) -> None:
    notebook.python("clicks.clear()")
    widget.head(2, 9).click()
    shows(widget, 2, 9)
    widget.token(4).click()
    expect(widget.token(4)).to_have_attribute("aria-pressed", "true")
    notebook.prints("print(w.layer, w.head, w.token)", "2 9 4\n")
    heard = json.loads(
        notebook.python("import json; print(json.dumps([clicks, w.layer, w.head, w.token]))")
    )
    assert sorted(heard[0]) == [["head", 9], ["layer", 2], ["token", 4]]
    assert heard[1:] == [2, 9, 4]


def test_paints_the_row_of_the_clicked_token(widget: Widget, plain: Reference) -> None:
    widget.token(2).click()
    expect(widget.token(2)).to_have_attribute("aria-pressed", "true")
    row = plain.weights[3, 5, 2]
    ribbon = widget.part("ribbon").locator("[data-token]")
    agree(ribbon, row, atol=WEIGHT_ERROR)
    listed = widget.part("focus-keys").locator("[data-aw-value]")
    agree(listed, np.sort(row)[::-1], atol=WEIGHT_ERROR, head=True)


@pytest.mark.parametrize(("query", "key"), [(1, 0), (2, 7), (6, 3)])
def test_names_the_hovered_cell_with_weight_score_and_product(
    widget: Widget, plain: Reference, query: int, key: int
) -> None:
    widget.hover_cell(query, key, len(plain.tokens))
    card = widget.part("link")
    expect(card).to_have_attribute("data-aw-row", str(query))
    expect(card).to_have_attribute("data-aw-column", str(key))
    # Scores come by a slice after the weights: a dash until then.
    # The share of a row that is shown whole is its weight, which stands once.
    expect(card.locator("[data-aw-value]")).to_have_count(3)
    weight, score, product = values(card.locator("[data-aw-value]"))
    assert weight == pytest.approx(plain.weights[3, 5, query, key], abs=WEIGHT_ERROR)
    assert score == pytest.approx(plain.scores[3, 5, query, key], abs=plain.score_error)
    unscaled = plain.score_error * 32**0.5  # 32 numbers a head
    assert product == pytest.approx(plain.products[3, 5, query, key], abs=unscaled)


def test_opens_the_arithmetic_of_the_clicked_cell(
    widget: Widget, notebook: Notebook, plain: Reference
) -> None:
    query, key = 2, 1
    widget.hover_cell(query, key, len(plain.tokens))
    notebook.page.mouse.down()
    notebook.page.mouse.up()
    strip = widget.part("pair")
    expect(strip.locator("dt", has_text="sum of the row")).to_have_count(1)
    shown = dict(
        zip(
            strip.locator("dt").all_text_contents(),
            values(strip.locator("[data-aw-value]")),
            strict=True,
        )
    )
    scores = plain.scores[3, 5, query].astype(np.float64)
    exponentials = np.exp(scores - scores.max())
    error = plain.score_error
    assert shown["q · k"] * shown["scale"] == pytest.approx(scores[key], abs=error)
    assert shown["scaled score"] == pytest.approx(scores[key], abs=error)
    # Of a difference of two scores.
    assert shown["exp(score − max)"] == pytest.approx(exponentials[key], rel=2 * error)
    assert shown["sum of the row"] == pytest.approx(exponentials.sum(), rel=2 * error)
    assert shown["weight"] == pytest.approx(plain.weights[3, 5, query, key], abs=WEIGHT_ERROR)
    notebook.prints("print(w.pair)", f"[{query}, {key}]\n")


def test_shows_the_six_metrics_of_the_selected_head(widget: Widget, plain: Reference) -> None:
    widget.head(4, 11).click()
    widget.tab("heads").click()
    unfold(widget.element, "matrix")
    for key, expected in plain.metrics(4, 11).items():
        card = widget.element.locator(f'article[data-metric="{key}"]')
        # A weight is off by twice the error of a score, relative to it, and w log w by 1 + log w times that.
        error = 2 * plain.score_error * (len(plain.tokens) + expected)
        agree(card.locator(".aw-card-value"), expected, atol=error)


def test_shows_the_predictions_of_every_position(widget: Widget, plain: Reference) -> None:
    widget.tab("predictions").click()
    widget.element.locator('[data-mode="as_is"]').click()
    rows = widget.element.locator(".aw-position")
    expect(rows).to_have_count(len(plain.tokens))
    for position in range(len(plain.tokens)):
        probabilities = plain.probabilities(position)
        cells = rows.nth(position).locator(".aw-prediction")
        expect(cells).to_have_count(5)
        ids = cells.evaluate_all("all => all.map(cell => Number(cell.dataset.tokenId))")
        expected = np.sort(probabilities)[::-1][: len(ids)]
        agree(cells, expected, atol=plain.logit_error)
        np.testing.assert_allclose(probabilities[ids], expected, atol=plain.logit_error, rtol=0)
        original = rows.nth(position).locator(".aw-original")
        probability = probabilities[plain.ids[position]]
        agree(original, probability, atol=plain.logit_error)
        rank = 1 + int((probabilities > probability).sum())
        expect(original).to_have_attribute("data-aw-rank", str(rank))


def test_opens_the_softmax_of_the_clicked_prediction(widget: Widget, plain: Reference) -> None:
    position = 3
    widget.tab("predictions").click()
    widget.element.locator('[data-mode="as_is"]').click()
    cell = widget.element.locator(".aw-position").nth(position).locator('[data-column="2"]')
    cell.click()
    terms = widget.element.locator("table.aw-terms")
    chosen = terms.locator('tr[aria-current="true"]')
    expect(chosen).to_have_count(1)
    token = int(cell.get_attribute("data-token-id") or -1)
    logits = plain.logits[position].astype(np.float64)
    exponentials = np.exp(logits - logits.max())
    logit, exponential, probability = values(chosen.locator("[data-aw-value]"))
    error = plain.logit_error
    assert logit == pytest.approx(logits[token], abs=error)
    assert exponential == pytest.approx(exponentials[token], rel=2 * error)
    assert probability == pytest.approx(plain.probabilities(position)[token], abs=error)
    total, whole = values(terms.locator("tr.aw-sum [data-aw-value]"))
    assert total == pytest.approx(exponentials.sum(), rel=2 * error)
    assert whole == 1
    # The chain closes: the displayed probability is the displayed exponential over the displayed sum.
    assert probability == pytest.approx(exponential / total, rel=2 * FLOAT32)


@pytest.mark.quick
def test_follows_python(widget: Widget, notebook: Notebook, plain: Reference) -> None:
    notebook.python("w.layer = 0")
    shows(widget, 0, 5)
    notebook.python("w.head = 10; w.token = 6")
    shows(widget, 0, 10)
    expect(widget.token(6)).to_have_attribute("aria-pressed", "true")
    agree(table(widget), plain.weights[0, 10], atol=WEIGHT_ERROR)


def test_keeps_two_views_of_one_widget_in_step(widget: Widget, notebook: Notebook) -> None:
    second = notebook.widget(1)
    widget.head(5, 1).click()
    shows(widget, 5, 1)
    shows(second, 5, 1)


def test_follows_the_theme_of_the_host(
    widget: Widget, notebook: Notebook, plain: Reference
) -> None:
    notebook.python("w.theme = 'auto'")
    expect(widget.element).to_have_attribute("data-theme", "light")
    n = len(plain.tokens)
    light = drawn_shares(widget, n)
    notebook.theme("JupyterLab Dark")
    expect(widget.element).to_have_attribute("data-theme", "dark")
    # On a dark ground the ramp runs the other way: the darkest cell is the smallest weight.
    dark = drawn_shares(widget, n)
    weights = plain.weights[3, 5]
    assert light.argmax() == weights.argmax()
    assert dark.argmin() == weights.argmax()
    notebook.theme("JupyterLab Light")
    expect(widget.element).to_have_attribute("data-theme", "light")
    np.testing.assert_allclose(drawn_shares(widget, n), light)


def test_removes_a_closed_widget_from_the_page(notebook: Notebook) -> None:
    # The notebook shows one widget three times, and a second one that its last cell closes.
    expect(notebook.page.locator(".attn-widget")).to_have_count(3)
    assert notebook.python("print(pair)") == "<AttentionWidget, closed>\n"

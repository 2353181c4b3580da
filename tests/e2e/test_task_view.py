"""The Task view and the RoBERTa family in Chromium: what is on screen equals Python."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Browser, Locator, Page, expect

import attn_widget as aw
from attn_widget.checks.rounding import rounding
from scripts.page import mount
from scripts.probe import sentiment
from scripts.widget_parts import agree
from tests.e2e.test_accessibility import violations
from tests.e2e.views import FLOAT32, choose, part
from tests.roberta import roberta_folder
from tests.unit import tiny_models

TEXT = "The movie was incredibly boring, but the acting saved it."
OTHERS = (
    "The worst hotel I have ever stayed in.",
    "The train leaves the station at nine.",
    "A wonderful film with brilliant actors.",
)
HOSTILE = ("<img src=x onerror='window.hit=1'>", "a" * 90, "תווית\u202e", "plain")


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    page = browser.new_page(viewport={"width": 1220, "height": 1000})
    yield page
    page.close()


@pytest.fixture(scope="module")
def classifier() -> tuple[Any, Any]:
    return sentiment()


def rows(page: Page, name: str) -> Locator:
    return part(page, name).locator(".aw-first-row .aw-first-token")


@pytest.mark.parametrize("head", ["mean", 3])
def test_every_figure_of_a_text_classifier_is_pythons(
    page: Page, classifier: tuple[Any, Any], head: Any
) -> None:
    widget = aw.show(
        TEXT, model=classifier, head=head, layer=4, view="task", compare_with=OTHERS, progress=False
    )
    mount(page, widget, width=1200)
    choose(page, "task")
    analysis = widget.analysis
    found = analysis.model.classification
    assert found is not None
    cells = part(page, "classes").locator("tbody td[data-aw-value]")
    expected = np.stack([found.logits, found.exponentials, found.probabilities], axis=1)
    agree(cells, expected, rtol=FLOAT32)

    looks = analysis.model.first_token(head)
    agree(rows(page, "first-layers"), looks.weights, rtol=FLOAT32)
    agree(page.locator(".aw-first-special [data-aw-value]"), looks.special, rtol=FLOAT32)

    one, other = np.argsort(-found.logits)[:2].tolist()
    slopes = [analysis.model.class_gradient(label, words=True)[4] for label in (one, other)]
    by_head = [s.sum(axis=0) if head == "mean" else s[head] for s in slopes]
    difference = [by_head[0] - by_head[1]]
    error = rounding(np.abs(slopes).sum(axis=1).max(), 12)  # of sums over the heads
    agree(rows(page, "gradient-rows"), [*by_head, *difference], atol=error)

    for index, text in enumerate(analysis.model.compare_with, start=1):
        shown = page.locator(f'.aw-beside-row[data-text="{index}"]')
        best = int(np.argmax(text.classification.logits))
        value = shown.locator(f'[data-class="{best}"] [data-aw-value]')
        agree(value, text.classification.probabilities[best], rtol=FLOAT32)
        agree(shown.locator(".aw-first-token"), text.first_token.weights[4], rtol=FLOAT32)
    widget.close()


def test_another_class_under_comparison_changes_every_part(
    page: Page, classifier: tuple[Any, Any]
) -> None:
    widget = aw.show(TEXT, model=classifier, view="task", compare_with=OTHERS, progress=False)
    mount(page, widget, width=700)
    choose(page, "task")
    part(page, "classes").locator("input:not(:checked)").first.check()
    expect(part(page, "gradient-rows").locator(".aw-first-row")).to_have_count(3)
    expect(page.locator('.aw-beside-row[data-text="0"] [data-class]')).to_have_count(3)
    expect(part(page, "odds").locator(".aw-odds-line")).to_have_count(2)
    widget.close()


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_classes_and_texts_compared_have_no_violation(
    page: Page, classifier: tuple[Any, Any], theme: str
) -> None:
    widget = aw.show(
        TEXT, model=classifier, theme=theme, view="task", compare_with=[" ".join(OTHERS * 6), *OTHERS],
        progress=False,
    )  # fmt: skip
    mount(page, widget, width=700)
    choose(page, "task")
    expect(page.locator(".aw-beside-row")).to_have_count(5)
    assert violations(page) == []
    widget.close()


def test_a_text_that_was_run_before_stands_beside(page: Page, classifier: tuple[Any, Any]) -> None:
    widget = aw.show(TEXT, model=classifier, view="task", progress=False)
    mount(page, widget, width=1000)
    choose(page, "task")
    expect(part(page, "beside")).to_contain_text("Run another text")
    widget.run(OTHERS[0])
    before = page.locator('.aw-beside-row[data-text="1"]')
    expect(before).to_contain_text("incredibly")
    before.get_by_role("button", name="Show").click()
    expect(page.locator('.aw-beside-row[data-text="0"]')).to_contain_text("incredibly")
    expect(page.locator('.aw-beside-row[data-text="1"]')).to_contain_text("hotel")
    widget.close()


@pytest.mark.parametrize(
    ("problem_type", "count", "said"),
    [
        ("multi_label_classification", 4, "No softmax"),
        ("regression", 1, "neither softmax nor sigmoid"),
        (None, 1, "does not say what it is"),
        (None, 40, "Softmax over the classes"),
    ],
)
def test_what_applies_to_the_outputs_is_said(
    page: Page, problem_type: str | None, count: int, said: str
) -> None:
    labels = (
        dict(enumerate(HOSTILE)) if count == len(HOSTILE) else {i: f"c{i}" for i in range(count)}
    )
    model = tiny_models.build(
        "roberta", "ForSequenceClassification", num_labels=count, id2label=labels,
        problem_type=problem_type,
    )  # fmt: skip
    widget = aw.show(TEXT, model=model, view="task", tagger=None, progress=False)
    mount(page, widget, width=700)
    choose(page, "task")
    expect(part(page, "task")).to_contain_text(said)
    found = widget.analysis.model.classification
    assert found is not None
    cells = part(page, "classes").locator("tbody td[data-aw-value]")
    columns = [found.logits]
    if found.activation != "identity":
        columns += [found.exponentials, found.probabilities]
    agree(cells, np.stack(columns, 1), rtol=FLOAT32)
    assert page.evaluate("() => window.hit") is None
    overflow = page.evaluate(
        "() => { const v = document.querySelector('[data-aw-part=view]');"
        " return v.scrollWidth - v.clientWidth; }"
    )
    assert overflow <= 0
    widget.close()


def test_a_saved_page_compares_the_likeliest_classes_and_the_texts(
    browser: Browser, classifier: tuple[Any, Any], tmp_path: Path
) -> None:
    widget = aw.show(TEXT, model=classifier, head="mean", layer=5, view="task", compare_with=OTHERS, progress=False)  # fmt: skip
    widget.to_html(tmp_path / "page.html")
    context = browser.new_context(offline=True, viewport={"width": 1200, "height": 1000})
    page = context.new_page()
    problems: list[str] = []
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.goto((tmp_path / "page.html").as_uri())
    choose(page, "task")
    analysis = widget.analysis
    found = analysis.model.classification
    assert found is not None
    one = int(np.argmax(found.logits))
    slopes = analysis.model.class_gradient(one, words=True)[5]
    expected = slopes.sum(axis=0)
    first = part(page, "gradient-rows").locator(".aw-first-row").first
    agree(
        first.locator(".aw-first-token"),
        expected,
        atol=rounding(np.abs(slopes).sum(axis=0).max(), 12),
    )
    agree(rows(page, "first-layers"), analysis.model.first_token().weights, rtol=FLOAT32)
    expect(page.locator(".aw-beside-row")).to_have_count(4)
    assert problems == []
    context.close()
    widget.close()


# RoBERTa


@pytest.fixture(scope="module")
def roberta(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return roberta_folder(tmp_path_factory)


def test_byte_level_tokens_are_readable_with_the_raw_ones_beside(page: Page, roberta: Path) -> None:
    widget = aw.show(
        "The naïve value 🙂 of the list.", model=roberta, words=False, tagger=None, progress=False
    )
    mount(page, widget, width=1000)
    ribbon = part(page, "ribbon")
    raw = [token.text for token in widget.analysis.tokens]
    buttons = ribbon.locator("[data-token]")
    expect(buttons).to_have_count(len(raw))
    the = next(i for i, text in enumerate(raw) if text == "Ġthe")
    button = ribbon.locator(f'[data-token="{the}"]')
    expect(button).to_have_text("the")
    button.hover()
    expect(button).to_have_attribute("title", re.compile("Ġthe"))
    expect(part(page, "ribbon").locator("[aria-label*='Ġthe']")).to_have_count(1)
    expect(buttons.first).to_have_text("<s>")
    expect(buttons.last).to_have_text("</s>")
    faces = buttons.all_inner_texts()
    assert not any("Ġ" in face or "Ã" in face or "ð" in face for face in faces)
    assert [sum(face.count(letter) for face in faces) for letter in "ï🙂"] == [1, 1]
    widget.close()


def test_a_saved_page_of_it_has_the_guesses_and_the_words_of_python(
    browser: Browser, roberta: Path, tmp_path: Path
) -> None:
    widget = aw.show("The value of the list.", "It raises an exception.", model=roberta, tagger=None, view="predictions", progress=False)  # fmt: skip
    widget.to_html(tmp_path / "page.html")
    context = browser.new_context(offline=True, viewport={"width": 1200, "height": 1000})
    page = context.new_page()
    problems: list[str] = []
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.goto((tmp_path / "page.html").as_uri())
    panel = choose(page, "predictions")
    panel.locator('[data-mode="as_is"]').click()
    found = widget.analysis.predictions(top_k=5)
    guesses = panel.locator(".aw-prediction")
    expect(guesses).to_have_count(found.probabilities.size)
    agree(guesses, found.probabilities, rtol=rounding(np.abs(found.logits).max(), 4))
    faces = part(page, "ribbon").locator("[data-token]").all_inner_texts()
    assert [faces[i] for i, t in enumerate(widget.analysis.tokens) if t.special] == [
        "<s>", "</s>", "</s>", "</s>",
    ]  # fmt: skip
    assert problems == []
    context.close()
    widget.close()

"""The picture of Task in a document that runs no page: what the classifier answers, for every kind of it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import attn_widget as aw
from attn_widget.page.view_cells import view_cells
from tests.unit import tiny_models

TEXT = "The cat sat on the mat."
NAMES = {i: f"label <b>{i}</b>" for i in range(40)}


def shown(head: str, count: int, *texts: str, **settings: Any) -> tuple[Any, Any]:
    labels = {} if head == "QuestionAnswering" else {"num_labels": count, "id2label": {i: NAMES[i] for i in range(count)}}  # fmt: skip
    model = tiny_models.build("bert", f"For{head}", **labels, **settings)
    a = aw.analyze(*(texts or (TEXT,)), model=model, tagger=None, progress=False)
    widget = aw.show(a, view="task")
    found = view_cells(a, widget.selection, quick=True), a.model.classification
    widget.close()
    return found


@pytest.mark.parametrize("count", [2, 3, 40])
def test_classes_of_a_text_have_their_probabilities(count: int) -> None:
    cells, classes = shown("SequenceClassification", count)
    kept = np.sort(np.argsort(-classes.probabilities, kind="stable")[:24])
    np.testing.assert_allclose(cells.shades[:, 0], classes.probabilities[kept], rtol=1e-6)
    assert list(cells.rows) == [f"{NAMES[i]} {classes.probabilities[i]:.1%}" for i in kept]
    assert (f"the 24 largest of {count}" in cells.caption) == (count > 24)


def test_values_of_a_regression_keep_their_signs() -> None:
    cells, classes = shown("SequenceClassification", 3, problem_type="regression")
    np.testing.assert_allclose(
        cells.shades[:, 0], classes.logits / abs(classes.logits).max(), rtol=1e-6
    )
    assert cells.signed and cells.rows[1] == f"{NAMES[1]} {classes.logits[1]:.4g}"


def test_tokens_have_their_likeliest_classes() -> None:
    cells, classes = shown("TokenClassification", 4)
    rows = classes.probabilities[1:-1]
    np.testing.assert_allclose(cells.shades[:, 0], rows.max(axis=1), rtol=1e-6)
    for row, probabilities in zip(cells.rows, rows, strict=True):
        best = probabilities.argmax()
        assert f": {NAMES[best]} {probabilities[best]:.0%}" in row


def test_an_answer_has_its_start_and_end_over_the_tokens() -> None:
    cells, classes = shown("QuestionAnswering", 2, "Who sat?", TEXT)
    both = classes.probabilities.T
    np.testing.assert_allclose(cells.shades, both / both.max(), rtol=1e-6)
    assert list(cells.rows) == ["start", "end"] and cells.columns[0] == "[CLS]"


def test_a_page_escapes_the_names_of_classes(tmp_path: Path) -> None:
    model = tiny_models.build(
        "bert", "ForSequenceClassification", num_labels=3, id2label={i: NAMES[i] for i in range(3)}
    )
    widget = aw.show(TEXT, model=model, view="task", tagger=None, progress=False)
    path = widget.to_html(tmp_path / "page.html")
    widget.close()
    [figure] = re.findall(
        r'<div class="aw-static">(.*?)</figure>', path.read_text(encoding="utf-8"), flags=re.S
    )
    assert "label &lt;b&gt;1&lt;/b&gt; " in figure and "<b>" not in figure

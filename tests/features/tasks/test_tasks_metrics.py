"""The four metrics, by hand and by their definitions."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attn_widget.errors import InputError, InputTypeError
from attn_widget.features.tasks import score

FIVE = np.array(
    [
        [0.6, 0.1, 0.1, 0.1, 0.1],
        [0.5, 0.2, 0.1, 0.1, 0.1],  # one off
        [0.1, 0.1, 0.1, 0.2, 0.5],  # two off
        [0.1, 0.1, 0.1, 0.6, 0.1],
        [0.4, 0.1, 0.1, 0.1, 0.3],  # four off
    ]
)


def test_figures_by_hand() -> None:
    found = score([0, 1, 2, 3, 4], FIVE)
    assert found.correct == 40.0
    assert found.relaxed == 60.0
    by_hand = -(math.log(0.6) + math.log(0.2) + math.log(0.1) + math.log(0.6) + math.log(0.3)) / 5
    assert found.cross_entropy == pytest.approx(by_hand, abs=1e-12)
    # Class 0: 0.6 beats all four others; 1: beats four; 2: ties with four; 3: beats four; 4: 0.3 beats
    # three of 0.1, 0.1, 0.5, 0.1.
    assert found.auc_roc == pytest.approx((1 + 1 + 0.5 + 1 + 0.75) / 5, abs=1e-12)


def test_even_guesses_are_chance() -> None:
    found = score([0, 1, 2, 0], np.full((4, 3), 1 / 3))
    assert found.cross_entropy == pytest.approx(math.log(3), abs=1e-12)
    assert found.auc_roc == 0.5
    assert found.correct == 50.0  # the first class wins a tie


@pytest.mark.parametrize(("classes", "given"), [(2, False), (3, False), (4, True), (5, True)])
def test_relaxed_is_for_four_classes_and_more(classes: int, given: bool) -> None:
    found = score(np.arange(classes), np.eye(classes))
    assert (found.relaxed is not None) == given
    assert (found.cross_entropy, found.auc_roc, found.correct) == (pytest.approx(0), 1.0, 100.0)


def test_auc_is_missing_where_a_class_is() -> None:
    found = score([0, 0, 1], np.full((3, 3), 1 / 3))
    assert math.isnan(found.auc_roc)
    assert found.correct == pytest.approx(200 / 3)


def test_two_classes_have_the_curve_of_either() -> None:
    labels, p = [0, 1, 0, 1, 1], np.array([0.2, 0.8, 0.6, 0.4, 0.6])
    # Of the six pairs the positive one is higher in four and equal in one.
    assert score(labels, np.column_stack([1 - p, p])).auc_roc == pytest.approx(4.5 / 6, abs=1e-12)


@st.composite
def scored(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray]:
    c, n = draw(st.integers(2, 6)), draw(st.integers(1, 12))
    labels = np.array([*range(c), *draw(st.lists(st.integers(0, c - 1), min_size=n, max_size=n))])
    weights = draw(
        st.lists(
            st.lists(st.integers(1, 9), min_size=c, max_size=c),
            min_size=len(labels),
            max_size=len(labels),
        )
    )
    rows = np.array(weights, dtype=float)
    return labels, rows / rows.sum(1, keepdims=True)


@settings(max_examples=40)
@given(scored())
def test_figures_follow_their_definitions(data: tuple[np.ndarray, np.ndarray]) -> None:
    labels, rows = data
    found = score(labels, rows)
    true = rows[np.arange(len(labels)), labels]
    assert found.cross_entropy == pytest.approx(-np.log(true).mean(), abs=1e-9)
    areas = []
    for c in range(rows.shape[1]):
        ones, others = rows[labels == c, c], rows[labels != c, c]
        above = (ones[:, None] > others).mean() + 0.5 * (ones[:, None] == others).mean()
        areas.append(above)
    assert found.auc_roc == pytest.approx(np.mean(areas), abs=1e-9)
    off = np.abs(rows.argmax(1) - labels)
    assert found.correct == pytest.approx(100 * (off == 0).mean())
    if rows.shape[1] > 3:
        assert found.relaxed == pytest.approx(100 * (off <= 1).mean())
        assert found.correct <= found.relaxed <= 100


@settings(max_examples=40)
@given(scored(), st.randoms(use_true_random=False))
def test_the_order_of_the_texts_does_not_matter(
    data: tuple[np.ndarray, np.ndarray], random: object
) -> None:
    labels, rows = data
    order = list(range(len(labels)))
    random.shuffle(order)  # type: ignore[attr-defined]
    a, b = score(labels, rows), score(labels[order], rows[order])
    assert (a.correct, a.relaxed) == (b.correct, b.relaxed)
    assert a.auc_roc == pytest.approx(b.auc_roc, abs=1e-12)
    assert a.cross_entropy == pytest.approx(b.cross_entropy, abs=1e-12)


def test_a_certain_mistake_costs_36_nats() -> None:
    found = score([0, 1], [[0.0, 1.0], [0.0, 1.0]])
    assert found.cross_entropy == pytest.approx(52 * math.log(2) / 2)


def test_half_precision_scores_without_a_warning() -> None:
    rows = np.random.default_rng(0).dirichlet(np.ones(5), 50)
    labels = np.arange(50) % 5
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        rounded = score(labels, rows.astype(np.float16))
    assert rounded.cross_entropy == pytest.approx(score(labels, rows).cross_entropy, abs=2e-3)


@pytest.mark.parametrize(
    ("labels", "rows", "message"),
    [
        ([], np.empty((0, 2)), "no labels to score"),
        ([0], [0.3], r"shape \(1,\), expected \[n, c\]"),
        ([0], [[1.0]], "c >= 2"),
        ([0, 1], [[0.5, 0.5]], "one label for each row"),
        ([0.5], [[0.5, 0.5]], "whole numbers 0 to 1"),
        ([2], [[0.5, 0.5]], "labels go from 2 to 2"),
        ([-1, 1], [[0.5, 0.5]] * 2, "labels go from -1 to 1"),
        ([0, 1], [[0.5, 0.5], [2.0, -1.0]], "Row 1 is not a distribution"),
        ([0], [[3.0, 1.0]], "take the softmax of logits"),
        ([0], [[float("nan"), 1.0]], "Row 0 is not a distribution"),
    ],
)
def test_what_cannot_be_scored_is_said(labels: object, rows: object, message: str) -> None:
    with pytest.raises(InputError, match=message):
        score(labels, rows)


@pytest.mark.parametrize("numbers", ["1" * 100_000, ["1" * 100_000]])
def test_a_number_of_100_000_digits_is_refused_before_it_is_read(numbers: object) -> None:
    with pytest.raises(InputTypeError, match="a text that long is no number"):
        score([0], numbers)  # pyright: ignore[reportArgumentType]

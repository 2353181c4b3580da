"""Figures of a causal mask: chance and denominators by the keys that each query may look at."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray

import attn_widget as aw
from attn_widget.analysis import Analysis
from attn_widget.analysis.opening import opening
from attn_widget.errors import InputError, NotAvailableError
from attn_widget.figures.choice import Choice
from attn_widget.figures.metrics import layer_metrics
from attn_widget.figures.rollout import rollout, rollout_of_mask
from attn_widget.protocol.head_scan import survey
from tests.close import assert_close
from tests.reference import naive_attention as naive
from tests.unit.slice_replies import ask

WORDS = [
    "When",
    "Mary",
    "and",
    "John",
    "went",
    "to",
    "the",
    "store",
    ",",
    "John",
    "gave",
    "a",
    "drink",
]
N = len(WORDS)
CAUSAL = np.tri(N, dtype=bool)
COUNTS = np.arange(1, N + 1)
FLAT = (CAUSAL / COUNTS[:, None]).astype(np.float32)
SINK = np.where(CAUSAL, 0.1 / COUNTS[:, None], 0)
SINK[:, 0] += 0.9
BACK = np.eye(N, k=-1) * 0.9 + 0.1 * FLAT
BACK[0] = FLAT[0]
JOHN = 0.9 * (np.arange(N)[:, None] == 9) * (np.arange(N) == 3) + 0.1 * FLAT  # John -> John
DUPLICATE = JOHN / JOHN.sum(axis=1, keepdims=True)
LINK = FLAT.copy()
LINK[12] = np.where(np.arange(N) == 4, 0.9, 0.1 / (N - 1))  # drink -> went
HEADS = np.stack([FLAT, SINK, BACK, DUPLICATE, LINK]).astype(np.float32)


def made(layers: int = 1, **options: object) -> Analysis:
    return aw.from_attentions([HEADS] * layers, WORDS, tagger=None, **options)  # pyright: ignore


def test_a_flat_head_is_at_chance_in_every_figure() -> None:
    a = made()
    metrics = {key: float(values[0, 0]) for key, values in a.metrics.as_dict().items()}
    assert_close(metrics["focus_normalized"], 1, terms=N, steps=2)
    assert metrics["uniformity"] == 0
    assert a.heads.metrics_at("uniform").sparsity[0, 0] == 0
    chance = np.mean(1 / COUNTS[1:])
    for key in ("self", "cls"):
        assert_close(a.heads.specialization.raw[key][0, 0], chance, terms=N, steps=2)
        assert a.heads.specialization.chance[key] == pytest.approx(chance)
    for key, values in a.heads.specialization.raw.items():
        if key not in a.heads.specialization.reasons:
            assert_close(values[0, 0], a.heads.specialization.chance[key], terms=N, steps=2, size=1)
    for key in ("previous", "duplicate", "induction"):
        found = a.heads.patterns.values[key][0, 0]
        assert_close(found, a.heads.patterns.chance_of(key), terms=N, steps=2, size=1)
    assert np.isnan(a.heads.patterns.next).all()


def test_a_mask_that_is_found_gives_what_a_mask_that_is_told_does() -> None:
    found, told = made(), made(allowed=CAUSAL)
    assert found.trace.mask_found and not told.trace.mask_found
    np.testing.assert_array_equal(found.trace.allowed(0), CAUSAL)
    for key, values in told.metrics.as_dict().items():
        np.testing.assert_array_equal(found.metrics.values[key], values)
    for key, values in told.heads.specialization.raw.items():
        np.testing.assert_array_equal(found.heads.specialization.raw[key], values)
    assert opening(found) == opening(told)
    assert made(allowed=None).trace.allowed(0) is None


def test_weight_above_the_diagonal_is_no_causal_mask() -> None:
    weights = HEADS.copy()
    weights[2, 4] = 1 / N
    a = aw.from_attentions([HEADS, weights], WORDS, tagger=None)
    assert a.trace.allowed(0) is None and not a.trace.mask_found
    assert aw.from_attentions(np.ones((1, 1, 1, 1)), ["a"]).trace.allowed(0) is None


def test_it_opens_on_a_link_between_words_and_not_on_the_sink() -> None:
    a = made()
    opened = opening(a)
    assert (opened.layer, opened.head, opened.token) == (0, 4, 12)
    # The ramp ends at the largest weight that is not on token 0.
    assert_close(
        survey(a).word_max[0], [np.sort(head[1:, 1:].ravel())[-1] for head in HEADS], terms=1
    )


def test_rows_may_sum_to_less_than_one_where_a_sink_takes_the_rest() -> None:
    shares = np.linspace(0.02, 0.98, N, dtype=np.float32)
    weights = HEADS * shares[:, None]
    with pytest.raises(InputError, match="rest=True"):
        aw.from_attentions(weights[None], WORDS)
    a = aw.from_attentions(weights[None], WORDS, rest=True, tagger=None)
    assert_close(a.trace.rest(0), np.broadcast_to(1 - shares, (5, N)), terms=N, steps=2, size=1)
    assert_close(a.heads.patterns.rest[0], 1 - shares.mean(), terms=N, steps=2, size=1)
    assert a.heads.patterns.keys[-1] == "rest" and "rest" not in made().heads.patterns.keys
    widget, plain = (aw.AttentionWidget(run, layer=0, head=2) for run in (a, made()))
    frame = widget.to_dataframe("attention")
    assert [*frame.columns][-2:] == ["weight", "rest"]
    rest = frame["rest"].to_numpy().reshape(N, N)
    assert (rest == rest[:, :1]).all()  # of the query, in each of its cells
    assert_close(rest[:, 0], 1 - shares, terms=N, steps=2, size=1)
    assert "rest" not in plain.to_dataframe("attention").columns
    for shown in (widget, plain):
        shown.close()
    _, arrays = ask(a, kind="pyramid", layer=0, head=2)
    assert_close(arrays["rest"], 1 - shares, terms=N, steps=2, size=1)
    assert "rest" not in ask(made(), kind="pyramid", layer=0, head=2)[1]
    with pytest.raises(InputError, match="at most 1"):
        aw.from_attentions(1.1 * weights[None] + 0.2, WORDS, rest=True)


def test_a_rollout_that_the_mask_explains_is_refused_with_the_number() -> None:
    a = made(layers=12)
    assert a.heads.rollout_limit is not None
    layer, token, share = a.heads.rollout_limit
    flat = [FLAT] * 12
    steps = list(rollout(flat))
    assert token == 0 and steps[layer - 1][-1, 0] <= 0.5 < steps[layer][-1, 0]
    assert_close(share, steps[layer][-1, 0], terms=N, steps=12, size=1)
    np.testing.assert_array_equal(a.rollout(layer - 1)[0], np.eye(N)[0])
    with pytest.raises(
        NotAvailableError, match=rf"gives {steps[11][-1, 0]:.3f} of the last.*\(When\)"
    ):
        a.rollout()
    with pytest.raises(NotAvailableError, match="shows the mask, not the model"):
        a.heads.tree(5, layer=11, head="rollout")
    assert made(layers=12, allowed=None).rollout(11).shape == (N, N)


@pytest.mark.parametrize("n", [2, 3, 14])
def test_the_rollout_of_a_mask_is_that_of_flat_heads(n: int) -> None:
    window = np.tri(n, dtype=bool) & ~np.tri(n, k=-3, dtype=bool)
    masks = [np.tri(n, dtype=bool), None, window]
    flat = [
        np.full((n, n), 1 / n) if mask is None else mask / mask.sum(axis=1, keepdims=True)
        for mask in masks
    ]
    expected = list(rollout([one.astype(np.float32) for one in flat]))[-1][-1]
    token, share = rollout_of_mask(masks, n)
    assert token == int(expected[:-1].argmax())
    assert_close(share, expected[token], terms=n, steps=3, size=1)


def test_tokens_of_one_choice_alone_keep_their_figures() -> None:
    one = aw.from_attentions(np.ones((1, 1, 1, 1)), ["a"], tagger=None)
    assert one.metrics.confidence_max[0, 0] == one.heads.specialization.self[0, 0] == 1
    diagonal = layer_metrics(np.eye(3, dtype=np.float32)[None], np.eye(3, dtype=bool))
    assert diagonal["confidence_avg"][0] == 1 and diagonal["uniformity"][0] == 0
    assert math.isnan(diagonal["focus_normalized"][0])


@st.composite
def masked(draw: st.DrawFn) -> tuple[NDArray[np.float32], NDArray[np.bool_]]:
    """A head's weights, float32 [n, n], under any mask that leaves every query a key."""
    n = draw(st.integers(2, 9))
    allowed = draw(arrays(np.bool_, (n, n))) | np.eye(n, dtype=bool)
    scores = draw(arrays(np.float64, (n, n), elements=st.floats(-20, 20)))
    wide = np.where(allowed, np.exp(scores - scores.max(axis=1, keepdims=True)), 0)
    wide[~wide.any(axis=1)] = allowed[~wide.any(axis=1)]
    return (wide / wide.sum(axis=1, keepdims=True)).astype(np.float32), allowed


@settings(max_examples=120)
@given(masked())
def test_metrics_agree_with_the_definitions_under_any_mask(
    made: tuple[NDArray[np.float32], NDArray[np.bool_]],
) -> None:
    weights, allowed = made
    found = layer_metrics(weights[None], allowed)
    expected = naive.metrics(weights.tolist(), float(np.float32(0.01)), allowed.tolist())
    for key, value in expected.items():
        size = max(1.0, value) if value == value else 1.0
        assert_close(found[key][0], value, terms=len(weights), steps=2, size=size)


@settings(max_examples=60)
@given(masked())
def test_flat_attention_is_at_chance_under_any_mask(
    made: tuple[NDArray[np.float32], NDArray[np.bool_]],
) -> None:
    _, allowed = made
    n, counts = len(allowed), allowed.sum(axis=1)
    flat = (allowed / counts[:, None]).astype(np.float32)
    a = aw.from_attentions(flat[None, None], [f"w{i % 3}" for i in range(n)], allowed=allowed)
    assert a.metrics.uniformity[0, 0] == a.heads.metrics_at("uniform").sparsity[0, 0] == 0
    if Choice(allowed, n).most_entropy > 0:
        assert_close(a.metrics.focus_normalized[0, 0], 1, terms=n, steps=2)
    of = {
        **a.heads.specialization.chance,
        **{key: a.heads.patterns.chance_of(key) for key in a.heads.patterns.keys},
    }
    for key, values in {**a.heads.specialization.raw, **a.heads.patterns.values}.items():
        assert_close(values[0, 0], of[key], terms=n, steps=2, size=1)

"""Masks by rule: every cell and figure as in the matrix of all cells."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

import attn_widget as aw
from attn_widget.trace import QKVTrace
from attn_widget.trace.base import LONG_TOKENS
from attn_widget.trace.capture import capture
from attn_widget.trace.windows.masks import (
    RowSpans,
    diagonal_of,
    keys_per_query,
    looks_back,
    reach_of,
    sums_by_key,
)
from tests.close import assert_close
from tests.unit import tiny_models

N = 300
PLACE = np.arange(N)
SEGMENT = (PLACE >= 120).astype(int)
RULES = {
    "full": np.ones((N, N), dtype=bool),
    "causal": np.tri(N, dtype=bool),
    "window": np.abs(PLACE[:, None] - PLACE) <= 64,
    "padding": np.broadcast_to(PLACE < 250, (N, N)),
    "pair blocks": SEGMENT[:, None] == SEGMENT,
    "window and common keys": (np.abs(PLACE[:, None] - PLACE) <= 9) | (PLACE % 50 == 0),
    "rows of nothing": np.broadcast_to((PLACE < 200)[:, None], (N, N)),
}


@pytest.mark.parametrize("name", RULES)
def test_a_rule_is_its_matrix(name: str) -> None:
    mask: NDArray[np.bool_] = RULES[name]
    rule = RowSpans.of(mask)
    assert rule is not None
    assert rule.nbytes < N * 10
    np.testing.assert_array_equal(rule[:], mask)
    np.testing.assert_array_equal(rule[7:90, 30:40], mask[7:90, 30:40])
    picked = np.ix_([250, 3], [9, 100, 101])
    np.testing.assert_array_equal(rule[picked], mask[picked])
    np.testing.assert_array_equal(rule.counts(), keys_per_query(mask))
    for offset in (-200, -1, 0, 1, 64, 65):
        np.testing.assert_array_equal(rule.diagonal(offset), np.diagonal(mask, offset))
        np.testing.assert_array_equal(diagonal_of(rule, offset), diagonal_of(mask, offset))
    values = np.random.default_rng(0).random(N)
    for of in (rule, mask):
        np.testing.assert_allclose(sums_by_key(of, values), values @ mask, rtol=1e-12)
    assert looks_back(rule) == looks_back(mask) == (name == "causal")
    for rows in (slice(0, 128), slice(128, 256), slice(256, 300)):
        assert reach_of(rule, rows) == reach_of(mask, rows)


def test_a_mask_without_a_rule_stays_a_matrix() -> None:
    assert RowSpans.of(np.random.default_rng(0).random((N, N)) < 0.5) is None


def test_a_long_text_holds_no_mask_of_all_cells() -> None:
    limit = LONG_TOKENS + 200
    encoder = aw.load(tiny_models.build("modernbert", max_position_embeddings=limit))
    trace = capture(encoder, encoder.encode("the cat sat " * 400, truncation=True))
    assert isinstance(trace, QKVTrace)
    n = trace.n_tokens
    assert n > LONG_TOKENS
    rules = [trace.mask(layer) for layer in range(trace.n_layers)]
    assert any(isinstance(rule, RowSpans) for rule in rules)
    assert all(rule is None or isinstance(rule, RowSpans) for rule in rules)
    assert all(held.allowed is None for held in trace._layers)  # pyright: ignore
    for layer, rule in enumerate(rules):
        weights = trace.weights(layer, 0)
        assert_close(weights.sum(axis=1), 1, terms=weights.shape[1])
        if isinstance(rule, RowSpans):
            assert (weights[~rule[:]] == 0).all()
            assert rule.counts().max() < n
            np.testing.assert_array_equal(trace.allowed(layer), rule[:])

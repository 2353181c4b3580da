"""Long texts: heads walked by blocks of rows give the figures of whole matrices."""

from __future__ import annotations

from dataclasses import fields
from functools import cache

import numpy as np
import pytest
import torch

import attn_widget as aw
from attn_widget.figures.choice import Choice, kinds_of
from attn_widget.figures.long import walk_heads
from attn_widget.figures.marginals import layer_marginals
from attn_widget.figures.metrics import KEYS, layer_metrics
from attn_widget.model.tokens import Token
from attn_widget.protocol.head_scan import survey
from attn_widget.trace import LayerQKV, QKVTrace, Trace, WeightsTrace
from attn_widget.trace.base import BLOCK_ROWS, LONG_TOKENS
from attn_widget.trace.capture import capture
from tests.close import assert_close
from tests.unit import tiny_models

WORDS = ["the", "cat", "sat", "on", "the", "mat", ",", "and", "it", "looked", "at", "a", "bird"]


@cache
def trace_of(family: str, n: int) -> Trace:
    encoder = aw.load(tiny_models.build(family, max_position_embeddings=512))
    return capture(encoder, encoder.encode(" ".join(WORDS[i % len(WORDS)] for i in range(n))))


def given(n: int, **kwargs: object) -> WeightsTrace:
    scores = np.random.default_rng(0).normal(size=(2, 3, n, n)) * 3
    allowed = kwargs.get("allowed")
    if allowed is not None:
        scores = np.where(np.stack(allowed)[:, None], scores, -np.inf)  # pyright: ignore
    weights = np.exp(scores) / np.exp(scores).sum(axis=-1, keepdims=True)
    tokens = [Token(f"t{i}", i, i, i + 1, "t") for i in range(n)]
    return WeightsTrace(tokens, list(weights.astype(np.float32)), **kwargs)  # pyright: ignore


def causal() -> WeightsTrace:
    return given(300, allowed=[np.tri(300, dtype=bool), np.tri(300, k=-2, dtype=bool) | np.eye(300, dtype=bool)])  # fmt: skip


@pytest.mark.parametrize(
    "make",
    [
        lambda: trace_of("bert", 110),
        lambda: trace_of("modernbert", 110),
        lambda: trace_of("deberta-v2", 110),
        lambda: given(300),
        causal,
        lambda: given(1),
        lambda: given(BLOCK_ROWS),
        lambda: given(BLOCK_ROWS + 1),
    ],
)
def test_blocks_give_the_figures_of_whole_layers(make: object) -> None:
    trace: Trace = make()  # pyright: ignore
    metrics, marginals = walk_heads(trace)
    for layer in range(trace.n_layers):
        weights, allowed = trace.layer_weights(layer), trace.allowed(layer)
        for key, values in layer_metrics(weights, allowed).items():
            size = [1, *np.ravel(values)]
            assert_close(metrics.values[key][layer], values, terms=trace.n_tokens, size=size)
        queries = Choice(allowed, trace.n_tokens).queries
        expected = layer_marginals(weights, queries, kinds_of(trace.tokens))
        for name, values in vars(expected).items():
            assert_close(getattr(marginals, name)[layer], values, terms=trace.n_tokens)
    assert set(metrics.values) == set(KEYS)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
@pytest.mark.parametrize("family", ["bert", "modernbert"])
def test_the_walk_works_where_the_tensors_are(family: str) -> None:
    trace = trace_of(family, 110)
    assert isinstance(trace, QKVTrace)
    moved = [
        LayerQKV(
            **{
                field.name: value.cuda() if isinstance(value, torch.Tensor) else value
                for field in fields(LayerQKV)
                for value in [getattr(layer, field.name)]
            }
        )
        for layer in trace._layers  # pyright: ignore[reportPrivateUsage]
    ]
    there = QKVTrace(trace.tokens, moved)
    one, other = walk_heads(there)[0], walk_heads(trace)[0]
    for key in KEYS:
        size = np.fmax(np.abs(other.values[key]), 1)
        assert_close(one.values[key], other.values[key], **tiny_models.RUN, size=size)


def test_a_windowed_layer_is_computed_inside_its_window() -> None:
    trace = trace_of("modernbert", 110)
    n = trace.n_tokens
    whole, windowed = trace.row_blocks(0), trace.row_blocks(1)
    assert [area.cols for area in whole] == [slice(0, n)] * len(whole)
    assert [area.rows.start for area in windowed] == list(range(0, n, BLOCK_ROWS))
    allowed = trace.allowed(1)
    assert allowed is not None
    for area, weights in trace.head_blocks(1, 0, windowed):
        outside = allowed[area.rows].copy()
        outside[:, area.cols] = False
        assert not outside.any()
        assert_close(weights, trace.weights(1, 0, area.rows, area.cols), terms=32)


def test_an_opened_mask_leaves_far_keys_out() -> None:
    n = 4 * BLOCK_ROWS
    place = np.arange(n)
    near = np.abs(place[:, None] - place) <= 5
    trace = given(n, allowed=[near, near])
    assert [(area.cols.start, area.cols.stop) for area in trace.row_blocks(0)] == [
        (0, 133), (123, 261), (251, 389), (379, 512),
    ]  # fmt: skip
    metrics, _ = walk_heads(trace)
    expected = layer_metrics(trace.layer_weights(1), near)
    assert_close(metrics.sparsity[1], expected["sparsity"], terms=1)


@pytest.mark.parametrize("windowed", [False, True])
def test_the_survey_of_a_long_text_is_that_of_its_matrices(windowed: bool) -> None:
    n = LONG_TOKENS + 77
    place = np.arange(n)
    near = np.abs(place[:, None] - place) <= 40
    trace = given(n, **({"allowed": [near, near]} if windowed else {}))
    analysis = aw.Analysis(trace, tagger=None)
    steps: list[tuple[int, int]] = []
    found = survey(analysis, lambda done, total: steps.append((done, total)))
    assert steps == [(0, 2), (1, 2)]
    weights = np.stack([trace.layer_weights(layer) for layer in range(2)])
    np.testing.assert_array_equal(found.head_max, weights.max(axis=(2, 3)))
    starts = np.arange(24) * n // 24
    pooled = np.maximum.reduceat(np.maximum.reduceat(weights, starts, axis=2), starts, axis=3)
    largest = pooled.max(axis=(2, 3), keepdims=True)
    np.testing.assert_array_equal(found.thumbs, np.ceil(np.sqrt(pooled / largest) * 255))
    assert (found.word_max == found.head_max).all()
    metrics = layer_metrics(weights[0], near if windowed else None)
    assert_close(analysis.metrics.q75[0], metrics["q75"], terms=32)


def test_the_mean_head_of_a_long_text_is_the_mean() -> None:
    trace = trace_of("bert", 110)
    assert trace.n_tokens <= LONG_TOKENS
    expected = trace.layer_weights(1).mean(axis=0)
    total = trace._mean(1, slice(None)).numpy()  # pyright: ignore
    assert_close(total, expected, terms=4)

"""Rollout, the change between layers, and attention flow."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import networkx as nx
import numpy as np
import pytest
from scipy.spatial.distance import jensenshannon

from attn_widget.checks.rounding import rounding
from attn_widget.errors import InputError
from attn_widget.figures.flow import attention_flow
from attn_widget.figures.rollout import layer_change, rollout, with_residual
from tests.close import assert_close
from tests.reference import naive_attention as naive
from tests.reference.samples import KINDS, SIZES, attention


def means(kind: str, n: int, layers: int = 4) -> list[np.ndarray]:
    return [attention(kind, n, heads=1, seed=layer)[0][0] for layer in range(layers)]


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("kind", KINDS)
def test_rollout_agrees_with_the_definition_and_its_rows_sum_to_one(kind: str, n: int) -> None:
    matrices = means(kind, n)
    found = list(rollout(matrices))
    expected = naive.rollout([matrix.tolist() for matrix in matrices])
    assert_close(found, expected, terms=n, steps=len(matrices))
    assert_close(np.sum(found, axis=-1), 1, terms=n, steps=len(matrices))
    assert all(step.dtype == np.float32 for step in found)


def test_rollout_of_512_tokens_keeps_rows_that_sum_to_one() -> None:
    *_, last = rollout(means("random", 512, layers=12))
    assert_close(last.sum(axis=1, dtype=np.float64), 1, terms=512, steps=12)


def test_a_row_without_weights_passes_by_the_residual() -> None:
    matrix = np.array([[np.nan, np.nan], [0.5, 0.5]], dtype=np.float32)
    assert with_residual(matrix).tolist() == [[1, 0], [0.25, 0.75]]


@pytest.mark.parametrize("kind", KINDS)
def test_change_between_layers_is_the_distance_of_scipy(kind: str) -> None:
    matrices = means(kind, 7)
    expected = [
        # scipy's own square root of a rounding error below zero is NaN
        np.nan_to_num(jensenshannon(p.astype(np.float64), q.astype(np.float64), axis=1)).mean()
        for p, q in pairwise(matrices)
    ]
    assert_close(layer_change(matrices), expected, terms=7, size=1)


def test_opposite_layers_are_as_far_apart_as_can_be_and_equal_ones_not_at_all() -> None:
    eye = np.eye(4, dtype=np.float32)
    found = layer_change([eye, eye, eye[::-1]])
    assert found.tolist() == pytest.approx([0, math.sqrt(math.log(2))])


def test_rows_that_do_not_sum_to_one_are_rescaled_and_empty_ones_left_out() -> None:
    first, second = means("random", 5, layers=2)
    assert layer_change([first / 2, second]) == pytest.approx(layer_change([first, second]))
    first, second = first.copy(), second.copy()
    expected = layer_change([first[1:], second[1:]])
    first[0] = 0
    second[0] = np.nan
    assert layer_change([first, second]) == pytest.approx(expected)
    assert np.isnan(layer_change([first * 0, second])).all()


def networkx_flow(matrices: list[np.ndarray], token: int, key: int) -> float:
    graph = nx.DiGraph()
    for layer, matrix in enumerate(matrices):
        for i, row in enumerate(naive.residual(matrix.tolist())):
            for j, capacity in enumerate(row):
                graph.add_edge((layer + 1, i), (layer, j), capacity=capacity)
    return nx.maximum_flow_value(graph, (len(matrices), token), (0, key))


@pytest.mark.parametrize("n", [1, 2, 5, 6])
@pytest.mark.parametrize("kind", KINDS)
def test_flow_is_the_maximum_flow_of_networkx(kind: str, n: int) -> None:
    matrices = means(kind, n, layers=3)
    for token in {0, n - 1}:
        expected = [networkx_flow(matrices, token, key) for key in range(n)]
        found = attention_flow(matrices, token)
        assert_close(found, expected, terms=n, steps=3)


def test_flow_to_chosen_keys_is_that_to_all() -> None:
    matrices = means("random", 12)
    every = attention_flow(matrices, 3)
    assert attention_flow(matrices, 3, [7, 0]).tolist() == [every[7], every[0]]


def test_flow_to_a_key_that_is_named_again_and_again_is_computed_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from scipy.sparse import csgraph

    means: Any = np.random.default_rng(0).dirichlet(np.ones(5), size=(3, 5)).astype(np.float32)
    computed: list[int] = []
    maximum_flow = csgraph.maximum_flow

    def counted(graph: Any, source: int, sink: int) -> Any:
        computed.append(sink)
        return maximum_flow(graph, source, sink)

    monkeypatch.setattr(csgraph, "maximum_flow", counted)
    flows = attention_flow(means, 2, [3, 0] * 50_000)
    assert sorted(computed) == [0, 3]
    np.testing.assert_array_equal(flows, np.tile(attention_flow(means, 2)[[3, 0]], 50_000))


def test_flow_is_never_below_rollout() -> None:
    matrices = means("random", 9)
    *_, rolled = rollout(matrices)
    # Rollout sends one unit by the weights and is itself a flow.
    assert (attention_flow(matrices, 2) >= rolled[2] - rounding(1, 9, len(matrices))).all()


@pytest.mark.parametrize(("token", "keys"), [(5, None), (-1, None), (0, [5]), (0, [-1])])
def test_a_token_out_of_range_is_refused(token: int, keys: list[int] | None) -> None:
    with pytest.raises(InputError, match="expected 0 to 4"):
        attention_flow(means("random", 5), token, keys)


def test_a_graph_too_large_is_refused_with_a_way_out() -> None:
    matrices = [np.full((600, 600), 1 / 600, dtype=np.float32)] * 12
    with pytest.raises(InputError, match="use rollout"):
        attention_flow(matrices, 0)

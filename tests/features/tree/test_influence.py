"""The influence tree: who is a child of whom, and what its edges carry."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attn_widget.analysis import Analysis
from attn_widget.errors import InputError, InputTypeError
from attn_widget.features.tree.influence import MAX_NODES, Influence, influence_tree
from tests.reference import naive_attention as naive
from tests.reference.samples import attention
from tests.unit.test_analysis_analysis import TAGS, TEXT, made_trace


def edges(tree: Influence) -> list[tuple[tuple[int, ...], float, float]]:
    found: list[tuple[tuple[int, ...], float, float]] = []

    def visit(node: Influence, path: tuple[int, ...]) -> None:
        for child in node.children:
            assert child.weight is not None
            assert child.depth == node.depth + 1
            found.append(((*path, child.token), child.weight, child.product))
            visit(child, (*path, child.token))

    visit(tree, (tree.token,))
    return found


@settings(max_examples=80)
@given(
    st.integers(1, 9),
    st.sampled_from(["random", "uniform", "one-hot", "peaked"]),
    st.integers(1, 5),
    st.integers(0, 4),
    st.integers(0, 1000),
)
def test_the_tree_is_the_one_of_the_definition(
    n: int, kind: str, top_k: int, depth: int, seed: int
) -> None:
    matrix = attention(kind, n, heads=1, seed=seed)[0][0]
    root = seed % n
    tree = influence_tree(matrix, root, top_k=top_k, depth=depth)
    expected = naive.tree_edges(matrix.tolist(), root, top_k, depth, range(n))
    found = edges(tree)
    assert [path for path, _, _ in found] == [path for path, _, _ in expected]
    np.testing.assert_allclose(
        [e[1:] for e in found], [e[1:] for e in expected], rtol=1e-12, atol=1e-15
    )
    assert all(len(set(path)) == len(path) for path, _, _ in found)


def test_tokens_that_are_left_out_are_no_children_but_may_be_the_root() -> None:
    matrix = attention("random", 6, heads=1)[0][0]
    keep = np.array([False, True, True, True, True, False])
    tree = influence_tree(matrix, 0, keep=keep)
    expected = naive.tree_edges(matrix.tolist(), 0, 3, 3, range(1, 5))
    assert [path for path, _, _ in edges(tree)] == [path for path, _, _ in expected]
    assert tree.token == 0


def test_impossible_links_are_never_edges() -> None:
    weights, allowed = attention("causal", 6, heads=1)
    tree = influence_tree(weights[0], 3, top_k=9, depth=9, allowed=allowed)
    for path, _, _ in edges(tree):
        assert list(path) == sorted(path, reverse=True)
    assert [node.token for node in influence_tree(weights[0], 0, allowed=allowed).walk()] == [0]


def test_equal_weights_are_ordered_by_position() -> None:
    tree = influence_tree(np.full((5, 5), 0.2, dtype=np.float32), 2, depth=1)
    assert [child.token for child in tree.children] == [0, 1, 3]


def test_edges_carry_the_scores_that_were_given() -> None:
    matrix = attention("random", 5, heads=1)[0][0]
    scores = np.log(matrix)
    tree = influence_tree(matrix, 1, scores=scores)
    assert tree.score is None
    for node in tree.walk():
        for child in node.children:
            assert child.score == scores[node.token, child.token]


def test_rows_without_weights_end_a_path() -> None:
    matrix = attention("random", 4, heads=1)[0][0].copy()
    matrix[0] = np.nan
    assert influence_tree(matrix, 0).children == ()


def test_one_token_has_no_children_at_any_depth() -> None:
    tree = influence_tree(np.ones((1, 1), dtype=np.float32), 0, top_k=50, depth=1000)
    assert tree.to_dict() == {
        "token": 0, "depth": 0, "weight": None, "product": 1.0, "score": None, "children": [],
    }  # fmt: skip


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"root": 6}, "token is 6, expected 0 to 5"),
        ({"root": -1}, "token is -1, expected"),
        ({"root": 0, "top_k": 0}, "top_k is 0"),
        ({"root": 0, "depth": -1}, "depth is -1"),
    ],
)
def test_what_makes_no_tree_is_refused(options: dict[str, Any], message: str) -> None:
    matrix = attention("random", 6, heads=1)[0][0]
    with pytest.raises(InputError, match=message):
        influence_tree(matrix, **options)


@pytest.mark.parametrize(
    "options", [{"top_k": 2.0}, {"top_k": "3"}, {"depth": None}, {"depth": True}]
)
def test_counts_of_another_type_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(InputTypeError, match="expected an int"):
        influence_tree(attention("random", 6, heads=1)[0][0], 0, **options)


def test_a_tree_too_large_to_read_is_refused_before_it_grows() -> None:
    matrix = attention("uniform", 60, heads=1)[0][0]
    with pytest.raises(InputError, match=f"over {MAX_NODES:,} tokens"):
        influence_tree(matrix, 0, top_k=59, depth=59)


def test_a_table_has_a_row_for_each_edge() -> None:
    tree = influence_tree(attention("random", 5, heads=1)[0][0], 1, top_k=2, depth=2)
    table = tree.to_dataframe()
    assert table.columns.tolist() == ["parent", "token", "depth", "weight", "product", "score"]
    assert len(table) == 6
    assert repr(tree) == "Influence(token=1, depth=0, 7 nodes)"


@pytest.fixture
def analysis() -> Analysis:
    return Analysis(made_trace(), text=TEXT, tagger=lambda text: TAGS)


def test_influence_of_rollout_and_mean_heads_has_no_scores(analysis: Analysis) -> None:
    rolled = analysis.heads.tree(3, layer=1, head="rollout", depth=1)
    row = analysis.rollout(1)[3]
    assert rolled.children[0].weight == max(float(w) for i, w in enumerate(row) if i != 3)
    mean = analysis.heads.tree(3, layer=1, head="mean", depth=1)
    assert mean.children[0].weight == max(
        float(w) for i, w in enumerate(analysis.attention(1, "mean")[3]) if i != 3
    )
    assert all(node.score is None for node in (*rolled.walk(), *mean.walk()))
    tree = analysis.heads.tree(3, layer=1, head=0, special=False)
    assert not {0, 11} & {node.token for node in tree.walk()}


def test_the_tree_of_a_view_of_words_has_its_weights(analysis: Analysis) -> None:
    view = analysis.view(words=True)
    assert view.heads.tree(2, layer=3, head=0, depth=1).children[0].weight == max(
        float(w) for i, w in enumerate(view.attention(3, 0)[2]) if i != 2
    )


@pytest.mark.parametrize("wrong", [-1, 12, True, "cat", 1.5])
def test_a_layer_or_a_token_that_is_not_there_is_refused(analysis: Analysis, wrong: Any) -> None:
    with pytest.raises(InputError, match="layer is"):
        analysis.heads.tree(0, layer=wrong, head="rollout")
    with pytest.raises(InputError, match="token is"):
        analysis.heads.tree(wrong, layer=0, head=0)

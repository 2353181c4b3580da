"""The seven specialization metrics: raw, scaled, standardized, N/A."""

from __future__ import annotations

import math

import numpy as np
import pytest

from attn_widget.errors import InputError
from attn_widget.figures.choice import Choice
from attn_widget.figures.marginals import Marginals, layer_marginals, stack_marginals
from attn_widget.figures.specialization import KEYS, scale_by_layer, specialize, standardize
from tests.close import assert_close
from tests.reference import naive_attention as naive
from tests.reference.samples import KINDS, SIZES, attention, layers

SETS = ("syntax", "semantics", "punctuation", "entities")


def marginals(weights: np.ndarray, allowed: np.ndarray | None = None) -> Marginals:
    queries = None if allowed is None else Choice(allowed, weights.shape[-1]).queries
    return stack_marginals([layer_marginals(layer, queries) for layer in weights])


@pytest.mark.parametrize("n", [*SIZES, 512])
@pytest.mark.parametrize("kind", KINDS)
def test_raw_values_and_chance_agree_with_the_definitions(kind: str, n: int) -> None:
    weights, allowed = attention(kind, n, heads=1)
    rng = np.random.default_rng(n)
    sets = {key: rng.random(n) < 0.4 for key in SETS}
    found = specialize(marginals(weights[None], allowed), sets, allowed=[allowed])
    matrix, mask = weights[0].tolist(), None if allowed is None else allowed.tolist()
    expected = {
        "cls": naive.mean_of_cells(matrix, lambda _, j: j == 0, mask),
        "self": naive.mean_of_cells(matrix, lambda i, j: i == j, mask),
        "long_range": naive.mean_of_cells(matrix, lambda i, j: abs(i - j) >= 5, mask),
    }
    for key, members in sets.items():
        keys = np.flatnonzero(members).tolist()
        none = (math.nan, math.nan)
        of = (matrix, keys, mask)
        expected[key] = (naive.share(*of), naive.share_by_chance(*of)) if keys else none
    assert set(expected) == set(KEYS) == set(found.raw)
    for key, (value, chance) in expected.items():
        assert_close(float(found.raw[key][0, 0]), value, terms=n, steps=2, size=1)
        assert_close(found.chance[key], chance, terms=n, size=1)
        assert math.isnan(value) == (key in found.reasons) == math.isnan(found.chance[key]), key
        if kind in ("uniform", "causal uniform"):
            assert_close(value, chance, terms=n, steps=2, size=1)


def test_long_range_keeps_its_digits_where_nearly_all_weight_is_near() -> None:
    n = 500
    place = np.arange(n)
    rng = np.random.default_rng(5)
    scores = rng.normal(size=(n, n)) - 14.0 * (np.abs(place[:, None] - place) >= 5)
    weights = np.exp(scores)
    weights = (weights / weights.sum(axis=1, keepdims=True)).astype(np.float32)
    found = specialize(marginals(weights[None, None]), {})
    expected = naive.long_range(weights.tolist())
    assert expected < 1e-6
    assert float(found.long_range[0, 0]) == pytest.approx(expected, rel=2e-6)


def test_shares_of_a_partition_sum_to_one() -> None:
    weights = layers(30)
    group = np.random.default_rng(1).integers(0, 4, 30)
    found = specialize(marginals(weights), {key: group == i for i, key in enumerate(SETS)})
    total = found.syntax + found.semantics + found.punctuation + found.entities
    assert_close(total, 1, terms=30, steps=2)
    assert sum(found.chance[key] for key in SETS) == pytest.approx(1)


@pytest.mark.parametrize("n", [6, 40])
def test_uniform_attention_is_at_the_chance_level(n: int) -> None:
    mask = np.arange(n) % 3 == 0
    found = specialize(marginals(np.full((1, 1, n, n), 1 / n, np.float32)), {"syntax": mask})
    for key in ("syntax", "cls", "long_range", "self"):
        assert_close(found.raw[key][0, 0], found.chance[key], terms=n, steps=2)


def test_what_cannot_be_said_is_na_with_its_reason() -> None:
    found = specialize(
        marginals(layers(5)),
        {"syntax": np.zeros(5, dtype=bool)},
        {"entities": "The text has no named entity."},
        first_is_summary=False,
    )
    assert set(found.reasons) == set(KEYS) - {"self"}
    assert found.reasons["entities"] == "The text has no named entity."
    reason = "There are 5 tokens; a pair 5 tokens apart needs 6."
    assert found.reasons["long_range"] == reason
    assert all(np.isnan(found.raw[key]).all() for key in found.reasons)
    assert not np.isnan(found.self).any()
    assert "N/A: syntax" in repr(found)


def test_scaling_is_by_layer_and_z_scores_are_global() -> None:
    found = specialize(marginals(layers(12, layers=3, heads=4)), {})
    scaled, scores = found.scaled()["self"], found.zscores()["self"]
    np.testing.assert_array_equal(scaled.min(axis=1), 0)
    np.testing.assert_array_equal(scaled.max(axis=1), 1)
    assert_close(scores.mean(), 0, terms=12, size=1)
    assert_close(scores.std(), 1, terms=12)
    order = np.argsort(found.self, axis=1)
    np.testing.assert_array_equal(np.argsort(scaled, axis=1), order)
    assert np.isnan(found.scaled()["syntax"]).all()
    assert np.isnan(found.zscores()["syntax"]).all()


def test_heads_that_agree_have_no_scale() -> None:
    same = np.full((2, 3), 0.3, dtype=np.float32)
    same[0, 0] += 3e-8  # the rounding of a float32 sum
    assert np.isnan(scale_by_layer(same)).all()
    assert np.isnan(standardize(same)).all()
    assert np.isnan(scale_by_layer(same[:, :1])).all()


@pytest.mark.parametrize(
    ("sets", "message"),
    [
        ({"nouns": np.ones(5, bool)}, "Unknown key set 'nouns'"),
        ({"syntax": np.ones(4, bool)}, r"expected bool \[5\]"),
        ({"syntax": np.arange(5)}, r"expected bool \[5\]"),
    ],
)
def test_a_key_set_that_does_not_fit_is_refused(sets: dict[str, np.ndarray], message: str) -> None:
    with pytest.raises(InputError, match=message):
        specialize(marginals(layers(5)), sets)


def test_a_table_has_a_row_for_each_head() -> None:
    found = specialize(marginals(layers(8, layers=2, heads=3)), {})
    table = found.to_dataframe()
    assert table.columns.tolist() == ["layer", "head", *KEYS]
    assert table.shape == (6, 9)
    assert table.loc[4, "self"] == found.self[1, 1]

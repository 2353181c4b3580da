"""Hidden states: against naive loops, scipy's PCA by SVD, and the formula by hand."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from attn_widget.features.inside.hidden import hidden_path, residual_ratio, sinusoidal_positions
from tests.close import assert_close


def random_states(seed: int, layers: int = 4, n: int = 5, d: int = 7) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(layers + 1, n, d)).astype(np.float32)


def test_norms_and_cosines_are_those_of_plain_loops() -> None:
    states = random_states(0)
    path = hidden_path(states)
    for layer in range(5):
        for token in range(5):
            vector = [float(x) for x in states[layer, token]]
            norm = math.sqrt(sum(x * x for x in vector))
            assert_close(path.norms[layer, token], norm, terms=len(vector))
            if layer:
                before = [float(x) for x in states[layer - 1, token]]
                dot = sum(a * b for a, b in zip(vector, before, strict=True))
                length = math.sqrt(sum(x * x for x in before))
                assert_close(
                    path.cosines[layer - 1, token], dot / norm / length, terms=len(vector), size=1
                )


@given(st.integers(0, 10_000), st.integers(1, 6), st.integers(1, 8))
def test_the_plane_is_that_of_a_singular_value_decomposition(seed: int, n: int, d: int) -> None:
    states = random_states(seed, layers=3, n=n, d=d)
    path = hidden_path(states)
    rows = states.reshape(-1, d).astype(float)
    rows -= rows.mean(axis=0)
    singular = np.linalg.svd(rows, compute_uv=False)
    singular = np.pad(singular, (0, 2))[:2]
    spread = np.linalg.norm(path.points.reshape(-1, 2), axis=0)
    assert_close(spread**2, singular**2, terms=rows.size, steps=2)  # squares, and their sum
    shares = singular**2 / (rows**2).sum()
    assert_close(path.explained, shares, terms=rows.shape[1], size=1)


def test_a_zero_vector_has_no_cosine_and_no_ratio() -> None:
    states = np.zeros((2, 1, 3), dtype=np.float32)
    states[1] = 1
    path = hidden_path(states)
    assert np.isnan(path.cosines[0, 0])
    assert np.isnan(residual_ratio(states[0], states[1])[0])


def test_a_ratio_is_that_of_the_lengths_of_each_token() -> None:
    before, after = random_states(3, layers=1)
    ratios = residual_ratio(before, after)
    assert ratios.shape == (5,)
    for token in range(5):
        change = math.dist(before[token].tolist(), after[token].tolist())
        length = math.hypot(*before[token].tolist())
        assert_close(ratios[token], change / length, terms=before.shape[1])


@given(st.integers(1, 30), st.integers(1, 16))
def test_sinusoids_are_the_formula_of_the_paper(n: int, d: int) -> None:
    table = sinusoidal_positions(n, d)
    for p in range(n):
        for column in range(d):
            angle = p / 10000 ** (2 * (column // 2) / d)
            expected = math.sin(angle) if column % 2 == 0 else math.cos(angle)
            assert_close(table[p, column], expected, terms=1, size=1)

"""What is shown first does not depend on the last bit: of equal values the first is taken."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest
import torch

import attn_widget as aw
from attn_widget.analysis.opening import opening
from attn_widget.checks.rounding import TIE, UNIT, first_largest, largest_first, rounding
from attn_widget.figures.roles import role_names
from tests.close import assert_close
from tests.unit import tiny_models

TEXT = "the cat sat on the mat and the dog looked at the bird"


def noise(shape: Any, seed: int) -> Any:
    """A few last bits of float32, as another order of sums changes them."""
    return 1 + np.random.default_rng(seed).integers(-8, 9, shape) * 2 * UNIT


@pytest.mark.parametrize("seed", range(20))
def test_noise_of_the_last_bits_changes_no_order(seed: int) -> None:
    values = np.array([0.3, 0.9, 0.9, 0.1, 0.9, 0.3, 0.0, 0.1])
    wanted = [1, 2, 4, 0, 5, 3, 7, 6]
    assert largest_first(values) == wanted
    noisy = (values * noise(8, seed)).astype(np.float32)
    assert largest_first(noisy) == wanted and first_largest(noisy) == 1
    assert largest_first(-noisy)[:3] == [6, 3, 7] and first_largest(noisy[::-1]) == 3


def test_other_values_are_no_tie() -> None:
    assert (
        largest_first([1.0, 1.0 + 4 * TIE]) == [1, 0] and first_largest([1.0, 1.0 + 4 * TIE]) == 1
    )
    chain = 1 - np.arange(6) * 0.6 * TIE  # neighbors are close, the ends are not
    assert largest_first(chain[::-1]) == [4, 5, 2, 3, 0, 1]
    assert largest_first([np.nan, 0.0, np.nan, 1.0]) == [3, 1, 0, 2]
    assert first_largest([np.nan, -2.0]) == 1 and largest_first([0.0, 0.0]) == [0, 1]
    assert largest_first([-np.inf, np.inf, 1.0]) == [1, 2, 0]


def test_rounding_is_of_the_size_that_sums_in_another_order_have() -> None:
    rng = np.random.default_rng(0)
    for terms in (8, 64, 768, 3072):
        x = rng.normal(size=(200, terms)).astype(np.float32)
        exact = x.sum(axis=1, dtype=np.float64)
        allowed = rounding(np.abs(x).sum(axis=1).max(), terms)
        one_by_one = np.cumsum(x, axis=1, dtype=np.float32)[:, -1]
        apart = np.abs(one_by_one - exact).max()
        assert apart <= allowed <= 400 * apart
        assert np.abs(one_by_one - x[:, ::-1].sum(axis=1)).max() <= allowed


@pytest.mark.parametrize("seed", range(20))
def test_equal_links_open_at_the_first_head_and_word(seed: int) -> None:
    words = ["Some", "dogs", "often", "chase", "birds", "near", "quiet", "green", "lakes", "today"]
    n = len(words)
    weights = np.full((3, 4, n, n), 1 / n)
    for layer, head, query, key in ((1, 2, 3, 8), (1, 2, 6, 1), (2, 0, 7, 3)):
        weights[layer, head, query] = 0.3 / (n - 1)
        weights[layer, head, query, key] = 0.7
    noisy = (weights * noise(weights.shape, seed)).astype(np.float32)
    found = opening(aw.from_attentions(noisy, words, tagger=None))
    assert (found.layer, found.head, found.token, found.key) == (1, 2, 3, 8)


def twin_heads() -> Any:
    """A model whose heads 1 and 3 are one head, with half of its output each."""
    model, tokenizer = tiny_models.build("bert", seed=4)
    model = copy.deepcopy(model)
    with torch.no_grad():
        for layer in model.bert.encoder.layer:
            own = layer.attention.self
            for part in (own.query, own.key, own.value):
                part.weight[24:32] = part.weight[8:16]
                part.bias[24:32] = part.bias[8:16]
            output = layer.attention.output.dense.weight
            output[:, 24:32] = output[:, 8:16]
    return model, tokenizer


def test_twin_heads_stand_in_their_order() -> None:
    pair = twin_heads()
    c = aw.compare(TEXT, TEXT.replace("cat", "dog"), model=pair, tagger=None, progress=False)
    many = aw.compare.many([(TEXT, TEXT.replace("cat", "dog"))], model=pair, progress=False)
    for order in (c.heads(), many.heads()):
        for layer in (1, 2):
            assert order.index((layer, 3)) == order.index((layer, 1)) + 1
        # In layer 0 only the row of the other word differs, and no head's by more than rounding.
        assert order[-4:] == [(0, 0), (0, 1), (0, 2), (0, 3)]
    a = aw.analyze(TEXT, model=pair, tagger=None, progress=False)
    effects = a.why.head_effects(aw.target(position=2, token=17, masked=True))
    twins = effects.effects[:, [1, 3]]
    assert_close(twins[:, 0], twins[:, 1], **tiny_models.RUN, size=a.trace.logits)
    opened = opening(a)
    assert opened.head != 3


@pytest.mark.parametrize("seed", range(5))
def test_names_of_roles_do_not_depend_on_the_last_bit(seed: int) -> None:
    centroids = np.array([[2.0, 2.0, 0.1], [0.1, 1.0, 1.0]]) * noise((2, 3), seed)
    assert role_names(centroids, ("self", "cls", "next")) == ("self + cls", "cls + next")

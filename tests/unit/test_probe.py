"""Patterns of a model on random tokens that stand several times."""

from __future__ import annotations

import numpy as np
import pytest

import attn_widget as aw
from attn_widget.trace.probe import repeated_tokens
from tests.close import assert_close
from tests.reference import naive_attention as naive
from tests.unit import tiny_models

PROMPT = "The cat sat on the mat"


@pytest.mark.parametrize("name", ["llama", "embedded"])
def test_the_probe_is_the_mean_over_draws_of_random_tokens_that_stand_four_times(
    name: str,
) -> None:
    model = None if name == "embedded" else tiny_models.build(name)
    a = aw.analyze(PROMPT, model=model, tagger=None, progress=False)
    assert a.run is not None
    traces = list(repeated_tokens(a.run, 3))
    drawn: set[tuple[int, ...]] = set()
    for trace in traces:
        ids = [token.id for token in trace.tokens if token.id != a.tokens[0].id]
        assert len(ids) == 100 and ids == ids[:25] * 4 and len(set(ids)) == 25
        drawn.add(tuple(ids))
    assert len(drawn) == len(traces) == 8
    found = a.model.probe_patterns(3)
    for layer, head in ((0, 0), (2, 1)):
        means: list[float] = []
        for trace in traces:
            every = [token.id for token in trace.tokens]
            matrix, mask = trace.weights(layer, head), trace.allowed(layer)
            expected, chance = naive.mean_of_sums(
                matrix.tolist(),
                lambda i, j, every=every: 1 <= j <= i and every[j - 1] == every[i],
                None if mask is None else mask.tolist(),
            )
            means.append(expected)
            assert found.chance["induction"][layer] == pytest.approx(chance)
        assert_close(found.induction[layer, head], np.mean(means), terms=100, size=1)
    again = aw.analyze("The dog", model=model, tagger=None, progress=False).model.probe_patterns(3)
    np.testing.assert_array_equal(again.induction, found.induction)
    assert a.model.probe_patterns(4).induction.tolist() != found.induction.tolist()

"""Accuracy of heads on patterns, over a corpus."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

from attn_widget import analyze, profile
from attn_widget.errors import InputError
from attn_widget.figures.catalog.targets import positional_targets

TEXTS = ["The cat saw the dog.", "Why?", "It rains in Paris, and the dog saw the other dog.", "Go"]


def test_accuracy_is_that_of_counting_by_hand() -> None:
    table = profile(TEXTS, tagger=None, progress=False).patterns
    hits, queries, expected = {}, {}, {}
    for text in TEXTS:
        a = analyze(text, tagger=None, progress=False)
        ids = a.run.encoding.inputs["input_ids"][0].numpy()
        for name, right in positional_targets(ids, [token.surface for token in a.tokens]).items():
            for query in np.flatnonzero(right.any(1)):
                for keys, cut in (("all", slice(None)), ("words", slice(1, -1))):
                    at = (keys, name)
                    queries[at] = queries.get(at, 0) + 1
                    expected[at] = expected.get(at, 0) + right[query].sum() / right[query, cut].size
                    for layer, head in ((0, 0), (2, 3), (5, 11)):
                        row = a.attention(layer, head)[query, cut]
                        hit = right[query, cut][row.argmax()]
                        key = (*at, layer, head)
                        hits[key] = hits.get(key, 0) + int(hit)
    for at in table[["keys", "pattern"]].drop_duplicates().itertuples(index=False):
        for layer, head in ((0, 0), (2, 3), (5, 11)):
            one = table[
                (table["keys"] == at[0])
                & (table["pattern"] == at[1])
                & (table["layer"] == layer)
                & (table["head"] == head)
            ].iloc[0]
            assert one["queries"] == queries[tuple(at)]
            assert one["accuracy"] == hits[(*at, layer, head)] / queries[tuple(at)]
            assert one["chance"] == pytest.approx(expected[tuple(at)] / queries[tuple(at)])
            assert 0 <= one["low"] <= one["high"] <= 1
    assert set(table[table["pattern"] == "previous"]["offset"]) == {1.0}
    assert len(table) == 10 * 72


def test_no_order_of_the_texts_changes_a_bit() -> None:
    found = profile(TEXTS, tagger=None, progress=False).patterns
    assert profile(TEXTS[::-1], tagger=None, progress=False).patterns.equals(found)


def test_a_profile_without_its_texts_says_so() -> None:
    p = pickle.loads(pickle.dumps(copy.copy(profile(TEXTS[:2], tagger=None, progress=False))))
    with pytest.raises(InputError, match="has no texts"):
        _ = p.patterns

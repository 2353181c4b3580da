"""Examples of a head: the same texts and links as a pass over the whole corpus gives."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import attn_widget as aw
from attn_widget.errors import InputError, InputTypeError
from attn_widget.features.corpus.examples import sampled
from attn_widget.features.corpus.reading.observed import is_word
from attn_widget.features.corpus.reading.targets import positional_targets
from tests.close import assert_close
from tests.unit.made_texts import corpus

TEXTS = corpus(60)


@pytest.fixture(scope="module")
def found() -> aw.Profile:
    return aw.profile(TEXTS, tagger=None, progress=False)


def brute(layer: int, head: int, by: str) -> list[tuple[float, int, int, int, float]]:
    """Value, place, query, key and weight of every text, the largest value first."""
    rows: list[tuple[float, int, int, int, float]] = []
    for place, text in enumerate(TEXTS):
        a = aw.analyze(text, tagger=None, progress=False)
        weights = a.attention(layer, head)
        right = np.ones_like(weights, bool)
        if by == "same word":
            ids = a.run.encoding.inputs["input_ids"][0].numpy()
            right = positional_targets(ids, [token.surface for token in a.tokens])[by]
            if not right.any():
                continue
            value = np.where(right, weights, 0).sum(1)[right.any(1)].mean()
        else:
            value = getattr(a.heads.patterns if by == "previous" else a.metrics, by)[layer, head]
        links = [
            (float(weights[i, j]), -i, -j)
            for i in range(1, a.trace.n_tokens - 1)
            for j in range(1, a.trace.n_tokens - 1)
            if (by != "previous" or j == i - 1)
            and right[i, j]
            and is_word(a.tokens[i])
            and is_word(a.tokens[j])
        ]
        weight, i, j = max(links)
        rows.append((float(value), place, -i, -j, weight))
    return sorted(rows, key=lambda row: -row[0])


@pytest.mark.parametrize("by", ["confidence_max", "previous", "focus_per_row", "same word"])
def test_they_are_those_of_a_pass_over_everything(found: aw.Profile, by: str) -> None:
    expected = brute(2, 3, by)
    for lowest in (False, True):
        given = found.examples(2, 3, by=by, k=8, lowest=lowest)
        ordered = expected[::-1] if lowest else expected
        assert_close(given["value"], [row[0] for row in ordered[:8]], terms=384, steps=6)
        by_place = {row[1]: row for row in expected}
        for example in given.itertuples():
            value, place, query, key, weight = by_place[example.index]
            assert example.text == TEXTS[place]
            assert_close(example.value, value, terms=384, steps=6)
            assert (example.query, example.key) == (query, key)
            assert_close(example.weight, weight, terms=384, steps=6)


def test_no_order_of_the_texts_changes_them(found: aw.Profile) -> None:
    turned = aw.profile(TEXTS[::-1], tagger=None, progress=False)
    for by in ("previous", "sample"):
        one, other = (p.examples(1, 0, by=by, k=5)["text"].tolist() for p in (found, turned))
        assert one == other and len(one) == 5


def test_a_sample_is_drawn_alike() -> None:
    digests = np.random.default_rng(0).integers(0, 2**63, 50, dtype=np.uint64)
    counts = np.bincount(
        np.concatenate([sampled(digests, s, 10) for s in range(400)]), minlength=50
    )
    assert counts.sum() == 4000 and counts.min() > 40 and counts.max() < 130


def test_a_loaded_profile_asks_for_its_texts_and_model(found: aw.Profile, tmp_path: Path) -> None:
    found.save(tmp_path / "p.parquet")
    for loaded in (aw.Profile.load(tmp_path / "p.parquet"), pickle.loads(pickle.dumps(found))):
        with pytest.raises(InputError, match="has no texts"):
            loaded.examples(0, 0)
        again = loaded.examples(2, 3, texts=TEXTS, k=3)
        assert again["text"].tolist() == found.examples(2, 3, k=3)["text"].tolist()
        with pytest.raises(InputError, match="not those"):
            loaded.examples(0, 0, texts=TEXTS[1:])


@pytest.mark.parametrize(
    ("change", "error", "match"),
    [
        ({"by": "attention"}, InputError, "by is 'attention'"),
        ({"k": 0}, InputError, "k is 0"),
        ({"layer": 9}, InputError, "layer is 9"),
        ({"lowest": "no"}, InputTypeError, "lowest"),
    ],
)
def test_what_cannot_be_asked_is_refused(
    found: aw.Profile, change: dict[str, Any], error: type[Exception], match: str
) -> None:
    with pytest.raises(error, match=match):
        found.examples(**{"layer": 0, "head": 0, **change})

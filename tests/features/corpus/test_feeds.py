"""Which heads feed a head, over texts: the sums of single cells, added up."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

import attn_widget as aw
from attn_widget.errors import InputError, InputTypeError, NotAvailableError
from attn_widget.features.corpus.feeds import HeadFeeds

TEXTS = [
    "The keys to the cabinet are here.",
    "The man lost his keys because he was tired.",
    "Why?",
    "The dog saw the cat in Paris.",
]
LAYER, HEAD = 3, 4


@pytest.fixture(scope="module")
def found() -> HeadFeeds:
    profile = aw.profile(TEXTS, qk=(LAYER, HEAD), tagger=None, progress=False)
    assert profile.qk is not None
    return profile.qk


def strongest(a: aw.Analysis) -> list[tuple[int, int]]:
    """By sorting all cells."""
    words = [at for at, token in enumerate(a.tokens) if not token.special]
    weights = a.attention(LAYER, HEAD)
    cells = [(i, j) for i in words for j in words if i != j]
    return sorted(cells, key=lambda cell: -weights[cell])[:3]


@pytest.mark.parametrize("text", [0, 1, 3])
def test_a_text_is_the_mean_of_its_strongest_cells(found: HeadFeeds, text: int) -> None:
    a = aw.analyze(TEXTS[text], tagger=None, progress=False)
    row = found.index.tolist().index(text)
    assert found.cells[row] == strongest(a)
    cells = [a.qk_attribution(LAYER, HEAD, *cell, by="parts") for cell in strongest(a)]
    assert found.contrast[row] == pytest.approx(np.mean([c.contrast for c in cells]), rel=1e-6)
    assert found.weight[row] == pytest.approx(np.mean([c.weight for c in cells]), rel=1e-6)
    for at, side in enumerate(("query", "key")):
        own = np.mean([c.parts(side)[1] for c in cells], axis=0)
        kinds = [part.kind for part in cells[0].parts(side)[0]]
        heads = [value for kind, value in zip(kinds, own, strict=True) if kind == "head"]
        np.testing.assert_allclose(found.measured[row, at, :-2], heads, atol=1e-5)
        ffns = sum(value for kind, value in zip(kinds, own, strict=True) if kind == "ffn")
        assert found.measured[row, at, -2] == pytest.approx(ffns, abs=1e-5)
    np.testing.assert_allclose(found.measured[row].sum(axis=1), found.contrast[row], rtol=1e-4)


def test_a_text_without_a_cell_is_listed(found: HeadFeeds) -> None:
    assert found.index.tolist() == [0, 1, 3]
    assert [each["index"] for each in found.failed] == [2]
    with pytest.raises(InputError, match=r"no text has a cell.*three words"):
        aw.profile(["Why?"], qk=(LAYER, HEAD), tagger=None, progress=False)


def test_neither_order_nor_neighbors_change_a_bit(found: HeadFeeds) -> None:
    turned = aw.profile(TEXTS[::-1], qk=(LAYER, HEAD), tagger=None, progress=False).qk
    assert turned is not None
    np.testing.assert_array_equal(turned.measured[::-1], found.measured)
    alone = aw.profile(TEXTS[1:2], qk=(LAYER, HEAD), tagger=None, progress=False).qk
    assert alone is not None
    np.testing.assert_array_equal(alone.measured[0], found.measured[1])


def test_the_table_has_means_shares_and_intervals(found: HeadFeeds) -> None:
    rows = found.to_records()
    assert len(rows) == 2 * (LAYER * 12 + 2)
    for side in ("query", "key"):
        of = [row for row in rows if row["side"] == side]
        assert sum(row["value"] for row in of) == pytest.approx(found.contrast.mean(), rel=1e-4)
        assert sum(row["share"] for row in of) == pytest.approx(1, rel=1e-4)
    assert (rows[0]["part"], rows[0]["layer"], rows[0]["head"], rows[0]["texts"]) == (
        "L0 H0",
        0,
        0,
        3,
    )
    assert rows[-1]["part"] == "embedding, biases" and rows[-1]["layer"] is None
    first, second = found.largest(2)
    assert abs(first["value"]) >= abs(second["value"]) and first["side"] == "key"
    assert np.isnan(rows[0]["low"]) and "an interval takes 8" in repr(found)
    pytest.importorskip("pandas")
    assert list(found.to_dataframe().columns)[:3] == ["side", "part", "layer"]


def test_eight_texts_have_intervals_that_hold_the_mean() -> None:
    nouns = ("cat", "dog", "man", "girl", "boy", "king", "bird", "child")
    texts = [f"The {noun} lost the keys and was tired." for noun in nouns]
    found = aw.profile(texts, qk=(1, HEAD), tagger=None, progress=False).qk
    assert found is not None
    low, high = found.interval
    assert ((low <= found.mean) & (found.mean <= high)).all()
    low, high = found.share_interval
    assert (low <= high).all() and np.isfinite(low).all()


def test_a_profile_keeps_it_when_it_is_pickled_or_saved(found: HeadFeeds, tmp_path: Any) -> None:
    profile = aw.profile(TEXTS, qk=(LAYER, HEAD), tagger=None, progress=False)
    profile.save(tmp_path / "p.parquet")
    loaded = aw.Profile.load(tmp_path / "p.parquet")
    for kept in (pickle.loads(pickle.dumps(profile)), loaded):
        assert kept.qk is not None
        np.testing.assert_equal(kept.qk.to_records(), found.to_records())
        assert (kept.qk.cells, kept.qk.failed) == (found.cells, found.failed)
        assert kept.qk.index.tolist() == [0, 1, 3] and repr(kept.qk) == repr(found)
    np.testing.assert_equal(loaded.mean, profile.mean)
    loaded.save(tmp_path / "again.parquet")
    again = aw.Profile.load(tmp_path / "again.parquet")
    assert again.meta == loaded.meta and "more" not in again.meta
    np.testing.assert_equal(again.qk.to_records(), found.to_records())


def test_a_profile_without_it_has_none(tmp_path: Any) -> None:
    profile = aw.profile(TEXTS[:1], tagger=None, progress=False)
    assert profile.qk is None
    profile.save(tmp_path / "p.parquet")
    assert aw.Profile.load(tmp_path / "p.parquet").qk is None


@pytest.mark.parametrize(
    ("given", "kind", "message"),
    [
        ((0, 3), InputError, "no head is below it"),
        ((6, 3), InputError, "the layer of qk is 6"),
        ((3, "mean"), InputError, "the head of qk is 'mean'"),
        ((3,), InputError, "expected \\(layer, head\\)"),
        ("ab", InputTypeError, "qk is"),
        (3, InputTypeError, "qk is"),
    ],
)
def test_bad_heads(given: Any, kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=message):
        aw.profile(TEXTS[:1], qk=given, progress=False)


def test_ray_and_encoder_decoders_are_refused() -> None:
    with pytest.raises(InputError, match="engine='local'"):
        aw.profile(TEXTS[:1], qk=(LAYER, HEAD), engine="ray", progress=False)
    with pytest.raises(NotAvailableError, match="encoder-decoder"):
        aw.profile([("2 May", "05")], model="dates", qk=(1, 1), progress=False)

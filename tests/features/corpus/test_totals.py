"""Sums over texts: the same bits as from all figures at once, however they are cut and merged."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from attn_widget.features.corpus.examples import chosen, sampled
from attn_widget.features.corpus.heaps import KEPT, LINK, Heaps, example_values
from attn_widget.features.corpus.reading.observed import LINKS, ROWS, SHARES, Observed
from attn_widget.features.corpus.reading.targets import OFFSETS
from attn_widget.features.corpus.statistics import intervals, means
from attn_widget.features.corpus.storage import Rows
from attn_widget.features.corpus.totals import Totals

SHAPE = (3, 2, 2)


def made(n: int, rng: np.random.Generator) -> Rows:
    """Figures of texts, of very different sizes, some N/A, some the same."""
    figures = rng.random((n, *SHAPE), dtype=np.float32) * np.float32([1e-5, 1, 3000])[:, None, None]
    figures[rng.random(n) < 0.2, 1] = np.nan
    figures[rng.random((n, *SHAPE)) < 0.01] = np.nan  # of one head alone
    figures[::5, 0] = np.float32(0.25)
    weights = rng.random((n, len(LINKS), 2, 2), dtype=np.float32).round(2)
    places = rng.integers(0, 9, (2, n, len(LINKS), 2, 2)).astype(np.int16)
    observed = Observed(
        weights,
        *places,
        rng.random((n, len(SHARES), 2, 2), dtype=np.float32),
        rng.integers(0, 9, (n, len(ROWS), 2, 2)).astype(np.int16),
        rng.integers(9, 12, (n, len(ROWS))).astype(np.int32),
        rng.random((n, len(ROWS))),
        rng.integers(0, 9, (n, len(ROWS), len(OFFSETS))).astype(np.int16),
    )
    digests = rng.integers(0, 2**63, n, dtype=np.uint64)
    texts = [f"text {k}" for k in range(n)]
    tokens = [[f"token {k}"] for k in range(n)]
    return Rows(np.arange(n), rng.integers(3, 99, n), figures, digests, observed, texts, tokens)


def part(rows: Rows, places: np.ndarray) -> Rows:
    assert rows.digests is not None and rows.observed is not None
    assert rows.texts is not None and rows.tokens is not None
    return Rows(
        rows.index[places],
        rows.n_tokens[places],
        rows.figures[places],
        rows.digests[places],
        rows.observed.take(places),
        [rows.texts[k] for k in places],
        [rows.tokens[k] for k in places],
    )


def empty() -> Totals:
    return Totals(SHAPE, 7, Heaps(("a", "b", "c", LINK, *SHARES), 2, 2))


@pytest.fixture(scope="module")
def rows() -> Rows:
    return made(700, np.random.default_rng(0))


@pytest.fixture(scope="module")
def whole(rows: Rows) -> Totals:
    totals = empty()
    totals.add(rows)
    return totals


def test_they_are_the_figures_of_all_texts_at_once(rows: Rows, whole: Totals) -> None:
    assert whole.n_texts == 700 and whole.n_tokens == rows.n_tokens.sum()
    pairs = [
        (whole.mean(), means.mean(rows.figures)),
        (whole.sd(), means.sd(rows.figures)),
        (whole.count, means.count(rows.figures)),
        *zip(whole.interval(), intervals.bootstrap(rows.figures, 7, rows.digests), strict=True),
    ]
    for found, wanted in pairs:
        assert np.array_equal(found, wanted, equal_nan=True)
    exact = np.nanstd(rows.figures.astype(np.float64), axis=0, ddof=1)
    np.testing.assert_allclose(whole.sd(), exact, rtol=1e-6)


def test_no_cut_and_no_order_of_merging_changes_a_bit(rows: Rows, whole: Totals) -> None:
    rng = np.random.default_rng(1)
    for n_parts in (2, 5, 40):
        cuts = np.array_split(rng.permutation(700), n_parts)
        sums = []
        for places in cuts:
            sums.append(empty())
            sums[-1].add(part(rows, places))
        total = empty()
        for k in rng.permutation(n_parts):
            total.merge(sums[k])
        for name, values in whole.arrays.items():
            assert np.array_equal(values, total.arrays[name]), name
        assert total.heaps is not None and whole.heaps is not None
        for name, values in whole.heaps.entries.items():
            assert np.array_equal(values, total.heaps.entries[name], equal_nan=True), name
        assert total.heaps.texts == whole.heaps.texts
        assert total.accuracies() == whole.accuracies()


def test_what_is_counted_twice_is_seen(rows: Rows, whole: Totals) -> None:
    twice = empty()
    twice.add(rows)
    twice.add(part(rows, np.array([3])))
    assert not np.array_equal(twice.arrays["sum"], whole.arrays["sum"])


def test_heaps_keep_the_texts_that_a_sort_of_all_gives(rows: Rows, whole: Totals) -> None:
    heaps, values, observed = whole.heaps, example_values(rows), rows.observed
    assert heaps is not None and rows.digests is not None and observed is not None
    for figure in range(values.shape[1]):
        for lowest in (False, True):
            wanted = chosen(values[:, figure, 1, 0], rows.digests, KEPT, lowest=lowest)
            found = heaps.best(figure, 1, 0, lowest=lowest)
            entries = {name: part[found] for name, part in heaps.entries.items()}
            assert entries["index"].tolist() == wanted.tolist()
            assert np.array_equal(entries["value"], values[wanted, figure, 1, 0])
            # After three figures and the link come those of a pattern, each with its own kind of link.
            at = wanted, LINKS.index(SHARES[figure - 4]) if figure > 3 else 0, 1, 0
            assert np.array_equal(entries["query"], observed.queries_at[at])
            assert np.array_equal(entries["key"], observed.keys_at[at])
            assert np.array_equal(entries["weight"], observed.weights[at])
    drawn = heaps.best(None, 0, 0, lowest=False)
    places = heaps.entries["index"][drawn]
    assert places.tolist() == sampled(rows.digests, 7, KEPT).tolist()
    assert np.array_equal(heaps.entries["weight"][drawn], observed.weights[places, 0, 0, 0])
    assert set(heaps.texts) == set(heaps.entries["index"].tolist())
    assert all(kept.tokens == [f"token {k}"] for k, kept in heaps.texts.items())


def test_sums_without_hashes_are_refused(rows: Rows) -> None:
    with pytest.raises(ValueError, match="without hashes"):
        empty().add(replace(rows, digests=None))

"""compare_many(): many pairs, and going on where it was interrupted."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import attn_widget as aw
from attn_widget.checks.rounding import TIE
from attn_widget.errors import InputError, InputTypeError
from tests.close import assert_close
from tests.unit import tiny_models


@pytest.fixture(scope="module")
def tiny() -> Any:
    return aw.load(tiny_models.build("bert"))


PAIRS = [("he sat", "she sat"), ("he ran", "she ran"), (("a cat", "it ran"), ("a dog", "it ran"))]


def sorted_up_to_ties(column: Any) -> bool:
    """Whether no value exceeds an earlier one by more than a tie (`attn_widget.checks.rounding`)."""
    values = column.to_numpy()
    return bool((np.diff(values) <= TIE * np.abs(values).max()).all())


def test_many_pairs(tiny: Any, tmp_path: Path) -> None:
    many = aw.compare.many(PAIRS, model=tiny, progress=False)
    each = [
        aw.compare(a, b, model=tiny, tagger=None, progress=False).distances().distances
        for a, b in PAIRS
    ]
    assert_close(many.mean, np.mean(each, axis=0), terms=len(PAIRS), size=1)
    assert np.isnan(many.interval[0]).all() and "3 pairs" in str(many.interval_note)
    assert many.heads()[0] == divmod(int(np.mean(each, axis=0).argmax()), 4)
    table = many.to_dataframe()
    assert "layer" in many.plot().axes[0].get_ylabel()
    assert sorted_up_to_ties(table["distance"]) and table["count"].tolist() == [3] * 12

    class StopError(Exception):
        pass

    def interrupted(monkeypatch: pytest.MonkeyPatch) -> None:
        import attn_widget.features.comparison.many as module

        whole: Any = vars(module)["_figures"]
        calls = itertools.count()

        def figures(*runs: Any) -> Any:
            if next(calls) == 2:
                raise StopError
            return whole(*runs)

        monkeypatch.setattr(module, "_figures", figures)
        with pytest.raises(StopError):
            aw.compare.many(PAIRS, model=tiny, progress=False, resume=tmp_path)

    with pytest.MonkeyPatch.context() as monkeypatch:
        interrupted(monkeypatch)
    assert len(list(tmp_path.glob("part-*"))) == 1
    resumed = aw.compare.many(PAIRS, model=tiny, progress=False, resume=tmp_path)
    np.testing.assert_array_equal(resumed.distances, many.distances)
    with pytest.raises(InputError, match="not of this run"):
        aw.compare.many(PAIRS[:2], model=tiny, progress=False, resume=tmp_path)
    with pytest.raises(InputError, match="Pair 1"):
        aw.compare.many([("a", "b"), ("a", "")], model=tiny, progress=False)
    with pytest.raises(InputTypeError, match="Pair 0"):
        aw.compare.many(["ab"], model=tiny)
    with pytest.raises(InputError, match="empty"):
        aw.compare.many([], model=tiny)


PEOPLE = ["Anna", "Ben", "Clara", "David", "Emma", "Frank", "Grace", "Henry", "Julia", "Karl"]
PLURALS = [(f"The keys of {name} are here.", f"The key of {name} are here.") for name in PEOPLE]
NAMES = [(a, a.replace(name, "Peter")) for (a, _), name in zip(PLURALS, PEOPLE, strict=True)]


def test_a_null_takes_off_what_any_other_word_would_change(tiny: Any) -> None:
    many = aw.compare.many(PLURALS, null=NAMES, model=tiny, progress=False)
    alone = aw.compare.many(NAMES, model=tiny, progress=False)
    assert many.null is not None
    np.testing.assert_array_equal(many.null.distances, alone.distances)
    excess, low, high = many.excess
    assert_close(excess, many.mean - alone.mean, terms=len(PLURALS), size=many.mean)
    assert ((low <= excess) & (excess <= high)).all()
    assert many.heads()[0] == divmod(int(excess.argmax()), 4)
    table = many.to_dataframe()
    assert sorted_up_to_ties(table["excess"])
    assert_close(
        table["distance"] - table["null"],
        table["excess"],
        terms=1,
        size=[table["distance"], table["null"]],
    )
    assert "in null pairs" in repr(many) and "null pairs" in many.plot().axes[0].get_xlabel()
    without = aw.compare.many(PLURALS, model=tiny, progress=False)
    assert np.isnan(without.excess[0]).all() and "never below 0" in repr(without)
    # The same pairs as their own null: nothing is left, though every distance is above 0.
    own = aw.compare.many(PLURALS, null=PLURALS, model=tiny, progress=False)
    assert (own.mean >= 0).all() and own.mean.max() > 0 and not own.excess[0].any()
    with pytest.raises(InputError, match="null holds 2, and there are 10 pairs"):
        aw.compare.many(PLURALS, null=NAMES[:2], model=tiny, progress=False)


def test_heads_are_chosen_on_one_half_and_measured_on_the_other(tiny: Any) -> None:
    texts = [*PLURALS, *((f"{a} Today.", f"{b} Today.") for a, b in PLURALS)]
    many = aw.compare.many(texts, null=[*NAMES, *NAMES], model=tiny, progress=False)
    rows = many.held_out(3)
    marks = many._marks  # pyright: ignore[reportPrivateUsage]
    first = np.isin(marks, np.sort(marks)[::2])
    assert first.sum() == 10
    beyond = many.distances - many.null.distances  # pyright: ignore[reportOptionalMemberAccess]
    order = np.argsort(-beyond[first].mean(axis=0), axis=None)[:3]
    assert [(row["layer"], row["head"]) for row in rows] == [divmod(int(k), 4) for k in order]
    for row in rows:
        place = row["layer"], row["head"]
        assert_close(row["chosen"], many.distances[first].mean(axis=0)[place], terms=10)
        other = many.distances[~first].mean(axis=0)[place]
        assert_close(row["distance"], other, terms=10)
        assert row["low"] < row["distance"] < row["high"]
        assert_close(
            row["excess"], beyond[~first].mean(axis=0)[place], terms=10, size=many.distances
        )
    same = aw.compare.many(PLURALS, groups=["template"] * 10, model=tiny, progress=False)
    assert np.isnan(same.interval[0]).all()
    with pytest.raises(InputError, match="cannot be divided"):
        same.held_out()

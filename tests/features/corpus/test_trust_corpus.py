"""agreement() and faithfulness() over many texts: figures of each, failures, resuming."""

from __future__ import annotations

from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import ttest_1samp, ttest_rel

import attn_widget as aw
from attn_widget.analysis import Analysis
from attn_widget.errors import InputError, InputTypeError
from attn_widget.features.corpus.storage import Rows
from attn_widget.features.corpus.trust_results import ManyFaithfulness
from tests.close import assert_close

TEXTS = ["The keys to the cabinet are here.", "The dogs near the house are old.", "The cat sat."]
METHODS = ["decomposition", "weights", "alti"]


def verb(analysis: Analysis) -> aw.Target:
    """*are* against *is*, where the text has it."""
    place = next((i for i, token in enumerate(analysis.tokens) if token.text == "are"), 99)
    return aw.target(position=place, token="are", against="is", masked=True)


def ask(name: str, texts: list[str] = TEXTS, **options: Any) -> Any:
    given = {"target": verb, "methods": METHODS, "tagger": None, "progress": False, **options}
    return getattr(aw, name)(texts, **given)


@cache
def of_two(name: str) -> Any:
    """The figures of two texts, for what only reads them."""
    return ask(name, TEXTS[:2])


def single(text: str) -> Analysis:
    return aw.analyze(text, tagger=None, progress=False)


def test_agreement_is_that_of_each_text_and_failures_are_listed() -> None:
    many = ask("agreement")
    assert many.index.tolist() == [0, 1] and many.methods == tuple(METHODS)
    assert [one["index"] for one in many.failed] == [2] and "99" in many.failed[0]["reason"]
    own = [single(text).why.agreement(verb(single(text)), METHODS).rho for text in TEXTS[:2]]
    assert_close(many.rho, own, terms=1)
    assert_close(many.mean, np.mean(own, axis=0), terms=2)
    table = many.to_dataframe()
    assert len(table) == 3 and (table["texts"] == 2).all()
    assert np.isnan(many.interval[0]).all() and np.isnan(table["low"]).all()
    assert many.interval_note == "no intervals: 2 texts, and an interval takes 8 different ones"
    assert "2 texts" in repr(many) and many.interval_note in repr(many)


def test_faithfulness_is_that_of_each_text() -> None:
    many = of_two("faithfulness")
    for k, text in enumerate(TEXTS[:2]):
        a = single(text)
        own = a.why.faithfulness(verb(a), METHODS)
        expected = [*(one.comprehensiveness for one in own.curves.values()), own.band()[0]]
        assert_close(many.comprehensiveness[k], expected, terms=1)
        lasts = [*(one.sufficiency for one in own.curves.values()), own.band()[0]]
        assert_close(many.sufficiency[k], lasts, terms=1)
        percentiles = [own.tests[method].percentile for method in METHODS]
        assert_close(many.percentile[k], percentiles, terms=1)
    beyond = many.comprehensiveness[:, :-1] - many.comprehensiveness[:, -1:]
    assert_close(many.gain, beyond.mean(axis=0), terms=2, size=many.comprehensiveness)
    rank, low, high = many.mean_percentile
    assert_close(rank, np.mean(many.percentile, axis=0), terms=2)
    assert np.isnan(low).all() and np.isnan(high).all() and many.tested == 2
    assert (
        many.interval_note == "no intervals: 2 tested texts, and an interval takes 8 different ones"
    )
    table = many.to_dataframe()
    assert table["method"].tolist() == [*METHODS, "random"]
    assert table["better_than_random"][:3].between(0, 1).all() and "2 texts" in repr(many)


NOUNS = ["keys", "dogs", "boys", "books", "cars", "hands", "names", "birds", "rooms", "words"]


def test_intervals_differences_and_groups(tmp_path: Path) -> None:
    texts = [f"The {noun} near the house are old." for noun in NOUNS]
    kept = tmp_path if find_spec("pyarrow") else None  # so that no text is asked twice
    many = ask("faithfulness", texts, resume=kept)
    mean, low, high = many.mean_percentile
    assert many.interval_note is None and ((low < mean) & (mean < high)).all()
    table = many.to_dataframe()
    assert table["percentile"].iloc[-1] == 50 and table["gain"].iloc[-1] == 0
    np.testing.assert_array_equal(table["low"][:3], low)
    rows = {(row["method"], row["other"]): row for row in many.differences()}
    assert len(rows) == 3
    test: Any = ttest_rel(many.percentile[:, 0], many.percentile[:, 1])
    assert rows["decomposition", "weights"]["p"] == pytest.approx(test.pvalue, rel=1e-3)
    assert all(row["adjusted"] >= row["p"] for row in rows.values())
    other: Any = ttest_1samp(many.percentile, 50)
    smallest = int(np.argmin(other.pvalue))
    assert many.adjusted[smallest] == pytest.approx(3 * other.pvalue[smallest], rel=1e-3)
    np.testing.assert_array_equal(table["adjusted"][:3], many.adjusted)
    first, last = many.better_interval
    share = many.better_than_random
    assert ((first <= share) & (share <= last)).all() and (last - first > 0.2).all()
    grouped = ask("faithfulness", texts, groups=["one", "two"] * 5, resume=kept)
    assert np.isnan(grouped.mean_percentile[1]).all() and "fewer than 8 of them different" in repr(
        grouped
    )
    assert all(np.isnan(row["adjusted"]) for row in grouped.differences())
    assert np.isnan(grouped.adjusted).all()
    repeated = ask("agreement", texts[:3] * 4)
    assert repeated.rho.shape[0] == 12 and np.isnan(repeated.interval[0]).all()
    with pytest.raises(InputError, match="groups holds 2, and there are 10 texts"):
        ask("agreement", texts, groups=[1, 2])


def test_texts_with_too_few_words_count_as_not_tested() -> None:
    long, short = "The keys to the cabinet are here.", "Dogs are here."
    many = ask("faithfulness", [long, short])
    assert many.tested == 1 and np.isnan(many.percentile[1]).all()
    assert many.to_dataframe()["tested"].tolist() == [1] * 4
    none = ask("faithfulness", [short])
    assert none.tested == 0 and np.isnan(none.mean_percentile[0]).all()
    assert none.to_dataframe()[["low", "adjusted", "better_low"]].isna().all(axis=None)
    assert "none can be tested; no intervals: 0 tested texts" in repr(none)
    assert ((many.better_than_random == 0) | (many.better_than_random == 1)).all()


@pytest.mark.parametrize("name", ["agreement", "faithfulness"])
def test_work_that_was_interrupted_goes_on(name: str, tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    whole = ask(name)
    folder, calls = tmp_path / "work", tmp_path / "calls"
    calls.touch()

    def verb_twice(analysis: Analysis) -> aw.Target:
        # Not in a list: a function that refers to other values is another one.
        calls.write_text(calls.read_text() + ".")
        if calls.read_text() == "..":
            raise KeyboardInterrupt
        return verb(analysis)

    with pytest.raises(KeyboardInterrupt):
        ask(name, target=verb_twice, resume=folder)
    resumed = ask(name, target=verb_twice, resume=folder)
    np.testing.assert_array_equal(resumed._figures, whole._figures)
    assert calls.read_text() == "...."  # the first text once
    with pytest.raises(InputError, match="not of this run"):
        ask(name, TEXTS[:2], target=verb_twice, resume=folder)


def test_a_target_for_each_text() -> None:
    targets = [verb(single(text)) for text in TEXTS[:2]]
    one = ask("agreement", TEXTS[:2], target=targets)
    np.testing.assert_array_equal(one.rho, of_two("agreement").rho)


def test_kept_work_is_told_apart_by_targets_that_are_read_once(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    targets = [verb(single(TEXTS[0])), aw.target(position=2, token="dogs", masked=True)]
    ask("agreement", TEXTS[:2], target=iter(targets), resume=tmp_path)
    with pytest.raises(InputError, match="not of this run"):
        ask("agreement", TEXTS[:2], target=iter(targets[::-1]), resume=tmp_path)


@pytest.mark.parametrize("name", ["agreement", "faithfulness"])
def test_pictures_have_every_method(name: str) -> None:
    pytest.importorskip("matplotlib")
    figure = of_two(name).plot()
    (axes,) = figure.axes
    assert sorted(label.get_text() for label in axes.get_yticklabels()) == sorted(METHODS)
    data, size = figure._repr_png_()
    assert data[:4] == b"\x89PNG" and size["width"] > 100


@pytest.mark.parametrize(
    ("options", "error", "said"),
    [
        ({"texts": []}, InputError, "empty"),
        ({"texts": "a text"}, InputTypeError, "texts"),
        ({"texts": [3]}, InputTypeError, "text 0"),
        ({"methods": ["decomposition"]}, InputError, "two"),
        ({"methods": ["magic", "weights"]}, InputError, "magic"),
        ({"methods": ["weights", "weights"]}, InputError, "once"),
        ({"target": "are"}, InputTypeError, "target"),
        ({"target": [aw.target(label=0)]}, InputError, "there are 3 texts"),
        ({"target": lambda _a: 3}, InputTypeError, "target"),
        ({"target": aw.target(label=0)}, InputError, "No text has its target"),
    ],
)
def test_what_cannot_be_is_said(options: dict[str, Any], error: type[Exception], said: str) -> None:
    given = dict(options)
    with pytest.raises(error, match=said):
        ask("agreement", given.pop("texts", TEXTS), **given)


def test_a_text_without_a_verdict_counts_as_undecided() -> None:
    nan = np.nan
    verdicts = [
        [1, 0, nan],
        [nan, 0, nan],
        [nan, nan, nan],
        [1, nan, nan],
    ]  # the last column: random
    percentiles = [
        [99, 40, nan],
        [97, 50, nan],
        [nan, nan, nan],
        [98, 96, nan],
    ]  # one is not tested
    figures = np.zeros((4, 4, 1, 3), np.float32)
    figures[:, 2, 0], figures[:, 3, 0] = verdicts, percentiles
    many = ManyFaithfulness(
        Rows(np.arange(4), np.full(4, 12), figures, None),
        {"model": "one", "methods": ["decomposition", "weights"]},
    )
    assert many.tested == 3
    np.testing.assert_allclose(many.better_than_random, [2 / 3, 0])
    np.testing.assert_allclose(many.undecided, [1 / 3, 1 / 3])
    assert many.to_dataframe()["undecided"].tolist()[:-1] == many.undecided.tolist()

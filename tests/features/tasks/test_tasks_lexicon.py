"""The lexicon as a baseline, and the numbers of its paper."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from attn_widget.errors import InputError, InputTypeError
from attn_widget.features import tasks
from attn_widget.features.tasks.data.dataset import Split
from benchmarks import vader_tables
from tests.features.tasks.rated_data import need_archive


def test_the_compound_score_is_vaders() -> None:
    texts = ["VADER is smart, handsome, and funny.", "Today SUX!", "A table.", ""]
    found = tasks.lexicon(texts)
    # The first two are printed in the package's README.
    assert found.tolist() == [0.8316, -0.5461, 0.0, 0.0]
    assert found.dtype == np.float64
    assert tasks.lexicon([]).shape == (0,)


def test_texts_that_are_none_are_said() -> None:
    with pytest.raises(InputTypeError, match="Put it into a list"):
        tasks.lexicon("good")
    for none in (5, None):
        with pytest.raises(InputTypeError, match=f"texts is {none}, expected several str"):
            tasks.lexicon(none)  # pyright: ignore
    with pytest.raises(InputTypeError, match="Text 1 is of type NoneType"):
        tasks.lexicon(["good", None])


def test_the_baseline_learns_from_the_training_split_alone() -> None:
    need_archive()
    found = tasks.load_amazon(classes=3)
    baseline = tasks.LexiconBaseline().fit(found.train)
    rows = baseline.probabilities(found.test.texts)
    assert rows.shape == (len(found.test), 3)
    np.testing.assert_allclose(rows.sum(1), 1)
    got = tasks.score(found.test.labels, rows)
    assert got.cross_entropy < np.log(3)
    assert got.correct > 50
    assert got.auc_roc > 0.7
    # It knows a text by its compound score only.
    twins = ["The plot was good.", "The cake was good."]
    assert np.ptp(tasks.lexicon(twins)) == 0
    assert np.ptp(baseline.probabilities(twins), axis=0).max() == 0
    assert baseline.probabilities([]).shape == (0, 3)


def test_a_middle_class_can_win() -> None:
    texts = ("bad", "awful", "the", "a table", "good", "great") * 5
    train = Split(texts, np.array([0, 0, 1, 1, 2, 2] * 5))
    baseline = tasks.LexiconBaseline().fit(train)
    likely = baseline.probabilities(["horrible", "a chair", "wonderful"]).argmax(1)
    assert likely.tolist() == [0, 1, 2]


def test_a_baseline_needs_two_classes_and_a_fit() -> None:
    with pytest.raises(InputError, match=r"Call fit\(dataset.train\) first"):
        tasks.LexiconBaseline().probabilities(["good"])
    for labels in ([1, 1], [0, 0], [0, 2]):
        with pytest.raises(InputError, match="expected 0 to c - 1"):
            tasks.LexiconBaseline().fit(Split(("a", "b"), np.array(labels)))


@pytest.mark.parametrize(
    ("source", "row"),
    [
        ("tweets", "VADER"),
        ("editorials", "VADER"),
        ("amazon", "Hu-Liu04"),  # the paper has this line under the other lexicon's name
    ],
)
def test_the_papers_table_is_computed_to_its_last_digit(source: str, row: str) -> None:
    need_archive()
    sentences = tasks.rated_sentences(source)  # type: ignore[arg-type]
    program = vader_tables.published_program(vader_tables.published_lexicon())
    found = vader_tables.figures(sentences.scores, program(sentences.texts))
    for ours, paper, digits in zip(
        found, vader_tables.PAPER[source][row], vader_tables.DIGITS, strict=True
    ):
        assert round(ours, int(digits)) == paper


@pytest.mark.parametrize("source", ["amazon", "editorials"])
def test_the_papers_single_raters_are_found_by_id(source: str) -> None:
    need_archive()
    found = vader_tables.humans(tasks.rated_sentences(source))  # type: ignore[arg-type]
    for ours, paper, digits in zip(
        found, vader_tables.PAPER[source]["Ind. Humans"], vader_tables.DIGITS, strict=True
    ):
        assert round(ours, int(digits)) == paper


def test_the_package_imports_without_the_extra_and_says_what_is_missing() -> None:
    code = """
import sys
sys.modules["vaderSentiment"] = None  # as if it were not installed
import attn_widget
assert "attn_widget.features.tasks" not in sys.modules
from attn_widget.features import tasks
assert not {"torch", "sklearn", "transformers"} & set(sys.modules)
assert "load_amazon" in dir(tasks)
assert tasks.score([0, 1], [[1, 0], [0, 1]]).correct == 100
try:
    tasks.lexicon(["good"])
except attn_widget.AttnWidgetError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert 'pip install "attn-widget[tasks]"' in done.stdout


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'load_books'"):
        _ = tasks.load_books
    assert set(tasks.__all__) == set(dir(tasks))

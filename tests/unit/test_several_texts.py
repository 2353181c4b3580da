"""Several texts in the containers that people have them in: read, or refused in the same words at every door."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import attn_widget as aw
from attn_widget.errors import AttnWidgetError, InputError, InputTypeError
from attn_widget.features import tasks
from attn_widget.model.encoder import Encoder
from tests.unit import tiny_models
from tests.unit.needs import needs_lancedb

TEXTS = ["a cat sat", "the dog ran"]
OPTIONS: dict[str, Any] = {"progress": False, "tagger": None}


class Dataset:
    """As `datasets` has it: rows by iteration, columns by name."""

    column_names = ("text",)

    def __iter__(self) -> Any:
        return iter([{"text": text} for text in TEXTS])

    def __len__(self) -> int:
        return 2


def frame() -> Any:
    return pytest.importorskip("pandas").DataFrame({"text": TEXTS, "score": [1, 2]})


REFUSED: dict[str, tuple[Callable[[], Any], str]] = {
    "dict": (lambda: {"first": "a cat", "second": "a dog"}, r"list\(d\.values\(\)\)"),
    "dicts": (lambda: [{"text": text} for text in TEXTS], r"is a dict.*row\['text'\]"),
    "texts and scores": (lambda: [(text, 0.5) for text in TEXTS], r"is a tuple of 2.*alone"),
    "token ids": (lambda: [[5, 6], [7, 8]], r"token ids.*decode"),
    "bytes": (lambda: [b"a cat", b"a dog"], r"is a bytes.*decode"),
}
TABLES: dict[str, tuple[Callable[[], Any], str]] = {
    "frame": (frame, r"is a DataFrame.*column"),
    "dataset": (Dataset, r"is a Dataset.*column"),
}


@pytest.fixture(scope="module")
def model() -> Any:
    return tiny_models.build("bert")


@pytest.fixture(scope="module")
def fitted(model: Any) -> Any:
    return tasks.fit_classifier(model, TEXTS, [0, 1], epochs=1, progress=False)


@pytest.fixture(scope="module")
def embedder(model: Any) -> Encoder:
    return aw.load(model).with_pooling("mean")


@pytest.fixture
def doors(model: Any, fitted: Any, embedder: Encoder, tmp_path: Path) -> dict[str, Any]:
    """What takes several texts, by name; those of `READ_TABLES` take tables too."""
    of_class: dict[str, Any] = {"target": aw.target(label=1), "model": fitted, **OPTIONS}
    return {
        "similarity": lambda texts: aw.similarity("a cat", texts, embedder, **OPTIONS),
        "profile": lambda texts: aw.profile(texts, model=model, **OPTIONS),
        "profile, listing": lambda texts: aw.profile(
            texts, model=model, failures="list", **OPTIONS
        ),
        "head_means": lambda texts: aw.corpus.head_means(texts, model=model, progress=False),
        "index": lambda texts: aw.corpus.index(
            texts, tmp_path / "index", layer=0, model=model, **OPTIONS
        ),
        "report": lambda texts: aw.report(texts, tmp_path / "r.html", model=model, **OPTIONS),
        "faithfulness": lambda texts: aw.corpus.faithfulness(
            texts, methods=["weights"], **of_class
        ),
        "agreement": lambda texts: aw.corpus.agreement(texts, **of_class),
        "compare_many": lambda texts: aw.compare.many(texts, model=model, progress=False),
        "fit_classifier": lambda texts: tasks.fit_classifier(
            model, texts, [0, 1], epochs=1, progress=False
        ),
        "probabilities": lambda texts: fitted.probabilities(texts),
        "lexicon": lambda texts: tasks.lexicon(texts),
        "Split": lambda texts: tasks.Split(texts, np.array([0, 1])),
        "examples": lambda texts: aw.profile(TEXTS, model=model, **OPTIONS).examples(
            0, 0, "sample", texts=texts, model=model
        ),
    }


READ_TABLES = ("profile", "profile, listing", "index")
ALL = (
    "similarity", *READ_TABLES, "head_means", "report", "faithfulness", "agreement", "compare_many", "fit_classifier",
    "probabilities", "lexicon", "Split", "examples",
)  # fmt: skip


def skip_unless_there(door: str) -> None:
    needed = {"index": "lancedb", "lexicon": "vaderSentiment", "examples": "pandas"}
    if door in needed:
        pytest.importorskip(needed[door])


@pytest.mark.parametrize("door", ALL)
@pytest.mark.parametrize("given", [*REFUSED, *TABLES])
def test_what_holds_no_texts_is_refused_at_every_door(
    door: str, given: str, doors: dict[str, Any]
) -> None:
    skip_unless_there(door)
    make, words = {**REFUSED, **TABLES}[given]
    if given in TABLES and door in READ_TABLES:
        doors[door](make())
        return
    if door == "compare_many" and given not in TABLES and given != "dict":
        words = "expected two texts|expected an Analysis, a text or a pair"
    with pytest.raises((InputTypeError, InputError), match=words):
        doors[door](make())


@pytest.mark.parametrize("door", [door for door in ALL if door != "compare_many"])
@pytest.mark.parametrize("library", ["pandas", "numpy"])
def test_a_series_and_an_array_are_lists_of_texts(
    door: str, library: str, doors: dict[str, Any]
) -> None:
    skip_unless_there(door)
    several = np.array(TEXTS) if library == "numpy" else frame()["text"]
    doors[door](several)


@pytest.mark.parametrize("door", [door for door in ALL if door not in ("lexicon", "Split")])
def test_texts_of_which_none_can_be_read_are_an_error(door: str, doors: dict[str, Any]) -> None:
    skip_unless_there(door)
    empty = ["", " "] if door != "compare_many" else [("", " ")]
    with pytest.raises(AttnWidgetError, match="empty"):
        doors[door](empty)


def test_a_ranking_lists_what_it_could_not_read(embedder: Encoder) -> None:
    found = aw.similarity("a cat", ["a dog", "", "a cat sat"], embedder, **OPTIONS)
    assert [*found.failed] == [1] and np.isfinite(found.scores).tolist() == [True, False, True]


@needs_lancedb
def test_missing_texts_of_an_index_are_listed(doors: dict[str, Any]) -> None:
    found = doors["index"](["a cat", None, float("nan")])
    assert found.n_texts == 1 and [entry["index"] for entry in found.failed] == [1, 2]

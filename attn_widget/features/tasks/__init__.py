"""Tasks: sentences with human ratings, a lexicon to beat, classifiers, and how well they do."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from attn_widget.features.tasks.data.dataset import Dataset, Split
    from attn_widget.features.tasks.data.rated import (
        RatedSentences,
        load_amazon,
        load_editorials,
        load_films,
        load_tweets,
        rated_sentences,
        stars,
    )
    from attn_widget.features.tasks.data.tables import from_dataset, read_csv
    from attn_widget.features.tasks.data.vader import LexiconBaseline, lexicon
    from attn_widget.features.tasks.fit import fit_classifier
    from attn_widget.features.tasks.fitted import FittedClassifier, load_classifier
    from attn_widget.features.tasks.metrics import Metrics, score

# As in attn_widget itself: names come when they are first used.
_HOMES = {
    "Dataset": "data.dataset",
    "FittedClassifier": "fitted",
    "LexiconBaseline": "data.vader",
    "Metrics": "metrics",
    "RatedSentences": "data.rated",
    "Split": "data.dataset",
    "fit_classifier": "fit",
    "from_dataset": "data.tables",
    "lexicon": "data.vader",
    "load_amazon": "data.rated",
    "load_classifier": "fitted",
    "load_editorials": "data.rated",
    "load_films": "data.rated",
    "load_tweets": "data.rated",
    "rated_sentences": "data.rated",
    "read_csv": "data.tables",
    "score": "metrics",
    "stars": "data.rated",
}

__all__ = [
    "Dataset",
    "FittedClassifier",
    "LexiconBaseline",
    "Metrics",
    "RatedSentences",
    "Split",
    "fit_classifier",
    "from_dataset",
    "lexicon",
    "load_amazon",
    "load_classifier",
    "load_editorials",
    "load_films",
    "load_tweets",
    "rated_sentences",
    "read_csv",
    "score",
    "stars",
]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        value = getattr(import_module(f"attn_widget.features.tasks.{_HOMES[name]}"), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'attn_widget.features.tasks' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__

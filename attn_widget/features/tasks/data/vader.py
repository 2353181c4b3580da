"""The lexicon to beat: VADER's compound score, and probabilities of classes made from it."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attn_widget.checks import check_entries
from attn_widget.errors import InputError, InputTypeError
from attn_widget.features.tasks.data.dataset import Split
from attn_widget.host.installed import require, require_extra

# So little that it only keeps the weights finite where classes are separable without an error.
INVERSE_PENALTY = 100.0


def lexicon(texts: Sequence[str]) -> NDArray[np.float64]:
    """VADER's compound score of each text: no model and no training, a word list and five rules.

    Parameters
    ----------
    texts : sequence of str, length n

    Returns
    -------
    float64 ndarray [n]
        -1 (most negative) to 1, four decimals; 0 where no word of the text is in the lexicon.

    Raises
    ------
    InputTypeError
        One string instead of several, or something else than strings.
    NotAvailableError
        The package `vaderSentiment` is not installed.

    References
    ----------
    Hutto & Gilbert (2014), VADER: A parsimonious rule-based model for sentiment analysis of social
    media text.

    Examples
    --------
    >>> lexicon(["The movie was incredibly boring, but the acting saved it.", "A table."])
    array([0.4411, 0.    ])
    """
    checked = check_entries(texts, "texts")
    for row, text in enumerate(checked):
        if not isinstance(text, str):
            raise InputTypeError(
                f"Text {row} is of type {type(text).__name__}, expected str.", "Give strings."
            )
    analyzer = _analyzer()
    return np.array(
        [analyzer.polarity_scores(text)["compound"] for text in checked], dtype=np.float64
    )


class LexiconBaseline:
    """Classes from only the compound score, by multinomial logistic regression.

    The features of a text with the compound score c are c, its square (so that middle classes can be
    likely around 0) and whether it is exactly 0 (no word was in the lexicon). Their weights are fitted
    on the training split; the lexicon itself learns nothing.

    Examples
    --------
    >>> from attn_widget.features.tasks.data.dataset import Split
    >>> train = Split(("awful", "bad", "good", "great"), np.array([0, 0, 1, 1]))
    >>> baseline = LexiconBaseline().fit(train)
    >>> baseline.probabilities(["really bad", "very good"]).argmax(1).tolist()
    [0, 1]
    """

    def __init__(self) -> None:
        self._model: Any = None

    def fit(self, train: Split) -> LexiconBaseline:
        """Fit on the texts and labels of a training split.

        Parameters
        ----------
        train : Split

        Raises
        ------
        InputError
            One class only.
        InputTypeError
            No `Split`.
        """
        if not isinstance(train, Split):
            raise InputTypeError(
                f"train is a {type(train).__name__}, expected a Split.", "fit(dataset.train)"
            )
        require("sklearn", "The lexicon")
        from sklearn.linear_model import LogisticRegression

        present = np.unique(train.labels)
        if len(present) < 2 or not np.array_equal(present, np.arange(len(present))):
            raise InputError(
                f"The classes {present.tolist()} occur, expected 0 to c - 1 with c >= 2, each at least "
                "once.",
                "Give a split with texts of every class.",
            )
        model = LogisticRegression(C=INVERSE_PENALTY, max_iter=1000)
        self._model = model.fit(_features(lexicon(train.texts)), train.labels)
        return self

    def probabilities(self, texts: Sequence[str]) -> NDArray[np.float64]:
        """Probabilities of the classes.

        Parameters
        ----------
        texts : sequence of str, length n

        Returns
        -------
        float64 ndarray [n, c]
            Rows sum to 1.

        Raises
        ------
        InputError
            Before `fit`.
        InputTypeError
            As `lexicon`.
        """
        if self._model is None:
            raise InputError("The baseline was not fitted.", "Call fit(dataset.train) first.")
        compound = lexicon(texts)
        if not len(compound):
            return np.empty((0, len(self._model.classes_)))
        return np.asarray(self._model.predict_proba(_features(compound)), dtype=np.float64)


def _features(compound: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.column_stack([compound, compound**2, compound == 0])


@lru_cache(maxsize=1)
def _analyzer() -> Any:
    require_extra("vaderSentiment", "The lexicon needs the package vaderSentiment", "tasks")
    return import_module("vaderSentiment.vaderSentiment").SentimentIntensityAnalyzer()

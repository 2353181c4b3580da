"""compare.many(): which heads tell many pairs of texts apart."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attn_widget.analysis import Analysis
from attn_widget.analysis.texts import run_text
from attn_widget.checks import (
    check_flag,
    check_path,
    check_seed,
    check_several,
    known_keywords,
    short_repr,
)
from attn_widget.errors import AttnWidgetError, InputError, InputTypeError
from attn_widget.features.comparison.comparison import Comparison
from attn_widget.features.comparison.inputs import check_text
from attn_widget.features.comparison.many_results import ManyComparisons
from attn_widget.features.corpus.identity import drawn_together, identity_of, value_digest
from attn_widget.features.corpus.many import measure
from attn_widget.features.corpus.storage import Rows
from attn_widget.model.loading import load

KEYS = ("distance", "dropped_a", "dropped_b")
TextPair = tuple[tuple[str, str | None], tuple[str, str | None]]
EXAMPLE = 'compare.many([("He is here.", "She is here.")])'


@known_keywords
def compare_many(
    pairs: Iterable[Any],
    *,
    null: Iterable[Any] | None = None,
    groups: Sequence[object] | None = None,
    model: Any = None,
    seed: int = 0,
    truncation: bool = False,
    progress: bool = True,
    resume: str | Path | None = None,
) -> ManyComparisons:
    """Distance of every head over many pairs of texts: mean and 95% interval.

    Parameters
    ----------
    pairs : iterable of (a, b)
        Each of them a text, or a (text, text_pair).
    null : iterable of (a, b), optional
        One pair for each pair, whose texts differ in something that should not matter: two paraphrases, or the
        same text with another name. A distance is never below 0, so only what exceeds theirs counts.
    groups : sequence, optional
        One entry for each pair. Pairs of a group, such as those of one template, are resampled together.
    model : optional
        As in `analyze`.
    seed : int
        Of the bootstrap.
    truncation : bool
        Cut texts that are longer than the model allows instead of refusing them.
    progress : bool
        Show a progress bar.
    resume : str or path, optional
        A folder that finished work is kept in and taken from: the same call goes on where it was
        interrupted. Needs pyarrow.

    Returns
    -------
    ManyComparisons

    Raises
    ------
    InputError
        No pair; a text that the model cannot read, named by its pair's index, before any work is done;
        a ``resume`` folder of other work.
    InputTypeError
        Anything but pairs of texts.
    TooLongError, ModelLoadError
        As in `analyze`.

    Examples
    --------
    >>> many = compare_many([("he sat", "she sat"), ("he ran", "she ran")], progress=False)
    >>> many.mean.shape, len(many.heads())
    ((6, 12), 72)
    """
    progress, truncation = check_flag(progress, "progress"), check_flag(truncation, "truncation")
    seed = check_seed(seed)
    folder = None if resume is None else check_path(resume, "resume")
    texts = [_pair(pair, k) for k, pair in enumerate(check_several(pairs, "pairs", "pairs"))]
    if not texts:
        raise InputError("pairs is empty.", f"For example {EXAMPLE}")
    marks = drawn_together(texts, groups)
    nulls: list[TextPair] = []
    if null is not None:
        nulls = [_pair(pair, k) for k, pair in enumerate(check_several(null, "null", "pairs"))]
        if len(nulls) != len(texts):
            raise InputError(
                f"null holds {len(nulls)}, and there are {len(texts)} pairs.",
                "Give one null pair for each pair.",
            )
    encoder = load(model, progress=progress)
    for name, several in (("Pair", texts), ("Null pair", nulls)):
        for k, pair in enumerate(several):
            for text in pair:
                try:
                    encoder.encode(*text, truncation=truncation)
                except AttnWidgetError as error:
                    message = f"{name} {k} of {len(texts)}: {error.message}"
                    raise type(error)(message, error.hint) from error

    def compared(some: list[TextPair], place: Path | None) -> tuple[Rows, dict[str, Any]]:
        meta = {
            "keys": list(KEYS),
            "work": "compare_many",
            **identity_of(encoder),
            "truncation": truncation,
            "n_texts": len(some),
            "texts": value_digest(some, "pairs"),
        }

        def of_pair(_k: int, pair: TextPair) -> tuple[int, NDArray[np.float32]]:
            return _figures(
                *(run_text(encoder, *text, truncation=truncation, tagger=None) for text in pair)
            )

        return measure(some, of_pair, meta, marks, place, progress=progress)

    compare_with = None
    if nulls:
        compare_with = ManyComparisons(
            *compared(nulls, None if folder is None else folder / "null"), seed
        )
    return ManyComparisons(*compared(texts, folder), seed, compare_with)


def _figures(a: Analysis, b: Analysis) -> tuple[int, NDArray[np.float32]]:
    """Matched tokens, and float32 [keys, L, H]; NaN where no token is matched."""
    c = Comparison(a, b)
    if not c.alignment.tokens:
        return 0, np.full((len(KEYS), a.trace.n_layers, a.trace.n_heads), np.nan, np.float32)
    distances = c.distances()
    figures = np.stack([distances.distances, distances.dropped_a, distances.dropped_b])
    return distances.n_queries, figures.astype(np.float32)


def _pair(pair: Any, k: int) -> TextPair:
    if not isinstance(pair, (tuple, list)) or len(pair) != 2:
        raise InputTypeError(f"Pair {k} is {short_repr(pair)}, expected two texts.", EXAMPLE)
    texts = [check_text(text, f"a text of pair {k}") for text in pair]
    if isinstance(texts[0], Analysis) or isinstance(texts[1], Analysis):
        raise InputTypeError(f"Pair {k} holds an Analysis, expected two texts.", EXAMPLE)
    return texts[0], texts[1]

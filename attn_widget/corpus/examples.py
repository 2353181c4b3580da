"""Examples of a head: the texts in which a figure of it is largest, and the link to look at in each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from attn_widget.analysis.texts import analyze
from attn_widget.corpus.heaps import mixed
from attn_widget.corpus.reading.observed import SHARES, targets_of
from attn_widget.figures.patterns import OFFSETS

if TYPE_CHECKING:
    from attn_widget.analysis import Analysis
    from attn_widget.model.encoder import Encoder

AT = {**OFFSETS, "self": 0}  # figures of one diagonal


@dataclass(frozen=True)
class ReadTexts:
    """The texts that a profile was made of, and what read them.

    Attributes
    ----------
    texts : sequence of str
    encoder : Encoder
    truncation : bool
    tagger : "auto", None, pipeline or function
    """

    texts: Sequence[str]
    encoder: Encoder
    truncation: bool
    tagger: Any = "auto"


def chosen(
    values: NDArray[np.float32], digests: NDArray[np.uint64], k: int, *, lowest: bool
) -> NDArray[np.intp]:
    """Rows of the ``k`` largest values (smallest with ``lowest``) in order; NaN is left out.

    Of equal values the smaller hash comes first, so that no order of the texts changes the choice.

    Examples
    --------
    >>> values = np.array([0.5, np.nan, 0.9, 0.5], dtype=np.float32)
    >>> chosen(values, np.array([7, 1, 2, 3], dtype=np.uint64), 3, lowest=False).tolist()
    [2, 3, 0]
    """
    known = np.flatnonzero(~np.isnan(values))
    ordered = values[known] if lowest else -values[known]
    return known[np.lexsort((digests[known], ordered))][:k]


def sampled(digests: NDArray[np.uint64], seed: int, k: int) -> NDArray[np.intp]:
    """Rows of ``k`` texts drawn alike, by their hashes and the seed alone.

    Examples
    --------
    >>> sampled(np.arange(5, dtype=np.uint64), 0, 2).size
    2
    """
    return np.lexsort((digests, mixed(digests, seed)))[:k]


def link_of(analysis: Analysis, layer: int, head: int, by: str) -> dict[str, Any]:
    """The head's largest weight between two words, on the diagonal or the pattern that ``by`` is of."""
    weights = analysis.attention(layer, head)
    n = analysis.n_tokens
    words = np.array([not token.special for token in analysis.tokens])
    counted = words[:, None] & words[None, :]
    if by in AT:
        counted &= np.eye(n, k=AT[by], dtype=bool)
    if by in SHARES and analysis.run is not None:
        counted &= targets_of(analysis.run.encoding, analysis.language)[by]
    if not counted.any():
        return {"query": None, "key": None, "query_token": "", "key_token": "", "weight": np.nan}
    best = int(np.where(counted, weights, -1).argmax())
    query, key = divmod(best, n)
    return {
        "query": query,
        "key": key,
        "query_token": analysis.tokens[query].text,
        "key_token": analysis.tokens[key].text,
        "weight": float(weights[query, key]),
    }


def linked(
    encoder: Encoder,
    tagger: Any,
    texts: Sequence[tuple[int, str, float]],
    layer: int,
    head: int,
    by: str,
) -> list[tuple[dict[str, Any], Analysis]]:
    """A record of each example, from its place, text and value, with the analysis of its text."""
    found: list[tuple[dict[str, Any], Analysis]] = []
    for place, text, value in texts:
        # A text that is too long was cut for the profile, or it would not be in it.
        analysis = analyze(
            text,
            model=encoder,
            tagger=tagger if by in SHARES else None,
            truncation=True,
            progress=False,
        )
        link = link_of(analysis, layer, head, by)
        found.append(({"index": place, "text": text, "value": value, **link}, analysis))
    return found

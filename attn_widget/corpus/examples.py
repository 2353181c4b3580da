"""Examples of a head: the texts in which a figure of it is largest, and the link to look at in each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from attn_widget.analysis.texts import analyze
from attn_widget.corpus.heaps import mixed
from attn_widget.corpus.reading.observed import DIAGONALS

if TYPE_CHECKING:
    from attn_widget.analysis import Analysis
    from attn_widget.model.encoder import Encoder

RECENT_TOKENS = 512  # of base models some 150 kB each


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


def record(
    place: int, text: str, value: float, tokens: Sequence[str], query: int, key: int, weight: float
) -> dict[str, Any]:
    """A row of `Profile.examples`; a ``query`` of -1: no such link."""
    known = query >= 0
    return {
        "index": place,
        "text": text,
        "value": value,
        "query": query if known else None,
        "key": key if known else None,
        "query_token": tokens[query] if known else "",
        "key_token": tokens[key] if known else "",
        "weight": weight,
    }


def computed(
    read: ReadTexts, texts: Sequence[tuple[int, float]], layer: int, head: int, by: str
) -> list[dict[str, Any]]:
    """Rows of examples from places and values, for a profile that was saved before links were kept: texts run again."""
    records: list[dict[str, Any]] = []
    for place, value in texts:
        analysis = analysis_of(read.encoder, read.texts[place])
        weights = analysis.attention(layer, head)
        words = np.array([not token.special for token in analysis.tokens])
        counted = words[:, None] & words[None, :]
        if by in DIAGONALS:
            counted &= np.eye(analysis.n_tokens, k=DIAGONALS[by], dtype=bool)
        query = key = -1
        if counted.any():
            query, key = divmod(int(np.where(counted, weights, -1).argmax()), analysis.n_tokens)
        weight = float(weights[query, key]) if query >= 0 else np.nan
        tokens = [token.text for token in analysis.tokens]
        records.append(record(place, read.texts[place], value, tokens, query, key, weight))
    return records


def analysis_of(encoder: Encoder, text: str, tagger: Any = None) -> Analysis:
    """The analysis of a text of a profile; one that is too long was cut for it, or it would not be in it."""
    return analyze(text, model=encoder, tagger=tagger, truncation=True, progress=False)


def with_text(recent: Mapping[str, Analysis], encoder: Encoder, text: str) -> dict[str, Analysis]:
    """``recent`` with the analysis of ``text`` as its last entry: the heads of a profile share many of their examples.

    The oldest ones leave it until it holds at most `RECENT_TOKENS` tokens, or the last one alone.
    """
    kept = dict(recent)
    known = kept.pop(text, None)
    if known is None or known.run is None or known.run.encoder is not encoder:
        known = analysis_of(encoder, text)
    kept[text] = known
    tokens = sum(analysis.n_tokens for analysis in kept.values())
    for oldest in list(kept)[:-1]:
        if tokens <= RECENT_TOKENS:
            break
        tokens -= kept.pop(oldest).n_tokens
    return kept

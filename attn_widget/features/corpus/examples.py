"""Examples of a head: the texts in which a figure of it is largest, and the link to look at in each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attn_widget.analysis import Analysis
from attn_widget.analysis.texts import analyze
from attn_widget.features.corpus.heaps import mixed
from attn_widget.features.corpus.reading.observed import DIAGONALS
from attn_widget.features.corpus.reading.two_texts import encoding_of, names_of, part_of
from attn_widget.model.encoder import Encoder

RECENT_TOKENS = 512  # of base models some 150 kB each


@dataclass(frozen=True)
class Example:
    """A text with the names of the tokens that a link of it stands between."""

    text: str
    # queries, keys: of cross-attention, a query is named by the token that its row writes.
    queries: Sequence[str]
    keys: Sequence[str]
    output: str | None = None  # what an encoder-decoder writes for the text


@dataclass(frozen=True)
class ReadTexts:
    """The texts (of an encoder-decoder, or pairs) that a profile was made of, and what read them."""

    texts: Sequence[Any]
    encoder: Encoder
    truncation: bool
    tagger: Any = "auto"
    generate: int = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "encoder", self.encoder.pinned())

    def example(self, place: int) -> Example:
        """A text as an example of its profile."""
        encoder, item = self.encoder, self.texts[place]
        if encoder.part is None:
            tokens = [token.text for token in encoder.encode(item, truncation=True).tokens]
            return Example(item, tokens, tokens)
        encoding = encoding_of(encoder, item, truncation=True, generate=self.generate)
        source = item if isinstance(item, str) else item[0]
        return Example(source, *names_of(encoder, encoding), encoding.text)


def chosen(
    values: NDArray[np.float32], digests: NDArray[np.uint64], k: int, *, lowest: bool
) -> NDArray[np.intp]:
    """Rows of the ``k`` largest values (smallest with ``lowest``) in order; NaN is left out.

    Of equal values the smaller hash comes first, so that no order of the texts changes the choice.

    >>> values = np.array([0.5, np.nan, 0.9, 0.5], dtype=np.float32)
    >>> chosen(values, np.array([7, 1, 2, 3], dtype=np.uint64), 3, lowest=False).tolist()
    [2, 3, 0]
    """
    rows = np.flatnonzero(~np.isnan(values))
    ordered = values[rows] if lowest else -values[rows]
    return rows[np.lexsort((digests[rows], ordered))][:k]


def sampled(digests: NDArray[np.uint64], seed: int, k: int) -> NDArray[np.intp]:
    """Rows of ``k`` texts drawn alike, by their hashes and the seed alone.

    >>> sampled(np.arange(5, dtype=np.uint64), 0, 2).size
    2
    """
    return np.lexsort((digests, mixed(digests, seed)))[:k]


def record(
    place: int, example: Example, value: float, query: int, key: int, weight: float
) -> dict[str, Any]:
    """A row of `Profile.examples`; a ``query`` of -1: no such link."""
    has_link = query >= 0
    written = {} if example.output is None else {"output": example.output}
    return {
        "index": place,
        "text": example.text,
        **written,
        "value": value,
        "query": query if has_link else None,
        "key": key if has_link else None,
        "query_token": example.queries[query] if has_link else "",
        "key_token": example.keys[key] if has_link else "",
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
            counted &= np.eye(analysis.trace.n_tokens, k=DIAGONALS[by], dtype=bool)
        query = key = -1
        if counted.any():
            query, key = divmod(
                int(np.where(counted, weights, -1).argmax()), analysis.trace.n_tokens
            )
        weight = float(weights[query, key]) if query >= 0 else np.nan
        tokens = [token.text for token in analysis.tokens]
        example = Example(read.texts[place], tokens, tokens)
        records.append(record(place, example, value, query, key, weight))
    return records


def analysis_of(encoder: Encoder, text: Any, tagger: Any = None, generate: int = 0) -> Analysis:
    """The analysis of a text of a profile; one that is too long was cut for it, or it would not be in it."""
    if encoder.part is not None:
        return part_of(encoder, text, tagger=tagger, truncation=True, generate=generate)
    return analyze(text, model=encoder, tagger=tagger, truncation=True, progress=False)


def with_text(
    recent: Mapping[Any, Analysis], encoder: Encoder, text: Any, generate: int = 0
) -> dict[Any, Analysis]:
    """``recent`` with the analysis of ``text`` as its last entry: the heads of a profile share many of their examples.

    The oldest ones leave it until it holds at most `RECENT_TOKENS` tokens, or the last one alone.
    """
    cache = dict(recent)
    analysis = cache.pop(text, None)
    # Each run of an encoder-decoder has encoders of its parts.
    if (
        analysis is None
        or analysis.run is None
        or analysis.run.encoder.network is not encoder.network
    ):
        analysis = analysis_of(encoder, text, generate=generate)
    cache[text] = analysis
    tokens = sum(analysis.trace.n_tokens for analysis in cache.values())
    for oldest in list(cache)[:-1]:
        if tokens <= RECENT_TOKENS:
            break
        tokens -= cache.pop(oldest).trace.n_tokens
    return cache

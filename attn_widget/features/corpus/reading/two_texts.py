"""Figures of what an encoder-decoder reads and writes: sources and outputs in, those of one of its parts out."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from attn_widget.analysis import Analysis
from attn_widget.analysis.texts import run_two_texts
from attn_widget.features.corpus.identity import text_digest
from attn_widget.features.corpus.reading.items import split_item
from attn_widget.features.corpus.reading.observed import Observed, Observer, observed_between
from attn_widget.figures import metrics
from attn_widget.figures.catalog.specializations import ALIGNMENT
from attn_widget.language.taggers import TaggerLike
from attn_widget.model.encoder import Encoder
from attn_widget.model.encoding import Encoding
from attn_widget.model.two_texts import encode_source, encode_target
from attn_widget.trace.generation import translated

# A text; or a source and what is written for it.
Item: TypeAlias = "str | tuple[str, str]"

CROSS_KEYS = (*metrics.KEYS, *(metric.key for metric in ALIGNMENT))


def as_item(given: Any) -> Any:
    """A pair as a tuple, so that equal ones are equal; anything else as it is."""
    return tuple(given) if isinstance(given, (tuple, list)) else given


def item_digest(item: Item) -> int:
    """A hash of a text or a pair, below 2**64."""
    return text_digest(item if isinstance(item, str) else json.dumps(item))


def in_words(item: Any) -> str:
    """A text or a pair in a message."""
    return " → ".join(map(str, item)) if isinstance(item, tuple) else str(item)


def encoding_of(encoder: Encoder, item: Any, *, truncation: bool, generate: int) -> Encoding:
    """Source and target as one input; what is written where no output is given."""
    source, output = split_item(encoder, item, generate)
    read = encode_source(encoder, source, truncation=truncation)
    if output is None:
        return translated(encoder.of("decoder"), read, generate)
    return encode_target(encoder, read, output)


def check_item(encoder: Encoder, item: Any, *, truncation: bool, generate: int) -> int:
    """Tokens of an item that is to be read, 0 before they are written; raises what reading it would raise at first."""
    source, output = split_item(encoder, item, generate)
    read = encode_source(encoder, source, truncation=truncation)
    if output is None:
        return 0
    written = encode_target(encoder, read, output)
    return (read if encoder.part == "encoder" else written).n_tokens


def part_of(
    encoder: Encoder, item: Any, *, tagger: TaggerLike, truncation: bool, generate: int
) -> Analysis:
    """The analysis of ``encoder.part``, of one pass over an item."""
    source, output = split_item(encoder, item, generate)
    options: dict[str, Any] = {"truncation": truncation, "tagger": tagger}
    whole = run_two_texts(encoder, source, output, generate=generate, **options)
    return whole.of(encoder.part or "cross")


def names_of(encoder: Encoder, encoding: Encoding) -> tuple[list[str], list[str]]:
    """Tokens of queries and keys, as examples name them: a row of cross-attention by the token that it writes."""
    source, target = (
        [token.text for token in encoding.of(part).tokens] for part in ("encoder", "decoder")
    )
    if encoder.part == "encoder":
        return source, source
    return (target, target) if encoder.part == "decoder" else ([*target[1:], ""], source)


def figures_of(analysis: Analysis) -> dict[str, NDArray[np.float32]]:
    """Figures of a part's heads by name, float32 [L, H]; of cross-attention those of `CROSS_KEYS`."""
    figures = analysis.metrics.as_dict()
    if analysis.part == "cross":
        return figures | analysis.heads.monotony.as_dict()
    return figures | analysis.heads.specialization.raw | analysis.heads.patterns.as_dict()


def read_item(
    encoder: Encoder, item: Any, keys: Sequence[str], tagger: TaggerLike, options: dict[str, Any]
) -> tuple[NDArray[np.float32], Observed, list[str]]:
    """Figures [1, keys, L, H] of one item, what else its weights give, and the tokens of its queries."""
    analysis = part_of(encoder, item, tagger=tagger, **options)
    by_key = figures_of(analysis)
    figures = np.stack([by_key[key] for key in keys]).astype(np.float32)
    layers = (analysis.trace.layer_weights(layer) for layer in range(encoder.n_layers))
    tokens = [token.text for token in analysis.tokens]
    if analysis.part == "cross":
        return (
            figures[None],
            observed_between(analysis.tokens, analysis.model.key_tokens, layers),
            tokens,
        )
    assert analysis.run is not None
    observer = Observer([analysis.run.encoding], [analysis.language])
    for weights in layers:
        observer.see(weights[None])
    return figures[None], observer.observed(), tokens

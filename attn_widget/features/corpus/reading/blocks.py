"""Blocks of texts of one length, read in one forward pass."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attn_widget.analysis.texts import analyze
from attn_widget.features.corpus.reading.batch import NotBatchedError, joined, visit_batch
from attn_widget.features.corpus.reading.batched_metrics import batched_metrics
from attn_widget.features.corpus.reading.observed import Observed, Observer
from attn_widget.features.corpus.reading.two_texts import CROSS_KEYS
from attn_widget.figures import metrics, patterns, specialization
from attn_widget.figures.arrays import Float32
from attn_widget.figures.choice import kinds_of
from attn_widget.figures.marginals import (
    Marginals,
    layer_marginals,
    repeat_sums,
    stack_marginals,
)
from attn_widget.language import annotate, key_sets
from attn_widget.language.taggers import TaggerLike
from attn_widget.model.encoder import Encoder
from attn_widget.model.encoding import Encoding

PATTERNS = (*patterns.OFFSETS, *patterns.REPEATS)
KEYS = (*metrics.KEYS, *specialization.KEYS, *PATTERNS)
TOKENS = 4096  # of a block, at most
CELLS = 2**19  # of one head in all texts of a block, at most: 24 MB a layer with 12 heads


def keys_of(encoder: Encoder) -> tuple[str, ...]:
    """Names of the figures of a text: of cross-attention, those that need no tokens of one text."""
    return CROSS_KEYS if encoder.part == "cross" else KEYS


def blocks_of(lengths: Sequence[int], digests: Sequence[int]) -> list[list[int]]:
    """Places of the texts of each block, the longest texts first.

    What does not fit into memory is known at once, and the progress bar tells the truth. Which texts stand
    together depends on their lengths and hashes alone, so no order of the texts changes how figures are rounded.

    >>> blocks_of([3, 5, 3], [7, 1, 2])
    [[1], [2, 0]]
    """
    order = sorted(range(len(lengths)), key=lambda k: (-lengths[k], digests[k]))
    blocks: list[list[int]] = []
    for n, group in groupby(order, key=lambda k: lengths[k]):
        alike = list(group)
        size = max(1, min(TOKENS // n, CELLS // n**2))
        blocks += [alike[start : start + size] for start in range(0, len(alike), size)]
    return blocks


def stacked(*figures: Mapping[str, Float32]) -> Float32:
    """Figures by name as one array, float32 [keys, L, H], in the order of `KEYS`."""
    by_key = {key: values for group in figures for key, values in group.items()}
    return np.stack([by_key[key] for key in KEYS]).astype(np.float32)


def read_together(
    encoder: Encoder, encodings: Sequence[Encoding], tagger: TaggerLike
) -> tuple[Float32, Observed] | None:
    """Figures of texts of one length, float32 [texts, keys, L, H], and what else their weights give.

    None when they must be read one by one: the model masks or biases links, or a text fails (read alone,
    it says why).
    """
    layers: list[Float32] = []
    sums: list[Marginals] = []
    kinds = [kinds_of(encoding.tokens) for encoding in encodings]
    try:
        languages = [annotate(e.tokens, e.text, None, tagger=tagger) for e in encodings]
        observer = Observer(encodings, languages)

        def visit(_layer: int, weights: Float32) -> None:
            matrices = weights.reshape(-1, *weights.shape[2:])
            layers.append(batched_metrics(matrices).reshape(-1, *weights.shape[:2]))
            sums.append(_with_repeats(layer_marginals(matrices), weights, kinds))
            observer.see(weights)

        visit_batch(encoder, joined(encodings), visit)
        values = np.stack(layers, axis=2)  # [keys, texts, L, H]
        if np.isnan(values[metrics.KEYS.index("confidence_max")]).any():
            return None
        marginals = stack_marginals(sums)
        masks: list[None] = [None] * encoder.n_layers
        figures: list[Float32] = []
        for k, (encoding, language) in enumerate(zip(encodings, languages, strict=True)):
            sets, reasons = key_sets(language)
            alone = _of_text(marginals, k, encoder.n_heads)
            first = encoding.tokens[0].special
            where = specialization.specialize(alone, sets, reasons, first_is_summary=first)
            patterned = patterns.head_patterns(alone, masks, kinds[k])
            named = dict(zip(metrics.KEYS, values[:, k], strict=True))
            figures.append(stacked(named, where.raw, patterned.as_dict()))
    except NotBatchedError:
        return None
    except Exception:  # alone, the text that fails names itself
        return None
    return np.stack(figures), observer.observed()


def read_alone(
    encoder: Encoder, text: str, tagger: TaggerLike, truncation: bool
) -> tuple[Float32, Observed]:
    """Figures and links of one text, from `analyze`, as `read_together` gives those of one text."""
    analysis = analyze(text, model=encoder, tagger=tagger, truncation=truncation, progress=False)
    figures = stacked(
        analysis.metrics.as_dict(),
        analysis.heads.specialization.raw,
        analysis.heads.patterns.as_dict(),
    )
    encoding = encoder.encode(text, truncation=truncation)
    observer = Observer([encoding], [analysis.language])
    for layer in range(encoder.n_layers):
        observer.see(analysis.trace.layer_weights(layer)[None])
    return figures[None], observer.observed()


def _with_repeats(
    sums: Marginals, weights: Float32, kinds: Sequence[NDArray[np.int32]]
) -> Marginals:
    """The marginals of a layer's heads in all texts, with the sums over repeated tokens of the texts that have some."""
    n_heads, n = weights.shape[1:3]
    repeats = np.zeros((2, len(weights), n_heads))
    for k, spellings in enumerate(kinds):
        if len(np.unique(spellings)) < n:
            repeats[:, k] = repeat_sums(weights[k], spellings)
    both = repeats.reshape(2, -1)
    return replace(sums, on_duplicate=both[0], on_induction=both[1])


def _of_text(marginals: Marginals, k: int, n_heads: int) -> Marginals:
    """The marginals of one text of a block: [L, H, n] and [L, H]."""
    heads = slice(k * n_heads, (k + 1) * n_heads)
    parts: dict[str, Any] = {name: values[:, heads] for name, values in vars(marginals).items()}
    return Marginals(**parts)

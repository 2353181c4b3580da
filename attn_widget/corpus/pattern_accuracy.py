"""How often each head's largest weight falls where a pattern says."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attn_widget.corpus import statistics
from attn_widget.corpus.blocks import blocks_of
from attn_widget.corpus.examples import ReadTexts
from attn_widget.errors import NotAvailableError
from attn_widget.figures.catalog.targets import (
    OFFSETS,
    POSITIONAL,
    SPECIAL_TOKENS,
    hits_of,
    offset_hits,
    positional_targets,
)

# Which keys compete, and the pattern. Among the words alone no special token can be right.
ROWS = [("all", name) for name in POSITIONAL] + [
    ("words", name) for name in POSITIONAL if name not in SPECIAL_TOKENS
]


@dataclass(frozen=True)
class Hits:
    """Counts of each text, in the order of the places that were given.

    Attributes
    ----------
    hits : int64 [texts, rows, L, H]
        Queries whose strongest key is a target; the rows are `ROWS`.
    queries : int64 [texts, rows]
        Queries that have a target.
    expected : float64 [texts, rows]
        Hits of a head with random strongest keys.
    offsets : int64 [texts, rows, offsets]
        Hits of each fixed offset.
    """

    hits: NDArray[np.int64]
    queries: NDArray[np.int64]
    expected: NDArray[np.float64]
    offsets: NDArray[np.int64]


def count_hits(read: ReadTexts, places: list[int], lengths: list[int], digests: list[int]) -> Hits:
    """Run the texts again, those of one length together."""
    encoder = read.encoder
    shape = (len(places), len(ROWS))
    hits = np.zeros((*shape, encoder.n_layers, encoder.n_heads), np.int64)
    queries, expected = np.zeros(shape, np.int64), np.zeros(shape)
    offsets = np.zeros((*shape, len(OFFSETS)), np.int64)
    for block in blocks_of(lengths, digests):
        texts = [read.texts[places[k]] for k in block]
        encodings = [encoder.encode(text, truncation=read.truncation) for text in texts]
        if not all(one.tokens[0].special and one.tokens[-1].special for one in encodings):
            raise NotAvailableError(
                f"The patterns need a special token at both ends, which {encoder.name} does not add."
            )
        n = lengths[block[0]]
        competing = {"all": (0, n), "words": (1, n - 1)}
        for k, one, picked in zip(
            block, encodings, _strongest(read, texts, encodings), strict=True
        ):
            ids = one.inputs["input_ids"][0].numpy()
            targets = positional_targets(ids, [token.surface for token in one.tokens])
            for row, (keys, name) in enumerate(ROWS):
                right = targets[name]
                first, stop = competing[keys]
                queries[k, row] = right.any(1).sum()
                if queries[k, row]:
                    hits[k, row] = hits_of(picked[keys], right)
                    expected[k, row] = right.sum() / (stop - first)
                    offsets[k, row] = offset_hits(right)
    return Hits(hits, queries, expected, offsets)


def _strongest(
    read: ReadTexts, texts: list[str], encodings: list[Any]
) -> list[dict[str, NDArray[np.int64]]]:
    """For each text the strongest key of each query, int64 [L, H, n], among all keys and among words."""
    import torch

    from attn_widget.analysis.texts import analyze
    from attn_widget.corpus.batch import NotBatchedError, batchable, visit_batch

    layers: list[dict[str, NDArray[np.int64]]] = []

    def visit(_layer: int, weights: NDArray[np.float32]) -> None:
        words = weights[..., 1:-1]
        empty = np.zeros(weights.shape[:-1], np.int64)
        layers.append(
            {
                "all": weights.argmax(-1),
                "words": words.argmax(-1) + 1 if words.shape[-1] else empty,
            }
        )

    names = encodings[0].inputs
    inputs = {name: torch.cat([one.inputs[name] for one in encodings]) for name in names}
    try:
        if not batchable(read.encoder):
            raise NotBatchedError
        visit_batch(read.encoder, inputs, visit)
    except NotBatchedError:
        layers.clear()
        alone = [
            analyze(
                text,
                model=read.encoder,
                tagger=None,
                truncation=read.truncation,
                progress=False,
            )
            for text in texts
        ]
        for layer in range(read.encoder.n_layers):
            visit(layer, np.stack([one.trace.layer_weights(layer) for one in alone]))
    return [
        {keys: np.stack([layer[keys][k] for layer in layers]) for keys in ("all", "words")}
        for k in range(len(texts))
    ]


def accuracy_records(found: Hits, seed: int, digests: NDArray[np.uint64]) -> list[dict[str, Any]]:
    """A record for each row of `ROWS` and each head; rows without a query are left out."""
    records: list[dict[str, Any]] = []
    for row, (keys, name) in enumerate(ROWS):
        queries = found.queries[:, row]
        total = int(queries.sum())
        if not total:
            continue
        hits = found.hits[:, row]
        accuracy = hits.sum(0) / total
        low, high = statistics.ratio_interval(hits, queries, seed, digests)
        # Summed in the order of the hashes, so that the order of the texts changes no bit.
        chance = float(found.expected[np.argsort(digests, kind="stable"), row].sum()) / total
        offset = int(found.offsets[:, row].sum(0).max()) / total
        records += [
            {
                "pattern": name,
                "keys": keys,
                "layer": layer,
                "head": head,
                "accuracy": float(accuracy[layer, head]),
                "low": float(low[layer, head]),
                "high": float(high[layer, head]),
                "chance": chance,
                "offset": offset,
                "queries": total,
            }
            for layer, head in np.ndindex(*accuracy.shape)
        ]
    return records

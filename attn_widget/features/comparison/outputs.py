"""Predictions and classes of two runs: before, after, and the change in log-odds."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from attn_widget.analysis import Analysis
from attn_widget.errors import NotAvailableError
from attn_widget.figures.arrays import Float64
from attn_widget.model.predictions import probabilities
from attn_widget.trace.run import MASKED_TOKENS_AT_ONCE

PAIRS_AT_ONCE = 256  # tokens of both runs whose whole distributions are in memory together
SMALLEST = 1e-300  # a probability below has no odds that float64 can hold


def log_odds(probability: NDArray[Any] | float) -> Float64:
    """``ln(p / (1 - p))``.

    >>> log_odds(np.array([0.5, 0.9])).round(4).tolist()
    [0.0, 2.1972]
    """
    p = np.asarray(probability, dtype=np.float64)
    return np.log(np.maximum(p, SMALLEST)) - np.log(np.maximum(1 - p, SMALLEST))


def predictions(
    a: Analysis, b: Analysis, tokens: tuple[tuple[int, int], ...], top_k: int, mode: str = "as_is"
) -> list[dict[str, Any]]:
    """See `Comparison.predictions`."""
    runs = [run.run for run in (a, b)]
    for run, name in zip(runs, "AB", strict=True):
        if run is None or not run.encoder.has_lm:
            raise NotAvailableError(f"{name} has no language-model head, so it predicts no tokens.")
        if (mode == "next") != (run.encoder.predicts == "next"):
            what = "a decoder" if run.encoder.predicts == "next" else "an encoder"
            raise NotAvailableError(
                f"{name} is {what}, which has no predictions of mode {mode!r}.",
                "Two decoders have mode='next', two encoders 'as_is' and 'masked'.",
            )
        if mode == "masked" and run.encoder.mask_token_id is None:
            raise NotAvailableError(
                f"The tokenizer of {name} has no mask token.", "Use mode='as_is'."
            )
    # After its start token a decoder of two texts writes the first word.
    writes = a.part == "decoder"
    pairs = [(i, j) for i, j in tokens if writes or not a.trace.tokens[i].special]
    if not pairs:
        return []
    readers: list[Any] = [run.encoder.reader for run in runs if run is not None]
    vocabularies = [reader.backend_tokenizer.get_vocab() for reader in readers]
    records: list[dict[str, Any]] = []
    for start in range(0, len(pairs), PAIRS_AT_ONCE):
        block = pairs[start : start + PAIRS_AT_ONCE]
        chances = [
            _probabilities(run, [pair[side] for pair in block], mode)
            for side, run in enumerate(runs)
        ]
        orders = [_best(chance, top_k) for chance in chances]
        for row, (i, j) in enumerate(block):
            names: dict[str, None] = {}
            for reader, order in zip(readers, orders, strict=True):
                names.update(dict.fromkeys(reader.convert_ids_to_tokens(order[row].tolist())))
            for name in names:
                ids = [vocabulary.get(name) for vocabulary in vocabularies]
                if None in ids or any(k >= c.shape[1] for k, c in zip(ids, chances, strict=True)):
                    continue
                before, after = (
                    float(chance[row, k]) for chance, k in zip(chances, ids, strict=True)
                )
                records.append(
                    {
                        "position_a": i,
                        "position_b": j,
                        "token": name,
                        "before": before,
                        "after": after,
                        "log_odds": float(log_odds(after) - log_odds(before)),
                    }
                )
    return records


def classes(a: Analysis, b: Analysis) -> list[dict[str, Any]]:
    """See `Comparison.classes`."""
    both = a.model.classification, b.model.classification
    for classified, name in zip(both, "AB", strict=True):
        if classified is None or classified.task != "sequence":
            raise NotAvailableError(f"{name} has no classifier of texts.")
    first, second = both
    assert first is not None and second is not None
    if first.labels != second.labels:
        raise NotAvailableError(
            f"A tells {', '.join(first.labels[:5])} apart and B {', '.join(second.labels[:5])}: their "
            "classes cannot be compared."
        )
    rows = zip(first.labels, first.probabilities, second.probabilities, strict=True)
    return [
        {
            "label": label,
            "before": float(before),
            "after": float(after),
            "log_odds": float(log_odds(after) - log_odds(before)),
        }
        for label, before, after in rows
    ]


def _best(chances: Float64, top_k: int) -> NDArray[np.intp]:
    """Places of the ``top_k`` largest of each row, the largest first; of equal ones the first."""
    best = np.empty((len(chances), top_k), dtype=np.intp)
    for row, chance in enumerate(chances):
        least = np.partition(chance, -top_k)[-top_k]
        places = np.flatnonzero(chance >= least)
        best[row] = places[np.argsort(-chance[places], kind="stable")[:top_k]]
    return best


def _probabilities(run: Any, positions: list[int], mode: str) -> Float64:
    """Over the vocabulary, float64 [positions, vocab]; in mode "masked" each one masked in turn."""
    if mode != "masked":
        return probabilities(run.trace.logits_tensor(positions))
    size = max(1, MASKED_TOKENS_AT_ONCE // run.trace.n_tokens)
    batches = [positions[k : k + size] for k in range(0, len(positions), size)]
    rows = [probabilities(run.masked_logits(batch)) for batch in batches]
    return np.concatenate(rows)

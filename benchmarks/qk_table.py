"""Direct against total effects of the largest parts of a score, over cells of forty texts; see `benchmarks.qk`."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import rankdata
from tqdm.auto import tqdm

import attn_widget as aw

TEXTS = Path(__file__).with_name("qk_texts.txt")
LEAST_WEIGHT = 0.15
FIRST_LAYER = 2
PARTS = 5  # largest of a side
TOKENS = 10
PERMUTATIONS = 2000
Pair = tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]  # direct, total: of one cell's parts


def cells_of(a: Any, n: int, rng: np.random.Generator) -> list[tuple[int, int, int, int]]:
    """``n`` cells at random: from word to word, above a weight, not in the first layers."""
    words = np.array([not token.special for token in a.tokens])
    if a.model.default_mode == "next":
        words[0] = False
    words[-1] &= a.tokens[-1].text.isalnum()
    found: list[tuple[int, int, int, int]] = []
    for layer in range(FIRST_LAYER, a.trace.n_layers):
        weights = a.trace.layer_weights(layer)
        for head, query, key in np.argwhere(weights > LEAST_WEIGHT):
            if words[query] and words[key] and query != key and words[: query + 1].sum() > 2:
                found.append((layer, int(head), int(query), int(key)))
    chosen = rng.choice(len(found), size=min(n, len(found)), replace=False)
    return [found[at] for at in sorted(chosen)]


def effects(found: Any, side: str, k: int) -> Pair:
    each = found.total_effects(k, side).effects
    return np.array([e.direct for e in each]), np.array([e.total for e in each])


def rank_correlation(one: Any, other: Any) -> float:
    a, b = rankdata(one), rankdata(other)
    if len(a) < 3 or np.ptp(a) == 0 or np.ptp(b) == 0:
        return float("nan")
    return float(np.corrcoef(a, b)[0, 1])


def summary(pairs: Sequence[Pair], rng: np.random.Generator) -> dict[str, float]:
    """Agreement of direct and total effects, within cells."""
    own = np.array([rank_correlation(*pair) for pair in pairs])
    drawn = [
        np.nanmean([rank_correlation(direct, rng.permutation(total)) for direct, total in pairs])
        for _ in range(PERMUTATIONS // max(1, len(pairs) // 20))
    ]
    first = [(direct[0], total[0]) for direct, total in pairs]
    return {
        "cells": len(pairs),
        "correlation": float(np.nanmean(own)),
        "null_95": float(np.quantile(drawn, 0.95)),
        "sign_of_largest": float(np.mean([direct * total > 0 for direct, total in first])),
        "sign_of_all": float(np.mean(np.concatenate([d * t > 0 for d, t in pairs]))),
        "total_over_direct": statistics.median(total / direct for direct, total in first),
        "same_largest": float(
            np.mean([np.abs(d).argmax() == np.abs(t).argmax() for d, t in pairs])
        ),
        "same_by_chance": float(np.mean([1 / len(d) for d, _ in pairs])),
    }


def table(model: str | None, n_cells: int, n_texts: int) -> dict[str, dict[str, float]]:
    """Summaries by what is compared: ``by parts, key side, others`` ..."""
    texts = TEXTS.read_text("utf-8").split("\n")[:n_texts]
    given: dict[str, Any] = {} if model is None else {"model": model}
    rng = np.random.default_rng(0)
    pairs: dict[str, list[Pair]] = {}
    for text in tqdm([text for text in texts if text], desc="texts"):
        a = aw.analyze(text, tagger=None, progress=False, **given)
        for cell in cells_of(a, n_cells, rng):
            for against in ("others", "all"):
                found = a.qk_attribution(*cell, against=against, by="parts")
                for side in ("key", "query"):
                    name = f"by parts, {side} side, {against}"
                    pairs.setdefault(name, []).append(effects(found, side, PARTS))
            found = a.qk_attribution(*cell, by="tokens")
            name = "by tokens, against masking, others"
            pairs.setdefault(name, []).append(effects(found, "key", min(TOKENS, a.trace.n_tokens)))
    return {name: summary(of, rng) for name, of in pairs.items()}


def as_markdown(found: dict[str, dict[str, float]]) -> str:
    rows = [
        "| | cells | rank correlation (95% of permuted below) | sign of the largest | of all | total / direct, largest | same largest (chance) |",
        "|---|---|---|---|---|---|---|",
    ]
    rows += [
        f"| {name} | {of['cells']} | {of['correlation']:.2f} ({of['null_95']:.2f}) | {of['sign_of_largest']:.2f} | "
        f"{of['sign_of_all']:.2f} | {of['total_over_direct']:.2f} | {of['same_largest']:.2f} ({of['same_by_chance']:.2f}) |"
        for name, of in found.items()
    ]
    return "\n".join(rows)

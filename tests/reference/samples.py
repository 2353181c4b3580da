"""Attention matrices of known kinds, and a trace that holds them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from attn_widget.model.tokens import Token

KINDS = ("random", "peaked", "one-hot", "uniform", "causal", "causal uniform", "windowed")
SIZES = (1, 2, 5, 6, 13)


def attention(
    kind: str, n: int, heads: int = 2, seed: int = 0
) -> tuple[NDArray[np.float32], NDArray[np.bool_] | None]:
    """float32 [heads, n, n] whose rows sum to 1, and the mask that made some cells impossible."""
    rng = np.random.default_rng(seed)
    position = np.arange(n)
    distance = position[:, None] - position
    allowed = None
    scores = rng.normal(size=(heads, n, n)) * (8 if kind == "peaked" else 2)
    if kind == "one-hot":
        weights = np.eye(n, dtype=np.float32)[rng.integers(0, n, size=(heads, n))]
        return weights, None
    if "uniform" in kind:
        scores = np.zeros_like(scores)
    if "causal" in kind:
        allowed = distance >= 0
    if kind == "windowed":
        allowed = np.abs(distance) <= 2
    if allowed is not None:
        scores = np.where(allowed, scores, -np.inf)
        allowed = None if allowed.all() else allowed
    exps = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return (exps / exps.sum(axis=-1, keepdims=True)).astype(np.float32), allowed


def layers(n: int, layers: int = 3, heads: int = 2, seed: int = 0) -> NDArray[np.float32]:
    """float32 [layers, heads, n, n] of random attention."""
    return np.stack([attention("random", n, heads, seed + i)[0] for i in range(layers)])


def tokens(n: int, special_ends: bool = True) -> tuple[Token, ...]:
    """``n`` tokens, the first and the last special ones when there are three or more."""
    ends = (0, n - 1) if special_ends and n >= 3 else ()
    return tuple(
        Token("[CLS]" if i == 0 else "[SEP]", 100 + i, 0, 0, "", special=True)
        if i in ends
        else Token(f"w{i}", i, 3 * i, 3 * i + 2, f"w{i}")
        for i in range(n)
    )

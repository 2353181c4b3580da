"""Contributions of every token to a target, by one method."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from attn_widget.errors import NotAvailableError
from attn_widget.figures.arrays import Float32, Float64
from attn_widget.host.frames import dataframe
from attn_widget.influence.bound_target import BoundTarget
from attn_widget.influence.decomposition import decomposition
from attn_widget.influence.gradients import (
    attention_gradient,
    gradient_x_input,
    integrated_gradients,
)
from attn_widget.influence.methods import SIGNED
from attn_widget.influence.passes import check_finite, value_of, values_of_masked

if TYPE_CHECKING:
    from attn_widget.influence.targets import Target
    from attn_widget.model.tokens import Token
    from attn_widget.trace.forward import Progress
    from attn_widget.trace.run import Run


@dataclass(frozen=True)
class Contributions:
    """Contribution of each token to a target.

    Attributes
    ----------
    method : str
    target : Target
    tokens : tuple of Token, length n
    values : float32 [n]
        In units of the target (logits) where `signed`; NaN for a token that the method does not ask
        about (``occlusion``: special tokens).
    signed : bool
        Whether values below 0 speak against the target; otherwise values are shares or weights.
    value : float
        ``s``, what the model gave.
    bias : float or None
        What belongs to no token (``decomposition``).
    baseline : float or None
        The target's value where the path begins (``integrated_gradients``).
    """

    method: str
    target: Target
    tokens: tuple[Token, ...]
    values: Float32
    signed: bool
    value: float
    bias: float | None = None
    baseline: float | None = None

    @property
    def total(self) -> float | None:
        """Sum of contributions, bias and baseline, which should be `value`; None if the method does not close."""
        if self.bias is None and self.baseline is None:
            return None
        return float(self.values.sum(dtype=np.float64)) + (self.bias or 0) + (self.baseline or 0)

    @property
    def gap(self) -> float | None:
        """How far `total` is from `value`, relative to what is summed: the contributions, bias and baseline without their signs.

        A value near 0 can be the sum of large contributions, which are rounded in their own units. None if
        the method does not close, or nothing is explained: the value is 0, or that of the baseline.
        """
        total = self.total
        if total is None or self.value == (self.baseline or 0):
            return None
        summed = float(np.abs(self.values).sum(dtype=np.float64))
        summed += abs(self.bias or 0) + abs(self.baseline or 0)
        return abs(total - self.value) / summed if summed else float("inf")

    def to_records(self) -> list[dict[str, Any]]:
        """One record a token: ``position, token, word, method, contribution``."""
        return [
            {
                "position": i,
                "token": token.text,
                "word": token.word,
                "special": token.special,
                "method": self.method,
                "contribution": float(value),
            }
            for i, (token, value) in enumerate(zip(self.tokens, self.values, strict=True))
        ]

    def to_dataframe(self) -> Any:
        """`to_records` as a pandas DataFrame (needs the extra ``pandas``)."""
        return dataframe(self.to_records())

    def __repr__(self) -> str:
        closes = "" if self.gap is None else f", gap {self.gap:.1e}"
        return f"Contributions({self.method}, {self.target} = {self.value:.4f}{closes})"


def contributions(
    run: Run,
    target: Target,
    bound: BoundTarget,
    method: str,
    tokens: Sequence[Token],
    rolled: Callable[[str, Progress | None], Float32],
    progress: Progress | None = None,
) -> Contributions:
    """Contributions to a target by one method; see `attn_widget.analysis.Analysis.contributions`.

    Parameters
    ----------
    tokens : sequence of Token
        With the words that ``occlusion`` masks as wholes.
    rolled : callable
        The rollout [n, n] of a quantity by its name, with a ``progress``.
    """
    bias = baseline = None
    if method == "decomposition":
        values, bias = decomposition(run, bound)
    elif method == "gradient_x_input":
        values = gradient_x_input(run, bound)
    elif method == "integrated_gradients":
        values, baseline, _ = integrated_gradients(run, bound, progress)
    elif method == "occlusion":
        values = occlusion(run, bound, tokens, progress)
    elif method == "attention_gradient":
        values = attention_gradient(run, bound)
    else:
        values = rolled(method, progress)[list(bound.rows)].mean(axis=0)
    words = [not token.special for token in tokens]
    check_finite(run, np.append(np.asarray(values, np.float64)[words], bias or 0))
    return Contributions(
        method=method,
        target=target,
        tokens=tuple(tokens),
        values=np.asarray(values, dtype=np.float32),
        signed=method in SIGNED,
        value=value_of(run, bound),
        bias=bias,
        baseline=baseline,
    )


def occlusion(
    run: Run, bound: BoundTarget, tokens: Sequence[Token], progress: Progress | None = None
) -> Float64:
    """``s(x) - s(x with a word masked)``, float64 [n]: a word's difference in equal shares over its pieces.

    All pieces of a word are masked together. NaN for special tokens, which are no words.

    Raises
    ------
    NotAvailableError
        The tokenizer has no mask token.
    """
    if run.encoder.mask_token_id is None:
        raise NotAvailableError(f"{run.encoder.name} has no mask token, so no word can be masked.")
    words = list(pieces_of_words(tokens).values())
    falls = value_of(run, bound) - values_of_masked(run, bound, words, progress)
    contribution = np.full(len(tokens), np.nan)
    for positions, fall in zip(words, falls, strict=True):
        contribution[positions] = fall / len(positions)
    return contribution


def pieces_of_words(tokens: Sequence[Token]) -> dict[tuple[str, int], list[int]]:
    """The positions of each word; a token of the text outside every word stands by itself."""
    pieces: dict[tuple[str, int], list[int]] = {}
    for i, token in enumerate(tokens):
        if not token.special:
            key = ("token", i) if token.word is None else ("word", token.word)
            pieces.setdefault(key, []).append(i)
    return pieces


def maskable_words(tokens: Sequence[Token], mask: int | None) -> list[list[int]]:
    """Positions of each word that masking changes: those with a piece that is not the mask token."""
    return [
        pieces
        for pieces in pieces_of_words(tokens).values()
        if any(tokens[i].id != mask for i in pieces)
    ]

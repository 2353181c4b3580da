"""Contributions of every token to a target, by one method."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from attn_widget.errors import NotAvailableError
from attn_widget.features.why.bound_target import BoundTarget
from attn_widget.features.why.decomposition import check_closes, decomposition
from attn_widget.features.why.gradients import (
    attention_gradient,
    gradient_x_input,
    integrated_gradients,
)
from attn_widget.features.why.methods import SIGNED
from attn_widget.features.why.passes import (
    before_target,
    check_finite,
    of_masked,
    probability_of,
    value_of,
)
from attn_widget.features.why.targets import Target
from attn_widget.figures.arrays import Float32, Float64
from attn_widget.host.frames import Records
from attn_widget.model.tokens import Token
from attn_widget.trace.forward import Progress
from attn_widget.trace.run import Run


@dataclass(frozen=True)
class Contributions(Records):
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
    probability : float
        Of the target, as in `attn_widget.features.why.faithfulness.Faithfulness`.
    source : float32 [m] or None
        Of an encoder-decoder, the contributions of the source's tokens; `values` are then those of the target's.
    source_tokens : tuple of Token, length m
    """

    method: str
    target: Target
    tokens: tuple[Token, ...]
    values: Float32
    signed: bool
    value: float
    bias: float | None = None
    baseline: float | None = None
    probability: float = math.nan
    source: Float32 | None = None
    source_tokens: tuple[Token, ...] = ()

    @property
    def total(self) -> float | None:
        """Sum of contributions, bias and baseline, which should be `value`; None if the method does not close."""
        if self.bias is None and self.baseline is None:
            return None
        return float(self._every.sum(dtype=np.float64)) + (self.bias or 0) + (self.baseline or 0)

    @property
    def _every(self) -> Float32:
        return self.values if self.source is None else np.append(self.source, self.values)

    @property
    def gap(self) -> float | None:
        """Distance of `total` from `value`, relative to what is summed: the contributions, bias and baseline without their signs.

        A value near 0 can be the sum of large contributions, which are rounded in their own units. None if
        the method does not close, or nothing is explained: the value is 0, or that of the baseline.
        """
        total = self.total
        if total is None or self.value == (self.baseline or 0):
            return None
        summed = float(np.abs(self._every).sum(dtype=np.float64))
        summed += abs(self.bias or 0) + abs(self.baseline or 0)
        return abs(total - self.value) / summed if summed else float("inf")

    def to_records(self) -> list[dict[str, Any]]:
        """One record a token: ``position, token, word, method, contribution``; of an encoder-decoder also ``text``."""
        if self.source is None:
            return self._records(self.tokens, self.values)
        return [
            *self._records(self.source_tokens, self.source, text="source"),
            *self._records(self.tokens, self.values, text="target"),
        ]

    def _records(
        self, tokens: Sequence[Token], values: Float32, **more: str
    ) -> list[dict[str, Any]]:
        return [
            {
                **more,
                "position": i,
                "token": token.text,
                "word": token.word,
                "special": token.special,
                "method": self.method,
                "contribution": float(value),
            }
            for i, (token, value) in enumerate(zip(tokens, values, strict=True))
        ]

    def to_shap(self) -> dict[str, Any]:
        """Arguments of ``shap.Explanation``, whose plots then draw these numbers.

        Returns
        -------
        dict
            ``values``: float64 [n], 0 for NaN. ``base_values``: float, what the values lack to `value`; of a method
            that closes, the bias or baseline. ``data``: str [n], the tokens with the spaces that follow them.
            ``feature_names``: list of str, length n. Of an encoder-decoder, source and target one after the other.

        Examples
        --------
        >>> from attn_widget import analyze, target
        >>> a = analyze("the cat sat", tagger=None, progress=False)
        >>> c = a.why.contributions(target(position=2, token="cat"), "gradient_x_input")
        >>> given = c.to_shap()  # shap.plots.text(shap.Explanation(**given))
        >>> given["values"].shape, given["data"].tolist()
        ((5,), ['[CLS] ', 'the ', 'cat ', 'sat ', '[SEP] '])
        """
        values = np.nan_to_num(self._every.astype(np.float64))
        return {
            "values": values,
            "base_values": self.value - float(values.sum()),
            "data": np.array(
                _with_spaces(self.source_tokens) + _with_spaces(self.tokens), dtype=object
            ),
            "feature_names": [token.text for token in (*self.source_tokens, *self.tokens)],
        }

    def to_captum(self) -> dict[str, Any]:
        """Arguments of ``captum.attr.visualization.VisualizationDataRecord``, which ``visualize_text`` draws.

        Returns
        -------
        dict
            ``word_attributions``: float64 [n], -1 to 1, because Captum's colors end there: the contributions divided by the
            largest size, 0 for NaN. ``attr_score``: float, their sum in units of the target. ``raw_input_ids``: list of
            str, length n. ``pred_prob``: `probability`. ``pred_class`` and ``attr_class``: the target's name.
            ``true_class``: ``""``. ``convergence_score``: float, `total` minus `value`; NaN if the method does not close.

        Examples
        --------
        >>> from attn_widget import analyze, target
        >>> a = analyze("the cat sat", tagger=None, progress=False)
        >>> record = a.why.contributions(target(position=2, token="cat")).to_captum()
        >>> record["word_attributions"].shape, record["raw_input_ids"][2], record["attr_class"]
        ((5,), 'cat', "logit of 'cat' at position 2")
        """
        values = np.nan_to_num(self._every.astype(np.float64))
        total = self.total
        return {
            "word_attributions": values / (np.abs(values).max(initial=0) or 1.0),
            "pred_prob": self.probability,
            "pred_class": str(self.target),
            "true_class": "",
            "attr_class": str(self.target),
            "attr_score": float(values.sum()),
            "raw_input_ids": [token.text for token in (*self.source_tokens, *self.tokens)],
            "convergence_score": math.nan if total is None else total - self.value,
        }

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
    source_tokens: Sequence[Token] = (),
) -> Contributions:
    """Contributions to a target by one method; see `attn_widget.analysis.Analysis.why.contributions`.

    ``tokens``: with the words that ``occlusion`` masks as wholes. ``rolled``: the rollout [n, n] of a quantity by
    its name, with a ``progress``. ``source_tokens``: of an encoder-decoder, the source's.
    """
    bias = baseline = source = None
    if run.encoder.parts and method != "decomposition":
        raise NotAvailableError(
            f"Contributions by {method!r} are of one text, and {run.encoder.name} is an encoder-decoder.",
            "Use method='decomposition'.",
        )
    if method == "decomposition":
        values, bias, source = decomposition(run, bound)
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
    if source is not None:
        check_finite(run, source)
    found = Contributions(
        method=method,
        target=target,
        tokens=tuple(tokens),
        values=np.asarray(values, dtype=np.float32),
        signed=method in SIGNED,
        value=value_of(run, bound),
        bias=bias,
        baseline=baseline,
        probability=probability_of(run, bound),
        source=None if source is None else source.astype(np.float32),
        source_tokens=tuple(source_tokens),
    )
    check_closes(found.gap, f"The contributions by {method!r}", run)
    return found


def _with_spaces(tokens: Sequence[Token]) -> list[str]:
    """Tokens as the text has them, each with a space where the next one does not begin at its end."""
    following = [*tokens[1:], None][: len(tokens)]
    return [
        token.text + " "
        if token.special
        else token.surface
        + ("" if after is not None and not after.special and after.start == token.end else " ")
        for token, after in zip(tokens, following, strict=True)
    ]


def occlusion(
    run: Run, bound: BoundTarget, tokens: Sequence[Token], progress: Progress | None = None
) -> Float64:
    """``s(x) - s(x with a word masked)``, float64 [n]: a word's difference in equal shares over its pieces.

    All pieces of a word are masked together. NaN for special tokens, which are no words. In a decoder no later token
    looks at the word instead, so that the target's own position has 0, as have all after it.
    """
    check_maskable(run)
    words = list(pieces_of_words(tokens).values())
    contribution = np.full(len(tokens), np.nan)
    if run.encoder.predicts == "next":
        read = before_target(run, bound, words)
        contribution[[i for pieces in words for i in pieces]] = 0
        words = read
    falls = value_of(run, bound) - of_masked(run, bound, bound.of, words, progress)
    for positions, fall in zip(words, falls, strict=True):
        contribution[positions] = fall / len(positions)
    return contribution


def check_maskable(run: Run) -> None:
    """Raise `NotAvailableError` where no word can be masked, nor knocked out of what a decoder reads."""
    encoder = run.encoder
    if encoder.parts:
        raise NotAvailableError(
            f"{encoder.name} is an encoder-decoder, of which no word is masked or knocked out.",
            "Contributions by decomposition, and value zeroing of the source, are available.",
        )
    if encoder.predicts != "next" and encoder.mask_token_id is None:
        raise NotAvailableError(f"{encoder.name} has no mask token, so no word can be masked.")


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

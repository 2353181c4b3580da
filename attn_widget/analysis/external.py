"""from_attentions(): figures of attention tensors from anywhere, without torch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from attn_widget.analysis.analysis import Analysis
from attn_widget.analysis.locate_tokens import PADDING, locate_tokens
from attn_widget.analysis.tensors import (
    ROW_SUM_HALF,
    as_layer,
    as_masks,
    by_layer,
    check_weights,
)
from attn_widget.checks import check_characters, is_half
from attn_widget.errors import InputError, InputTypeError
from attn_widget.figures.arrays import Bool, Float32
from attn_widget.model.tokens import Token
from attn_widget.trace import WeightsTrace

CLOSES = 1e-5  # largest weight difference by which queries and keys still explain float32 weights


def from_attentions(
    attentions: Any,
    tokens: Sequence[str] | Sequence[Token],
    *,
    text: str | None = None,
    text_pair: str | None = None,
    queries: Any = None,
    keys: Any = None,
    allowed: Any = None,
    tagger: Any = "auto",
) -> Analysis:
    """Figures of attention weights that were computed elsewhere.

    Parameters
    ----------
    attentions : array, tensor, or list or tuple of one for each layer
        ``[L, H, n, n]``, or by layer ``[H, n, n]`` or ``[1, H, n, n]`` (a batch of one), from numpy,
        torch, JAX, TensorFlow or nested lists, such as ``model(...).attentions`` of transformers.
        Rows are queries and sum to 1.
    tokens : sequence of str or Token, [n]
        Padding (``[PAD]``, ``<pad>``) is cropped, also from the weights. In strings, the
        tokenizer's special tokens are recognized by their common names.
    text, text_pair : str, optional
        The text that was tokenized; by default the text that the tokens spell.
    queries, keys : like `attentions`, [L, H, n, head_dim], optional
        Their scaled product must give the weights; scores are then known as well.
    allowed : bool [n, n] or [L, n, n], optional
        False where the model's mask made a weight impossible (causal, windowed).
    tagger : optional
        As for `attn_widget.analyze`.

    Returns
    -------
    Analysis
        ``attn_widget.show(analysis)`` shows it. Predictions and other figures that need a model
        are N/A.

    Raises
    ------
    InputTypeError
        An object that holds no attention; complex numbers; a text that is not a str.
    InputError
        More than one text in the batch, cross-attention, a shape that does not fit, NaN or infinite or
        negative weights, rows that do not sum to 1; a token or text with a lone surrogate.

    Examples
    --------
    >>> import numpy as np
    >>> a = from_attentions(np.full((2, 3, 4, 4), 0.25), ["[CLS]", "hello", "world", "[SEP]"])
    >>> a.n_layers, a.n_heads, float(a.metrics.focus_normalized[0, 0])
    (2, 3, 1.0)
    """
    names = [check_characters(name, f"tokens[{i}]") for i, name in enumerate(_token_names(tokens))]
    for what, value in (("text", text), ("text_pair", text_pair)):
        if not isinstance(value, (str, type(None))):
            raise InputTypeError(
                f"{what} is a {type(value).__name__}, expected a str.",
                "Pass the text that was tokenized.",
            )
        check_characters(value or "", what)
    raw = by_layer(attentions, "attentions")
    half = is_half(attentions)
    layers = [as_layer(array, i, "attentions") for i, array in enumerate(raw)]
    shape = layers[0].shape
    for i, layer in enumerate(layers):
        if layer.shape != shape:
            raise InputError(
                f"Layer {i} has shape {list(layer.shape)}, layer 0 has {list(shape)}.",
                "All layers need the same heads and tokens.",
            )
    n = shape[-1]
    if shape[-2] != n:
        raise InputError(
            f"attentions have {shape[-2]} queries and {n} keys: cross-attention of an "
            "encoder-decoder model, or a cached generation step.",
            "Pass self-attention, such as encoder_attentions.",
        )
    if len(names) != n:
        raise InputError(
            f"There are {len(names)} tokens for attention over {n}.",
            "Pass every token, special ones and padding included.",
        )
    masks = as_masks(allowed, len(layers), n)
    real = np.array([name not in PADDING for name in names])
    if not real.any():
        raise InputError("All tokens are padding.")
    kept = np.flatnonzero(real)
    layers = [np.ascontiguousarray(layer[:, kept[:, None], kept]) for layer in layers]
    if masks is not None:
        masks = [mask[np.ix_(kept, kept)] for mask in masks]
    for i, layer in enumerate(layers):
        check_weights(layer, i, kept, cropped=kept.size < n, half=half)
        if masks is not None and (layer[:, ~masks[i]] > 0).any():
            raise InputError(f"Layer {i} has weight in cells that allowed forbids.")
    placed, text, text_pair = _place(tokens, kept, text, text_pair)
    held: dict[str, Any] = {}
    if (queries is None) != (keys is None):
        raise InputError("Queries and keys go together.", "Pass both or neither.")
    if queries is not None:
        half = half or is_half(queries) or is_half(keys)
        held = _scores(queries, keys, layers, masks, real, ROW_SUM_HALF if half else CLOSES)
    trace = WeightsTrace(
        placed,
        layers,
        allowed=None if masks is None else [None if mask.all() else mask for mask in masks],
        reason="only attention weights were given",
        **held,
    )
    return Analysis(trace, text=text, text_pair=text_pair, tagger=tagger)


def _token_names(tokens: Any) -> list[str]:
    if isinstance(tokens, str) or not isinstance(tokens, (Sequence, np.ndarray)):
        raise InputTypeError(
            f"tokens is a {type(tokens).__name__}, expected a sequence of str or Token.",
            "Use tokenizer.convert_ids_to_tokens(ids).",
        )
    if isinstance(tokens, np.ndarray) and tokens.ndim != 1:
        raise InputTypeError(
            f"tokens is an array of shape {list(tokens.shape)}, expected [n].", "tokens.ravel()"
        )
    kinds = {type(token) for token in tokens}
    if kinds == {Token}:
        return [token.text for token in tokens]
    if all(issubclass(kind, str) for kind in kinds):
        return [str(token) for token in tokens]
    raise InputTypeError(
        f"tokens holds {', '.join(sorted(kind.__name__ for kind in kinds))}, expected str or Token.",
        "Use tokenizer.convert_ids_to_tokens(ids).",
    )


def _place(
    tokens: Any, kept: Any, text: str | None, text_pair: str | None
) -> tuple[tuple[Token, ...], str | None, str | None]:
    chosen = [tokens[i] for i in kept]
    if not isinstance(chosen[0], Token):
        return locate_tokens([str(token) for token in chosen], text, text_pair)
    if text is None and any(token.end for token in chosen):
        raise InputError("Token objects have offsets into a text.", "Pass text=.")
    if text is None:
        return locate_tokens([token.text for token in chosen])
    return tuple(chosen), text, text_pair


def _scores(
    queries: Any,
    keys: Any,
    layers: list[Float32],
    masks: list[Bool] | None,
    real: Bool,
    tolerance: float,
) -> dict[str, Any]:
    """Queries, keys and the scores that they give, where those explain the weights."""
    by_name: dict[str, list[Any]] = {"queries": [], "keys": [], "scores": [], "scaling": []}
    q_layers, k_layers = by_layer(queries, "queries"), by_layer(keys, "keys")
    if len(q_layers) != len(layers) or len(k_layers) != len(layers):
        raise InputError(
            f"There are {len(q_layers)} layers of queries and {len(k_layers)} of keys for "
            f"{len(layers)} of attentions."
        )
    for i, weights in enumerate(layers):
        q, k = as_layer(q_layers[i], i, "queries"), as_layer(k_layers[i], i, "keys")
        heads, n = weights.shape[0], len(real)
        if q.shape != k.shape or q.shape[:2] != (heads, n):
            raise InputError(
                f"Queries {list(q.shape)} and keys {list(k.shape)} of layer {i} do not fit, "
                f"expected [{heads}, {n}, head_dim]."
            )
        q, k = q[:, real], k[:, real]
        scaling = q.shape[-1] ** -0.5
        scores = (q @ k.transpose(0, 2, 1) * np.float32(scaling)).astype(np.float32)
        if masks is not None:
            scores[:, ~masks[i]] = -np.inf
        exps = np.exp(scores - scores.max(axis=-1, keepdims=True))
        error = np.abs(exps / exps.sum(axis=-1, keepdims=True) - weights).max()
        if not error <= tolerance:
            raise InputError(
                f"The softmax of layer {i}'s scaled queries and keys is off its weights by up to "
                f"{error:.3g}.",
                "Leave queries and keys out: this model adds something to its scores.",
            )
        for name, part in zip(by_name, (q, k, scores, scaling), strict=True):
            by_name[name].append(part)
    return by_name

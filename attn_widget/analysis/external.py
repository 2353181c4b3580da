"""from_attentions(): figures of attention tensors from anywhere, without torch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from attn_widget.analysis.analysis import Analysis
from attn_widget.analysis.base import Origin
from attn_widget.analysis.locate_tokens import PADDING, UNKNOWN_ID, locate_tokens
from attn_widget.analysis.tensors import (
    ROW_SUM_HALF,
    are_steps,
    as_layer,
    as_masks,
    by_layer,
    check_weights,
    joined_steps,
    looks_causal,
)
from attn_widget.checks import check_characters, check_flag, is_half, known_keywords
from attn_widget.errors import InputError, InputTypeError
from attn_widget.figures.arrays import Bool, Float32
from attn_widget.model.tokens import Token
from attn_widget.trace import WeightsTrace

WEIGHTS_ALONE = "only attention weights were given"
SHOWN_FIRST = ("self", "decoder", "cross", "encoder")
IDS = "Use tokenizer.convert_ids_to_tokens(ids)."
ALL_TOKENS = "Pass every token, special ones and padding included."
CLOSES = 1e-5  # largest weight difference by which queries and keys still explain float32 weights


@known_keywords
def from_attentions(
    attentions: Any = None,
    tokens: Sequence[str] | Sequence[Token] | None = None,
    *,
    text: str | None = None,
    text_pair: str | None = None,
    queries: Any = None,
    keys: Any = None,
    allowed: Any = "auto",
    rest: bool = False,
    encoder_attentions: Any = None,
    decoder_attentions: Any = None,
    cross_attentions: Any = None,
    encoder_tokens: Sequence[str] | Sequence[Token] | None = None,
    decoder_tokens: Sequence[str] | Sequence[Token] | None = None,
    tagger: Any = "auto",
) -> Analysis:
    """Figures of attention weights that were computed elsewhere.

    Parameters
    ----------
    attentions : array, tensor, or list or tuple of one for each layer
        ``[L, H, n, n]``, or by layer ``[H, n, n]`` or ``[1, H, n, n]`` (a batch of one), from numpy,
        torch, JAX, TensorFlow or nested lists, such as ``model(...).attentions`` of transformers.
        Rows are queries and sum to 1, or to less with ``rest``. Steps of ``generate(output_attentions=True)`` are joined:
        each is a row.
    tokens : sequence of str or Token, [n]
        Padding (``[PAD]``, ``<pad>``) is cropped, also from the weights. In strings, the
        tokenizer's special tokens are recognized by their common names. Of steps, the last token of the sequence may be
        left out or not: it was written, and no step has read it.
    text, text_pair : str, optional
        The text that was tokenized; by default the text that the tokens spell.
    queries, keys : like `attentions`, [L, H, n, head_dim], optional
        Their scaled product must give the weights; scores are then known as well. Without ``queries``, ``keys`` may be a
        sequence of m str or Token instead: the tokens of another text, at which ``tokens`` look (cross-attention,
        [L, H, n, m]).
    allowed : "auto", None, or bool [n, n] or [L, n, n]
        False where the model's mask made a weight impossible (causal, windowed); None: nowhere. ``"auto"``
        takes all weights above the diagonal as impossible where each of them is exactly 0, and captions
        say that the mask was found.
    rest : bool
        Whether rows may sum to less than 1, as in models with learned sinks (GPT-OSS).
    encoder_attentions, decoder_attentions, cross_attentions : like `attentions`, optional
        In place of ``attentions``, those of an encoder-decoder as `transformers` gives them: [L, H, m, m], [L, H, n, n] and
        [L, H, n, m] (rows are target tokens), or the steps of ``generate``. Any of the three; `Analysis.of` gives each.
    encoder_tokens, decoder_tokens : sequence of str or Token, [m] and [n], optional
        Source and target tokens, the target's with the start token that the decoder reads first.
    tagger : optional
        As for `attn_widget.analyze`.

    Returns
    -------
    Analysis
        ``attn_widget.show(analysis)`` shows it. Predictions and other figures that need a model
        are N/A. Of an encoder-decoder, the decoder's (or that of what was given).

    Raises
    ------
    InputTypeError
        An object that holds no attention; complex numbers; a text that is not a str.
    InputError
        More than one text in the batch, shapes that do not fit each other or the tokens, NaN or infinite or
        negative weights, rows that do not sum to 1 (with ``rest``: to more); a token or text with a lone surrogate.

    Examples
    --------
    >>> import numpy as np
    >>> a = from_attentions(np.full((2, 3, 4, 4), 0.25), ["[CLS]", "hello", "world", "[SEP]"])
    >>> a.trace.n_layers, a.trace.n_heads, float(a.metrics.focus_normalized[0, 0])
    (2, 3, 1.0)
    """
    by_part = {
        "encoder": encoder_attentions,
        "decoder": decoder_attentions,
        "cross": cross_attentions,
    }
    rest = check_flag(rest, "rest")
    if any(given is not None for given in by_part.values()):
        _check_unused(
            {"attentions": attentions, "tokens": tokens, "queries": queries, "keys": keys, "text": text, "text_pair": text_pair},
            "are taken", "encoder_attentions= and the like have their own tokens.",
        )  # fmt: skip
        return _of_parts(by_part, encoder_tokens, decoder_tokens, rest=rest, tagger=tagger)
    _check_unused(
        {"encoder_tokens": encoder_tokens, "decoder_tokens": decoder_tokens},
        "go",
        "They belong to encoder_attentions=, decoder_attentions= and cross_attentions=.",
    )
    if tokens is None:
        raise InputTypeError("tokens is missing: attention has no meaning without them.", IDS)
    for what, value in (("text", text), ("text_pair", text_pair)):
        if not isinstance(value, (str, type(None))):
            raise InputTypeError(
                f"{what} is a {type(value).__name__}, expected a str.",
                "Pass the text that was tokenized.",
            )
        check_characters(value or "", what)
    matrices = _matrices(attentions, "attentions")
    if keys is not None and queries is None and _are_tokens(keys):
        _check_unused({"text_pair": text_pair}, "go", "keys= has the tokens of the other text.")
        rows, cols = _Side("tokens", tokens, writes=True, text=text), _Side("keys", keys)
        return _analysis({"cross": _trace(matrices, rows, cols, rest=rest, allowed=None)}, tagger)
    side = _Side("tokens", tokens, text=text, text_pair=text_pair)
    vectors = None if queries is None and keys is None else (queries, keys)
    return _analysis(
        {"self": _trace(matrices, side, rest=rest, allowed=allowed, vectors=vectors)}, tagger
    )


class _Matrices(NamedTuple):
    """Weights of all layers, float32 [H, n, m] each; of half precision; joined from the steps of ``generate``."""

    name: str
    layers: list[Float32]
    half: bool
    stepped: bool

    @property
    def shape(self) -> list[int]:
        return [len(self.layers), *self.layers[0].shape]


class _Side(NamedTuple):
    """The tokens of the rows or columns as they were given; those that a decoder ``writes`` begin with a start token."""

    name: str
    tokens: Any
    writes: bool = False
    text: str | None = None
    text_pair: str | None = None


class _Traced(NamedTuple):
    """Weights over the tokens that are no padding, and the texts of rows and columns."""

    trace: WeightsTrace
    text: str | None
    text_pair: str | None
    source: str | None


def _trace(
    given: _Matrices,
    rows: _Side,
    cols: _Side | None = None,
    *,
    rest: bool,
    allowed: Any,
    vectors: tuple[Any, Any] | None = None,
) -> _Traced:
    """The trace of attention from the tokens of ``rows`` to those of ``cols``: to themselves without."""
    n_layers, _, n, m = given.shape
    if cols is None and n != m:
        raise InputError(
            f"{given.name} have {n} queries and {m} keys: cross-attention of an "
            "encoder-decoder model, or a cached generation step.",
            "Name the tokens of both: tokens=target, keys=source; or pass self-attention, such as encoder_attentions.",
        )
    names, key_names = _names(rows, given, n), None if cols is None else _names(cols, given, m)
    _check_counts(given, rows, names, cols, key_names)
    real = _real(names, rows)
    real_keys = real if cols is None or key_names is None else _real(key_names, cols)
    at, keys_at = np.flatnonzero(real), np.flatnonzero(real_keys)
    auto = isinstance(allowed, str) and allowed == "auto"
    masks = as_masks(None if auto else allowed, n_layers, n)
    layers = [np.ascontiguousarray(layer[:, at[:, None], keys_at]) for layer in given.layers]
    if masks is not None:
        masks = [mask[np.ix_(at, at)] for mask in masks]
    for i, layer in enumerate(layers):
        check_weights(layer, i, at, cropped=keys_at.size < m, half=given.half, rest=rest)
        if masks is not None and (layer[:, ~masks[i]] > 0).any():
            raise InputError(f"Layer {i} has weight in cells that allowed forbids.")
    found = auto and looks_causal(layers)
    if found:
        masks = [np.tri(at.size, dtype=np.bool_)] * n_layers
    placed, text, text_pair = _place(rows, at)
    key_tokens, source = None, None
    if cols is not None:
        key_tokens, source, _ = _place(cols, keys_at)
    held = {} if vectors is None else _scores(*vectors, layers, masks, real, half=given.half)
    trace = WeightsTrace(
        placed,
        layers,
        allowed=None if masks is None else [None if mask.all() else mask for mask in masks],
        reason=WEIGHTS_ALONE,
        mask_found=found,
        has_rest=rest,
        key_tokens=key_tokens,
        **held,
    )
    return _Traced(trace, text, text_pair, source)


def _analysis(traced: dict[str, _Traced], tagger: Any) -> Analysis:
    """The analysis of the first part of `SHOWN_FIRST`, which knows the others."""
    texts = {part: one.source for one in traced.values() for part in ("encoder",) if one.source}
    texts |= {part: one.text for part, one in traced.items()}
    if len(traced) > 1 or not {"self", "cross"} & traced.keys():
        parts = {part: one.trace for part, one in traced.items()}
        for one in traced.values():
            one.trace.parts = parts
    first = traced[next(part for part in SHOWN_FIRST if part in traced)]
    return Analysis(
        first.trace,
        text=first.text,
        text_pair=first.text_pair,
        tagger=tagger,
        origin=Origin(texts=texts),
    )


def _of_parts(
    given: dict[str, Any], encoder_tokens: Any, decoder_tokens: Any, *, rest: bool, tagger: Any
) -> Analysis:
    """Analyses of the parts of an encoder-decoder."""
    matrices = {
        part: _matrices(tensors, f"{part}_attentions")
        for part, tensors in given.items()
        if tensors is not None
    }
    _check_together(matrices)
    sides = {
        "encoder": _Side("encoder_tokens", encoder_tokens),
        "decoder": _Side("decoder_tokens", decoder_tokens, writes=True),
    }
    traced: dict[str, _Traced] = {}
    for part, one in matrices.items():
        rows, cols = (
            (sides["decoder"], sides["encoder"]) if part == "cross" else (sides[part], None)
        )
        missing = [side.name for side in (cols, rows) if side is not None and side.tokens is None]
        if missing:
            raise InputTypeError(
                f"{one.name} is given, {one.shape}, and {' and '.join(missing)} {'are' if len(missing) > 1 else 'is'} missing.",
                IDS,
            )
        allowed = "auto" if part == "decoder" else None
        traced[part] = _trace(one, rows, cols, rest=rest, allowed=allowed)
    return _analysis(traced, tagger)


def _matrices(attentions: Any, name: str) -> _Matrices:
    half, stepped = is_half(attentions), are_steps(attentions)
    if stepped:
        half = any(is_half(step) for step in attentions)
        layers = joined_steps(attentions, name)
    else:
        layers = [as_layer(array, i, name) for i, array in enumerate(by_layer(attentions, name))]
    shape = layers[0].shape
    for i, layer in enumerate(layers):
        if layer.shape != shape:
            raise InputError(
                f"Layer {i} has shape {list(layer.shape)}, layer 0 has {list(shape)}.",
                "All layers need the same heads and tokens.",
            )
    return _Matrices(name, layers, half, stepped)


def _check_unused(given: dict[str, Any], verb: str, hint: str) -> None:
    unused = [name for name, value in given.items() if value is not None]
    if unused:
        raise InputError(
            f"{', '.join(unused)} {verb} with other attentions than those given.", hint
        )


def _check_counts(
    given: _Matrices, rows: _Side, names: list[str], cols: _Side | None, key_names: list[str] | None
) -> None:
    """Refuse other numbers of tokens than the matrices have rows and columns."""
    *_, n, m = given.shape
    if cols is None or key_names is None:
        if len(names) != n:
            raise InputError(
                f"{given.name} has shape {given.shape}, and there are {len(names)} {rows.name}.",
                ALL_TOKENS,
            )
    elif (counts := (len(names), len(key_names))) != (n, m):
        raise InputError(
            f"{given.name} has shape {given.shape}, {n} queries by {m} keys, and there are {counts[0]} {rows.name} and "
            f"{counts[1]} {cols.name}.",
            f"{rows.name} and {cols.name} are swapped: rows are the queries (the target), columns the keys (the source)."
            if counts == (m, n)
            else ALL_TOKENS,
        )


def _check_together(given: dict[str, _Matrices]) -> None:
    """Refuse parts, [L, H, queries, keys], that are not of one run."""
    said = ", ".join(f"{one.name} {one.shape}" for one in given.values())
    for part, one in given.items():
        if part != "cross" and one.shape[2] != one.shape[3]:
            raise InputError(
                f"The attentions do not belong together: {said}; {one.name} should have as many queries as keys.",
                "Pass outputs.encoder_attentions, outputs.decoder_attentions and outputs.cross_attentions of one run.",
            )
    encoder, decoder, cross = (
        given[part].shape if part in given else None for part in ("encoder", "decoder", "cross")
    )
    wrong: list[str] = []
    if cross and encoder and cross[3] != encoder[2]:
        wrong.append(f"cross_attentions look at {cross[3]} source tokens of {encoder[2]}")
    if cross and decoder and cross[2] != decoder[2]:
        wrong.append(f"cross_attentions have {cross[2]} queries for {decoder[2]} target tokens")
    if cross and decoder and cross[:2] != decoder[:2]:
        wrong.append(
            f"cross_attentions have {cross[0]} layers of {cross[1]} heads, the decoder {decoder[0]} of {decoder[1]}"
        )
    if wrong:
        raise InputError(
            f"The attentions do not belong together: {said}; {'; '.join(wrong)}.",
            "Pass those of one run: rows of cross-attention are target tokens, columns source tokens.",
        )


def _are_tokens(keys: Any) -> bool:
    """True if ``keys`` holds tokens, and no key vectors."""
    several = isinstance(keys, (Sequence, np.ndarray)) and not isinstance(keys, (str, bytes))
    return several and len(keys) > 0 and all(isinstance(key, (str, Token)) for key in keys)


def _names(side: _Side, given: _Matrices, size: int) -> list[str]:
    """Texts of the tokens; of steps without the last one, which was written, and no step has read it."""
    tokens, name = side.tokens, side.name
    if isinstance(tokens, str) or not isinstance(tokens, (Sequence, np.ndarray)):
        raise InputTypeError(
            f"{name} is a {type(tokens).__name__}, expected a sequence of str or Token.", IDS
        )
    if isinstance(tokens, np.ndarray) and tokens.ndim != 1:
        raise InputTypeError(
            f"{name} is an array of shape {list(tokens.shape)}, expected [n].", f"{name}.ravel()"
        )
    kinds = {type(token) for token in tokens}
    if kinds != {Token} and not all(issubclass(kind, str) for kind in kinds):
        raise InputTypeError(
            f"{name} holds {', '.join(sorted(kind.__name__ for kind in kinds))}, expected str or Token.",
            IDS,
        )
    texts = [token.text if isinstance(token, Token) else str(token) for token in tokens]
    names = [check_characters(text, f"{name}[{i}]") for i, text in enumerate(texts)]
    unread = given.stepped and len(names) == size + 1 and side.name != "keys"
    return names[:-1] if unread else names


def _real(names: list[str], side: _Side) -> Bool:
    """Which tokens are no padding; the start token may be the one that T5 calls ``<pad>``."""
    real = np.array([name not in PADDING for name in names])
    if side.writes and real.size:
        real[0] = True
    if not real.any():
        raise InputError("All tokens are padding.")
    return real


def _place(side: _Side, at: Any) -> tuple[tuple[Token, ...], str | None, str | None]:
    """Tokens with their places in the text, and the text; a start token of any name is no part of it."""
    chosen, text, text_pair = [side.tokens[i] for i in at], side.text, side.text_pair
    if not isinstance(chosen[0], Token):
        start: tuple[Token, ...] = ()
        if side.writes and chosen[0] in PADDING:
            name = str(chosen.pop(0))
            start = (Token(name, UNKNOWN_ID, 0, 0, name, special=True),)
            if not chosen:
                return start, text or "", None
        placed, text, text_pair = locate_tokens([str(token) for token in chosen], text, text_pair)
        return (*start, *placed), text, text_pair
    if text is not None:
        return tuple(chosen), text, text_pair
    if any(token.end for token in chosen):
        raise InputError("Token objects have offsets into a text.", "Pass text=.")
    return locate_tokens([token.text for token in chosen])


def _scores(
    queries: Any,
    keys: Any,
    layers: list[Float32],
    masks: list[Bool] | None,
    real: Bool,
    *,
    half: bool,
) -> dict[str, Any]:
    """Queries, keys and the scores that they give, where those explain the weights."""
    if queries is None or keys is None:
        raise InputError("Queries and keys go together.", "Pass both or neither.")
    half = half or is_half(queries) or is_half(keys)
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
        if not error <= (ROW_SUM_HALF if half else CLOSES):
            raise InputError(
                f"The softmax of layer {i}'s scaled queries and keys is off its weights by up to "
                f"{error:.3g}.",
                "Leave queries and keys out: this model adds something to its scores.",
            )
        for name, part in zip(by_name, (q, k, scores, scaling), strict=True):
            by_name[name].append(part)
    return by_name

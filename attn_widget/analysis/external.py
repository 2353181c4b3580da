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
PART_NAMES = ("encoder", "decoder", "cross")
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
    >>> a.n_layers, a.n_heads, float(a.metrics.focus_normalized[0, 0])
    (2, 3, 1.0)
    """
    two_texts = {
        "encoder_attentions": encoder_attentions,
        "decoder_attentions": decoder_attentions,
        "cross_attentions": cross_attentions,
    }
    if any(given is not None for given in two_texts.values()):
        one_text = {"attentions": attentions, "tokens": tokens, "queries": queries, "keys": keys}
        unused = {**one_text, "text": text, "text_pair": text_pair}
        _check_unused(
            unused, "are taken", "encoder_attentions= and the like have their own tokens."
        )
        return _of_two_texts(two_texts, encoder_tokens, decoder_tokens, rest=rest, tagger=tagger)
    _check_unused(
        {"encoder_tokens": encoder_tokens, "decoder_tokens": decoder_tokens},
        "go",
        "They belong to encoder_attentions=, decoder_attentions= and cross_attentions=.",
    )
    if tokens is None:
        raise InputTypeError(
            "tokens is missing: attention has no meaning without them.",
            "Use tokenizer.convert_ids_to_tokens(ids).",
        )
    if keys is not None and queries is None and _are_tokens(keys):
        _check_unused({"text_pair": text_pair}, "go", "keys= has the tokens of the other text.")
        layers = _layers(attentions, "attentions")
        rest = check_flag(rest, "rest")
        trace, text, source = _rectangle(layers, "attentions", tokens, keys, text=text, rest=rest)
        return Analysis(trace, text=text, tagger=tagger, origin=Origin(texts={"encoder": source}))
    names = _names(tokens, "tokens")
    for what, value in (("text", text), ("text_pair", text_pair)):
        if not isinstance(value, (str, type(None))):
            raise InputTypeError(
                f"{what} is a {type(value).__name__}, expected a str.",
                "Pass the text that was tokenized.",
            )
        check_characters(value or "", what)
    layers, half, stepped = _layers(attentions, "attentions")
    n = layers[0].shape[-1]
    if layers[0].shape[-2] != n:
        raise InputError(
            f"attentions have {layers[0].shape[-2]} queries and {n} keys: cross-attention of an "
            "encoder-decoder model, or a cached generation step.",
            "Name the tokens of both: tokens=target, keys=source; or pass self-attention, such as encoder_attentions.",
        )
    if stepped and len(names) == n + 1:  # the last token was written, and no step has read it
        names, tokens = names[:-1], tokens[:-1]
    if len(names) != n:
        raise InputError(
            f"There are {len(names)} tokens for attention over {n}.",
            "Pass every token, special ones and padding included.",
        )
    rest = check_flag(rest, "rest")
    auto = isinstance(allowed, str) and allowed == "auto"
    masks = as_masks(None if auto else allowed, len(layers), n)
    real = _real(names)
    real_tokens = np.flatnonzero(real)
    layers = [np.ascontiguousarray(layer[:, real_tokens[:, None], real_tokens]) for layer in layers]
    if masks is not None:
        masks = [mask[np.ix_(real_tokens, real_tokens)] for mask in masks]
    for i, layer in enumerate(layers):
        check_weights(layer, i, real_tokens, cropped=real_tokens.size < n, half=half, rest=rest)
        if masks is not None and (layer[:, ~masks[i]] > 0).any():
            raise InputError(f"Layer {i} has weight in cells that allowed forbids.")
    found = auto and looks_causal(layers)
    if found:
        masks = [np.tri(real_tokens.size, dtype=np.bool_)] * len(layers)
    placed, text, text_pair = _place(tokens, real_tokens, text, text_pair)
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
        reason=WEIGHTS_ALONE,
        mask_found=found,
        has_rest=rest,
        **held,
    )
    return Analysis(trace, text=text, text_pair=text_pair, tagger=tagger)


class _Layers(NamedTuple):
    """Weights of all layers, float32 [H, n, m] each; of half precision; joined from the steps of ``generate``."""

    layers: list[Float32]
    half: bool
    stepped: bool


def _layers(attentions: Any, name: str) -> _Layers:
    half, stepped = is_half(attentions), are_steps(attentions)
    if stepped:
        half = any(is_half(step) for step in attentions)
        layers = joined_steps(attentions, name)
    else:
        raw = by_layer(attentions, name)
        layers = [as_layer(array, i, name) for i, array in enumerate(raw)]
    shape = layers[0].shape
    for i, layer in enumerate(layers):
        if layer.shape != shape:
            raise InputError(
                f"Layer {i} has shape {list(layer.shape)}, layer 0 has {list(shape)}.",
                "All layers need the same heads and tokens.",
            )
    return _Layers(layers, half, stepped)


def _check_unused(given: dict[str, Any], verb: str, hint: str) -> None:
    unused = [name for name, value in given.items() if value is not None]
    if unused:
        raise InputError(
            f"{', '.join(unused)} {verb} with other attentions than those given.", hint
        )


def _are_tokens(keys: Any) -> bool:
    """True if ``keys`` holds tokens, and no key vectors."""
    several = isinstance(keys, (Sequence, np.ndarray)) and not isinstance(keys, (str, bytes))
    return several and len(keys) > 0 and all(isinstance(key, (str, Token)) for key in keys)


def _names(tokens: Any, name: str) -> list[str]:
    names = _token_names(tokens, name)
    return [check_characters(text, f"{name}[{i}]") for i, text in enumerate(names)]


def _real(names: list[str], *, starts: bool = False) -> Bool:
    """Which tokens are no padding; with ``starts``, the first may be the start token, which T5 calls ``<pad>``."""
    real = np.array([name not in PADDING for name in names])
    if starts and real.size:
        real[0] = True
    if not real.any():
        raise InputError("All tokens are padding.")
    return real


def _rectangle(
    given: _Layers,
    name: str,
    tokens: Any,
    keys: Any,
    *,
    text: str | None = None,
    rest: bool,
    names: tuple[str, str] = ("tokens", "keys"),
) -> tuple[WeightsTrace, str | None, str | None]:
    """The trace of attention from one text to another, and the two texts."""
    layers, half, stepped = given
    n, m = layers[0].shape[1:]
    queries, sources = _names(tokens, names[0]), _names(keys, names[1])
    if stepped and len(queries) == n + 1:
        queries, tokens = queries[:-1], tokens[:-1]
    if (len(queries), len(sources)) != (n, m):
        swapped = (len(queries), len(sources)) == (m, n)
        raise InputError(
            f"{name} has shape {[len(layers), *layers[0].shape]}, {n} queries by {m} keys, and there are {len(queries)} "
            f"{names[0]} and {len(sources)} {names[1]}.",
            f"{names[0]} and {names[1]} are swapped: rows are the queries (the target), columns the keys (the source)."
            if swapped
            else "Pass every token, special ones and padding included.",
        )
    rows, cols = np.flatnonzero(_real(queries, starts=True)), np.flatnonzero(_real(sources))
    layers = [np.ascontiguousarray(layer[:, rows[:, None], cols]) for layer in layers]
    for i, layer in enumerate(layers):
        check_weights(layer, i, rows, cropped=cols.size < m, half=half, rest=rest)
    placed, text, _ = _placed_target(tokens, rows, text)
    placed_keys, source, _ = _place(keys, cols, None, None)
    trace = WeightsTrace(
        placed, layers, reason=WEIGHTS_ALONE, has_rest=rest, key_tokens=placed_keys
    )
    return trace, text, source


def _placed_target(
    tokens: Any, positions: Any, text: str | None
) -> tuple[tuple[Token, ...], str | None, str | None]:
    """As `_place`; the first token may be a start token of any name, which is no part of the text."""
    first = tokens[positions[0]]
    if isinstance(first, Token) or first not in PADDING:
        return _place(tokens, positions, text, None)
    start = Token(str(first), UNKNOWN_ID, 0, 0, str(first), special=True)
    if len(positions) == 1:
        return (start,), text or "", None
    placed, text, _ = _place(tokens, positions[1:], text, None)
    return (start, *placed), text, None


def _of_two_texts(
    given: dict[str, Any], encoder_tokens: Any, decoder_tokens: Any, *, rest: object, tagger: Any
) -> Analysis:
    """Analyses of the parts of an encoder-decoder; that of the first of decoder, cross and encoder that was given."""
    rest = check_flag(rest, "rest")
    layers = {
        name: _layers(tensors, name) for name, tensors in given.items() if tensors is not None
    }
    shapes = {
        name: [len(matrices.layers), *matrices.layers[0].shape] for name, matrices in layers.items()
    }
    _check_together(shapes)
    needed = {"encoder_tokens": encoder_tokens, "decoder_tokens": decoder_tokens}
    for name in layers:
        part = name.partition("_")[0]
        sides = ("encoder", "decoder") if part == "cross" else (part,)
        missing = [f"{side}_tokens" for side in sides if needed[f"{side}_tokens"] is None]
        if missing:
            raise InputTypeError(
                f"{name} is given, {shapes[name]}, and {' and '.join(missing)} {'are' if len(missing) > 1 else 'is'} missing.",
                "Use tokenizer.convert_ids_to_tokens(ids).",
            )
    traces: dict[str, WeightsTrace] = {}
    texts: dict[str, str | None] = {}
    for name, matrices in layers.items():
        part = name.partition("_")[0]
        if part == "cross":
            sides = ("decoder_tokens", "encoder_tokens")
            tokens = (decoder_tokens, encoder_tokens)
            traces[part], texts[part], source = _rectangle(
                matrices, name, *tokens, rest=rest, names=sides
            )
            texts.setdefault("encoder", source)
        else:
            tokens = needed[f"{part}_tokens"]
            traces[part], texts[part] = _square(matrices, name, tokens, f"{part}_tokens", rest=rest)
    for trace in traces.values():
        trace.parts = traces
    first = next(part for part in ("decoder", "cross", "encoder") if part in traces)
    origin = Origin(texts=texts)
    return Analysis(traces[first], text=texts[first], tagger=tagger, origin=origin)


def _check_together(shapes: dict[str, list[int]]) -> None:
    """Refuse parts, [L, H, queries, keys], that are not of one run."""
    said = ", ".join(f"{name} {shape}" for name, shape in shapes.items())
    for name, (_, _, rows, cols) in shapes.items():
        if rows != cols and not name.startswith("cross"):
            raise InputError(
                f"The attentions do not belong together: {said}; {name} should have as many queries as keys.",
                "Pass outputs.encoder_attentions, outputs.decoder_attentions and outputs.cross_attentions of one run.",
            )
    encoder, decoder, cross = (shapes.get(f"{part}_attentions") for part in PART_NAMES)
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


def _square(
    given: _Layers, name: str, tokens: Any, tokens_name: str, *, rest: bool
) -> tuple[WeightsTrace, str | None]:
    """The trace of attention of a text to itself, and the text."""
    layers, half, stepped = given
    n, writes = layers[0].shape[-1], tokens_name == "decoder_tokens"
    names = _names(tokens, tokens_name)
    if stepped and len(names) == n + 1:
        names, tokens = names[:-1], tokens[:-1]
    if len(names) != n:
        raise InputError(
            f"{name} has shape {[len(layers), *layers[0].shape]}, and there are {len(names)} {tokens_name}.",
            "Pass every token, special ones and padding included.",
        )
    real_tokens = np.flatnonzero(_real(names, starts=writes))
    layers = [np.ascontiguousarray(layer[:, real_tokens[:, None], real_tokens]) for layer in layers]
    for i, layer in enumerate(layers):
        check_weights(layer, i, real_tokens, cropped=real_tokens.size < n, half=half, rest=rest)
    found = writes and looks_causal(layers)
    masks = [np.tri(real_tokens.size, dtype=np.bool_)] * len(layers) if found else None
    if writes:
        placed, text, _ = _placed_target(tokens, real_tokens, None)
    else:
        placed, text, _ = _place(tokens, real_tokens, None, None)
    trace = WeightsTrace(
        placed, layers, allowed=masks, reason=WEIGHTS_ALONE, mask_found=found, has_rest=rest
    )
    return trace, text


def _token_names(tokens: Any, name: str) -> list[str]:
    if isinstance(tokens, str) or not isinstance(tokens, (Sequence, np.ndarray)):
        raise InputTypeError(
            f"{name} is a {type(tokens).__name__}, expected a sequence of str or Token.",
            "Use tokenizer.convert_ids_to_tokens(ids).",
        )
    if isinstance(tokens, np.ndarray) and tokens.ndim != 1:
        raise InputTypeError(
            f"{name} is an array of shape {list(tokens.shape)}, expected [n].", f"{name}.ravel()"
        )
    kinds = {type(token) for token in tokens}
    if kinds == {Token}:
        return [token.text for token in tokens]
    if all(issubclass(kind, str) for kind in kinds):
        return [str(token) for token in tokens]
    raise InputTypeError(
        f"{name} holds {', '.join(sorted(kind.__name__ for kind in kinds))}, expected str or Token.",
        "Use tokenizer.convert_ids_to_tokens(ids).",
    )


def _place(
    tokens: Any, positions: Any, text: str | None, text_pair: str | None
) -> tuple[tuple[Token, ...], str | None, str | None]:
    chosen = [tokens[i] for i in positions]
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

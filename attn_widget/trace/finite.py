"""NaN and infinite numbers of a run, named by the layer and the weight that they come from."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from attn_widget.errors import NotFiniteError
from attn_widget.model.encoder import Encoder
from attn_widget.model.families import layer_modules
from attn_widget.model.numpy_modules import Module
from attn_widget.model.tokens import Token
from attn_widget.trace.base import to_numpy
from attn_widget.trace.qkv import LayerQKV

LARGEST_SCORE = float(np.finfo(np.float32).max)


def check_states(encoder: Encoder, tokens: Sequence[Token], states: Sequence[Any] | None) -> None:
    """Refuse a run whose hidden states are not finite.

    NaN of any layer reaches the last one, so that the last one is looked at first.

    ``states``, sequence of tensors [n, d], length L + 1: the first is the embeddings' output. Raises
    `NotFiniteError`: with the first layer that has such numbers, the token, and the weight that has them too.
    """
    if not states or _finite(states[-1]):
        return
    at = next(i for i, state in enumerate(states) if not _finite(state))
    # A family whose layers are not known has its last state alone.
    if len(states) == 1:
        where = "The last layer"
    else:
        where = "The embeddings" if at == 0 else _layer_name(at - 1, len(states) - 1)
    raise _not_finite(encoder, tokens, where, states[at])


def check_scores(encoder: Encoder, tokens: Sequence[Token], layers: Sequence[LayerQKV]) -> None:
    """Refuse a run whose attention scores are not finite.

    The fused attention of some versions of torch gives finite outputs for such scores, so that the
    hidden states do not tell.

    Raises `NotFiniteError`: with the first layer that has such scores, the token, and the weight that has such
    numbers too.
    """
    for i, layer in enumerate(layers):
        largest = _largest(layer.query) * _largest(layer.key) * layer.query.shape[-1]
        if largest <= LARGEST_SCORE:  # not so with NaN
            continue
        query, key = to_numpy(layer.query), to_numpy(layer.key)
        with np.errstate(all="ignore"):
            scores = query @ key.repeat(len(query) // len(key), 0).swapaxes(-1, -2)
        if not _finite(scores):
            where = f"The attention of {_layer_name(i, len(layers)).lower()}"
            raise _not_finite(
                encoder, tokens, where, scores.swapaxes(0, 1).reshape(len(tokens), -1)
            )


def _layer_name(layer: int, n_layers: int) -> str:
    return f"Layer {layer} (of 0 to {n_layers - 1})"


def _not_finite(encoder: Encoder, tokens: Sequence[Token], where: str, rows: Any) -> NotFiniteError:
    """Error for numbers [n, any] that are not finite in at least one row."""
    rows = to_numpy(rows)
    row = int((~np.isfinite(rows)).any(axis=-1).argmax())
    number = "NaN" if np.isnan(rows[row]).any() else "infinite numbers"
    return NotFiniteError(
        f"{where} of {encoder.name} gave {number}, first for token {row} ({tokens[row].text!r}): "
        "no figure of this run means anything.",
        _cause(encoder),
    )


def check_weights(encoder: Encoder) -> None:
    """Refuse a model whose layers have a weight that is no finite number, for work that does not look at scores.

    Raises `NotFiniteError`.
    """
    weights = encoder.network.base_model.named_parameters()
    if _broken((name, held) for name, held in weights if "pooler" not in name) is not None:
        raise NotFiniteError(
            f"The weights of {encoder.name} are not all finite: no figure of it means anything.",
            _cause(encoder),
        )


def check_head(encoder: Encoder, logits: Any, head: str) -> None:
    """Refuse outputs of a head that are not finite, above finite hidden states."""
    if logits is not None and not _finite(logits):
        raise NotFiniteError(
            f"The {head} of {encoder.name} gave numbers that are not finite.", _cause(encoder)
        )


def _largest(held: Any) -> float:
    """The largest absolute value of a tensor or an array; NaN if it has one."""
    if isinstance(held, np.ndarray):
        return float(np.abs(held).max())
    least, most = held.float().aminmax()  # without a copy; NaN if there is one
    return max(-float(least), float(most))


def _finite(held: Any) -> bool:
    """True if all numbers of a tensor or an array are finite."""
    return bool((np.isfinite(held) if isinstance(held, np.ndarray) else held.isfinite()).all())


def _cause(encoder: Encoder) -> str:
    """Which weight is to blame, and what to do about it."""
    broken = _broken(encoder.traced.named_parameters()) or _broken(encoder.traced.named_buffers())
    if broken is None:
        if encoder.heads_off:
            return "Its weights are finite, so the heads that are off are to blame: switch them on again."
        wide = isinstance(encoder.traced, Module) or str(encoder.dtype) == "torch.float32"
        wider = "" if wide else ", or load it with dtype='float32'"
        return f"Its weights are finite, so they overflow on this text: try another text{wider}."
    layers = layer_modules(encoder.family, encoder.traced) or []
    place = next(
        (f" of layer {i}" for i, layer in enumerate(layers) if _holds(layer, broken[1])), ""
    )
    return (
        f"The weight {broken[0]!r}{place} holds such numbers: mend it, or get the checkpoint again."
    )


def _broken(named: Iterable[tuple[str, Any]]) -> tuple[str, Any] | None:
    floats = (
        (name, held)
        for name, held in named
        if isinstance(held, np.ndarray) or held.is_floating_point()
    )
    return next(((name, held) for name, held in floats if not _finite(held)), None)


def _holds(module: Any, weight: Any) -> bool:
    return any(held is weight for held in (*module.parameters(), *module.buffers()))

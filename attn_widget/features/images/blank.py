"""Rows of heads in pictures of nothing: the part of a row that place alone explains."""

from __future__ import annotations

import weakref
from dataclasses import replace
from typing import Any

import numpy as np

from attn_widget.features.images.encoding import ImageEncoding
from attn_widget.figures.arrays import Float32, Float64
from attn_widget.host.fingerprint import weights_state
from attn_widget.trace import Trace
from attn_widget.trace.capture import capture
from attn_widget.trace.run import Run

NOISE = 0  # seed of its pixels
KEPT = 4  # of one model: sizes, heads switched off
FLOOR = 1e-9  # weights below count as this: a logarithm of 0 is none
FLAT = 1e-4  # standard deviation of logarithms below which a row has no pattern

# Rows of models that are in use, by what they were found with.
_known: weakref.WeakKeyDictionary[Any, dict[object, Float32]] = weakref.WeakKeyDictionary()


def blank_pixels(shape: tuple[int, ...]) -> tuple[Float32, ...]:
    """An even picture of the mean color and one of random pixels with the variance of all pictures, as the model gets them.

    >>> [round(float(pixels.std()), 2) for pixels in blank_pixels((1, 3, 64, 64))]
    [0.0, 1.0]
    """
    bits = np.random.PCG64(NOISE).random_raw(int(np.prod(shape)))  # the same in every version
    noise = (bits / 2**63 - 1) * np.sqrt(3)
    return np.zeros(shape, np.float32), noise.reshape(shape).astype(np.float32)


def focused_rows(trace: Trace, encoding: ImageEncoding) -> Float32:
    """Weights of the first token in every head, or without one those of all patches on average, float32 [L, H, n]."""
    return rows_of(trace, encoding.focused(None))


def rows_of(trace: Trace, tokens: list[int]) -> Float32:
    """Weights of some tokens on average in every head, float32 [L, H, n]."""
    positions = np.array(tokens, np.intp)
    layers = range(trace.n_layers)
    return np.stack(
        [trace.picked_rows(layer, positions).mean(axis=1, dtype=np.float32) for layer in layers]
    )


def blank_rows(run: Run, encoding: ImageEncoding) -> Float32:
    """`focused_rows` of the patches of `blank_pixels`, float32 [2, L, H, patches]: two passes, kept for the model and the size."""
    encoder = run.encoder
    given = encoding.arrays["pixel_values"]
    key = (encoder.heads_off, encoder.ablation, id(encoder.patch), given.shape, encoder.dtype)
    known = _known.setdefault(encoder.traced, {})
    key = (*key, weights_state(encoder.traced))
    if key not in known:
        found: list[Float32] = []
        for pixels in blank_pixels(given.shape):
            blank = replace(encoding, arrays={**encoding.arrays, "pixel_values": pixels})
            found.append(focused_rows(capture(encoder, blank), blank)[..., encoding.patches])
        while len(known) >= KEPT:
            del known[next(iter(known))]
        known[key] = np.stack(found)
    return known[key]


def beyond(maps: Float32, blank: Float32) -> Float32:
    """``maps`` [..., patches] over what ``blank`` [k, ..., patches] explain of them, float32 [..., patches], 1 on average.

    Logarithms of a map are fitted by those of the blank ones (least squares), and what is left is taken back to ratios.

    >>> import numpy as np
    >>> place = np.array([1.0, 2.0, 4.0, 8.0])
    >>> beyond(place**2 * 0.1, place[None]).tolist()
    [1.0, 1.0, 1.0, 1.0]
    """
    left = _centered(maps)
    used: list[Float64] = []
    for given in blank:
        direction = _centered(given)
        for other in used:
            direction = direction - _along(direction, other)
        flat = direction.std(axis=-1, keepdims=True) < FLAT
        used.append(np.where(flat, 0, direction))
        left = left - _along(left, used[-1])
    return np.exp(left).astype(np.float32)


def _centered(maps: Any) -> Float64:
    logs = np.log(np.maximum(np.asarray(maps, np.float64), FLOOR))
    return logs - logs.mean(axis=-1, keepdims=True)


def _along(values: Float64, direction: Float64) -> Float64:
    """The part of ``values`` along ``direction``; 0 where that is 0."""
    squares = (direction**2).sum(axis=-1, keepdims=True)
    products = (values * direction).sum(axis=-1, keepdims=True)
    return direction * np.divide(products, squares, out=np.zeros_like(squares), where=squares > 0)

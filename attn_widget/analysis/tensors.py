"""Tensors from anywhere to float32 arrays, and what is wrong with them in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from attn_widget.checks import as_array, check_several
from attn_widget.errors import InputError, InputTypeError
from attn_widget.figures.arrays import Bool, Float32

ROW_SUM = 1e-3  # how far from 1 a float32 row may sum
ROW_SUM_HALF = 1e-2  # a row of bfloat16 weights: 8 bits each

EAGER = "Load the model with attn_implementation='eager' and call it with output_attentions=True."


def by_layer(tensors: Any, name: str) -> list[Any]:
    """The tensors of the layers, of one tensor or a sequence of them."""
    if isinstance(tensors, Mapping) or hasattr(tensors, "last_hidden_state"):
        raise InputTypeError(
            f"{name} is a {type(tensors).__name__}, expected tensors.", "Pass outputs.attentions."
        )
    if tensors is None:
        raise InputTypeError(f"{name} is None, expected tensors.", EAGER)
    several = not isinstance(tensors, (str, bytes)) and hasattr(tensors, "__len__")
    if not several or getattr(tensors, "ndim", 1) == 0:
        raise InputTypeError(f"{name} is a {type(tensors).__name__}, expected tensors.")
    if hasattr(tensors, "detach"):
        tensors = as_numbers(tensors, name)
    if len(tensors) == 0 or any(layer is None for layer in tensors):
        raise InputError(
            f"{name} holds no tensors.",
            EAGER,
        )
    return check_several(tensors, name, "tensors")


def are_steps(tensors: Any) -> bool:
    """True for what ``generate(output_attentions=True)`` gives: for each step, the tensors of all layers."""
    several = isinstance(tensors, (list, tuple)) and len(tensors) > 0
    return several and all(
        isinstance(step, (list, tuple)) and len(step) > 0 and hasattr(step[0], "shape")
        for step in tensors
    )


def joined_steps(steps: Any, name: str) -> list[Float32]:
    """The steps of ``generate`` as layers, float32 [H, n, m]: each step is a row (a prompt: several).

    Raises `InputError`: steps of several texts or beams, or that do not follow each other.
    """
    batch = int(steps[0][0].shape[0]) if len(steps[0][0].shape) == 4 else 1
    if batch > 1:
        raise InputError(
            f"{name} holds steps of {batch} texts or beams, [{batch}, heads, queries, keys]: rows of different beams are "
            "no text.",
            "Run the model once on the text that was chosen, with output_attentions=True, and pass that.",
        )
    layers: list[Float32] = []
    for layer in range(len(steps[0])):
        rows = [as_layer(step[layer], layer, name) for step in steps]
        heads, n_keys = rows[-1].shape[0], rows[-1].shape[2]
        if any(row.shape[0] != heads or row.shape[2] > n_keys for row in rows):
            shapes = ", ".join(str(list(row.shape)) for row in rows[:4])
            raise InputError(
                f"The steps of {name} do not follow each other: layer {layer} has {shapes} ...",
                "Pass the steps of one call of generate(), in order.",
            )
        widened = [np.pad(row, ((0, 0), (0, 0), (0, n_keys - row.shape[2]))) for row in rows]
        layers.append(np.concatenate(widened, axis=1))
    return layers


def as_numbers(tensors: Any, name: str) -> Any:
    """Anything that holds real numbers, as an array."""
    array = as_array(tensors, name)
    if not any(np.issubdtype(array.dtype, kind) for kind in (np.inexact, np.integer)):
        array = as_array(
            tensors, name, np.float32
        )  # bfloat16 of ml_dtypes; strings and objects raise
    if np.iscomplexobj(array):
        raise InputTypeError(
            f"{name} holds complex numbers, expected real ones.",
            "Pass the part that you mean, such as x.real.",
        )
    return array


def as_layer(tensor: Any, index: int, name: str) -> Float32:
    """One layer as float32 [H, m, n], without the axis of a batch of one."""
    array = as_numbers(tensor, name)
    if array.ndim == 4:
        if array.shape[0] != 1:
            raise InputError(
                f"Layer {index} of {name} has shape {list(array.shape)}: a batch of "
                f"{array.shape[0]} texts.",
                "Pass one text at a time: [layer[0] for layer in attentions].",
            )
        array = array[0]
    if array.ndim != 3 or 0 in array.shape:
        raise InputError(
            f"Layer {index} of {name} has shape {list(array.shape)}, expected [H, n, n] or "
            "[1, H, n, n].",
            "Wrap a single layer in a list.",
        )
    return array.astype(np.float32)


def check_weights(
    layer: Float32, index: int, positions: Any, *, cropped: bool, half: bool, rest: bool = False
) -> None:
    """Refuse a layer that is no attention: not finite, negative, rows that do not sum to 1 (``rest``: to at most 1)."""
    where = np.argwhere(~np.isfinite(layer))
    if where.size:
        head, i, j = where[0].tolist()
        raise InputError(
            f"attentions hold {layer[head, i, j]} at layer {index}, head {head}, query {positions[i]}, "
            f"key {positions[j]}.",
            "Weights come after the softmax and are finite.",
        )
    if layer.min() < 0:
        raise InputError(
            f"attentions hold negative numbers in layer {index}, down to {layer.min():.3g}.",
            "Pass weights (after the softmax), not scores.",
        )
    sums = layer.sum(axis=2, dtype=np.float64)
    far = sums - 1 if rest else np.abs(sums - 1)
    if far.max() > (ROW_SUM_HALF if half else ROW_SUM):
        head, i = np.unravel_index(int(far.argmax()), far.shape)
        raise InputError(
            f"Row {positions[i]} of layer {index}, head {head} sums to {sums[head, i]:.4g}, expected "
            + ("at most 1" if rest else "1")
            + (" over the tokens that are not padding." if cropped else "."),
            "Run the model with its attention_mask."
            if cropped
            else "Rows are queries; pass weights after the softmax and without dropout, and rest=True for a "
            "model whose learned sink takes the rest of a row.",
        )


def looks_causal(layers: Sequence[Float32]) -> bool:
    """True if every weight above the diagonal is exactly 0, in all heads of all layers, each [H, n, n]."""
    return layers[0].shape[-1] > 1 and not any(np.triu(layer, 1).any() for layer in layers)


def as_masks(allowed: Any, n_layers: int, n: int) -> list[Bool] | None:
    """A mask for each layer, bool [n, n]; None when there is none."""
    if allowed is None:
        return None
    array = as_array(allowed, "allowed")
    if array.dtype != np.bool_ or array.shape not in ((n, n), (n_layers, n, n)):
        raise InputError(
            f"allowed is {array.dtype} {list(array.shape)}, expected bool [{n}, {n}] or "
            f'[{n_layers}, {n}, {n}], "auto" or None.'
        )
    return list(np.broadcast_to(array, (n_layers, n, n)))

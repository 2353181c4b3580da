"""Arrays and lists, whatever they are made of."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attn_widget.checks.values import LARGEST_COUNT
from attn_widget.checks.words import first_line, short_repr
from attn_widget.errors import InputError, InputTypeError


def as_array(values: Any, name: str, dtype: Any = None) -> NDArray[Any]:
    """``values`` as an array: of numpy, lists, or tensors of any library, sparse ones made dense."""
    try:
        return np.asarray(_from_torch(values), dtype=dtype)
    except Exception as error:  # whatever the conversion of an object raises
        raise InputTypeError(
            f"{name} cannot be read as an array: {first_line(error)}.",
            "Give numbers, with the same count in each row.",
        ) from None


def is_half(values: Any) -> bool:
    """True if a tensor, or the first of several, has 16-bit floats."""
    first = values[0] if isinstance(values, (list, tuple)) and values else values
    return str(getattr(first, "dtype", "")).removeprefix("torch.") in ("float16", "bfloat16")


def _from_torch(values: Any) -> Any:
    """A tensor of torch as numpy has it; anything else as it is. torch is not imported."""
    if not (hasattr(values, "detach") and hasattr(values, "cpu")):
        return values
    if getattr(values, "is_meta", False):
        raise TypeError("a tensor of the device 'meta' has no numbers")
    dense = values.detach().to_dense() if "strided" not in str(values.layout) else values.detach()
    dense = dense.float() if is_half(dense) else dense
    return dense.cpu().resolve_conj().resolve_neg().numpy()


def is_iterable(given: object) -> bool:
    """True if a loop takes it: not so an array without a dimension, which says that it is iterable."""
    try:
        iter(given)  # pyright: ignore[reportArgumentType, reportCallIssue]
    except TypeError:
        return False
    return True


def check_several(values: Any, name: str, what: str) -> list[Any]:
    """``values`` as a list; ``what`` says of what."""
    if isinstance(values, (str, bytes)) or not is_iterable(values):
        raise InputTypeError(
            f"{name} is {short_repr(values)}, expected several {what}.",
            f"Put it into a list: {name}=[...].",
        )
    return listed(values, name)


def listed(values: Any, name: str) -> list[Any]:
    """The entries of what is iterable: an iterator without end is refused."""
    if isinstance(values, Mapping) or (hasattr(values, "columns") and hasattr(values, "shape")):
        raise InputTypeError(
            f"{name} is a {type(values).__name__}, expected a list.",
            "Give its values: list(d.values())."
            if isinstance(values, Mapping)
            else "Give one of its columns as a list: df['text'].tolist().",
        )
    items = list(islice(values, LARGEST_COUNT + 1))
    if len(items) > LARGEST_COUNT:
        raise InputError(f"{name} holds more than {LARGEST_COUNT:,} entries.", "Give fewer.")
    return items

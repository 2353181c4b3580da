"""Planes of bytes: numbers of two or three bytes compress better with each byte apart."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Arrays = dict[str, NDArray[Any]]

BYTE = 255  # levels


def code_planes(codes: NDArray[np.integer[Any]], levels: int) -> Arrays:
    """Codes as one plane of bytes; above 255 levels the high and the low bytes."""
    if levels > BYTE:
        return {"codes": (codes >> 8).astype(np.uint8), "fine": codes.astype(np.uint8)}
    return {"codes": codes.astype(np.uint8)}


def planes(values: NDArray[np.int32]) -> Arrays:
    """Bytes of zigzag numbers, lowest first: small ones of either sign have high bytes of zero.

    >>> found = planes(np.array([0, -1, 1, -200], dtype=np.int32))
    >>> {name: plane.tolist() for name, plane in found.items()}
    {'low': [0, 1, 2, 143], 'high': [0, 0, 0, 1]}
    """
    zigzag = np.where(values < 0, -2 * values - 1, 2 * values)
    arrays: Arrays = {"low": (zigzag & 255).astype(np.uint8)}
    arrays["high"] = (zigzag >> 8 & 255).astype(np.uint8)
    if (zigzag >> 16).any():
        arrays["top"] = (zigzag >> 16).astype(np.uint8)
    return arrays

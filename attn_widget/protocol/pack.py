"""The pack "AWP1": a JSON header and aligned arrays in one bytes object.

The layout is described in ``docs/protocol.md``; ``js/src/protocol/pack.ts`` reads it.
"""

from __future__ import annotations

import json
import math
import struct
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

MAGIC = b"AWP1"
ALIGNMENT = 8
DTYPES = ("uint8", "int32", "float32", "float64")


def to_json(value: Any) -> Any:
    """``value`` with what JSON lacks made plain: NaN and infinities become None, numpy becomes Python."""
    if isinstance(value, Mapping):
        return {str(key): to_json(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [to_json(item) for item in value]
    if isinstance(value, np.ndarray):
        return to_json(value.tolist())
    if isinstance(value, np.generic):
        return to_json(value.item())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def checked(name: str, array: NDArray[Any]) -> NDArray[Any]:
    """``array`` in C order and little endian, refusing a dtype that the page does not read."""
    array = np.ascontiguousarray(array)
    if array.dtype.name not in DTYPES:
        raise TypeError(f"array {name!r} has dtype {array.dtype}, expected one of {DTYPES}")
    return array.astype(array.dtype.newbyteorder("<"), copy=False)


def describe(arrays: Mapping[str, NDArray[Any]]) -> list[dict[str, Any]]:
    """``[{name, dtype, shape}]``, as replies to slices and the pack's header carry it."""
    return [
        {"name": name, "dtype": array.dtype.name, "shape": list(array.shape)}
        for name, array in arrays.items()
    ]


def pack(meta: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> bytes:
    """Pack ``meta`` and ``arrays``.

    ``meta``: JSON-able; NaN is written as null. ``arrays``: dtypes uint8, int32, float32, float64. Those of the
    same bytes are written once. Raises `TypeError`: an array has another dtype.

    >>> import numpy as np
    >>> meta, arrays = unpack(pack({"n": 2}, {"a": np.eye(2, dtype=np.float32)}))
    >>> meta["n"], arrays["a"].tolist()
    (2, [[1.0, 0.0], [0.0, 1.0]])
    """
    ready = {name: checked(name, array) for name, array in arrays.items()}
    entries = describe(ready)
    contents = [array.tobytes() for array in ready.values()]
    plain_meta = to_json(meta)
    # The offsets stand in the header and lengthen it: leave room until all of it fits.
    start, header, offsets = 0, b"", dict[bytes, int]()
    while not header or 8 + len(header) > start:
        start = -(-(8 + len(header)) // ALIGNMENT) * ALIGNMENT + 4 * ALIGNMENT
        at = start
        offsets.clear()
        for entry, content in zip(entries, contents, strict=True):
            entry["offset"] = offsets.setdefault(content, at)
            if entry["offset"] == at:
                at += -(-len(content) // ALIGNMENT) * ALIGNMENT
        header = json.dumps({"meta": plain_meta, "arrays": entries}, allow_nan=False).encode()
    header = header.ljust(start - 8)
    parts = [MAGIC, struct.pack("<I", len(header)), header]
    for content in offsets:
        parts.append(content)
        parts.append(b"\0" * (-len(content) % ALIGNMENT))
    return b"".join(parts)


def unpack(data: bytes) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Read what `pack` wrote: ``(meta, arrays)``; the arrays are views into ``data``.

    Raises `ValueError`: ``data`` is not a pack.
    """
    if data[:4] != MAGIC:
        raise ValueError(f"not a pack: begins with {data[:4]!r}, expected {MAGIC!r}")
    (length,) = struct.unpack_from("<I", data, 4)
    header = json.loads(data[8 : 8 + length])
    arrays: dict[str, NDArray[Any]] = {}
    for entry in header["arrays"]:
        shape = tuple(entry["shape"])
        flat = np.frombuffer(
            data, dtype=entry["dtype"], count=math.prod(shape), offset=entry["offset"]
        )
        arrays[entry["name"]] = flat.reshape(shape)
    return header["meta"], arrays

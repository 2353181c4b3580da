"""Fingerprints of a model: a hash of all its values, and a quick one that notices most changes in place."""

from __future__ import annotations

import hashlib
import threading
import weakref
from collections.abc import Generator
from contextlib import contextmanager
from functools import cache
from math import gcd
from typing import Any

from attn_widget.errors import NotAvailableError

DIGITS = 32  # hexadecimal, of a digest
SPREAD = 0.618  # step of the sampled values as a share of the shorter side: spreads them evenly

# Digests of a model's tensors with the storage and the version that they were computed from.
_known: weakref.WeakKeyDictionary[Any, dict[str, tuple[object, bytes]]] = (
    weakref.WeakKeyDictionary()
)

_read = threading.local()  # states that this thread has read, in `reading_weights_once`


def fingerprint(model: Any, *, cached: bool = False) -> str:
    """A hash of every parameter and stored buffer of a model: name, shape, type and all values.

    ``cached``: take the hash of a tensor from the last call while its storage and its version are the same. A
    change through ``.data`` raises no version: for what is kept on disk, everything is read.
    """
    stored = model.state_dict().keys()
    fingerprints = _known.setdefault(model, {})
    digest = hashlib.sha256()
    tensors = [*model.named_parameters()]
    tensors += [(name, buffer) for name, buffer in model.named_buffers() if name in stored]
    for name, tensor in tensors:
        state = _state(tensor)
        if not (
            cached and state is not None and name in fingerprints and fingerprints[name][0] == state
        ):
            fingerprints[name] = (state, tensor_digest(tensor))
        digest.update(name.encode() + b"\0" + fingerprints[name][1])
    return digest.hexdigest()[:DIGITS]


def weights_state(model: Any) -> int:
    """A number that changes with the weights.

    It counts what torch counts: steps of optimizers, ``load_state_dict``, any operation in place, and tensors that were moved,
    cast or replaced. A change through ``.data``, or of numpy arrays, has no count: some values of every row and of every column
    are read, so that it is seen unless it touches less than a row or a column. A sum of all values would see
    every one, for a quarter of the time of each pass (``docs/robustness.md``). Inside `reading_weights_once` they are read once.
    """
    states: dict[int, tuple[Any, int]] | None = getattr(_read, "states", None)
    if states is None:
        return _read_state(model)
    if id(model) not in states:
        states[id(model)] = model, _read_state(model)
    return states[id(model)][1]


@contextmanager
def reading_weights_once(*, again: bool = True) -> Generator[None]:
    """`weights_state` of this thread reads each model once, and again at the end, instead of before each of many passes.

    ``again=False``: only where long work inside does it, around an answer of milliseconds. Raises `NotAvailableError`:
    the weights have changed in between.
    """
    outer: dict[int, tuple[Any, int]] | None = getattr(_read, "states", None)
    promised = outer is not None and _read.again
    states = {} if outer is None else outer
    _read.states, _read.again = states, again or promised
    try:
        yield
    finally:
        _read.states, _read.again = outer, promised
    if (
        again
        and not promised
        and any(_read_state(model) != state for model, state in states.values())
    ):
        raise NotAvailableError(
            "The weights of the model have changed while it was asked, so the answers are of several models.",
            "Ask again when nothing trains it: analyze(text, model=...).",
        )


def _read_state(model: Any) -> int:
    if hasattr(model, "in_torch"):
        return hash(tuple(_sampled(array).tobytes() for array in model.arrays))
    import torch

    counts: list[object] = []
    samples: dict[Any, list[Any]] = {}
    for module in model.modules():
        passing = module._non_persistent_buffers_set  # passes of some models make them again
        buffers = (tensor for name, tensor in module._buffers.items() if name not in passing)
        for tensor in (*module._parameters.values(), *buffers):
            if tensor is not None:
                counts.append(_state(tensor) or id(tensor))
                if tensor.device.type != "meta" and tensor.is_contiguous():
                    samples.setdefault(tensor.device, []).append(_sampled(tensor.detach()).float())
    values = [torch.cat(some).cpu().numpy().tobytes() for some in samples.values()]
    return hash((*counts, *values))


def _sampled(matrix: Any) -> Any:
    """Some values of each row and of each column; all of a vector."""
    rows = max(1, matrix.shape[0]) if matrix.ndim > 1 else 1
    flat = matrix.reshape(-1)
    return flat[:: step(rows, len(flat) // rows)]


@cache
def step(rows: int, columns: int) -> int:
    """Between values that meet every row and every column: at most as long as either, without a divisor of the columns.

    Examples
    --------
    >>> step(768, 768), step(1, 768)
    (473, 1)
    """
    longest = max(1, int(SPREAD * min(rows, columns)))
    return next(size for size in range(longest, 0, -1) if gcd(size, columns) == 1)


def _state(tensor: Any) -> object:
    """Storage, view and version of a tensor; None where torch counts no versions."""
    if tensor.is_inference():
        return None
    return tensor.data_ptr(), tensor._version, tensor.dtype, tensor.shape, tensor.stride()


def tensor_digest(tensor: Any) -> bytes:
    """A hash of a tensor: type, shape and all values."""
    import torch

    flat = tensor.detach().cpu().contiguous().reshape(-1)
    digest = hashlib.sha256(f"{tensor.dtype} {[*tensor.shape]}".encode())
    digest.update(flat.view(torch.uint8).numpy().data)
    return digest.digest()

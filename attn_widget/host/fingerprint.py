"""Fingerprint of a model: a hash of all its values."""

from __future__ import annotations

import hashlib
import weakref
from typing import Any

DIGITS = 32  # hexadecimal, of a digest

# Digests of a model's tensors with the storage and the version that they were computed from.
_known: weakref.WeakKeyDictionary[Any, dict[str, tuple[object, bytes]]] = (
    weakref.WeakKeyDictionary()
)


def fingerprint(model: Any, *, cached: bool = False) -> str:
    """A hash of every parameter and stored buffer of a model: name, shape, type and all values.

    Parameters
    ----------
    model : torch.nn.Module
    cached : bool
        Take the hash of a tensor from the last call while its storage and its version are the same. A change through
        ``.data`` raises no version: for what is kept on disk, everything is read.
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

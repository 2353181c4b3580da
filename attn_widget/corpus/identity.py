"""Identity of a profile: hashes of texts and of weights."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

FINGERPRINT = 64  # values at each end of a weight tensor that tell two checkpoints apart


def digest_of(texts: Sequence[str]) -> str:
    """A hash of all texts in their order."""
    digest = hashlib.sha256()
    for text in texts:
        encoded = text.encode(errors="surrogatepass")
        digest.update(len(encoded).to_bytes(8, "little") + encoded)
    return digest.hexdigest()


def text_digest(text: str) -> int:
    """A hash of one text, below 2**64.

    Examples
    --------
    >>> text_digest("a") == text_digest("a") != text_digest("b")
    True
    """
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "little")


def fingerprint(model: Any) -> str:
    """A checkpoint of the same name and other weights has another one."""
    digest = hashlib.sha256()
    for name, weights in model.named_parameters():
        flat = weights.detach().reshape(-1)
        ends = (flat[:FINGERPRINT], flat[-FINGERPRINT:])
        digest.update(name.encode())
        for end in ends:
            digest.update(end.float().cpu().numpy().tobytes())
    return digest.hexdigest()[:16]

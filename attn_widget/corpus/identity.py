"""Identity of a profile: hashes of texts and of weights."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attn_widget.checks import check_several
from attn_widget.errors import InputError

FINGERPRINT = 64  # values at each end of a weight tensor that tell two checkpoints apart


def digest_of(texts: Sequence[str]) -> str:
    """A hash of all texts in their order."""
    digest = hashlib.sha256()
    for text in texts:
        encoded = text.encode(errors="surrogatepass")
        digest.update(len(encoded).to_bytes(8, "little") + encoded)
    return digest.hexdigest()


def drawn_together(items: Sequence[object], groups: object) -> NDArray[np.uint64]:
    """A number for each text (or pair): those with the same one are resampled together.

    Parameters
    ----------
    items : sequence
        The same ones are drawn together.
    groups : sequence, optional
        One entry for each: those of a group, such as a template, are drawn together instead.

    Raises
    ------
    InputError, InputTypeError
        Not one entry for each.
    """
    if groups is not None:
        items_of_groups = check_several(groups, "groups", "names")
        if len(items_of_groups) != len(items):
            raise InputError(
                f"groups holds {len(items_of_groups)}, and there are {len(items)} texts.",
                "Give one for each; texts of one template share theirs.",
            )
        items = items_of_groups
    return np.array([text_digest(json.dumps(item, default=str)) for item in items], np.uint64)


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

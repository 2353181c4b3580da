"""Input that was tokenized elsewhere: token ids, a tensor or array of them, or a `BatchEncoding` of one text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from attn_widget.checks import as_array, short_repr
from attn_widget.errors import InputError, InputTypeError, NotAvailableError

if TYPE_CHECKING:

    class Ids(Protocol):
        """An array or a tensor, also to a type checker that knows neither NumPy nor PyTorch."""

        def tolist(self) -> Any: ...

    class Picture(Protocol):
        """A PIL image, likewise: of a model that reads images."""

        def getexif(self) -> Any: ...

    TokenIds: TypeAlias = Sequence[int] | Ids | Mapping[str, Any] | PathLike[str] | Picture

EXAMPLE = "For example analyze(tokenizer(text)), or analyze([101, 7592, 102])."
UNFINISHED = "\ufffd"  # what a tokenizer gives for bytes that are not yet a character


class Prepared(NamedTuple):
    """Ids int64 [n] of one text, and the segment of each, int64 [n] or None."""

    ids: NDArray[np.int64]
    segments: NDArray[np.int64] | None


def read_prepared(given: Any) -> Prepared:
    """Ids and segments of one text without padding.

    Raises `InputTypeError`, `InputError`: no integers, no token, several texts, or padding.
    """
    parts: Any = {"input_ids": given}
    if isinstance(given, Mapping) or hasattr(given, "input_ids"):
        names = ("input_ids", "attention_mask", "token_type_ids")
        get = given.get if isinstance(given, Mapping) else lambda name: getattr(given, name, None)
        parts = {name: value for name in names if (value := get(name)) is not None}
    arrays = {name: _one_row(value, name) for name, value in parts.items()}
    ids = arrays["input_ids"]
    for name, array in arrays.items():
        if array.shape != ids.shape:
            raise InputError(
                f"{name} has {array.size} entries, and input_ids has {ids.size}.", EXAMPLE
            )
    if not arrays.get("attention_mask", np.ones(1)).all():
        raise InputError(
            "The attention_mask of the text has zeros: it was padded.",
            "Tokenize it without padding: tokenizer(text).",
        )
    return Prepared(ids, arrays.get("token_type_ids"))


def _one_row(value: Any, name: str) -> NDArray[np.int64]:
    array = as_array(value, name)
    if array.dtype.kind not in "iu":
        raise InputTypeError(f"{name} is {short_repr(value)}, expected token ids (int).", EXAMPLE)
    if array.ndim == 2 and len(array) > 1:
        raise InputError(
            f"{name} holds {len(array)} texts, expected one.",
            "Give one row: input_ids[0]. For many texts use profile(texts).",
        )
    array = array[0] if array.ndim == 2 and len(array) else array
    if array.ndim != 1 or not array.size:
        raise InputError(f"{name} has shape {list(array.shape)}, expected [n] or [1, n].", EXAMPLE)
    if array.min() < 0 or array.max() > np.iinfo(np.int64).max:
        raise InputError(f"{name} holds {int(array.min())}, expected ids from 0 on.", EXAMPLE)
    return array.astype(np.int64)


def decoded(backend: Any, ids: Sequence[int]) -> tuple[str, list[tuple[int, int]]]:
    """The text that ids spell, control tokens included, and the characters of each.

    Only what lies around a token is decoded again for it, so that the time is proportional to the length. The bytes of
    one character may be several tokens: the last of them gets it.

    Raises `NotAvailableError`: a tokenizer that does not decode.
    """
    if not hasattr(backend, "decode"):
        raise NotAvailableError(
            "Token ids cannot be read here: the package tokenizers is not installed.",
            "Give the text itself.",
        )

    def read(first: int, end: int) -> str:
        return backend.decode(list(ids[first:end]), skip_special_tokens=False)

    text, spans = "", []
    first = done = 0  # tokens from which is decoded; tokens whose characters are all in the text
    for end in range(1, len(ids) + 1):
        known, whole = read(first, done), read(first, end)
        new = whole[len(known) :]
        if new.endswith(UNFINISHED) and end < len(ids):
            spans.append((len(text), len(text)))
            continue
        spans.append((len(text), len(text) + len(new)))
        text += new
        first, done = done, end
    return text, spans

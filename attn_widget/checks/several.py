"""Arrays, lists and indices, whatever they are made of."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attn_widget.checks.values import LARGEST_COUNT, index_in
from attn_widget.checks.words import first_line, short_repr
from attn_widget.errors import InputError, InputTypeError

LONGEST_NUMBER = 1000  # characters; to read 100,000 digits takes a minute


def as_array(values: Any, name: str, dtype: Any = None) -> NDArray[Any]:
    """``values`` as an array: of numpy, lists, or tensors of any library, sparse ones made dense."""
    try:
        for one in values if isinstance(values, (list, tuple)) else [values]:
            if isinstance(one, (str, bytes)) and len(one) > LONGEST_NUMBER:
                raise TypeError("a text that long is no number")
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


def are_ids(given: object) -> bool:
    """True for token ids in any container, or a mapping that holds them as ``input_ids``.

    >>> are_ids([101, 7592, 102]), are_ids({"input_ids": [[101, 102]]})
    (True, True)
    >>> are_ids("text"), are_ids(["text"]), are_ids([])
    (False, False, False)
    """
    if isinstance(given, Mapping):
        return "input_ids" in given
    if hasattr(given, "dtype") and hasattr(given, "shape"):
        kind = str(getattr(given, "dtype", "")).removeprefix("torch.")
        return "int" in kind and not is_table(given)
    if isinstance(given, (list, tuple)) and len(given) == 1 and isinstance(given[0], (list, tuple)):
        given = given[0]  # a batch of one
    if not isinstance(given, (list, tuple)) or not given:
        return False
    return all(isinstance(one, (int, np.integer)) and not isinstance(one, bool) for one in given)


def are_messages(given: object) -> bool:
    """True for a list of mappings, as the messages of a chat are.

    >>> are_messages([{"role": "user", "content": "hi"}]), are_messages(["hi"]), are_messages([])
    (True, False, False)
    """
    if not isinstance(given, (list, tuple)) or not given:
        return False
    return all(isinstance(one, Mapping) for one in given)


def refuse_container(value: Any, name: str) -> None:
    """Refuse what holds a text, or several, in the place of one text."""
    kind = type(value).__name__
    if are_ids(value):
        raise InputTypeError(
            f"{name} is {short_repr(value)}, token ids, and a str is expected here.",
            "analyze, show and compare take token ids; tokenizer.decode(ids) gives their text.",
        )
    if isinstance(value, Mapping):
        raise InputTypeError(
            f"{name} is a {kind}, expected a str.",
            "Give its text: [row['text'] for row in texts].",
        )
    if isinstance(value, (list, tuple)):
        holds_one = len(value) > 1 and [isinstance(part, str) for part in value].count(True) == 1
        raise InputTypeError(
            f"{name} is a {kind} of {len(value)}, expected one str.",
            "Give its text alone: [text for text, score in texts]."
            if holds_one
            else "For many texts use profile(texts), or a loop.",
        )
    if isinstance(value, bytes):
        raise InputTypeError(f"{name} is a bytes, expected a str.", "Decode it: text.decode().")


def check_entries(values: Any, name: str, *, pairs: bool = False, chats: bool = False) -> list[Any]:
    """``values`` as a list of texts: no tables, and no entries that hold texts. Each text is checked by what reads it.

    ``pairs``: whether an entry may be two texts. ``chats``: whether it may be messages.
    """
    entries = check_several(values, name, "str")
    for k, entry in enumerate(entries):
        if not (pairs and _is_pair(entry)) and not (chats and are_messages(entry)):
            refuse_container(entry, f"{name.removesuffix('s')} {k}")
    return entries


def _is_pair(entry: Any) -> bool:
    texts = isinstance(entry, (list, tuple)) and len(entry) == 2
    return texts and isinstance(entry[0], str) and isinstance(entry[1], (str, type(None)))


def check_several(values: Any, name: str, what: str) -> list[Any]:
    """``values`` as a list; ``what`` says of what."""
    if isinstance(values, (str, bytes)) or not is_iterable(values):
        raise InputTypeError(
            f"{name} is {short_repr(values)}, expected several {what}.",
            f"Put it into a list: {name}=[...].",
        )
    return listed(values, name)


def is_table(values: object) -> bool:
    """True of a DataFrame of any library, a table of Arrow or a dataset."""
    in_memory = hasattr(values, "columns") and hasattr(values, "shape")
    return in_memory or hasattr(values, "column_names")


def refuse_table(values: Any, name: str) -> None:
    """Refuse what gives the names of its columns, or rows, where its values are expected."""
    if isinstance(values, Mapping) or is_table(values):
        raise InputTypeError(
            f"{name} is a {type(values).__name__}, expected a list.",
            "Give its values: list(d.values())."
            if isinstance(values, Mapping)
            else "Give one of its columns as a list: list(table['text']).",
        )


def listed(values: Any, name: str) -> list[Any]:
    """The entries of what is iterable: an iterator without end is refused."""
    refuse_table(values, name)
    items = list(islice(values, LARGEST_COUNT + 1))
    if len(items) > LARGEST_COUNT:
        raise InputError(f"{name} holds more than {LARGEST_COUNT:,} entries.", "Give fewer.")
    return items


def indices_in(values: Any, size: int, name: str) -> list[int]:
    """``values`` as indices of something of ``size`` parts.

    Raises `InputTypeError`: not several. Raises `InputError`: as `index_in`.
    """
    checked = check_several(values, name, "int")
    return [index_in(value, size, f"an entry of {name}") for value in checked]


def check_heads(heads: Any, n_layers: int, n_heads: int) -> tuple[tuple[int, int], ...]:
    """``heads`` as (layer, head), in order."""
    pairs: list[tuple[int, int]] = []
    for pair in check_several(heads, "heads", "(layer, head)"):
        if not isinstance(pair, (tuple, list)) or len(pair) != 2:
            raise InputTypeError(
                f"An entry of heads is {short_repr(pair)}, expected a layer and a head.",
                "heads=[(3, 5), (4, 0)] switches two heads off.",
            )
        layer, head = pair
        pairs.append((index_in(layer, n_layers, "layer"), index_in(head, n_heads, "head")))
    twice = [pair for pair in pairs if pairs.count(pair) > 1]
    if twice:
        raise InputError(f"Layer {twice[0][0]}, head {twice[0][1]} occurs twice in heads.")
    if len(pairs) == n_layers * n_heads:
        raise InputError(
            f"heads names all {len(pairs)} heads, and then no token would hear of another.",
            "Leave one of them on.",
        )
    return tuple(sorted(pairs))

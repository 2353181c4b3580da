"""Items of many that an encoder-decoder reads: pairs of source and output, or sources that it writes for."""

from __future__ import annotations

from typing import Any

from attn_widget.checks import short_repr
from attn_widget.errors import InputError, InputTypeError, NotAvailableError
from attn_widget.model.encoder import Encoder


def check_part_of(encoder: Encoder, part: object, generate: int) -> None:
    """Refuse a part, and writing, of a model that reads one text, where neither is defined."""
    for name, given in (("part", part), ("generate", generate)):
        if given:
            raise NotAvailableError(
                f"{name} is {short_repr(given)}, and {encoder.name} is no encoder-decoder, so it has no parts and no outputs.",
                f"Leave {name} out, or give an encoder-decoder: model=...",
            )


def split_item(encoder: Encoder, item: Any, generate: int) -> tuple[str, str | None]:
    """Source and output; the output is None where the model is to write it.

    Raises `InputError`, `InputTypeError`: neither an output nor ``generate``, or both; no pair of texts.
    """
    if isinstance(item, str):
        if not generate:
            raise InputError(
                f"{encoder.name} is an encoder-decoder: it reads a text and writes another one, and no target is given.",
                "Give pairs (source, output), or let the model write: generate=50.",
            )
        return item, None
    if not isinstance(item, tuple) or len(item) != 2:
        raise InputTypeError(
            f"It is {short_repr(item)}, expected a pair (source, output).",
            "Give pairs, or texts with generate=50.",
        )
    if generate:
        raise InputError(
            f"generate is {generate}, and an output is given.",
            "Leave one of them out: sources alone with generate=, or pairs without it.",
        )
    return item

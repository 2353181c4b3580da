"""Inputs that are no plain texts: features read them."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

from attn_widget.features import declared, loaded
from attn_widget.model.encoder import Encoder
from attn_widget.model.encoding import Encoding
from attn_widget.model.tokenizing import control_texts


class HowRead(NamedTuple):
    """Options of an input; the last three are those of `attn_widget.model.tokenizing.encode`."""

    output: str | None  # a text that the model is to be forced to write
    writes: bool  # whether the model goes on with the input
    truncation: bool
    any_length: bool
    add_special_tokens: bool


class ReadInput(Protocol):
    """Function that a feature's ``inputs`` name: the encoding of an input that it knows, and None of any other. A str is one with control tokens, or for a model without a vocabulary."""

    def __call__(
        self, encoder: Encoder, given: Any, text_pair: object, how: HowRead
    ) -> Encoding | None: ...


def read_input(encoder: Encoder, given: Any, text_pair: object, **options: Any) -> Encoding | None:
    """The encoding of an input that a feature knows, by the options of `HowRead`; None of a plain text for a model that reads texts, which has no control token of a decoder."""
    if (
        encoder.vocab_size
        and isinstance(given, str)
        and not any(token in given for token in control_texts(encoder))
    ):
        return None
    for _, path in declared("inputs"):
        read: ReadInput = loaded(path)
        encoding = read(encoder, given, text_pair, HowRead(**options))
        if encoding is not None:
            return encoding
    return None

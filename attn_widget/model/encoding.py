"""One text, ready for the model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from attn_widget.model.tokens import Token

if TYPE_CHECKING:
    import torch


@dataclass(frozen=True)
class Masked:
    """A token that is read as the mask token.

    Attributes
    ----------
    token : int
        Its position.
    text : str
    id : int
        What stands there in the text, as the tokenizer has it.
    """

    token: int
    text: str
    id: int


@dataclass(frozen=True)
class Encoding:
    """One text, ready for the model.

    Attributes
    ----------
    text : str
    text_pair : str or None
        The second segment.
    tokens : tuple of Token, length n
        ``word``, ``sentence``, ``pos`` and ``entity`` are None here: the analysis knows them.
    inputs : dict of str to int64 tensor [1, n]
        ``input_ids``, ``attention_mask`` and, where the model takes it, ``token_type_ids``; on the CPU.
    truncated : dict or None
        ``{"limit": int, "length": int}`` in tokens when the text was cut, special tokens included.
    masked : tuple of Masked
        Tokens that `mask` has replaced, in order; ``tokens`` and ``inputs`` have the mask token there.
    """

    text: str
    text_pair: str | None
    tokens: tuple[Token, ...]
    inputs: dict[str, torch.Tensor]
    truncated: dict[str, int] | None = None
    masked: tuple[Masked, ...] = ()

    @property
    def n_tokens(self) -> int:
        return len(self.tokens)

    @property
    def text_ids(self) -> list[int]:
        """The id of every token of the text itself, also where the model reads the mask token."""
        ids = [token.id for token in self.tokens]
        for hidden in self.masked:
            ids[hidden.token] = hidden.id
        return ids

    def __repr__(self) -> str:
        cut = "" if self.truncated is None else f" of {self.truncated['length']}"
        return f"<Encoding of {self.n_tokens}{cut} tokens>"

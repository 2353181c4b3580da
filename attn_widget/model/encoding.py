"""One text, ready for the model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from attn_widget.model.families import Part
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
    arrays : mapping of str to array [1, ...]
        Of a text int64 [1, n]: ``input_ids``, ``attention_mask`` and, where the model takes it, ``token_type_ids``. Of an encoder-decoder these
        are of the source, whatever text this is, and ``decoder_input_ids`` are there too: a pass reads both texts.
    inputs : dict of str to tensor
        The same for torch, on the CPU.
    truncated : dict or None
        ``{"limit": int, "length": int}`` in tokens when the text was cut, special tokens included.
    masked : tuple of Masked
        Tokens that `mask` has replaced, in order; ``tokens`` and ``arrays`` have the mask token there.
    written : int
        How many tokens at the end a decoder wrote itself; see `attn_widget.trace.generation`.
    asked : int
        How many it was asked for; it writes fewer where it ends the text, or none.
    note : str
        How the text was read, where that is not as usual.
    units : tuple of (str, int)
        Parts that the input itself names: name and first token of each, in order; each reaches to the next, the last one to the end of
        the text.
    both : TwoTexts or None
        The source and the target, of which an encoder-decoder reads this one.
    wordless : bool
        True if the input is no text: ``text`` is empty, and tokens are no parts of words.
    levels : int
        Steps of a weight in a saved page; 0: by the number of weights.
    """

    text: str
    text_pair: str | None
    tokens: tuple[Token, ...]
    arrays: Mapping[str, NDArray[Any]]
    truncated: dict[str, int] | None = None
    masked: tuple[Masked, ...] = ()
    written: int = 0
    asked: int = 0
    note: str = ""
    units: tuple[tuple[str, int], ...] = ()
    both: TwoTexts | None = None
    wordless: bool = False
    levels: int = 0

    @property
    def thumbnail(self) -> tuple[str, bytes] | None:
        """Type and bytes of a small picture, of an input that is one."""
        return None

    @cached_property
    def inputs(self) -> dict[str, torch.Tensor]:
        import torch

        return {name: torch.from_numpy(array) for name, array in self.arrays.items()}

    @property
    def n_tokens(self) -> int:
        return len(self.tokens)

    @property
    def unit_spans(self) -> list[tuple[str, int, int]]:
        """Name and tokens ``[start, stop)`` of each of `units` that has a token."""
        starts = pairwise([*self.units, ("", self.n_tokens)])
        return [(name, start, stop) for (name, start), (_, stop) in starts if start < stop]

    @property
    def text_ids(self) -> list[int]:
        """The id of every token of the text itself, also where the model reads the mask token."""
        ids = [token.id for token in self.tokens]
        for hidden in self.masked:
            ids[hidden.token] = hidden.id
        return ids

    def of(self, part: Part) -> Encoding:
        """The text whose tokens are the queries of ``part``, of an encoder-decoder's two."""
        assert self.both is not None
        text = self.both.source if part == "encoder" else self.both.target
        return replace(text, both=self.both)

    def __repr__(self) -> str:
        cut = "" if self.truncated is None else f" of {self.truncated['length']}"
        return f"<Encoding of {self.n_tokens}{cut} tokens>"


@dataclass(frozen=True)
class TwoTexts:
    """Source and target of an encoder-decoder, each with the arrays of both.

    The tokens of the target begin with the model's start token: row ``i`` reads token ``i`` and predicts the next.
    """

    source: Encoding
    target: Encoding

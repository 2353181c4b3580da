"""Parts that add up to a hidden state."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

By = Literal["tokens", "parts"]
Side = Literal["query", "key"]
SIDES: tuple[Side, ...] = ("query", "key")
Biases = Literal["placed", "apart"]
Kind = Literal[
    "token", "word", "position", "segment", "embedding", "head", "ffn", "bias", "distance"
]


@dataclass(frozen=True)
class Part:
    """A part of a query or a key.

    Attributes
    ----------
    kind : str
        ``"token"``; by parts ``"word"``, ``"position"``, ``"segment"`` or ``"embedding"``, ``"head"``, ``"ffn"``;
        ``"bias"``: what biases make; ``"distance"``: what scores have from positions alone.
    layer, head : int or None
    token : int or None
        Of "token": its position.
    source : int or None
        Of "head": the token from which most of this part was read, at the position itself.
    text : int or None
        Of "token" in an encoder-decoder: 0 the source's, 1 the target's.
    """

    kind: Kind
    layer: int | None = None
    head: int | None = None
    token: int | None = None
    source: int | None = None
    text: int | None = None

    @property
    def name(self) -> str:
        """``"L16 H0"``, ``"L11 FFN"``, ``"token 3"``; else its kind."""
        if self.kind == "head":
            return f"L{self.layer} H{self.head}"
        if self.kind == "ffn":
            return f"L{self.layer} FFN"
        if self.kind == "token":
            return f"{'source ' if self.text == 0 else ''}token {self.token}"
        return "biases" if self.kind == "bias" else self.kind


BIAS = Part("bias")
DISTANCE = Part("distance")


class Split(NamedTuple):
    """A layer's input as a sum of parts.

    Attributes
    ----------
    parts : tuple of Part [P]
    hidden : tensor [P, 1, n, d]
    constant : tensor [P] or [P, n, 1]
        Which of the layer's own biases each part has.
    source : tensor [P, 1, m, d] or None
        What cross-attention reads.
    """

    parts: tuple[Part, ...]
    hidden: Any
    constant: Any
    source: Any = None

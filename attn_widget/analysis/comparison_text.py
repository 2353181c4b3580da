"""A comparison text: its figures, without its tensors."""

from __future__ import annotations

from dataclasses import dataclass

from attn_widget.analysis.first_token import FirstToken
from attn_widget.model.classification import ClassProbabilities


@dataclass(frozen=True)
class ComparisonText:
    """The figures of another text, without its tensors."""

    text: str
    text_pair: str | None
    classification: ClassProbabilities
    first_token: FirstToken  # over words, mean of heads
    before: tuple[str, ...]  # what stands before each word in the text: spaces, or nothing
    segments: tuple[int, ...]

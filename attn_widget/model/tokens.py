"""Token: one position of the model's input, and where it lies in the text."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Token:
    """One position of the model's input.

    Attributes
    ----------
    text : str
        As the tokenizer has it: ``"##ing"``, ``"Ġthe"``, ``"▁the"``.
    id : int
        Vocabulary id.
    start, end : int
        Code points ``[start, end)`` in the text of its segment; both 0 for a special token that the text does not spell.
    surface : str
        ``text[start:end]`` of its segment: what a reader would call it. For a special token, its
        ``text``.
    word : int or None
        Index into the words of the analysis; None for a special token and until words are known.
    sentence : int or None
        Index into the sentences; None for a special token and until sentences are known.
    segment : int
        0 for the text, 1 for ``text_pair``. A special token has the segment the model gives it.
    special : bool
        Added by the tokenizer (``[CLS]``, ``[SEP]``, ``<s>`` ...), or a control token in the text of a decoder
        (``<|im_start|>``). A ``[MASK]`` or an unknown token
        that the user's own text produced is not special.
    boilerplate : bool
        Text that the user did not write: a system prompt that a chat template adds by itself. It counts as any other token; openings and
        sentences name none of it.
    pos : str or None
        Universal part of speech of its word (``"NOUN"``); None when unknown.
    entity : str or None
        Entity label of its word (``"PERSON"``); None when outside every entity or unknown.
    """

    text: str
    id: int
    start: int
    end: int
    surface: str = ""
    word: int | None = None
    sentence: int | None = None
    segment: int = 0
    special: bool = False
    boilerplate: bool = False
    pos: str | None = None
    entity: str | None = None

"""Language: words, sentences, parts of speech and entities of a text, brought to its tokens."""

from __future__ import annotations

from attn_widget.language.annotate import annotate
from attn_widget.language.keys import key_sets
from attn_widget.language.language import Language, Sentence, Word, without_words
from attn_widget.language.taggers import TaggedWord, TaggerLike

__all__ = [
    "Language",
    "Sentence",
    "TaggedWord",
    "TaggerLike",
    "Word",
    "annotate",
    "key_sets",
    "without_words",
]

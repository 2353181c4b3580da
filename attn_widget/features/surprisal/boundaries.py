"""Which entries of a vocabulary begin a word."""

from __future__ import annotations

from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from attn_widget.model.encoder import Encoder

SPACES = "Ġ▁ĉĊċČč"  # white space as byte-level BPE and SentencePiece write it
WRITTEN = ("<0x20>", "<0x0A>", "<0x09>", "<0x0D>")  # the same as bytes of SentencePiece

# By tokenizer, for each entry of its vocabulary: whether it begins with white space.
_spaced: WeakKeyDictionary[Any, list[bool]] = WeakKeyDictionary()


def beginnings(encoder: Encoder) -> NDArray[np.bool_] | None:
    """Entries after which a word has ended: those that begin with white space, and the end of the text.

    Returns
    -------
    bool [vocabulary], or None
        None where the vocabulary does not mark the beginnings of words, as that of a WordPiece tokenizer.
    """
    begins = np.zeros(encoder.n_embeddings, bool)
    spaced = _begin_with_space(encoder.reader)
    begins[: len(spaced)] = spaced[: len(begins)]
    if not begins.any():
        return None
    begins[[i for i in ends(encoder) if i < len(begins)]] = True
    return begins


def _begin_with_space(reader: Any) -> list[bool]:
    """See `_spaced`; read again once entries were added."""
    if len(_spaced.get(reader, ())) != len(reader):
        names = reader.convert_ids_to_tokens(list(range(len(reader))))
        _spaced[reader] = [
            bool(name) and (name[0] in SPACES or name[0].isspace() or name in WRITTEN)
            for name in names
        ]
    return _spaced[reader]


def ends(encoder: Encoder) -> list[int]:
    """Ids of the tokens that end a text: the tokenizer's, and those at which the model stops to write."""
    settings: Any = getattr(encoder.model, "generation_config", None)
    given = getattr(settings, "eos_token_id", None)
    listed = given if isinstance(given, (list, tuple)) else [given]
    return sorted({int(i) for i in (*listed, encoder.reader.eos_token_id) if i is not None})

"""Surprisal of every word of a run, from the pass that is shown."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from attn_widget.analysis import Analysis
from attn_widget.analysis.model import require_predictions
from attn_widget.features.surprisal.boundaries import beginnings
from attn_widget.features.surprisal.figures import BIT, Float64, Rows, expected, of_words
from attn_widget.features.surprisal.words import Word, is_unspaced, words_of
from attn_widget.host.installed import require_torch
from attn_widget.model.encoding import Encoding
from attn_widget.model.predictions import no_softmax
from attn_widget.trace.forward import Progress
from attn_widget.trace.run import Run

HEAD_ROWS = 64  # positions whose logits are made at once
MASKED_TOKENS = 4096  # of one batch of masked copies
UNSPACED = "A script without spaces: its tokens are the words."


@dataclass(frozen=True)
class RunWords:
    """The words of a run, from left to right.

    Attributes
    ----------
    words : list of Word
        Their tokens are numbered as the run's; ``start`` and ``end`` are characters of the segment.
    surprisal, entropy : float64 [words]
        In bits; NaN where nothing predicts a word.
    tokens : float64 [n]
        Surprisal of each token in its word, in bits; NaN where there is none.
    correction : bool
        Divided by where words end (`figures`).
    masked : bool
        Each word masked as a whole: pseudo-surprisal.
    notes : tuple of str
    """

    words: list[Word]
    surprisal: Float64
    entropy: Float64
    tokens: Float64
    correction: bool
    masked: bool
    notes: tuple[str, ...]


def words_of_run(analysis: Analysis, progress: Progress | None = None) -> RunWords:
    """The words of the text that is shown, and how little the model expected each.

    The tokens are those of the run, so that a word is the chain of what the view Predictions lists: no beginning token is
    put before the text, and heads that are off stay off.

    Raises
    ------
    NotAvailableError
        No language-model head, no mask token, or torch is not installed.
    """
    require_torch("Surprisal of words")
    run, mode = require_predictions(
        analysis, "next" if analysis.model.default_mode == "next" else "masked"
    )
    encoder = run.encoder
    words, unspaced = divided(run.encoding)
    notes = [UNSPACED] if unspaced else []
    if mode == "masked":
        figures, tokens = _masked(run, words, progress)
        return RunWords(
            words,
            figures[:, 0],
            figures[:, 1],
            tokens,
            correction=False,
            masked=True,
            notes=(*notes,),
        )
    begins = beginnings(encoder)
    ids = np.asarray(run.encoding.text_ids)
    if words and words[0].first == 0:
        own = encoder.reader.bos_token
        reads = f"; aw.surprisals has {own} read before it" if own else ""
        notes.append(f"Nothing stands before the first word, so nothing predicts it{reads}.")
    if begins is None:
        notes.append("The vocabulary does not mark where words begin: sums over tokens.")
    elif unspaced:
        begins = None
    rows = _rows(run, ids, begins, progress)
    spaced = None if begins is None else [bool(begins[ids[word.first]]) for word in words]
    figures = of_words(rows, words, spaced)
    tokens = rows.surprisal[:-1] / BIT
    return RunWords(
        words,
        figures[:, 0],
        figures[:, 1],
        tokens,
        spaced is not None,
        masked=False,
        notes=(*notes,),
    )


def divided(encoding: Encoding) -> tuple[list[Word], bool]:
    """The words of both segments, and whether tokens are the words of one of them."""
    found: list[Word] = []
    single = False
    for segment, text in enumerate((encoding.text, encoding.text_pair)):
        if text is None:
            continue
        unspaced = is_unspaced(text)
        single = single or unspaced
        # Tokens of the other segment belong to no word of this one.
        tokens = [
            replace(token, special=token.special or token.segment != segment)
            for token in encoding.tokens
        ]
        found += words_of(text, tokens, single=unspaced)
    return found, single


def _rows(run: Run, ids: Any, begins: Any, progress: Progress | None) -> Rows:
    """Expectations of each token, and of what follows the last one: n + 1 rows, the first of which nothing predicts."""
    import torch

    n = len(ids)
    coming = torch.from_numpy(np.append(ids[1:], 0))
    split: Any = None
    parts = [Rows(*(np.full(1, np.nan) for _ in range(4)))]
    for first in range(0, n, HEAD_ROWS):
        logits = _tensor(run.trace.logits_tensor(slice(first, min(n, first + HEAD_ROWS))))
        if begins is not None and split is None:
            both = np.stack([begins, ~begins]).astype(np.float32)
            split = torch.from_numpy(both[:, : logits.shape[-1]]).to(logits.device)
        some = coming[first : first + len(logits)].to(logits.device)
        parts.append(_finite(expected(logits, some, split), first))
        if progress is not None:
            progress(min(n, first + HEAD_ROWS), n)
    return Rows.join(parts)


def _masked(run: Run, words: list[Word], progress: Progress | None) -> tuple[Float64, Float64]:
    """Surprisal of each word, all of its tokens masked, and entropy at its first one [words, 2]; of each token [n]; in bits."""
    import torch

    ids = np.asarray(run.encoding.text_ids)
    at = [(word, token) for word in words for token in range(word.first, word.last)]
    size = max(1, MASKED_TOKENS // max(1, len(ids)))
    found = np.full((len(ids), 2), np.nan)
    for first in range(0, len(at), size):
        some = at[first : first + size]
        places = [token for _, token in some]
        spans = [slice(word.first, word.last) for word, _ in some]
        logits = _tensor(run.masked_logits(places, spans))
        coming = torch.from_numpy(ids[places]).to(logits.device)
        rows = _finite(expected(logits, coming, None), places[0])
        found[places] = np.stack([rows.surprisal, rows.entropy], axis=1) / BIT
        if progress is not None:
            progress(min(len(at), first + size), len(at))
    found[ids == run.encoder.mask_token_id] = np.nan  # a mask in the text is no word of it
    sums = [(found[word.first : word.last, 0].sum(), found[word.first, 1]) for word in words]
    return np.array(sums).reshape(-1, 2), found[:, 0]


def _tensor(logits: Any) -> Any:
    """Logits as a tensor: those of the embedded model are an array."""
    import torch

    return torch.from_numpy(logits) if isinstance(logits, np.ndarray) else logits


def _finite(rows: Rows, first: int) -> Rows:
    """``rows``, refused where the head gave none; the first is of position ``first``."""
    bad = ~np.isfinite(rows.entropy)
    if bad.any():
        raise no_softmax(first + int(bad.argmax()))
    return rows

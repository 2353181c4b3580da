"""Runs on random tokens that stand several times."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from attn_widget.model.encoding import Encoding
from attn_widget.model.tokens import Token
from attn_widget.trace.base import Trace
from attn_widget.trace.capture import capture
from attn_widget.trace.run import Run

# As Olsson et al. (2022) have it. Copies after the second count, because the first token of a text draws attention
# whatever it is, so that the second copy's first query does not find its successor.
TOKENS, COPIES = 25, 4
SEQUENCES = (
    8  # draws: the figure of one depends on its tokens (0.88 to 0.95 in SmolLM2's induction head)
)


def repeated_tokens(run: Run, seed: int) -> Iterator[Trace]:
    """Passes over random entries of the vocabulary, `COPIES` times, after the special token that the text begins with.

    `SEQUENCES` passes, each over another draw of `TOKENS` different entries.
    """
    encoder = run.encoder
    added = encoder.reader.backend_tokenizer.get_added_tokens_decoder()
    special = [i for i, token in added.items() if token.special]
    words = np.setdiff1d(np.arange(encoder.vocab_size), special)
    count = min(TOKENS, (encoder.max_length - 1) // COPIES, len(words))
    random = np.random.default_rng(seed)
    for _ in range(SEQUENCES):
        once = random.choice(words, count, replace=False)
        yield _repeated(run, once.tolist())


def _repeated(run: Run, once: list[int]) -> Trace:
    encoder, first = run.encoder, run.encoding.tokens[0]
    ids = [*([first.id] if first.special else []), *once * COPIES]
    names = encoder.token_texts(ids)
    # A name tells spellings apart: an entry that has none is called by its id.
    tokens = tuple(Token(name, i, 0, 0, name) for i, name in zip(ids, names, strict=True))
    arrays = {
        name: np.full((1, len(ids)), given[0, 0]) for name, given in run.encoding.arrays.items()
    }
    arrays["input_ids"] = np.array([ids])
    return capture(encoder, Encoding("", None, tokens, arrays))

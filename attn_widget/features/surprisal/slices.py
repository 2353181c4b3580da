"""The slice of the surprisal of words."""

from __future__ import annotations

import numpy as np

from attn_widget.analysis import Analysis
from attn_widget.features.surprisal.of_run import words_of_run
from attn_widget.protocol.handlers import Answer, answers
from attn_widget.protocol.request import Request
from attn_widget.trace.forward import Progress


@answers("word_surprisal", slow=True)
def word_surprisal(analysis: Analysis, _request: Request, progress: Progress | None) -> Answer:
    """Each word of the text with its tokens ``[first, last)``, its surprisal and the entropy before it, in bits."""
    found = words_of_run(analysis, progress)
    spans = [(word.first, word.last) for word in found.words]
    return {
        "correction": found.correction,
        "masked": found.masked,
        "notes": [*found.notes],
    }, {
        "spans": np.array(spans, np.int32).reshape(-1, 2),
        "surprisal": found.surprisal.astype(np.float32),
        "entropy": found.entropy.astype(np.float32),
        "tokens": found.tokens.astype(np.float32),
    }

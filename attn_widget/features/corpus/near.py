"""Slice of words in context: the tokens of an open index that are read like one of this text."""

from __future__ import annotations

from collections import Counter

from attn_widget.analysis import Analysis
from attn_widget.errors import NotAvailableError
from attn_widget.features.corpus.words.word_index import open_index
from attn_widget.protocol.handlers import Answer, answers
from attn_widget.protocol.request import Request, integer

LISTED, COUNTED = 10, 100  # words in the list, and in the histogram of tags


@answers("near")
def near(analysis: Analysis, request: Request) -> Answer:
    """Nearest tokens of the index that is open for the model, and how often each tag is among them."""
    index = None if analysis.run is None else open_index(analysis.run.encoder)
    if index is None:
        raise NotAvailableError(
            "No index of words is open for this model.",
            "Make one with: attn_widget.corpus.index(texts, path, layer=...)",
        )
    token = integer(request, "token", 0, analysis.trace.n_tokens)
    rows = index.neighbors(analysis, token, COUNTED)
    tags = Counter(row["pos"] or "" for row in rows).most_common()
    return {
        "layer": index.layer,
        "texts": index.n_texts,
        "tokens": index.n_tokens,
        "approximate": index.approximate,
        "rows": rows[:LISTED],
        "counted": len(rows),
        "tags": [[tag, count] for tag, count in tags],
    }, {}

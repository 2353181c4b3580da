"""The slice of the logit lens."""

from __future__ import annotations

from typing import Any

from attn_widget.analysis import Analysis
from attn_widget.language.whole_words import beginnings
from attn_widget.model.predictions import Mode
from attn_widget.protocol.handlers import Answer, answers
from attn_widget.protocol.request import Request, one_of, rows_of
from attn_widget.trace.forward import Progress

TOP_K = 5
MODES: tuple[Mode, ...] = ("as_is", "masked", "next")


@answers("lens", slow=True)
def lens(analysis: Analysis, request: Request, progress: Progress | None) -> Answer:
    """The five likeliest entries of every layer at some positions."""
    mode = one_of({"mode": analysis.model.default_mode, **request}, "mode", MODES)
    found = analysis.lens(TOP_K, mode, rows=rows_of(analysis, request), progress=progress)  # pyright: ignore[reportArgumentType]
    names = {
        int(token): text
        for ids, texts in zip(found.ids.reshape(-1, TOP_K).tolist(), [row for layer in found.tokens for row in layer], strict=True)
        for token, text in zip(ids, texts, strict=True)
    }  # fmt: skip
    listed = sorted(names)
    said: dict[str, Any] = {"mode": mode, "ids": listed, "names": [names[i] for i in listed]}
    if mode == "next":
        said["beginnings"] = beginnings(said["names"])
    return said, {
        "ids": found.ids,
        "probabilities": found.probabilities,
        "ranks": found.ranks,
        "entropies": found.entropies,
        "divergences": found.divergences,
    }

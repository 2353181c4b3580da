"""The source of one text: an analysis and its answers."""

from __future__ import annotations

from typing import Any

from attn_widget.analysis import Analysis
from attn_widget.figures.catalog.choices import VIEWS
from attn_widget.protocol.answer import HANDLERS, Reply, respond
from attn_widget.protocol.request import Request
from attn_widget.protocol.selection import NAMES
from attn_widget.protocol.source import Source

TITLE_CHARACTERS = 120


class RunSource(Source):
    """A run of one text.

    ``analysis``: of an encoder-decoder, the part that is shown.
    """

    name = "run"
    views = tuple(VIEWS)
    options = NAMES

    def __init__(self, analysis: Analysis) -> None:
        self._analysis = analysis

    @property
    def analysis(self) -> Analysis:
        return self._analysis

    @property
    def shape(self) -> tuple[int, int]:
        return self.analysis.trace.n_layers, self.analysis.trace.n_heads

    @property
    def title(self) -> str:
        return title_of(self.analysis)

    @property
    def n_tokens(self) -> int:
        return self.analysis.trace.n_tokens

    def reply(self, request: Request) -> Reply:
        return respond(self.analysis, request, HANDLERS)


def title_of(analysis: Analysis) -> str:
    """The beginning of the text, on one line."""
    texts = (analysis.text, analysis.text_pair)
    if analysis.part in ("decoder", "cross"):
        texts = (analysis.model.source_text, analysis.text)
    elif analysis.run is not None and analysis.run.encoding.wordless:
        texts = (analysis.run.encoding.note,)
    whole = " · ".join(text for text in texts if text)
    line = " ".join(whole.split())
    return line if len(line) <= TITLE_CHARACTERS else f"{line[: TITLE_CHARACTERS - 1]}…"


def view_of(analysis: Analysis) -> Any:
    """The view that a run opens on."""
    for view in VIEWS.values():
        if view.opens and getattr(analysis.model, view.opens) is not None:
            return view.name
    return "attention"

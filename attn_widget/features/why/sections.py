"""Sections of the view Why in the command line's JSON."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from attn_widget.analysis import Analysis


def written_shares(analysis: Analysis) -> Callable[[], dict[str, Any]] | None:
    """Function that gives the shares of an encoder-decoder's written tokens; None of one text."""

    def section() -> dict[str, Any]:
        written = analysis.why.written_shares
        return {
            "tokens": list(written.tokens),
            "logits": written.logits,
            "shares": written.shares,
        }

    return None if analysis.part == "self" else section

"""`attn-widget "text" -o page.html --engine`: a page that runs any text typed into it."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from attn_widget.analysis import Analysis
from attn_widget.command import SWITCH, Option

WITHOUT = ("why", "masked", "against", "written", "generate")
OPTIONS = {
    "engine": Option("include the model, so that the page runs any text typed into it", SWITCH, ("output",), WITHOUT),
}  # fmt: skip


def on_page(
    options: argparse.Namespace, _analysis: Analysis
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Fields of the selection, and options of the page."""
    return {}, {"engine": True} if options.engine else {}

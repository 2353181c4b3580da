"""`attn-widget "text" -o page.html --engine`: a page that runs any text typed into it."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from attn_widget.analysis import Analysis
from attn_widget.command import SWITCH, Option

WITHOUT = ("why", "masked", "against", "written", "generate", "max_bytes")
OPTIONS = {
    "engine": Option("include the model, so that the page runs any text typed into it", SWITCH, ("output",), WITHOUT),
    "light": Option("include an engine of half the size, which is less exact", SWITCH, ("output",), WITHOUT),
    "assets": Option('weights of --engine in a script: "beside" or a folder', {"metavar": "FOLDER"}, ("engine",), ("light",)),
}  # fmt: skip


def prepare(options: argparse.Namespace) -> None:
    """``--light`` is an engine, too."""
    if options.light:
        options.engine = "light"


def on_page(
    options: argparse.Namespace, _analysis: Analysis
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Fields of the selection, and options of the page."""
    if not options.engine:
        return {}, {}
    return {}, {"engine": options.engine, "assets": options.assets or "inside"}

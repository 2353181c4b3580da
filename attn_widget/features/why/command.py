"""`attn-widget "text" -o page.html --why "[MASK]=are,is"`: targets that the page explains."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from attn_widget.analysis import Analysis
from attn_widget.command import Option

OPTIONS = {
    "why": Option('explain it in the page: "[MASK]=are,is"', {"metavar": "TARGET", "action": "append"}, ("output",), ("against",)),
}  # fmt: skip


def on_page(
    options: argparse.Namespace, analysis: Analysis
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Fields of the selection, and options of the page."""
    if not options.why:
        return {}, {}
    from attn_widget.features.why.target_written import target_written

    return {"view": "why"}, {"why": [target_written(analysis, target) for target in options.why]}

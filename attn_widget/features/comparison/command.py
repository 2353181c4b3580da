"""`attn-widget "text" --against "other text" -o page.html`: a page of both runs and their difference."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from attn_widget.command import Option

OPTIONS = {
    "against": Option(
        "another text to compare with: writes a page of both runs and their difference", {"metavar": "TEXT"},
        ("output",), ("masked", "pair", "written", "generate", "windows"),
    ),
}  # fmt: skip


def write(options: argparse.Namespace, target: Path, run: dict[str, Any]) -> Path | None:
    """The page of both runs, where a second text is given."""
    if options.against is None:
        return None
    from attn_widget.features.comparison.inputs import compare
    from attn_widget.features.comparison.page import ShownComparison
    from attn_widget.page.saving import save_page
    from attn_widget.page.spec import PageSpec

    compared = compare(options.text, options.against, **run)
    return save_page([ShownComparison(compared)], target, PageSpec(title=options.title))

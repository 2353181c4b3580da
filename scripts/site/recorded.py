"""Recorded runs in files of their own, which a page loads when a reader comes near them or asks for them."""

from __future__ import annotations

import json
from typing import Any

from attn_widget.page.compress import deflate
from attn_widget.page.output import WITHOUT_SCRIPTS
from attn_widget.page.picture import figure
from attn_widget.page.spec import PageSpec
from scripts.site.places import ASSETS

Chunks = list[dict[str, str]]


def chunks_of(widget: Any, spec: PageSpec) -> Chunks:
    """The runs of a widget as the page's script reads them: one, or the two of a comparison."""
    return [
        {name: deflate(chunk).decode() for name, chunk in run.snapshot.chunks.items()}
        for run in widget._shown.runs(spec)
    ]


def picture_of(widget: Any) -> str:
    """The widget's picture for readers without scripts."""
    return figure(widget._shown.picture(), inline=False)


def write_run(name: str, runs: Chunks) -> None:
    """Write the file of a run."""
    text = f"(globalThis.attnWidgetRuns??={{}})[{json.dumps(name)}]={json.dumps(runs)};\n"
    ASSETS.mkdir(parents=True, exist_ok=True)
    (ASSETS / f"run-{name}.js").write_text(text, encoding="utf-8")


def place(name: str, picture: str) -> str:
    """The place of such a run on a page."""
    without = f"<noscript><p>{WITHOUT_SCRIPTS}</p></noscript>"
    return f'<div class="aw-place" data-aw-file="{name}">\n{picture}\n{without}\n</div>'

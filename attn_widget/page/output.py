"""The output of a cell for readers without a kernel: a small live page, and a picture.

The code of the page (two thirds of its bytes) stands in one output of a notebook; all others find it
there. Which one that is, `CodePlace` remembers. The layout is in ``docs/protocol.md``, section
"Saved pages"; ``js/output.js`` runs in the document.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
from collections.abc import Sequence
from functools import cache

from attn_widget.page.compress import packed
from attn_widget.page.escaping import json_data, markup
from attn_widget.page.page import PAGE_CSS, POLICY, TITLE, Layout, entry_of, hash_of
from attn_widget.page.picture import Picture, figure
from attn_widget.page.saved_run import SavedRun
from attn_widget.page.shown import Shown
from attn_widget.protocol.built import bundle

OUTPUT_CSS = """
:root.dark { color-scheme: dark; } :root.light { color-scheme: light; }
main { padding: 0; }
"""
WITHOUT_SCRIPTS = "The interactive page needs scripts, which do not run here."
LOST = (
    "The part of the live page that all outputs share is not in this document: run the notebook from "
    "the top, or convert it with attn_widget.features.exports.notebook.LivePages (docs/notebooks.md)."
)


def outputs(shown: Shown, saved: str = "page", *, code: bool) -> dict[str, str]:
    """Content of a cell's output besides the widget itself, by kind of data.

    ``saved``, {"page", "full", "picture", "none"}: what is kept of a run or a comparison; all of a profile or a
    similarity is. ``code``: whether this output carries the code of the page for all.

    >>> from attn_widget import analyze
    >>> from attn_widget.protocol.run_source import RunSource
    >>> from attn_widget.page.shown import ShownSource
    >>> from attn_widget.protocol.selection import Selection
    >>> source = RunSource(analyze("the cat sat", progress=False))
    >>> shown = ShownSource(source, Selection(layer=3, head=5))
    >>> sorted(outputs(shown, code=False))
    ['image/png', 'text/html']
    >>> outputs(shown, "none", code=False)
    {}
    """
    if saved == "none":
        return {}
    picture = shown.picture()
    runs = shown.output_runs(full=saved == "full") if shown.has_page(saved) else []
    return {
        "image/png": base64.b64encode(picture.png).decode(),
        "text/html": assembled(runs, picture, shown.layout, code=code),
    }


def assembled(runs: Sequence[SavedRun], picture: Picture, layout: Layout, *, code: bool) -> str:
    """The output's element; without runs it is the picture alone."""
    if not runs:
        return f'<div class="attn-widget-picture">\n{figure(picture, inline=False)}\n</div>'
    title = " | ".join(run.title for run in runs)
    listed = [entry_of(run) for run in runs]
    parts = [
        f'<div class="attn-widget-output" data-version="{version()}" data-title="{markup(title)}" '
        f'data-text="{markup(LOST)}">',
        figure(picture, inline=False),
        f"<p>{WITHOUT_SCRIPTS}</p>",
        *(
            f'<script type="text/plain" class="aw-data" data-run="{number}" data-chunk="{name}">'
            f"{text.decode()}</script>"
            for number, run in enumerate(runs)
            for name, text in run.snapshot.texts.items()
        ),
        f'<script type="application/json" class="aw-index">{json_data({"layout": layout, "runs": listed})}</script>',
        code_element() if code else "",
        f"<script>{bundle('output.js').strip()}</script>",
        "</div>",
    ]
    return "\n".join(part for part in parts if part)


@cache
def page_around() -> tuple[str, str]:
    """The page before and after its data."""
    scripts = [bundle(name) for name in ("standalone.js", "saved-lazy.js", "height.js")]
    style = bundle("widget.css") + PAGE_CSS + OUTPUT_CSS
    policy = POLICY.format(scripts=" ".join(map(hash_of, scripts)), styles=hash_of(style))
    head = (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{html.escape(policy)}">\n'
        f"<title>{TITLE}</title>\n<style>{style}</style>\n</head>\n<body>\n<main></main>\n"
    )
    elements = "".join(f"<script>{script}</script>\n" for script in scripts)
    return head, f"{elements}</body>\n</html>\n"


@cache
def code_element() -> str:
    """The code of the page, compressed, as one element for a whole document."""
    head, tail = page_around()
    code = json.dumps({"head": head, "tail": tail}).encode()
    compressed = base64.b64encode(packed(code)).decode()
    opening = f'<script type="text/plain" class="attn-widget-code" data-version="{version()}">'
    return f"{opening}{compressed}</script>"


@cache
def version() -> str:
    """Names the code: outputs of one version share it."""
    return hashlib.sha256("".join(page_around()).encode()).hexdigest()[:16]


class CodePlace:
    """Remembers which cell's output carries the code of the page.

    A cell that is run again replaces its output and so carries the code again; one that was deleted
    gives it to the next that is run.
    """

    def __init__(self) -> None:
        self._cell: str | None = None
        self._count: int | None = None

    def takes(self, cell: str | None, count: int, deleted: list[str]) -> bool:
        """True if this output is to carry the code.

        ``cell``: the running cell; None where the host does not tell. ``count``: its execution count. ``deleted``:
        cells that are gone.

        >>> place = CodePlace()
        >>> place.takes("a", 1, []), place.takes("a", 1, []), place.takes("b", 2, [])
        (True, False, False)
        >>> place.takes("a", 3, []), place.takes("b", 4, ["a"])
        (True, True)
        """
        again = cell is not None and cell == self._cell and count != self._count
        if self._count is None or again or self._cell in deleted:
            self._cell, self._count = cell, count
            return True
        return False

    def forget(self, count: int) -> None:
        """The output of this execution was taken away."""
        if self._count == count:
            self._cell = self._count = None


place = CodePlace()

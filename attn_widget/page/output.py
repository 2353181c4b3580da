"""What the output of a cell keeps for readers without a kernel: a small live page, and a picture.

The code of the page (two thirds of its bytes) stands in one output of a notebook; all others find it
there. Which one that is, `CodePlace` remembers. The layout is in ``docs/architecture.md``, section
"Saved pages"; ``js/output.js`` runs in the document.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
import struct
import zlib
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from attn_widget.page.compress import deflate
from attn_widget.page.page import PAGE_CSS, POLICY, TITLE, hash_of
from attn_widget.page.saved_run import (
    Kept,
    SavedRun,
    check_views,
    name_of,
    run_of_widget,
    selection_of,
    title_of,
)
from attn_widget.page.snapshot import snapshot
from attn_widget.protocol.built import bundle
from attn_widget.widget.profile import ProfileWidget
from attn_widget.widget.widget import VIEWS, AttentionWidget

if TYPE_CHECKING:
    from attn_widget.analysis import Analysis
    from attn_widget.figures.arrays import Float32

CELLS = 60_000  # weights that an output keeps; one byte each before compression
OUTPUT_VIEWS = [view for view in VIEWS if view != "inside"]  # its tensors outweigh all else
FULL_TENSORS = 0.5  # of the room that a page of its own has for tensors of the view Inside
OUTPUT_CSS = """
:root.dark { color-scheme: dark; } :root.light { color-scheme: light; }
main { padding: 0; }
"""
PICTURE_SIDE = 448  # px, at most
PICTURE_CELLS = 128  # a side; larger matrices are max-pooled
# 17 even steps of the ramp "weight" for a light ground (js/src/draw/color/ramp.ts).
RAMP = (
    "f8f7f4 f2e6d1 f0d4af f0c08f f1a974 f0925f ef7851 e56151 d74d57 c83c5d b42d65 99296d 7f2570 "
    "65226d 4c2063 361d55 221844"
)
MASKED = (200, 200, 200)  # what the model's mask forbids
MASKED_CODE = 64  # beside as many tones of the ramp, which the eye does not tell apart
LOST = (
    "The part of the live page that all outputs share is not in this document: run the notebook from "
    "the top, or convert it with attn_widget.export.notebook.LivePages (docs/notebooks.md)."
)


def outputs(widget: AttentionWidget | ProfileWidget, *, code: bool) -> dict[str, str]:
    """By kind of data, what a cell's output has beside the widget itself.

    Parameters
    ----------
    widget : AttentionWidget or ProfileWidget
        ``widget.saved`` says what is kept of a run: ``"page"``, ``"full"``, ``"picture"`` or ``"none"``.
        All of a profile is.
    code : bool
        Whether this output carries the code of the page for all.

    Examples
    --------
    >>> from attn_widget import show
    >>> w = show("the cat sat", progress=False)
    >>> sorted(outputs(w, code=False))
    ['image/png', 'text/html']
    >>> w.saved = "none"
    >>> outputs(w, code=False)
    {}
    >>> w.close()
    """
    if isinstance(widget, ProfileWidget):
        picture = base64.b64encode(grid_of(widget)).decode()
        return {"text/html": profile_page(widget, picture, code=code), "image/png": picture}
    if widget.saved == "none":
        return {}
    picture = base64.b64encode(picture_of(widget)).decode()
    if widget.saved == "picture":
        return {"image/png": picture}
    return {"text/html": page_of(widget, picture, code=code), "image/png": picture}


def page_of(widget: AttentionWidget, picture: str, *, code: bool) -> str:
    """The output's HTML: the picture with a caption, data, and the script that makes a page of them."""
    full = widget.saved == "full"
    analysis = widget.analysis if full else plain(widget.analysis)
    layers, heads = (None, None) if full else kept(widget)
    views = check_views(None if full else OUTPUT_VIEWS)
    selection = selection_of(widget)
    if selection["view"] not in views:
        selection["view"] = views[0]
    found = snapshot(
        analysis,
        layers=layers,
        heads=heads,
        views=views,
        selection=selection,
        title="",
        light=not full,
        tensors=FULL_TENSORS,
    )
    run = SavedRun(title_of(analysis), analysis.n_tokens, found)
    image = Image(picture, "Attention weights as a heatmap", caption_of(widget))
    return assembled(run, image, code=code)


def profile_page(widget: ProfileWidget, picture: str, *, code: bool) -> str:
    """The same of a profile."""
    image = Image(picture, "A figure of every head, layers by heads", caption_of_grid(widget))
    return assembled(run_of_widget(widget, Kept()), image, code=code)


class Image(NamedTuple):
    """What stands there until the page is opened: a PNG in base64, what it shows, a caption."""

    data: str
    alt: str
    caption: str


def assembled(run: SavedRun, image: Image, *, code: bool) -> str:
    """The output's element."""
    title = html.escape(run.title, quote=True)
    index = {"layout": "stack", "runs": [{"title": run.title, "tokens": run.tokens}]}
    parts = [
        f'<div class="attn-widget-output" data-version="{version()}" data-title="{title}" '
        f'data-text="{html.escape(LOST, quote=True)}">',
        f'<img src="data:image/png;base64,{image.data}" alt="{html.escape(image.alt, quote=True)}">',
        f"<p>{html.escape(image.caption)}</p>",
        *(
            f'<script type="text/plain" class="aw-data" data-run="0" data-chunk="{name}">'
            f"{deflate(chunk).decode()}</script>"
            for name, chunk in run.snapshot.chunks.items()
        ),
        f'<script type="application/json" class="aw-index">{escaped(index)}</script>',
        code_element() if code else "",
        f"<script>{bundle('output.js').strip()}</script>",
        "</div>",
    ]
    return "\n".join(part for part in parts if part)


def kept(widget: AttentionWidget) -> tuple[list[int] | None, list[int] | None]:
    """Layers and heads whose weights fit: all, those of the selected layer, or the selected head."""
    analysis = widget.analysis
    cells = analysis.n_tokens**2 * analysis.n_heads
    if cells * analysis.n_layers <= CELLS:
        return None, None
    if cells <= CELLS or widget.head == "mean":
        return [widget.layer], None
    return [widget.layer], [widget.head]


def plain(analysis: Analysis) -> Analysis:
    """The same run, its words and sentences found without a tagger unless they are known already.

    Loading a tagger takes seconds, and displaying a widget does not wait for it.
    """
    from attn_widget.analysis import Analysis

    known = analysis._cache  # pyright: ignore[reportPrivateUsage]
    if "language" in known or analysis.run is None:
        return analysis
    found = Analysis(analysis.trace, run=analysis.run, tagger=None)
    found.beside = analysis.beside
    # No figure among these has asked for words or sentences.
    found._cache.update(known)  # pyright: ignore[reportPrivateUsage]
    return found


def escaped(value: Any) -> str:
    """JSON that cannot end its element."""
    return json.dumps(value).replace("<", "\\u003c")


@cache
def page_around() -> tuple[str, str]:
    """The page before and after its data."""
    script, height = bundle("standalone.js"), bundle("height.js")
    style = bundle("widget.css") + PAGE_CSS + OUTPUT_CSS
    policy = POLICY.format(scripts=f"{hash_of(script)} {hash_of(height)}", styles=hash_of(style))
    head = (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{html.escape(policy)}">\n'
        f"<title>{TITLE}</title>\n<style>{style}</style>\n</head>\n<body>\n<main></main>\n"
    )
    return head, f"<script>{script}</script>\n<script>{height}</script>\n</body>\n</html>\n"


@cache
def code_element() -> str:
    """The code of the page, compressed, as one element for a whole document."""
    head, tail = page_around()
    packed = deflate(json.dumps({"head": head, "tail": tail}).encode()).decode()
    opening = f'<script type="text/plain" class="attn-widget-code" data-version="{version()}">'
    return f"{opening}{packed}</script>"


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
        """Whether this output is to carry the code.

        Parameters
        ----------
        cell : str or None
            The running cell; None where the host does not tell.
        count : int
            Its execution count.
        deleted : list of str
            Cells that are gone.

        Examples
        --------
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


def caption_of(widget: AttentionWidget) -> str:
    """One line below the picture."""
    analysis = widget.analysis
    head = "mean of the heads" if widget.head == "mean" else f"H{widget.head}"
    largest = float(analysis.attention(widget.layer, widget.head).max())
    return (
        f"{title_of(analysis)}: attention weights of L{widget.layer} · {head}, {analysis.n_tokens} tokens. "
        f"Rows are queries, columns keys; 0 is light, {largest:.3g} the darkest."
    )


def caption_of_grid(widget: ProfileWidget) -> str:
    """One line below the picture of a profile."""
    key = shown_metric(widget)
    known = known_values(widget.profile.mean[key])
    scale = f"; {known.min():.3g} is light, {known.max():.3g} the darkest" if known.size else ""
    return (
        f"{name_of(widget)}: {key} of every head, mean over the texts. Rows are layers, columns "
        f"heads{scale}."
    )


def known_values(values: Float32) -> Float32:
    """Without those that no text has."""
    return values[~np.isnan(values)]


def shown_metric(widget: ProfileWidget) -> str:
    """The metric that shades the grid; the first one in the place of the roles, which are no numbers."""
    keys = widget.profile.keys
    return widget.metric if widget.metric in keys else keys[0]


def grid_of(widget: ProfileWidget) -> bytes:
    """A figure of every head as a PNG without labels."""
    values = widget.profile.mean[shown_metric(widget)]
    known = known_values(values)
    least, span = (known.min(), np.ptp(known)) if known.size else (0.0, 0.0)
    shares = np.nan_to_num((values - least) / (span or 1.0))
    tones = np.rint(shares * (MASKED_CODE - 1)).astype(np.uint8)
    codes = np.where(np.isnan(values), np.uint8(MASKED_CODE), tones)
    side = max(1, PICTURE_SIDE // max(codes.shape))
    return png(codes.repeat(side, axis=0).repeat(side, axis=1))


def picture_of(widget: AttentionWidget) -> bytes:
    """The selected head as a PNG without labels, drawn without a browser; at most 20 kB."""
    analysis = widget.analysis
    weights = analysis.attention(widget.layer, widget.head)
    largest = float(weights.max(initial=0)) or 1.0
    codes = pooled(np.rint(weights / largest * (MASKED_CODE - 1)).astype(np.uint8))
    allowed = analysis.trace.allowed(widget.layer)
    if allowed is not None:
        codes[pooled(allowed.astype(np.uint8)) == 0] = MASKED_CODE
    side = PICTURE_SIDE // len(codes)
    return png(codes.repeat(side, axis=0).repeat(side, axis=1))


def pooled(codes: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """At most `PICTURE_CELLS` a side: the largest of the cells that fall together."""
    n = len(codes)
    if n <= PICTURE_CELLS:
        return codes
    starts = np.arange(PICTURE_CELLS) * n // PICTURE_CELLS
    return np.maximum.reduceat(np.maximum.reduceat(codes, starts, axis=0), starts, axis=1)


def png(codes: NDArray[np.uint8]) -> bytes:
    """An indexed PNG of rows of codes: along the ramp, the last what is masked."""
    height, width = codes.shape
    rows = np.zeros((height, width + 1), dtype=np.uint8)  # each begins with its filter: none
    rows[:, 1:] = codes
    palette = np.vstack([ramp(MASKED_CODE), MASKED]).astype(np.uint8)
    header = struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0)  # 8 bits, indexed
    chunks = ((b"IHDR", header), (b"PLTE", palette.tobytes()),
              (b"IDAT", zlib.compress(rows.tobytes(), 9)), (b"IEND", b""))  # fmt: skip
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        for kind, data in chunks
    )


def ramp(size: int) -> Float32:
    """Colours of the weight ramp, float32 [size, 3], 0 to 255."""
    stops = np.array([list(bytes.fromhex(stop)) for stop in RAMP.split()], dtype=np.float64)
    at, along = np.linspace(0, 1, size), np.linspace(0, 1, len(stops))
    return np.rint([np.interp(at, along, stops[:, i]) for i in range(3)]).T.astype(np.float32)

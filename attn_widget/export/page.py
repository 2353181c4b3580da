"""to_html() and as_html(): pages that stay alive without a kernel and without a network.

The layout of the file is in ``docs/architecture.md``, section "Saved pages".
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
import os
import tempfile
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from attn_widget.errors import InputError, InputTypeError
from attn_widget.export.snapshot import Snapshot, snapshot
from attn_widget.widget.code import bundle
from attn_widget.widget.widget import VIEWS, AttentionWidget

if TYPE_CHECKING:
    from attn_widget.analysis import Analysis

Layout = Literal["stack", "report"]

TITLE = "attn_widget"
TITLE_CHARACTERS = 120
DEFLATE = 6  # 9 saves a thousandth of a page, and takes three times as long
# Nothing is loaded from anywhere: scripts and styles by their hashes, pictures made in the page.
POLICY = (
    "default-src 'none'; script-src {scripts}; style-src {styles}; img-src data: blob:; "
    "font-src data:; base-uri 'none'; form-action 'none'"
)
PAGE_CSS = """
:root { color-scheme: light dark; }
body { margin: 0; background: light-dark(#fff, #111317); color: light-dark(#1c2127, #e7eaee);
  font: 14px / 20px system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif; }
main { max-width: 1400px; margin: 0 auto; padding: 16px; }
.aw-page-run + .aw-page-run { margin-top: 32px; }
.aw-page-count { color: light-dark(#5a6470, #9aa5b1); font-size: 12px; margin: 0; }
.aw-page-report { display: grid; grid-template-columns: minmax(180px, 260px) minmax(0, 1fr); gap: 24px;
  max-width: 1700px; }
.aw-page-report nav { position: sticky; top: 16px; align-self: start; display: grid; gap: 8px;
  max-height: calc(100vh - 32px); grid-template-rows: auto auto minmax(0, 1fr); }
.aw-page-report ol { margin: 0; padding: 0; overflow: auto; list-style: none; }
.aw-page-report a { display: block; padding: 6px 8px; border-radius: 4px; color: inherit;
  text-decoration: none; }
.aw-page-report a:hover { background: light-dark(#f4f5f7, #1b1f25); }
.aw-page-report a[aria-current] { background: light-dark(#e6effb, #16263a); }
.aw-page-title { display: -webkit-box; -webkit-box-orient: vertical; -webkit-line-clamp: 2;
  overflow: hidden; overflow-wrap: anywhere; }
.aw-page-report input { font: inherit; padding: 4px 8px; }
@media (max-width: 900px) { .aw-page-report { grid-template-columns: 1fr; }
  .aw-page-report nav { position: static; max-height: 240px; } }
"""


@dataclass(frozen=True)
class SavedRun:
    """A run as a page carries it: its name in lists, its length, its chunks."""

    title: str
    tokens: int
    snapshot: Snapshot


def saved_run(
    analysis: Analysis,
    selection: Mapping[str, Any],
    *,
    layers: Sequence[int] | None = None,
    heads: Sequence[int] | None = None,
    views: Sequence[str] | None = None,
    title: str | None = None,
    tensors: float = 1.0,
) -> SavedRun:
    """Pack a run with what is selected in it.

    Raises
    ------
    InputError
        A layer, head or view that is not there.
    """
    kept = check_views(views)
    chosen = {**DEFAULTS, **selection}
    if chosen["view"] not in kept:
        chosen["view"] = kept[0]
    found = snapshot(
        analysis,
        layers=check_indices("layers", layers, analysis.n_layers),
        heads=check_indices("heads", heads, analysis.n_heads),
        views=kept,
        selection=chosen,
        title=title or "",
        tensors=tensors,
    )
    return SavedRun(title or title_of(analysis), analysis.n_tokens, found)


def selection_of(widget: AttentionWidget) -> dict[str, Any]:
    """The widget's traits that a page begins with."""
    return {name: getattr(widget, name) for name in SELECTED}


SELECTED = (
    "layer", "head", "token", "pair", "metric", "view", "quantity", "group", "top_k", "depth",
    "special", "words", "scale", "theme", "height", "chrome",
)  # fmt: skip
DEFAULTS = {"layer": 0, "head": 0, "view": "attention"}


def to_html(
    widgets: AttentionWidget | Iterable[AttentionWidget],
    path: str | Path,
    *,
    layers: Sequence[int] | None = None,
    heads: Sequence[int] | None = None,
    views: Sequence[str] | None = None,
    title: str | None = None,
) -> Path:
    """Write one page with one or several widgets in it, alive without a kernel and a network.

    Parameters
    ----------
    widgets : AttentionWidget or iterable of them
        Shown one below the other.
    path : str or Path
        Replaced in one step: a page that cannot be finished leaves the old one.
    layers, heads : sequence of int, optional
        0-based; by default all.
    views : sequence of str, optional
        Names of the tabs to keep, such as ``["attention", "tree"]``; by default all.
    title : str, optional
        Of the page.

    Returns
    -------
    Path

    Raises
    ------
    InputError
        Nothing to save, a closed widget, a layer, head or view that is not there.
    OSError
        The file cannot be written; nothing is left half-written.

    Examples
    --------
    >>> import attn_widget as aw, tempfile, pathlib
    >>> w = aw.show("the cat sat", progress=False)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     page = to_html(w, pathlib.Path(folder) / "cat.html", layers=[3])
    ...     page.stat().st_size < 1_500_000
    True
    >>> w.close()
    """
    every = [widgets] if isinstance(widgets, AttentionWidget) else list(widgets)
    if not every:
        raise InputError("There is no widget to save.", "Give one, or a list of them.")
    for widget in every:
        if not isinstance(widget, AttentionWidget):
            raise InputTypeError(
                f"to_html() saves widgets, got {type(widget).__name__}.",
                "Give what show() returns.",
            )
    runs = (
        saved_run(
            widget.analysis,
            selection_of(widget),
            layers=layers,
            heads=heads,
            views=views,
            title=title,
        )
        for widget in every
    )
    return write_page(path, runs, title or TITLE, "stack")


def page_html(widget: AttentionWidget, *, title: str | None = None) -> str:
    """The page of one widget as text, for an iframe."""
    run = saved_run(widget.analysis, selection_of(widget), title=title)
    parts = page_parts([run], title or TITLE, "stack")
    return b"".join(parts).decode("utf-8")


def as_html(widget: AttentionWidget, *, height: int = 900, title: str | None = None) -> str:
    """A sandboxed iframe with the page inside, for notebooks that are exported.

    Parameters
    ----------
    height : int
        Of the frame, px.
    """
    source = html.escape(page_html(widget, title=title), quote=True)
    name = html.escape(title or title_of(widget.analysis), quote=True)
    return (
        f'<iframe sandbox="allow-scripts allow-downloads" title="{name}" width="100%" '
        f'height="{int(height)}" style="border: 0" srcdoc="{source}"></iframe>'
    )


def write_page(path: str | Path, runs: Iterable[SavedRun], title: str, layout: Layout) -> Path:
    """Write the file beside its place, then move it there."""
    target = Path(path).expanduser()
    if target.is_dir():
        raise InputError(f"{str(target)!r} is a folder.", "Give the name of a file in it.")
    if not target.parent.is_dir():
        raise InputError(f"There is no folder {str(target.parent)!r}.", "Make it first.")
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.", suffix=".part")
    try:
        with os.fdopen(handle, "wb") as file:
            for part in page_parts(runs, title, layout):
                file.write(part)
        mode = target.stat().st_mode & 0o777 if target.exists() else 0o666 & ~umask()
        os.chmod(name, mode)  # noqa: PTH101 - the name is that of an open temporary file
        Path(name).replace(target)
    except BaseException:
        with suppress(OSError):
            Path(name).unlink()
        raise
    return target


def umask() -> int:
    """The process's mask for new files; it can only be read by setting it."""
    mask = os.umask(0)
    os.umask(mask)
    return mask


def page_parts(runs: Iterable[SavedRun], title: str, layout: Layout) -> Iterator[bytes]:
    """The page, piece by piece: one run at a time is in memory."""
    script, style = bundle("standalone.js"), bundle("widget.css") + PAGE_CSS
    if "</script" in script.lower() or "</style" in style.lower():
        raise RuntimeError("the built page would end its own element")
    policy = POLICY.format(scripts=hash_of(script), styles=hash_of(style))
    head = (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{html.escape(policy)}">\n'
        '<meta name="viewport" content="width=device-width">\n'
        f"<title>{html.escape(title[:TITLE_CHARACTERS])}</title>\n"
        f"<style>{style}</style>\n</head>\n<body>\n"
        f"<main><noscript>This page needs JavaScript.</noscript></main>\n"
    )
    yield head.encode()
    listed: list[dict[str, Any]] = []
    for number, run in enumerate(runs):
        listed.append({"title": run.title, "tokens": run.tokens})
        for name, chunk in run.snapshot.chunks.items():
            opening = f'<script type="text/plain" class="aw-data" data-run="{number}" data-chunk="{name}">'
            yield opening.encode() + deflate(chunk) + b"</script>\n"
    index = json.dumps({"layout": layout, "runs": listed}).replace("<", "\\u003c")
    yield f'<script type="application/json" id="aw-index">{index}</script>\n'.encode()
    yield f"<script>{script}</script>\n</body>\n</html>\n".encode()


def deflate(data: bytes) -> bytes:
    """Raw deflate in base64: an alphabet that cannot close an element."""
    packer = zlib.compressobj(DEFLATE, zlib.DEFLATED, -zlib.MAX_WBITS)
    return base64.b64encode(packer.compress(data) + packer.flush())


def hash_of(text: str) -> str:
    """A source of a content security policy: this very text."""
    digest = hashlib.sha256(text.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"


def title_of(analysis: Analysis) -> str:
    """The beginning of the text, on one line."""
    whole = " · ".join(part for part in (analysis.text, analysis.text_pair) if part)
    line = " ".join(whole.split())
    return line if len(line) <= TITLE_CHARACTERS else f"{line[: TITLE_CHARACTERS - 1]}…"


def check_views(views: Sequence[str] | None) -> list[str]:
    if views is None:
        return list(VIEWS)
    names = [views] if isinstance(views, str) else list(views)
    for name in names:
        if name not in VIEWS:
            raise InputError(f"There is no view {name!r}.", f"Views: {', '.join(VIEWS)}.")
    if not names:
        raise InputError("No view is left to save.", f"Views: {', '.join(VIEWS)}.")
    return [name for name in VIEWS if name in names]


def check_indices(name: str, given: Sequence[int] | None, size: int) -> list[int] | None:
    if given is None:
        return None
    found = list(given)
    if not found:
        raise InputError(f"{name} is empty.", "Leave it out to save all.")
    for index in found:
        if isinstance(index, bool) or not isinstance(index, int) or not 0 <= index < size:
            raise InputError(
                f"{name} holds {index!r}.", f"Expected whole numbers from 0 to {size - 1}."
            )
    return sorted(set(found))

"""The HTML of a page that stays alive without a kernel and without a network.

The layout of the file is in ``docs/protocol.md``, section "Saved pages".
"""

from __future__ import annotations

import base64
import hashlib
import html
import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

from attn_widget.host.files import destination, write_parts
from attn_widget.page.compress import deflate
from attn_widget.page.escaping import json_data, markup
from attn_widget.page.labeled import STATIC_CSS
from attn_widget.page.picture import figure
from attn_widget.page.saved_run import SavedRun
from attn_widget.protocol.built import bundle
from attn_widget.protocol.run_source import TITLE_CHARACTERS

Layout = Literal["stack", "report", "compare"]

TITLE = "attn_widget"
OPENS_WITH = 2  # chunks of a run: its first picture, and the layer that it opens on
# Nothing is loaded from anywhere: scripts and styles by their hashes, pictures made in the page.
POLICY = (
    "default-src 'none'; script-src {scripts}; style-src {styles}; img-src data: blob:; "
    "font-src data:; base-uri 'none'; form-action 'none'"
)
# Content security policy of pages with an engine: WebAssembly, in a worker made of the page's own script.
COMPILES, WORKS = " 'wasm-unsafe-eval'", "; worker-src blob:"
BESIDE = " 'self'"  # scripts of the page's own host or disk: the weights
# Before anything is painted: what stands in a page for readers without scripts is hidden from the others.
STARTED = 'document.documentElement.classList.add("aw-scripts")'
WITHOUT_SCRIPTS = (
    "This is a picture: the interactive page needs scripts, which do not run here. "
    "In JupyterLab, press Trust HTML."
)
# Notice in pages that are large enough to be cut off in a copy: the script takes it away.
CUT = (
    '<p class="aw-page-cut">This page is not complete, or its script cannot run here. '
    "Copy or download it again.</p>"
)
PAGE_CSS = (
    """
:root { color-scheme: light dark; }
body { margin: 0; background: light-dark(#fff, #111317); color: light-dark(#1c2127, #e7eaee);
  font: 14px / 20px system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif; }
main { max-width: 1400px; margin: 0 auto; padding: 16px; }
.aw-page-run + .aw-page-run { margin-top: 32px; }
.aw-page-cut { animation: aw-page-cut 3s step-end; }
@keyframes aw-page-cut { from { visibility: hidden; } }
.aw-page-count { color: light-dark(#5a6470, #9aa5b1); font-size: 12px; margin: 0; }
.aw-page-report { display: grid; grid-template-columns: minmax(180px, 260px) minmax(0, 1fr); gap: 24px;
  max-width: 1700px; }
.aw-page-report nav { position: sticky; top: 16px; align-self: start; display: grid; gap: 8px;
  max-height: calc(100vh - 32px); grid-template-rows: auto auto minmax(0, 1fr) auto; }
.aw-page-report ol { margin: 0; padding: 0; overflow: auto; list-style: none; }
.aw-page-report a { display: block; padding: 6px 8px; border-radius: 4px; color: inherit;
  text-decoration: none; }
.aw-page-report a:hover { background: light-dark(#f4f5f7, #1b1f25); }
.aw-page-report a[aria-current] { background: light-dark(#e6effb, #16263a); }
.aw-page-title { display: -webkit-box; -webkit-box-orient: vertical; -webkit-line-clamp: 2;
  overflow: hidden; overflow-wrap: anywhere; }
.aw-page-report :is(input, button) { font: inherit; padding: 4px 8px; border-radius: 4px;
  color: inherit; background: light-dark(#f4f5f7, #1b1f25); border: 1px solid light-dark(#dce0e5, #2d333b); }
.aw-page-report input::placeholder { color: light-dark(#5a6470, #9aa5b1); }
.aw-page-report button { cursor: pointer; }
.aw-page-report :is(input, button):hover { border-color: light-dark(#5a6470, #9aa5b1); }
.aw-page-report :is(input, button):focus-visible { outline: 2px solid light-dark(#1f6feb, #58a6ff); }
@media (max-width: 900px) { .aw-page-report { grid-template-columns: 1fr; }
  .aw-page-report nav { position: static; max-height: 240px; } }
@page { margin: 12mm; }
@media print {
  :root { color-scheme: only light; }
  main, .aw-page-report { display: block; max-width: none; padding: 0; }
  .aw-page-report nav { display: none; }
  .aw-page-run + .aw-page-run { margin-top: 0; break-before: page; }
}
"""
    + STATIC_CSS
)


@dataclass(frozen=True)
class PageModel:
    """The model of a page that runs what is typed."""

    facts: dict[str, Any]  # for js/src/features/engine/live.ts
    # Gives the elements that hold them; None if they are a script that the page loads.
    weights: Callable[[], Iterator[bytes]] | None


def frame(page: str, name: str, height: int) -> str:
    """A page in a sandboxed iframe: its script runs and offers downloads, no more."""
    return (
        f'<iframe sandbox="allow-scripts allow-downloads allow-modals" title="{markup(name)}" width="100%" '
        f'height="{height}" style="border: 0" srcdoc="{html.escape(page)}"></iframe>'
    )


def write_page(
    path: str | os.PathLike[str],
    runs: Iterable[SavedRun],
    title: str,
    layout: Layout,
    model: PageModel | None = None,
) -> Path:
    """Write the whole page, or nothing; see `attn_widget.host.files.write_parts`."""
    target = destination(path)
    write_parts(target, page_parts(runs, title, layout, model))
    return target


def page_parts(
    runs: Iterable[SavedRun], title: str, layout: Layout, model: PageModel | None = None
) -> Iterator[bytes]:
    """The page, piece by piece: one run at a time is in memory. With a ``model`` it runs what is typed."""
    scripts = page_scripts(live=model is not None)
    unpack, lazy = bundle("unpack.js"), bundle("saved-lazy.js")
    allowed = " ".join(map(hash_of, (STARTED, unpack, *scripts, lazy)))
    styles = " ".join(map(hash_of, (PAGE_CSS, bundle("widget.css"))))
    if model is None:
        policy = POLICY.format(scripts=allowed, styles=styles)
    else:
        allowed += COMPILES + (BESIDE if model.weights is None else "")
        policy = POLICY.format(scripts=allowed, styles=styles) + WORKS
    head = (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{html.escape(policy)}">\n'
        '<meta name="viewport" content="width=device-width">\n'
        f"<title>{markup(title[:TITLE_CHARACTERS])}</title>\n"
        f"<style>{PAGE_CSS}</style>\n<script>{STARTED}</script>\n</head>\n<body>\n"
        f"<main>{'' if model is None else CUT}</main>\n"
        f'<p class="aw-static">{WITHOUT_SCRIPTS}</p>\n'
    )
    yield head.encode()
    listed: list[dict[str, Any]] = []
    later: list[bytes] = []
    for number, run in enumerate(runs):
        if run.picture is not None:
            yield f'<div class="aw-static">{figure(run.picture)}</div>\n'.encode()
        listed.append(entry_of(run))
        for place, (name, text) in enumerate(run.snapshot.texts.items()):
            opening = f'<script type="text/plain" class="aw-data" data-run="{number}" data-chunk="{name}">'
            element = opening.encode() + text + b"</script>\n"
            if number == 0 and place >= OPENS_WITH and layout != "compare":
                later.append(element)
            else:
                yield element
    index = json_data({"layout": layout, "runs": listed})
    yield f'<script type="application/json" id="aw-index">{index}</script>\n'.encode()
    if model is not None:
        facts = json_data(model.facts)
        yield f'<script type="application/json" id="aw-engine">{facts}</script>\n'.encode()
    code = packed_code((bundle("widget.css"), *scripts))
    yield b'<script type="text/plain" id="aw-code">' + code + b"</script>\n"
    yield f"<script>{unpack}</script>\n".encode()
    # The first picture is drawn while these are read.
    yield b'<script type="text/plain" id="aw-lazy">' + packed_code((lazy,)) + b"</script>\n"
    yield from later
    # Last: the saved run is drawn while they are read, and in a file that was cut off.
    if model is not None and model.weights is not None:
        yield from model.weights()
    yield b"</body>\n</html>\n"


def entry_of(run: SavedRun) -> dict[str, Any]:
    """A run in a page's list."""
    entry = {"title": run.title, "tokens": run.tokens}
    return {**entry, "second": True} if run.second else entry


def page_scripts(*, live: bool) -> tuple[str, ...]:
    """Scripts of a page in their order.

    Those of a live page are the engine, and the script of a saved page, which goes on with live.js where it would
    have started (js/build.mjs).
    """
    saved = bundle("standalone.js")
    if not live:
        return (saved,)
    shared, _, _ = saved.rstrip().rpartition("\n")
    return bundle("engine.js"), f"{shared}\n{bundle('live.js')}"


@lru_cache(maxsize=3)  # with an engine, without, and the lazy views
def packed_code(parts: tuple[str, ...]) -> bytes:
    """Styles and scripts as the text that the page inflates."""
    return deflate("\0".join(parts).encode())


def hash_of(text: str) -> str:
    """A source of a content security policy: this very text."""
    digest = hashlib.sha256(text.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"

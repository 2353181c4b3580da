"""A page whose model runs in it: weights, vocabulary and engine in one file. Nothing public writes one yet."""

from __future__ import annotations

from pathlib import Path

from attn_widget.host.files import destination, write_parts
from attn_widget.page.compress import deflate
from attn_widget.page.engine.packing import pack_model
from attn_widget.page.page import page_parts
from attn_widget.page.saved_run import SavedRun

# The views whose every figure the engine computes: VIEWS of js/src/live.ts.
LIVE_VIEWS = ("attention", "predictions")


def planes(data: bytes) -> bytes:
    """All even bytes, then all odd ones: the high bytes of float16 numbers are alike.

    Examples
    --------
    >>> planes(b"aAbBc")
    b'abcAB'
    """
    return data[0::2] + data[1::2]


def write_live_page(path: Path, run: SavedRun, folder: Path) -> Path:
    """Write a page that opens on `run`, then runs what is typed with the model in `folder`."""
    target = destination(path)
    model = deflate(planes(pack_model(folder)))
    write_parts(target, page_parts([run], run.title, "stack", model))
    return target

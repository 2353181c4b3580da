"""The page that a cell's output leads to with ``saved="engine"``: beside the notebook, with one engine for all cells."""

from __future__ import annotations

import hashlib
import html
import weakref
from pathlib import Path
from typing import Any

from attn_widget.errors import AttnWidgetError
from attn_widget.page.engine.live import page_model, runnable, save_live
from attn_widget.page.engine.options import EngineOptions
from attn_widget.page.page import PageModel
from attn_widget.page.saved_run import ExportOptions
from attn_widget.protocol.selection import Selection
from attn_widget.protocol.source import Source

FOLDER = "attn-widget-pages"  # in the working folder of the kernel: as a rule that of the notebook
# What was written of a model, by folder: weights are packed once.
_WRITTEN: weakref.WeakKeyDictionary[Any, dict[Path, PageModel]] = weakref.WeakKeyDictionary()


def engine_link(source: Source, selection: Selection) -> str:
    """Write the page of ``source`` and its engine, and give the element that leads there, or says why it cannot.

    Examples
    --------
    >>> from attn_widget import profile
    >>> from attn_widget.protocol.profile_source import ProfileSource
    >>> engine_link(ProfileSource(profile(["a cat", "a dog"], progress=False)), Selection())
    '<p>It cannot be run here. A page with an engine needs the model of one text.</p>'
    """
    try:
        page = write(source, selection)
    except AttnWidgetError as error:
        return f"<p>It cannot be run here. {html.escape(error.message)}</p>"
    except OSError as error:
        return f"<p>It cannot be run here. {html.escape(str(error))}</p>"
    return (
        f'<p><a href="{FOLDER}/{page.name}" target="_blank" rel="noopener">Run it here</a>: '
        "type another text, without a kernel. JupyterLab opens it in a tab: press Trust HTML there.</p>"
    )


def write(source: Source, selection: Selection) -> Path:
    """The page, in `FOLDER`."""
    analysis = runnable(source)
    assert analysis.run is not None
    encoder = analysis.run.encoder
    folder = Path.cwd() / FOLDER
    folder.mkdir(exist_ok=True)
    key = repr((encoder.name, analysis.text, analysis.text_pair))
    page = folder / f"{hashlib.sha256(key.encode()).hexdigest()[:12]}.html"
    options = EngineOptions(folder=folder)
    known = _WRITTEN.setdefault(encoder.model, {})
    if folder not in known or not any(folder.glob("*.engine.js")):
        texts = [(str(analysis.text), analysis.text_pair)]
        known[folder] = page_model(encoder, page, options, texts)
    return save_live(page, [(source, selection)], ExportOptions(), options, known[folder])

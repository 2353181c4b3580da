"""One page from widgets or a comparison: the work of `attn_widget.to_html`."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from attn_widget.checks import check_keywords
from attn_widget.errors import InputError
from attn_widget.features.comparison.comparison import Comparison
from attn_widget.features.comparison.page import save_compared
from attn_widget.features.engine.live import save_live
from attn_widget.features.engine.options import check_engine
from attn_widget.host.files import destination
from attn_widget.page.page import save
from attn_widget.page.saved_run import ExportOptions, PageOptions
from attn_widget.protocol.selection import Selection
from attn_widget.protocol.source import Source


def save_page(
    shown: Sequence[tuple[Source, Selection]] | Comparison,
    path: str | os.PathLike[str],
    options: PageOptions,
) -> Path:
    """Write what is shown, one below the other.

    Raises
    ------
    InputError, InputTypeError, NotAvailableError
        As in `attn_widget.to_html`.
    """
    check_keywords(options, PageOptions.__annotations__, "to_html()")
    export = ExportOptions(
        options.get("layers"),
        options.get("heads"),
        options.get("views"),
        options.get("title"),
        options.get("why"),
    )
    max_bytes = options.get("max_bytes")
    engine = check_engine(
        options.get("engine", False), options.get("assets", "inside"), destination(path)
    )
    if isinstance(shown, Comparison):
        if engine is not None or max_bytes is not None:
            raise InputError(
                "A page of two runs takes no engine, assets or max_bytes.", "Leave them out."
            )
        return save_compared(path, shown, export)
    if max_bytes is not None and engine is not None:
        raise InputError(
            "The size of a page with an engine depends on its model.",
            "Leave max_bytes or engine out.",
        )
    if max_bytes is not None and len(shown) > 1:
        raise InputError(
            f"max_bytes limits the page of one widget, got {len(shown)} widgets.",
            "Save each widget in a page of its own, or limit layers, heads or views.",
        )
    if engine is not None:
        return save_live(path, shown, export, engine)
    return save(path, shown, export, max_bytes)

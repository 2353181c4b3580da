"""One page from what is shown: the work of `attn_widget.to_html`."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from attn_widget.checks import check_keywords
from attn_widget.errors import InputError
from attn_widget.features import declared, loaded
from attn_widget.page.page import save
from attn_widget.page.saved_run import ExportOptions, PageOptions
from attn_widget.protocol.selection import Selection
from attn_widget.protocol.source import Source


def export_options(options: PageOptions) -> ExportOptions:
    """Options that select the content of the page; unknown ones are refused."""
    check_keywords(options, PageOptions.__annotations__, "to_html()")
    return ExportOptions(
        options.get("layers"),
        options.get("heads"),
        options.get("views"),
        options.get("title"),
        options.get("why"),
    )


def save_page(
    shown: Sequence[tuple[Source, Selection]],
    path: str | os.PathLike[str],
    options: PageOptions,
) -> Path:
    """Write what is shown, one below the other.

    Raises
    ------
    InputError, InputTypeError, NotAvailableError
        As in `attn_widget.to_html`.
    """
    export = export_options(options)
    writers = (writer for name, writer in declared("page_options") if name in options)
    for writer in dict.fromkeys(writers):
        written: Path | None = loaded(writer)(path, shown, export, options)
        if written is not None:
            return written
    max_bytes = options.get("max_bytes")
    if max_bytes is not None and len(shown) > 1:
        raise InputError(
            f"max_bytes limits the page of one widget, got {len(shown)} widgets.",
            "Save each widget in a page of its own, or limit layers, heads or views.",
        )
    return save(path, shown, export, max_bytes)

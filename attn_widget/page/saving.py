"""One page from what is shown: the work of `attn_widget.to_html`."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path

from attn_widget.checks import check_keywords
from attn_widget.errors import InputError
from attn_widget.features import declared, loaded
from attn_widget.page.page import INDEX_BYTES, TITLE, frame, page_parts, write_page
from attn_widget.page.saved_run import ExportOptions, PageOptions, SavedRun, check_options_of
from attn_widget.page.shown import Shown, single_sources
from attn_widget.page.size_budget import SizeBudget
from attn_widget.page.size_limit import fitted_run
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


def save_page(shown: Sequence[Shown], path: str | os.PathLike[str], options: PageOptions) -> Path:
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
    if max_bytes is not None:
        single_sources(shown)
        if len(shown) > 1:
            raise InputError(
                f"max_bytes limits the page of one widget, got {len(shown)} widgets.",
                "Save each widget in a page of its own, or limit layers, heads or views.",
            )
    return save(path, shown, export, max_bytes)


def save(
    path: str | os.PathLike[str],
    shown: Sequence[Shown],
    options: ExportOptions,
    max_bytes: int | None = None,
) -> Path:
    """Write one page with what is shown, one below the other.

    ``max_bytes``: of the page of one source; a warning states what was left out for it.
    """
    for source in _sources(shown):
        check_options_of(source, options)
    alone = shown[0] if len(shown) == 1 else None
    title = options.title or (alone.title if alone else TITLE)
    layout = alone.layout if alone else "stack"
    if max_bytes is None:
        return write_page(path, packed(shown, options), title, layout)
    [entry] = single_sources(shown)
    shell = sum(len(part) for part in page_parts([], title, layout)) + INDEX_BYTES
    run, lacks = fitted_run(entry.source, entry.selection, options, max_bytes, shell)
    if lacks:
        warnings.warn(f"The page was made without {lacks}.", UserWarning, stacklevel=3)
    return write_page(path, [run], title, layout)


def packed(shown: Sequence[Shown], options: ExportOptions) -> Iterator[SavedRun]:
    """One after the other; several share the room of a page."""
    sizes = [source.size for source in _sources(shown)]
    several = len(shown) > 1
    budget = SizeBudget(sizes, "widgets", " report() makes texts smaller.") if several else None
    for entry in shown:
        yield from entry.runs(options, budget)


def framed(shown: Shown, height: int, title: str | None) -> str:
    """The page of what is shown, in a sandboxed frame of ``height`` px."""
    runs = packed([shown], ExportOptions(title=title))
    page = b"".join(page_parts(runs, title or shown.title, shown.layout))
    return frame(page.decode(), title or shown.title, height)


def _sources(shown: Sequence[Shown]) -> list[Source]:
    return [source for entry in shown for source in entry.sources]

"""One page from widgets or results: the work of `attn_widget.to_html`."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path

from attn_widget.checks import check_keywords
from attn_widget.errors import InputError
from attn_widget.features.comparison.comparison import Comparison
from attn_widget.features.comparison.page import compared_runs, title_of
from attn_widget.features.engine.live import save_live
from attn_widget.features.engine.options import check_engine
from attn_widget.host.files import destination
from attn_widget.page.output import Shown
from attn_widget.page.page import INDEX_BYTES, TITLE, Layout, frame, page_parts, write_page
from attn_widget.page.saved_run import (
    ExportOptions,
    PageOptions,
    SavedRun,
    check_options_of,
    saved_run,
)
from attn_widget.page.size_budget import SizeBudget
from attn_widget.page.size_limit import fitted_run
from attn_widget.protocol.run_source import RunSource
from attn_widget.protocol.source import Source


def save_page(
    shown: Sequence[Shown],
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
    single = [entry for entry in shown if not isinstance(entry, Comparison)]
    if len(single) < len(shown) and (engine is not None or max_bytes is not None):
        raise InputError(
            "A page of two runs takes no engine, assets or max_bytes.", "Leave them out."
        )
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
        return save_live(path, single, export, engine)
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
    for source in sources_of(shown):
        check_options_of(source, options)
    title, layout = page_title(shown, options.title), layout_of(shown)
    if max_bytes is None:
        return write_page(path, packed(shown, options), title, layout)
    [entry] = shown
    assert not isinstance(entry, Comparison)  # `save_page` has refused it
    shell = sum(len(part) for part in page_parts([], title, layout)) + INDEX_BYTES
    run, lacks = fitted_run(*entry, options, max_bytes, shell)
    if lacks:
        warnings.warn(f"The page was made without {lacks}.", UserWarning, stacklevel=3)
    return write_page(path, [run], title, layout)


def packed(shown: Sequence[Shown], options: ExportOptions) -> Iterator[SavedRun]:
    """One after the other; several share the room of a page."""
    if len(shown) == 1:
        [entry] = shown
        if isinstance(entry, Comparison):
            yield from compared_runs(entry, options)
        else:
            yield saved_run(*entry, options)
        return
    sizes = [source.size for source in sources_of(shown)]
    budget = SizeBudget(sizes, "widgets", " report() makes texts smaller.")
    for entry in shown:
        if isinstance(entry, Comparison):
            yield from compared_runs(entry, options, budget)
            continue
        run = saved_run(*entry, options, **budget.of_one)
        budget.take(run)
        yield run


def framed(shown: Shown, height: int, title: str | None) -> str:
    """The page of what is shown, in a sandboxed frame of ``height`` px."""
    runs = packed([shown], ExportOptions(title=title))
    page = b"".join(page_parts(runs, page_title([shown], title), layout_of([shown])))
    compared = isinstance(shown, Comparison)
    name = title or (title_of(shown) if compared else shown[0].title)
    return frame(page.decode(), name, height)


def sources_of(shown: Sequence[Shown]) -> list[Source]:
    """The sources behind what is shown, two of a comparison."""
    return [
        source
        for entry in shown
        for source in (
            (RunSource(entry.a), RunSource(entry.b)) if isinstance(entry, Comparison) else entry[:1]
        )
    ]


def layout_of(shown: Sequence[Shown]) -> Layout:
    """A comparison alone has the page for itself."""
    return "compare" if len(shown) == 1 and isinstance(shown[0], Comparison) else "stack"


def page_title(shown: Sequence[Shown], title: str | None) -> str:
    """For the browser's tab."""
    alone = shown[0] if len(shown) == 1 else None
    return title or (title_of(alone) if isinstance(alone, Comparison) else TITLE)

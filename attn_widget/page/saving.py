"""One page from what is shown: the work of `attn_widget.to_html`."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Protocol

from attn_widget.features import declared, loaded
from attn_widget.page.page import TITLE, frame, page_parts, write_page
from attn_widget.page.saved_run import SavedRun
from attn_widget.page.shown import Shown
from attn_widget.page.size_budget import SizeBudget
from attn_widget.page.spec import PageSpec
from attn_widget.protocol.source import Source


class WritesPage(Protocol):
    """Function that a feature's ``writers`` name: writes a page with the feature's option, or gives None where the core is to write it."""

    def __call__(
        self, path: str | os.PathLike[str], shown: Sequence[Shown], spec: PageSpec, /
    ) -> Path | None: ...


def save_page(shown: Sequence[Shown], path: str | os.PathLike[str], spec: PageSpec) -> Path:
    """Write what is shown, one below the other.

    Raises `InputError`, `InputTypeError`, `NotAvailableError`: as in `attn_widget.to_html`.
    """
    for name, writer in declared("writers"):
        if getattr(spec, name):
            write: WritesPage = loaded(writer)
            if (written := write(path, shown, spec)) is not None:
                return written
    for entry in shown:
        for source in entry.sources:
            _of(entry, shown, spec).of_source(source)
    alone = shown[0] if len(shown) == 1 else None
    title = spec.title or (alone.title if alone else TITLE)
    return write_page(path, packed(shown, spec), title, alone.layout if alone else "stack")


def packed(shown: Sequence[Shown], spec: PageSpec) -> Iterator[SavedRun]:
    """One after the other; several share the room of a page."""
    sizes = [source.size for source in _sources(shown)]
    several = len(shown) > 1
    budget = SizeBudget(sizes, "widgets", " report() makes texts smaller.") if several else None
    for entry in shown:
        yield from entry.runs(_of(entry, shown, spec), budget)


def framed(shown: Shown, height: int, title: str | None) -> str:
    """The page of what is shown, in a sandboxed frame of ``height`` px."""
    runs = packed([shown], PageSpec(title=title))
    page = b"".join(page_parts(runs, title or shown.title, shown.layout))
    return frame(page.decode(), title or shown.title, height)


def _of(entry: Shown, shown: Sequence[Shown], spec: PageSpec) -> PageSpec:
    """Options of a page of several for one of them: a result that is no run leaves options of runs to the others."""
    has_run = [
        any(source.analysis is not None for source in one.sources) for one in (entry, *shown)
    ]
    return spec.of_no_run() if any(has_run) and not has_run[0] else spec


def _sources(shown: Sequence[Shown]) -> list[Source]:
    return [source for entry in shown for source in entry.sources]

"""Content of a widget, as pages, outputs of cells and frames take it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from attn_widget.analysis import Analysis
from attn_widget.analysis.base import untagged
from attn_widget.analysis.long.layered import comes_in_layers
from attn_widget.errors import InputError
from attn_widget.page.page import Layout
from attn_widget.page.picture import Picture, picture_of
from attn_widget.page.saved_run import SavedRun, of_parts, saved_run
from attn_widget.page.size_budget import SizeBudget
from attn_widget.page.spec import PageSpec
from attn_widget.protocol.selection import Selection
from attn_widget.protocol.source import Source

CELLS = 60_000  # weights that an output keeps; one byte each before compression
FULL_TENSORS = 0.5  # of the room that a page of its own has for tensors of the model


class Shown(ABC):
    """Content of a widget."""

    layout: Layout = "stack"  # {"stack", "compare"}; layout of a page that holds nothing else

    @property
    @abstractmethod
    def title(self) -> str:
        """Title of its frame, and of a page that holds nothing else."""

    @property
    @abstractmethod
    def sources(self) -> tuple[Source, ...]:
        """The sources of its runs."""

    @abstractmethod
    def runs(self, spec: PageSpec, budget: SizeBudget | None = None) -> Iterator[SavedRun]:
        """Its runs for a page; several entries of a page share a ``budget``."""

    @abstractmethod
    def output_runs(self, *, full: bool) -> list[SavedRun]:
        """Its runs for the output of a cell, small ones unless ``full``."""

    @abstractmethod
    def picture(self) -> Picture:
        """A picture for readers without scripts."""

    def has_page(self, saved: str) -> bool:
        """True if an output carries a page, and not a picture alone."""
        runs = [source.analysis for source in self.sources if source.analysis is not None]
        long = any(comes_in_layers(run.trace) for run in runs)  # all heads: the cell would wait
        return saved in ("page", "full", *([] if runs else ["picture"])) and not long


@dataclass(frozen=True)
class ShownSource(Shown):
    """One source, and what is selected of it."""

    source: Source
    selection: Selection

    @property
    def title(self) -> str:
        return self.source.title

    @property
    def sources(self) -> tuple[Source, ...]:
        return (self.source,)

    def runs(self, spec: PageSpec, budget: SizeBudget | None = None) -> Iterator[SavedRun]:
        if budget is not None:
            spec = replace(spec, **budget.of_one)
        run = saved_run(self.source, self.selection, spec)
        if budget is not None:
            budget.take(run)
        yield run

    def output_runs(self, *, full: bool) -> list[SavedRun]:
        return [output_run(self.source, self.selection, full=full)]

    def picture(self) -> Picture:
        return picture_of(self.source, self.selection, quick=True)


def single_sources(shown: Sequence[Shown]) -> list[ShownSource]:
    """``shown``, if every entry is one source; pages of two runs take none of the options that need that."""
    single = [entry for entry in shown if isinstance(entry, ShownSource)]
    if len(single) < len(shown):
        raise InputError("A page of two runs takes no engine.", "Leave them out.")
    return single


def output_run(source: Source, selection: Selection, *, full: bool, parts: bool = True) -> SavedRun:
    """One run of an output's page, small unless ``full``; without ``parts``, of an encoder-decoder the shown part alone."""
    if source.analysis is None:
        return saved_run(source, selection, PageSpec(light=True), pictured=False)
    analysis = source.analysis if full else untagged(source.analysis)  # a tagger takes seconds
    layers, heads = (None, None) if full else kept(analysis, selection)
    whole = full or sum(map(weights_of, all_parts(analysis))) <= CELLS
    there = analysis.model.parts if whole and parts else (analysis.part,)
    spec = PageSpec(
        layers=layers,
        heads=heads,
        tensors=FULL_TENSORS,
        light=not full,
        left_out=parts_left_out(analysis, there),
    )
    return SavedRun(source.title, source.n_tokens, of_parts(analysis, selection, spec, there))


def parts_left_out(analysis: Analysis, parts: Sequence[str]) -> str:
    """Parts of an encoder-decoder that a page lacks, in words; empty if none."""
    lacking = [name for name in analysis.model.parts if name not in parts]
    return f"the parts {' and '.join(lacking)}, which need a kernel" if lacking else ""


def kept(analysis: Analysis, selection: Selection) -> tuple[list[int] | None, list[Any] | None]:
    """Layers and heads whose weights fit: all, those of the selected layer, or the selected head."""
    if weights_of(analysis) <= CELLS:
        return None, None
    cells = weights_of(analysis) // analysis.trace.n_layers
    layer, head = selection.place
    return [layer], None if cells <= CELLS or head == "mean" else [head]


def weights_of(analysis: Analysis) -> int:
    """Weights of all heads of a part."""
    return (
        analysis.trace.n_tokens
        * analysis.trace.n_keys
        * analysis.trace.n_heads
        * analysis.trace.n_layers
    )


def all_parts(analysis: Analysis) -> list[Analysis]:
    """The analysis itself where one text is read."""
    return [analysis.of(name) for name in analysis.model.parts]

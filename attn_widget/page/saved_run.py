"""Content of a page for one text, profile or similarity: checked, named and packed."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, TypedDict

from attn_widget.analysis import Analysis
from attn_widget.checks import check_choice, check_several, check_title, index_in
from attn_widget.errors import InputError
from attn_widget.features.why.slices import canonical
from attn_widget.features.why.targets import Target, check_target
from attn_widget.figures.catalog.choices import VIEWS
from attn_widget.page.picture import Picture, picture_of
from attn_widget.page.snapshot import (
    Snapshot,
    exact_snapshot,
    snapshot,
)
from attn_widget.protocol.initial_payload import opening_of
from attn_widget.protocol.selection import Selection
from attn_widget.protocol.source import Source

if TYPE_CHECKING:
    pass


class PageOptions(TypedDict, total=False):
    """Options of `attn_widget.to_html`, where they are described."""

    layers: Sequence[int] | None
    heads: Sequence[int] | None
    views: Sequence[str] | None
    title: str | None
    why: Sequence[Target] | None
    engine: Literal["light"] | bool
    assets: str | os.PathLike[str]
    max_bytes: int | None


@dataclass(frozen=True)
class ExportOptions:
    """The part to include: layers and heads (None: all), tabs, and a title.

    Attributes
    ----------
    layers, heads : sequence of int, optional
    views : sequence of str, optional
    title : str, optional
    why : sequence of Target, optional
        What the view Why explains without a kernel.

    Raises
    ------
    InputTypeError
        Layers, heads or views that are not several, or a title that is no str.
    InputError
        A title with a lone surrogate.
    """

    layers: Sequence[int] | None = None
    heads: Sequence[int] | None = None
    views: Sequence[str] | None = None
    title: str | None = None
    why: Sequence[Target] | None = None

    def __post_init__(self) -> None:
        # Lists, because one page asks for them several times.
        views = [self.views] if isinstance(self.views, str) else self.views
        for name, values, what in (
            ("layers", self.layers, "int"),
            ("heads", self.heads, "int"),
            ("views", views, "names of views"),
        ):
            checked = None if values is None else check_several(values, name, what)
            object.__setattr__(self, name, checked)
        check_title(self.title)
        if self.why is not None:
            why = [self.why] if isinstance(self.why, Target) else self.why
            targets = [check_target(target) for target in check_several(why, "why", "targets")]
            object.__setattr__(self, "why", targets)

    def check(self, n_layers: int, n_heads: int) -> ExportOptions:
        """The same, sorted and each once.

        Raises
        ------
        InputError
            A layer, head or view that does not exist, or none left.
        """
        return ExportOptions(
            check_indices("layers", self.layers, n_layers),
            check_indices("heads", self.heads, n_heads),
            check_views(self.views),
            self.title,
            self.why,
        )


def check_options_of(source: Source, options: ExportOptions) -> ExportOptions:
    """The parts of ``source`` that can be saved, sorted, each once."""
    if source.analysis is not None:
        return options.check(*source.shape)
    name = f"A {source.name}"
    if options.layers is not None or options.heads is not None:
        raise InputError(
            f"{name} has no weights of single layers or heads to choose from.",
            "Leave layers and heads out: all figures are always included.",
        )
    if options.why is not None:
        raise InputError(f"{name} has no targets to explain.", "Leave why out.")
    if options.views is not None:
        named = [view if isinstance(view, str) else None for view in options.views]
        if named != [*source.views]:
            raise InputError(f"{name} has only the view {source.views[0]!r}.", "Leave views out.")
    return options


@dataclass(frozen=True)
class SavedRun:
    """A run as a page carries it: its name in lists, its length, its chunks.

    Attributes
    ----------
    title : str
    tokens : int
    snapshot : Snapshot
    second : bool
        B of a comparison, whose A is the run before.
    picture : Picture or None
        What the page shows without scripts.
    """

    title: str
    tokens: int
    snapshot: Snapshot
    second: bool = False
    picture: Picture | None = None


def saved_run(
    source: Source,
    selection: Selection | None = None,
    options: ExportOptions = ExportOptions(),
    *,
    tensors: float = 1.0,
    most: float | None = None,
    masked: bool = True,
    left_out: str = "",
    light: bool = False,
    parts: bool = True,
    pictured: bool = True,
) -> SavedRun:
    """Pack a run or a profile with what is selected in it.

    Parameters
    ----------
    tensors, most, masked, left_out
        See `attn_widget.page.snapshot.snapshot`.
    parts : bool
        Of an encoder-decoder: its other parts, too; else the one that is shown alone.
    light : bool
        Of a profile: examples of the selected head alone. Of a similarity: what takes a moment.
    pictured : bool
        With the picture of a page without scripts.

    Raises
    ------
    InputError
        A layer, head or view that does not exist.
    """
    checked, title = check_options_of(source, options), options.title or ""
    selection = Selection() if selection is None else selection
    if source.analysis is None:
        recorded = exact_snapshot(source, selection, title, light=light)
    else:
        analysis = source.analysis
        views = checked.views or list(VIEWS)
        opened = opening_of(analysis, selection, checked.layers, checked.heads)
        selection = replace(selection, **opened.selected())
        chosen = selection.as_dict()
        if chosen["view"] not in views:
            chosen["view"] = views[0]
        for target in checked.why or ():
            canonical(analysis, target)  # says what is wrong with it before anything is computed
        if analysis.part != "self":
            chosen["part"] = analysis.part
        there = analysis.parts if parts else (analysis.part,)
        recorded = snapshot(
            analysis,
            layers=checked.layers,
            heads=checked.heads,
            views=views,
            selection=chosen,
            title=title,
            tensors=tensors,
            most=most,
            masked=masked,
            why=checked.why,
            left_out=left_out,
            parts=there,
        )
        for name in there:
            if name != analysis.part:
                other = other_part(
                    analysis.of(name),
                    chosen,
                    checked,
                    there,
                    tensors=tensors,
                    most=most,
                    masked=masked,
                )
                recorded = with_part(recorded, name, other)
    picture = picture_of(source, selection) if pictured else None
    return SavedRun(title or source.title, source.n_tokens, recorded, picture=picture)


def other_part(
    analysis: Analysis,
    shown: Mapping[str, Any],
    options: ExportOptions,
    parts: Sequence[str],
    *,
    tensors: float,
    most: float | None = None,
    masked: bool = True,
    light: bool = False,
) -> Snapshot:
    """A part of an encoder-decoder besides the one that a page opens on, as it opens by itself.

    Of the layers and heads that were asked for, it has those that it knows; all of them where it knows none.
    ``tensors`` to ``light``: see `attn_widget.page.snapshot.snapshot`.
    """
    layers = [layer for layer in options.layers or () if layer < analysis.n_layers] or None
    heads = [head for head in options.heads or () if head < analysis.n_heads] or None
    opened = opening_of(analysis, Selection(), layers, heads).selected()
    if "encoder" not in (analysis.part, shown["part"]):
        opened["token"] = shown["token"]
    places = {**opened, "part": analysis.part, "pair": None, "group": [], "quantity": "weights"}
    return snapshot(
        analysis,
        layers=layers,
        heads=heads,
        views=options.views or list(VIEWS),
        selection={**shown, **places},
        title=options.title or "",
        tensors=tensors,
        most=most,
        masked=masked,
        why=None if analysis.part == "encoder" else options.why,
        parts=parts,
        light=light,
    )


def with_part(shown: Snapshot, name: str, other: Snapshot) -> Snapshot:
    """The chunks of both: those of ``other`` begin with the name of its part."""
    renamed = {f"{name}:{chunk}": data for chunk, data in other.chunks.items()}
    errors = max(shown.error, other.error)
    return replace(shown, chunks={**shown.chunks, **renamed}, error=errors)


def check_views(views: Sequence[str] | None) -> list[str]:
    if views is None:
        return list(VIEWS)
    names = list(views)
    for name in names:
        check_choice(name, "an entry of views", VIEWS)
    if not names:
        raise InputError("No view is left to save.", f"Views: {', '.join(VIEWS)}.")
    return [name for name in VIEWS if name in names]


def check_indices(name: str, given: Sequence[int] | None, size: int) -> list[int] | None:
    if given is None:
        return None
    if not given:
        raise InputError(f"{name} is empty.", "Leave it out to save all.")
    return sorted({index_in(index, size, f"an entry of {name}") for index in given})

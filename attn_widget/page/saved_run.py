"""Content of a page for one text, profile or similarity: checked, named and packed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from attn_widget.analysis import Analysis
from attn_widget.host.fingerprint import reading_weights_once
from attn_widget.page.picture import Picture, picture_of
from attn_widget.page.snapshot import Snapshot, exact_snapshot, snapshot
from attn_widget.page.spec import WHOLE, PageSpec, check_views
from attn_widget.protocol.initial_payload import opening_of
from attn_widget.protocol.selection import Selection
from attn_widget.protocol.source import Source


@dataclass(frozen=True)
class SavedRun:
    """A run as a page carries it: its name in lists, its length, its chunks."""

    title: str
    tokens: int
    snapshot: Snapshot
    second: bool = False  # B of a comparison, whose A is the run before
    picture: Picture | None = None  # what the page shows without scripts


def saved_run(
    source: Source,
    selection: Selection | None = None,
    spec: PageSpec = WHOLE,
    *,
    parts: bool = True,
    pictured: bool = True,
) -> SavedRun:
    """Pack a run or a result with what is selected in it.

    ``parts``: of an encoder-decoder: its other parts, too; else the one that is shown alone. ``pictured``: with the
    picture of a page without scripts. Raises `InputError`: a layer, head or view that does not exist.
    """
    spec = spec.of_source(source)
    selection = Selection() if selection is None else selection
    if source.analysis is None:
        recorded = exact_snapshot(source, selection, spec)
    else:
        analysis = source.analysis
        opened = opening_of(analysis, selection, spec.layers, spec.heads)
        views = check_views(spec.views)
        view = selection.view if selection.view in views else views[0]
        selection = replace(selection, **opened.selected(), view=view)
        spec.check_run(analysis)
        with reading_weights_once():
            recorded = of_parts(
                analysis, selection, spec, analysis.model.parts if parts else (analysis.part,)
            )
    picture = picture_of(source, selection) if pictured else None
    return SavedRun(spec.title or source.title, source.n_tokens, recorded, picture=picture)


def of_parts(
    analysis: Analysis, selection: Selection, spec: PageSpec, parts: Sequence[str]
) -> Snapshot:
    """A run and, of an encoder-decoder, those other parts of it that a page has."""
    chosen, views = selection.as_dict(), check_views(spec.views)
    if chosen["view"] not in views:
        chosen["view"] = views[0]
    if analysis.part != "self":
        chosen["part"] = analysis.part
    recorded = snapshot(analysis, chosen, spec, parts=parts)
    for name in parts:
        if name != analysis.part:
            other = other_part(analysis.of(name), chosen, spec, parts)
            recorded = with_part(recorded, name, other)
    return recorded


def other_part(
    analysis: Analysis, shown: Mapping[str, Any], spec: PageSpec, parts: Sequence[str]
) -> Snapshot:
    """A part of an encoder-decoder besides the one that a page opens on, as it opens by itself.

    Of the layers and heads that were asked for, it has those that it knows; all of them where it knows none.
    """
    layers = [layer for layer in spec.layers or () if layer < analysis.trace.n_layers] or None
    heads = [head for head in spec.heads or () if head < analysis.trace.n_heads] or None
    opened = opening_of(analysis, Selection(), layers, heads).selected()
    if "encoder" not in (analysis.part, shown["part"]):
        opened["token"] = shown["token"]
    places = {**opened, "part": analysis.part, "pair": None, "group": [], "quantity": "weights"}
    spec = replace(spec, layers=layers, heads=heads, left_out="")
    return snapshot(analysis, {**shown, **places}, spec, parts=parts)


def with_part(shown: Snapshot, name: str, other: Snapshot) -> Snapshot:
    """The chunks of both: those of ``other`` begin with the name of its part."""
    renamed = {f"{name}:{chunk}": data for chunk, data in other.chunks.items()}
    errors = max(shown.error, other.error)
    return replace(shown, chunks={**shown.chunks, **renamed}, error=errors)

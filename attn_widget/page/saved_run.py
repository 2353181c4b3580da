"""What a page carries of one widget or one text: checked, named and packed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from attn_widget.checks import check_choice, check_several, check_title, index_in
from attn_widget.errors import InputError, InputTypeError
from attn_widget.page.snapshot import Snapshot, profile_snapshot, snapshot
from attn_widget.protocol.paint import opening_of
from attn_widget.widget.profile import ProfileWidget
from attn_widget.widget.widget import VIEWS, AttentionWidget

if TYPE_CHECKING:
    from attn_widget.analysis import Analysis

Savable = AttentionWidget | ProfileWidget

TITLE_CHARACTERS = 120
SELECTED = (
    "layer", "head", "token", "pair", "metric", "view", "quantity", "group", "top_k", "depth",
    "special", "words", "scale", "theme", "height", "chrome",
)  # fmt: skip
DEFAULTS = {"view": "attention"}


@dataclass(frozen=True)
class Kept:
    """Which part of a widget goes along: layers and heads (None: all), tabs, and a title.

    Attributes
    ----------
    layers, heads : sequence of int, optional
    views : sequence of str, optional
    title : str, optional

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

    def __post_init__(self) -> None:
        # Lists, because one page asks for them several times.
        views = [self.views] if isinstance(self.views, str) else self.views
        for name, given, what in (
            ("layers", self.layers, "int"),
            ("heads", self.heads, "int"),
            ("views", views, "names of views"),
        ):
            kept = None if given is None else check_several(given, name, what)
            object.__setattr__(self, name, kept)
        check_title(self.title)

    def check(self, n_layers: int, n_heads: int) -> Kept:
        """The same, sorted and each once.

        Raises
        ------
        InputError
            A layer, head or view that is not there, or none that is left.
        """
        return Kept(
            check_indices("layers", self.layers, n_layers),
            check_indices("heads", self.heads, n_heads),
            check_views(self.views),
            self.title,
        )


def check_widget(widget: object, kept: Kept) -> Savable:
    """A widget that can be saved so.

    Raises
    ------
    InputTypeError
        No widget of ours.
    InputError
        A closed one, or a layer, head or view that it does not have.
    """
    if isinstance(widget, ProfileWidget):
        profile = widget.profile
        if kept.layers is not None or kept.heads is not None:
            raise InputError(
                "A profile has no weights of single layers or heads to choose from.",
                "Leave layers and heads out: its figures of all heads go along.",
            )
        if check_views(kept.views) != ["heads"] and kept.views is not None:
            raise InputError("A profile has the view 'heads' alone.", "Leave views out.")
        kept.check(profile.n_layers, profile.n_heads)
        return widget
    if not isinstance(widget, AttentionWidget):
        raise InputTypeError(
            f"to_html() saves widgets, got {type(widget).__name__}.",
            "Give what show() returns: of an Analysis, AttentionWidget(analysis).",
        )
    kept.check(widget.analysis.n_layers, widget.analysis.n_heads)
    return widget


def run_of_widget(widget: Savable, kept: Kept, room: Mapping[str, float] | None = None) -> SavedRun:
    """Pack a widget with its selection; ``room`` as `Room.of_one` has it."""
    if isinstance(widget, AttentionWidget):
        limits = dict(room or {})
        return saved_run(
            widget.analysis,
            selection_of(widget),
            kept,
            tensors=limits.get("tensors", 1.0),
            most=limits.get("most"),
        )
    taken = profile_snapshot(widget, selection_of(widget), kept.title or "")
    return SavedRun(kept.title or name_of(widget), int(widget.profile.n_tokens.sum()), taken)


def name_of(widget: Savable) -> str:
    """What lists and frames call it."""
    if isinstance(widget, AttentionWidget):
        return title_of(widget.analysis)
    return f"{widget.profile.model}, {widget.profile.n_texts} texts"


@dataclass(frozen=True)
class SavedRun:
    """A run as a page carries it: its name in lists, its length, its chunks."""

    title: str
    tokens: int
    snapshot: Snapshot


def saved_run(
    analysis: Analysis,
    selection: Mapping[str, Any],
    kept: Kept = Kept(),
    *,
    tensors: float = 1.0,
    most: float | None = None,
    masked: bool = True,
) -> SavedRun:
    """Pack a run with what is selected in it.

    Parameters
    ----------
    tensors, most, masked
        See `attn_widget.page.snapshot.snapshot`.

    Raises
    ------
    InputError
        A layer, head or view that is not there.
    """
    checked = kept.check(analysis.n_layers, analysis.n_heads)
    views = checked.views or VIEWS
    opened = opening_of(analysis, selection, checked.layers, checked.heads)
    chosen = {**DEFAULTS, **selection, **asdict(opened)}
    if chosen["view"] not in views:
        chosen["view"] = views[0]
    found = snapshot(
        analysis,
        layers=checked.layers,
        heads=checked.heads,
        views=views,
        selection=chosen,
        title=kept.title or "",
        tensors=tensors,
        most=most,
        masked=masked,
    )
    return SavedRun(kept.title or title_of(analysis), analysis.n_tokens, found)


def selection_of(widget: Savable) -> dict[str, Any]:
    """The widget's traits that a page begins with."""
    return {name: getattr(widget, name) for name in SELECTED if widget.has_trait(name)}


def title_of(analysis: Analysis) -> str:
    """The beginning of the text, on one line."""
    whole = " · ".join(part for part in (analysis.text, analysis.text_pair) if part)
    line = " ".join(whole.split())
    return line if len(line) <= TITLE_CHARACTERS else f"{line[: TITLE_CHARACTERS - 1]}…"


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

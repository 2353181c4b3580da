"""Content of a page for one text or one profile: checked, named and packed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass

from attn_widget.checks import check_choice, check_several, check_title, index_in
from attn_widget.errors import InputError
from attn_widget.influence.targets import Target, check_target
from attn_widget.page.snapshot import Snapshot, profile_snapshot, snapshot
from attn_widget.protocol.paint import opening_of
from attn_widget.protocol.selection import VIEWS, Selection
from attn_widget.protocol.slices.influence import canonical
from attn_widget.protocol.source import Source


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
            kept = None if values is None else check_several(values, name, what)
            object.__setattr__(self, name, kept)
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


def check_options_of(source: Source, kept: ExportOptions) -> ExportOptions:
    """The parts of ``source`` that can be saved, sorted, each once.

    Raises
    ------
    InputError
        A layer, head or view that it does not have.
    """
    if source.profile is None:
        return kept.check(*source.shape)
    if kept.layers is not None or kept.heads is not None:
        raise InputError(
            "A profile has no weights of single layers or heads to choose from.",
            "Leave layers and heads out: the figures of all heads are always included.",
        )
    if kept.why is not None:
        raise InputError("A profile has no targets to explain.", "Leave why out.")
    if kept.views is not None and check_views(kept.views) != [*source.views]:
        raise InputError("A profile has only the view 'heads'.", "Leave views out.")
    return kept


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
    """

    title: str
    tokens: int
    snapshot: Snapshot
    second: bool = False


def saved_run(
    source: Source,
    selection: Selection | None = None,
    kept: ExportOptions = ExportOptions(),
    *,
    tensors: float = 1.0,
    most: float | None = None,
    masked: bool = True,
    left_out: str = "",
    light: bool = False,
) -> SavedRun:
    """Pack a run or a profile with what is selected in it.

    Parameters
    ----------
    tensors, most, masked, left_out
        See `attn_widget.page.snapshot.snapshot`.
    light : bool
        Of a profile: examples of the selected head alone.

    Raises
    ------
    InputError
        A layer, head or view that does not exist.
    """
    checked, title = check_options_of(source, kept), kept.title or ""
    selection = Selection() if selection is None else selection
    if source.analysis is None:
        recorded = profile_snapshot(source, selection, title, light=light)
    else:
        analysis = source.analysis
        views = checked.views or VIEWS
        opened = opening_of(analysis, selection, checked.layers, checked.heads)
        chosen = {**selection.as_dict(), **asdict(opened)}
        if chosen["view"] not in views:
            chosen["view"] = views[0]
        for one in checked.why or ():
            canonical(analysis, one)  # says what is wrong with it before anything is computed
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
        )
    return SavedRun(title or source.title, source.n_tokens, recorded)


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

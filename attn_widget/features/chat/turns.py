"""The turns of a run that came from a chat."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from attn_widget.analysis.base import AnalysisBase
from attn_widget.analysis.units import numbered, units_of


class Turn(NamedTuple):
    """A turn of a chat.

    Attributes
    ----------
    role : str
        As the messages name it: ``"system"``, ``"user"``, ``"assistant"``.
    name : str
        The role, with an ordinal where it comes twice: ``"user 2"``.
    start, stop : int
        Positions ``[start, stop)``; control tokens belong to the turn that they open or close.
    """

    role: str
    name: str
    start: int
    stop: int


def turns_of(analysis: AnalysisBase) -> tuple[Turn, ...]:
    """The turns over the positions of an analysis; none of a text that is no chat."""
    units = units_of(analysis)
    names = numbered([role for role, _, _ in units])
    return tuple(Turn(role, name, start, stop) for (role, start, stop), name in zip(units, names, strict=True))  # fmt: skip


def meta(analysis: AnalysisBase) -> dict[str, list[Any]] | None:
    """Roles and bounds of the turns, for the page; None of a run that is of no chat."""
    turns = turns_of(analysis)
    if not turns:
        return None
    return {
        "roles": [turn.role for turn in turns],
        "start": [turn.start for turn in turns],
        "stop": [turn.stop for turn in turns],
    }


def section(analysis: AnalysisBase) -> Callable[[], list[dict[str, Any]]] | None:
    """Function that gives the turns for the command line's JSON; None of a text that is no chat."""
    turns = turns_of(analysis)
    return (lambda: [turn._asdict() for turn in turns]) if turns else None

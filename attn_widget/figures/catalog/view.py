"""A view of the page, as the core and features declare it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class View:
    """A tab of the page."""

    name: str  # value of the trait `view`
    label: str  # on its tab
    definition: str  # definition of its numbers, for captions
    # The part of the selection that its picture depends on, for captions.
    options: tuple[str, ...] = ()
    # "shown", "marked" or None; whether its picture is of the selected head, marks it among the others, or has
    # none.
    head: Literal["shown", "marked"] | None = None
    scores: bool = False  # whether it can show scores instead of weights
    long: bool = False  # whether it is drawn in another way over a long text
    lazy: bool = True  # whether its code comes after the first picture
    place: int = 9  # among the tabs
    opens: str = ""  # figure of a run that opens on it where it has that figure

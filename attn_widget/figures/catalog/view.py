"""A view of the page, as the core and features declare it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class View:
    """A tab of the page.

    Attributes
    ----------
    name : str
        Value of the trait `view`.
    label : str
        On its tab.
    definition : str
        Definition of its numbers, for captions.
    options : tuple of str
        The part of the selection that its picture depends on, for captions.
    head : "shown", "marked" or None
        Whether its picture is of the selected head, marks it among the others, or has none.
    scores : bool
        Whether it can show scores instead of weights.
    long : bool
        Whether it is drawn in another way over a long text.
    lazy : bool
        Whether its code comes after the first picture.
    opens : str
        Figure of a run that opens on it where it has that figure.
    """

    name: str
    label: str
    definition: str
    options: tuple[str, ...] = ()
    head: Literal["shown", "marked"] | None = None
    scores: bool = False
    long: bool = False
    lazy: bool = True
    opens: str = ""

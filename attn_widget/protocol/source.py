"""Source: what pages, pictures and tables are made from, whoever shows it."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple

from attn_widget.analysis import Analysis
from attn_widget.figures.arrays import Float32
from attn_widget.figures.tables import Columns
from attn_widget.protocol.answer import Answers
from attn_widget.protocol.selection import Selection


class Recorded(NamedTuple):
    """A source without a run as a page has it: what it opens on, its first paint, and requests whose answers it carries."""

    selection: Selection
    paint: bytes
    requests: Sequence[dict[str, Any]]


class Cells(NamedTuple):
    """A picture of rows and columns, for a document that runs no page."""

    # [rows, columns]; from 0 to 1, or -1 to 1 of ``signed`` ones; NaN for N/A. Of a long text already pooled.
    shades: Float32
    alt: str  # for readers who do not see it
    caption: str  # one line next to it
    rows: Sequence[str]  # rows, columns: labels, of all rows and columns
    columns: Sequence[str]
    ends: tuple[str, str] | None = None  # meaning of the lightest and the darkest shade
    signed: bool = False


class Source(Answers):
    """Data behind a widget: a run of one text, or a result of a feature (a profile, a similarity)."""

    name: ClassVar[str]  # in messages: ``"run"``, ``"profile"``, ``"similarity"``
    views: ClassVar[tuple[str, ...]]  # the tabs that it has
    options: ClassVar[tuple[str, ...]]  # the fields of a `Selection` that mean something in it

    @property
    def analysis(self) -> Analysis | None:
        """The run, whose weights a page can carry; None of a profile or a similarity."""
        return None

    def recorded(self, selection: Selection, *, light: bool) -> Recorded:
        """Content of a saved page, of a source without a run; ``light``: what takes a moment, for a cell's output."""
        raise NotImplementedError

    def cells(self, selection: Selection) -> Cells:
        """The picture of a cell's output, of a source without a run."""
        raise NotImplementedError

    def table(self, selection: Selection) -> Columns:
        """Numbers of its view for a file, of a source without a run."""
        raise NotImplementedError

    @property
    @abstractmethod
    def shape(self) -> tuple[int, int]:
        """Layers and heads."""

    @property
    @abstractmethod
    def title(self) -> str:
        """Its title in lists and frames."""

    @property
    @abstractmethod
    def n_tokens(self) -> int:
        """Tokens that were read."""

    @property
    def size(self) -> int:
        """Tokens that its size in a page goes by; a profile has that of a short text."""
        return self.n_tokens

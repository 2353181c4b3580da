"""Source: what pages, pictures and tables are made from, whoever shows it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar, Protocol

from attn_widget.analysis import Analysis
from attn_widget.corpus.profile import Profile
from attn_widget.protocol.answer import Reply


class Answers(Protocol):
    """Anything that answers requests of the page."""

    def answer(self, request: object) -> Reply:
        """The answer to a request of the page; nothing about it is trusted, and nothing is raised."""
        ...


class Source(ABC):
    """A run of one text, the profile of many, or the similarity of two.

    Attributes
    ----------
    name : str
        In messages: ``"run"``, ``"profile"``, ``"similarity"``.
    views : tuple of str
        The tabs that it has.
    options : tuple of str
        The fields of a `Selection` that mean something in it.
    """

    name: ClassVar[str]
    views: ClassVar[tuple[str, ...]]
    options: ClassVar[tuple[str, ...]]

    @property
    def analysis(self) -> Analysis | None:
        """The run, whose weights a page can carry; None of a profile or a similarity."""
        return None

    @property
    def profile(self) -> Profile | None:
        """The profile; None of a run or a similarity."""
        return None

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

    @abstractmethod
    def answer(self, request: object) -> Reply:
        """The answer to a request of the page; nothing about it is trusted, and nothing is raised."""

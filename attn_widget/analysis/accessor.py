"""Figures of one kind behind one name of an `Analysis`, as in ``a.mixing.matrix("alti", 2)``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar, overload

Of = TypeVar("Of")
Figures = TypeVar("Figures")


class Accessor(Generic[Of]):
    """Base of these names: it keeps nothing, what is computed stays with the analysis."""

    def __init__(self, analysis: Of) -> None:
        self._analysis = analysis

    def __repr__(self) -> str:
        names = ", ".join(name for name in dir(self) if not name.startswith("_"))
        return f"<{type(self).__name__} of {self._analysis!r}: {names}>"


class accessor(Generic[Of, Figures]):  # noqa: N801  # as `property`
    """A name of a class of `Analysis`: ``mixing = accessor(MixingFigures)``."""

    def __init__(self, kind: Callable[[Of], Figures]) -> None:
        self.kind = kind
        self.__doc__ = kind.__doc__

    @overload
    def __get__(self, analysis: None, owner: Any) -> Callable[[Of], Figures]: ...

    @overload
    def __get__(self, analysis: Of, owner: Any = None) -> Figures: ...

    def __get__(self, analysis: Of | None, owner: Any = None) -> Any:
        return self.kind if analysis is None else self.kind(analysis)

"""Registry of slices: each kind is declared where it is answered."""

from __future__ import annotations

from collections.abc import Callable, Iterator, MutableMapping
from dataclasses import dataclass
from typing import Any, TypeVar

from numpy.typing import NDArray

from attn_widget.features import declared, loaded
from attn_widget.protocol.request import Request
from attn_widget.trace.forward import Progress

Arrays = dict[str, NDArray[Any]]
Answer = tuple[dict[str, Any], Arrays]
Function = TypeVar("Function", bound=Callable[..., Answer])


@dataclass(frozen=True)
class Handler:
    """Handler of the slices of one kind."""

    # Gets the analysis and the request; if ``slow``, also a ``progress``, or None.
    function: Callable[..., Answer]
    # Reads tags of words: until the tagger is loaded, the page must ask again.
    needs_tagger: bool = False
    # Reads the matrices of all heads: those of a long text are surveyed first.
    needs_heads: bool = False
    # May take seconds: in a widget it works on a thread of its own (`attn_widget.protocol.tasks`).
    slow: bool = False

    def __call__(self, asked: Any, request: Request, progress: Progress | None = None) -> Answer:
        """Answer a checked request."""
        if self.slow:
            return self.function(asked, request, progress)
        return self.function(asked, request)


class Handlers(MutableMapping[str, Handler]):
    """Handlers by kind; those of a feature are imported when one of them is first asked for."""

    def __init__(self, later: dict[str, str]) -> None:
        self._known: dict[str, Handler] = {}
        self._later = later

    def __getitem__(self, kind: str) -> Handler:
        if kind not in self._known and kind in self._later:
            loaded(self._later[kind])
        return self._known[kind]

    def __setitem__(self, kind: str, handler: Handler) -> None:
        self._known[kind] = handler

    def __delitem__(self, kind: str) -> None:
        if self._later.pop(kind, None) is None or kind in self._known:
            del self._known[kind]

    def __iter__(self) -> Iterator[str]:
        return iter({**self._known, **self._later})

    def __len__(self) -> int:
        return len({**self._known, **self._later})


HANDLERS = Handlers(dict(declared("slices")))


def answers(
    kind: str, *, needs_tagger: bool = False, needs_heads: bool = False, slow: bool = False
) -> Callable[[Function], Function]:
    """Declare the function below as the answer to slices of a kind.

    ``kind``: as the page says it: ``{"kind": "weights", ...}``. ``needs_tagger``, ``needs_heads``, ``slow``: see
    `Handler`.

    >>> from attn_widget.protocol.answer import HANDLERS
    >>> [kind for kind in ("language", "weights") if HANDLERS[kind].needs_tagger]
    ['language']
    """

    def declare(function: Function) -> Function:
        if kind in HANDLERS:
            raise ValueError(f"two functions answer slices of the kind {kind!r}")
        HANDLERS[kind] = Handler(function, needs_tagger, needs_heads, slow)
        return function

    return declare

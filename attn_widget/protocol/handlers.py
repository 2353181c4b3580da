"""Registry of slices: each kind is declared where it is answered."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from attn_widget.protocol.request import Request

if TYPE_CHECKING:
    from attn_widget.analysis import Analysis
    from attn_widget.trace.forward import Progress

Arrays = dict[str, NDArray[Any]]
Answer = tuple[dict[str, Any], Arrays]
Handler = Callable[["Analysis", Request], Answer]
SlowHandler = Callable[["Analysis", Request, "Progress | None"], Answer]

HANDLERS: dict[str, Handler] = {}
# Kinds that read tags of words: the tagger takes seconds to load.
TAGGED: set[str] = set()
# Kinds that may take seconds: a thread computes them, and tells how far it is.
SLOW: dict[str, SlowHandler] = {}


def answers(kind: str, *, needs_tagger: bool = False) -> Callable[[Handler], Handler]:
    """Declare the function below as the answer to slices of a kind.

    Parameters
    ----------
    kind : str
        As the page says it: ``{"kind": "weights", ...}``.
    needs_tagger : bool
        Until the tagger is loaded, the page must ask again later.

    Examples
    --------
    >>> sorted(TAGGED & {"language", "weights"})
    ['language']
    """

    def declare(handler: Handler) -> Handler:
        if kind in HANDLERS:
            raise ValueError(f"two functions answer slices of the kind {kind!r}")
        HANDLERS[kind] = handler
        if needs_tagger:
            TAGGED.add(kind)
        return handler

    return declare


def answers_slowly(kind: str, *, needs_tagger: bool = False) -> Callable[[SlowHandler], Handler]:
    """Declare the function below, which takes a ``progress`` as well, as the answer to slices of a kind.

    In a widget it works on a thread of its own (`attn_widget.protocol.aside`).
    """

    def declare(handler: SlowHandler) -> Handler:
        SLOW[kind] = handler
        return answers(kind, needs_tagger=needs_tagger)(
            lambda analysis, request: handler(analysis, request, None)
        )

    return declare

"""Questions from the page, checked and answered: ``invoke("slice", request)``.

Every reply is ``{ok: true, data, arrays}`` with buffers, or ``{ok: false, error, hint}``: `replied` stands once around
all that answers, because the page would see an exception only as a time-out.
"""

from __future__ import annotations

import logging
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from numpy.typing import NDArray

from attn_widget.analysis import Analysis
from attn_widget.checks import first_line, short_repr
from attn_widget.errors import AttnWidgetError, SliceError
from attn_widget.host.installed import needing

# They declare what they answer.
from attn_widget.protocol import built  # noqa: F401  # pyright: ignore[reportUnusedImport]
from attn_widget.protocol.handlers import HANDLERS, Answer, Function
from attn_widget.protocol.pack import checked, describe, to_json
from attn_widget.protocol.request import Request, check_request
from attn_widget.protocol.slices import (  # noqa: F401
    attention,  # pyright: ignore[reportUnusedImport]
    heads,  # pyright: ignore[reportUnusedImport]
    long,  # pyright: ignore[reportUnusedImport]
    mixing,  # pyright: ignore[reportUnusedImport]
    parts,  # pyright: ignore[reportUnusedImport]
)

log = logging.getLogger("attn_widget")

MAX_REPLY_BYTES = 8_000_000
MAX_ERROR_CHARACTERS = 500  # an error may repeat what was asked
Asked = TypeVar("Asked")

Reply = tuple[dict[str, Any], list[bytes]]


class Answers(ABC):
    """Anything that answers requests of the page."""

    @abstractmethod
    def reply(self, request: Request) -> Reply:
        """The answer to a request that was checked; raises what is wrong with it."""

    def answer(self, request: object) -> Reply:
        """The answer to a request of the page; nothing about it is trusted, and nothing is raised."""
        return replied(lambda: self.reply(check_request(request)), request)


def answer(analysis: Analysis | None, request: object) -> Reply:
    """Answer one request from the page, however long it takes.

    ``analysis``: None: the widget was closed. ``request``: what the page sent; nothing about it is trusted.
    ``reply``, ``buffers``: a JSON-able dict and one buffer for each array named in ``reply["arrays"]``.
    """
    return replied(lambda: respond(analysis, check_request(request), HANDLERS), request)


def respond(
    asked: Asked | None,
    request: Request,
    handlers: Mapping[str, Callable[[Asked, Request], Answer]],
) -> Reply:
    """Answer a checked request with the handler of its kind, which gets ``asked``.

    Two threads may ask at once: what is asked keeps its figures under a lock of its own.
    """
    if asked is None:
        raise SliceError("This widget is closed.", "Run the cell again to make a new one.")
    return described(handler_of(request, handlers)(asked, request))


def handler_of(request: Request, handlers: Mapping[str, Function]) -> Function:
    """The handler of a request's kind."""
    kind = request.get("kind")
    handler = None if kind is None else handlers.get(kind)
    if handler is None:
        raise SliceError(
            f"Unknown kind of slice: {short_repr(kind)}.", f"Known: {', '.join(sorted(handlers))}."
        )
    return handler


def described(answer: Answer) -> Reply:
    """An answer as the page reads it."""
    data, arrays = answer
    ready = {name: checked(name, array) for name, array in arrays.items()}
    check_size(ready)
    reply = {"ok": True, "data": to_json(data), "arrays": describe(ready)}
    return reply, [array.tobytes() for array in ready.values()]


def replied(reply: Callable[[], Reply], request: object) -> Reply:
    """The result of ``reply``; an exception becomes a message."""
    try:
        with needing("This figure"):
            return reply()
    except AttnWidgetError as error:
        return {"ok": False, "error": cut(error.message), "hint": cut(error.hint)}, []
    except Exception as error:
        log.exception("a request could not be answered: %s", short_repr(request))
        return {
            "ok": False,
            "error": cut(f"{type(error).__name__}: {first_line(error)}"),
            "hint": "This is a bug in attn_widget; the traceback is in the kernel's log.",
        }, []


def cut(text: str) -> str:
    return text if len(text) <= MAX_ERROR_CHARACTERS else f"{text[:MAX_ERROR_CHARACTERS]}…"


def check_size(arrays: Mapping[str, NDArray[Any]]) -> None:
    total = sum(array.nbytes for array in arrays.values())
    if total > MAX_REPLY_BYTES:
        rows = max(array.shape[0] for array in arrays.values())
        fits = max(1, rows * MAX_REPLY_BYTES // total)
        raise SliceError(
            f"The answer has {total:,} bytes, more than {MAX_REPLY_BYTES:,}.",
            f"Ask for at most {fits} rows at a time.",
        )

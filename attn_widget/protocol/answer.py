"""Questions from the page, checked and answered: ``invoke("slice", request)``.

Every reply is ``{ok: true, data, arrays}`` with buffers, or ``{ok: false, error, hint}``; no
exception leaves `answer`, because the page would see it only as a time-out. ``{ok: false, later: ms}`` tells
the page to retry, while the tagger loads in the background: loading never blocks the kernel.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from numpy.typing import NDArray

from attn_widget.checks import shown
from attn_widget.errors import AttnWidgetError, SliceError
from attn_widget.protocol.built import later_views
from attn_widget.protocol.handlers import HANDLERS, TAGGED
from attn_widget.protocol.pack import checked, describe, to_json
from attn_widget.protocol.request import Request, check_request

# They declare what they answer.
from attn_widget.protocol.slices import (  # noqa: F401
    attention,  # pyright: ignore[reportUnusedImport]
    influence,  # pyright: ignore[reportUnusedImport]
    inside,  # pyright: ignore[reportUnusedImport]
    long,  # pyright: ignore[reportUnusedImport]
    mixing,  # pyright: ignore[reportUnusedImport]
    near,  # pyright: ignore[reportUnusedImport]
    streamed,  # pyright: ignore[reportUnusedImport]
)

if TYPE_CHECKING:
    from attn_widget.analysis import Analysis
    from attn_widget.protocol.handlers import Answer

log = logging.getLogger("attn_widget")

MAX_REPLY_BYTES = 8_000_000
LATER_MS = 200
MAX_SAID = 500  # characters of an error, which may repeat what was asked
Asked = TypeVar("Asked")

Reply = tuple[dict[str, Any], list[bytes]]


def answer(analysis: Analysis | None, request: object) -> Reply:
    """Answer one request from the page.

    Parameters
    ----------
    analysis : Analysis or None
        None: the widget was closed.
    request : object
        What the page sent; nothing about it is trusted.

    Returns
    -------
    reply, buffers
        A JSON-able dict and one buffer for each array named in ``reply["arrays"]``.
    """
    asks_for_code = isinstance(request, Mapping) and request.get("kind") == "code"
    return respond(analysis, request, {"code": later_views} if asks_for_code else HANDLERS)


def later(analysis: Analysis | None, request: object) -> Reply | None:
    """Reply for an answer that must wait for a tagger; None if it need not wait."""
    if analysis is None or not isinstance(request, Mapping):
        return None
    kind = request.get("kind")
    if not isinstance(kind, str) or kind not in TAGGED or analysis.has_tagger_ready:
        return None
    said = {"error": "The tagger is still being loaded.", "hint": "Ask again in a moment."}
    return {"ok": False, "later": LATER_MS, **said}, []


def respond(
    asked: Asked | None, request: object, handlers: Mapping[str, Callable[[Asked, Request], Answer]]
) -> Reply:
    """Answer one request with the handler of its kind, which gets ``asked``.

    Two threads may ask at once: what is asked keeps its figures under a lock of its own.
    """

    def reply() -> Reply:
        if asked is None:
            raise SliceError("This widget is closed.", "Run the cell again to make a new one.")
        sound = check_request(request)
        kind = sound.get("kind")
        handler = handlers.get(kind) if isinstance(kind, str) else None
        if handler is None:
            raise SliceError(
                f"Unknown kind of slice: {shown(kind)}.", f"Known: {', '.join(sorted(handlers))}."
            )
        data, arrays = handler(asked, sound)
        ready = {name: checked(name, array) for name, array in arrays.items()}
        check_size(ready)
        described = {"ok": True, "data": to_json(data), "arrays": describe(ready)}
        return described, [array.tobytes() for array in ready.values()]

    return replied(reply, request)


def replied(reply: Callable[[], Reply], request: object) -> Reply:
    """The result of ``reply``; an exception becomes a message."""
    try:
        return reply()
    except AttnWidgetError as error:
        return {"ok": False, "error": said(error.message), "hint": said(error.hint)}, []
    except Exception as error:
        log.exception("a request could not be answered: %s", shown(request))
        return {
            "ok": False,
            "error": said(f"{type(error).__name__}: {error}"),
            "hint": "This is a bug in attn_widget; the traceback is in the kernel's log.",
        }, []


def said(text: str) -> str:
    return text if len(text) <= MAX_SAID else f"{text[:MAX_SAID]}…"


def check_size(arrays: Mapping[str, NDArray[Any]]) -> None:
    total = sum(array.nbytes for array in arrays.values())
    if total > MAX_REPLY_BYTES:
        rows = max(array.shape[0] for array in arrays.values())
        fits = max(1, rows * MAX_REPLY_BYTES // total)
        raise SliceError(
            f"The answer has {total:,} bytes, more than {MAX_REPLY_BYTES:,}.",
            f"Ask for at most {fits} rows at a time.",
        )

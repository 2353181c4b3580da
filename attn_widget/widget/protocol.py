"""Questions from the page, checked and answered: ``invoke("slice", request)``.

Every reply is ``{ok: true, data, arrays}`` with buffers, or ``{ok: false, error, hint}``; no
exception leaves `answer`, because the page would see it only as a time-out.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from attn_widget.errors import AttnWidgetError, SliceError
from attn_widget.widget.pack import checked, describe, to_json
from attn_widget.widget.paint import describe_predictions, prediction_arrays

if TYPE_CHECKING:
    from attn_widget.analysis import Analysis
    from attn_widget.analysis.arrays import Head

log = logging.getLogger("attn_widget")

MAX_REPLY_BYTES = 8_000_000
MAX_TOP_K = 100
MAX_TOKEN_IDS = 1000

Reply = tuple[dict[str, Any], list[bytes]]
Answer = tuple[dict[str, Any], dict[str, NDArray[Any]]]
Request = Mapping[str, Any]


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
    try:
        if analysis is None:
            raise SliceError("This widget is closed.", "Run the cell again to make a new one.")
        if not isinstance(request, Mapping):
            raise SliceError(f"A request must be an object, got {type(request).__name__}.")
        kind = request.get("kind")
        handler = HANDLERS.get(kind) if isinstance(kind, str) else None
        if handler is None:
            raise SliceError(
                f"Unknown kind of slice: {str(kind)[:80]!r}.", f"Known: {', '.join(HANDLERS)}."
            )
        with analysis.lock:
            data, arrays = handler(analysis, request)
        ready = {name: checked(name, array) for name, array in arrays.items()}
        check_size(ready)
        reply = {"ok": True, "data": to_json(data), "arrays": describe(ready)}
        return reply, [array.tobytes() for array in ready.values()]
    except AttnWidgetError as error:
        return {"ok": False, "error": error.message, "hint": error.hint}, []
    except Exception as error:
        log.exception("a slice could not be answered: %r", request)
        return {
            "ok": False,
            "error": f"{type(error).__name__}: {error}",
            "hint": "This is a bug in attn_widget; the traceback is in the kernel's log.",
        }, []


def check_size(arrays: Mapping[str, NDArray[Any]]) -> None:
    total = sum(array.nbytes for array in arrays.values())
    if total > MAX_REPLY_BYTES:
        rows = max(array.shape[0] for array in arrays.values())
        fits = max(1, rows * MAX_REPLY_BYTES // total)
        raise SliceError(
            f"The answer has {total:,} bytes, more than {MAX_REPLY_BYTES:,}.",
            f"Ask for at most {fits} rows at a time.",
        )


def integer(request: Request, name: str, low: int, high: int) -> int:
    """``request[name]`` as an int in ``[low, high)``."""
    value = request.get(name)
    if isinstance(value, bool) or not isinstance(value, int):
        raise SliceError(f"{name} must be an integer, got {str(value)[:80]!r}.")
    if not low <= value < high:
        raise SliceError(f"{name} {value} is out of range.", f"Allowed: {low} to {high - 1}.")
    return value


def layer_of(analysis: Analysis, request: Request) -> int:
    return integer(request, "layer", 0, analysis.n_layers)


def head_of(analysis: Analysis, request: Request) -> Head:
    if request.get("head") == "mean":
        return "mean"
    return integer(request, "head", 0, analysis.n_heads)


def rows_of(analysis: Analysis, request: Request) -> slice:
    rows = request.get("rows")
    if rows is None:
        return slice(0, analysis.n_tokens)
    if not isinstance(rows, (list, tuple)) or len(rows) != 2:
        raise SliceError(f"rows must be [start, stop], got {str(rows)[:80]!r}.")
    bounds = {"start": rows[0], "stop": rows[1]}
    start = integer(bounds, "start", 0, analysis.n_tokens)
    return slice(start, integer(bounds, "stop", start + 1, analysis.n_tokens + 1))


def weights(analysis: Analysis, request: Request) -> Answer:
    layer, rows = layer_of(analysis, request), rows_of(analysis, request)
    found = analysis.attention(layer, head_of(analysis, request), rows=rows)
    arrays: dict[str, NDArray[Any]] = {"weights": found}
    allowed = analysis.trace.allowed(layer)
    if allowed is not None:
        arrays["allowed"] = allowed[rows].astype(np.uint8)
    return {}, arrays


def scores(analysis: Analysis, request: Request) -> Answer:
    layer, head = layer_of(analysis, request), integer(request, "head", 0, analysis.n_heads)
    return {}, {"scores": analysis.scores(layer, head, rows=rows_of(analysis, request))}


def qkv(analysis: Analysis, request: Request) -> Answer:
    layer, head = layer_of(analysis, request), integer(request, "head", 0, analysis.n_heads)
    rows = rows_of(analysis, request)
    arrays = {
        "q": analysis.queries(layer, head)[rows],
        "k": analysis.keys(layer, head)[rows],
        "v": analysis.values(layer, head)[rows],
    }
    return {"scaling": analysis.trace.scaling(layer)}, arrays


def metrics(analysis: Analysis, request: Request) -> Answer:
    tau = request.get("tau", 0.01)
    figures = analysis.metrics_at(tau)
    arrays = {
        f"metric:{key}": np.asarray(getattr(figures, key), dtype=np.float32) for key in figures.keys
    }
    return {"tau": figures.tau, "keys": list(figures.keys)}, arrays


def predictions(analysis: Analysis, request: Request) -> Answer:
    mode = request.get("mode", "as_is")
    top_k = integer({"top_k": request.get("top_k", 5)}, "top_k", 1, MAX_TOP_K + 1)
    found = analysis.predictions(top_k=top_k, mode=mode)
    return describe_predictions(found), prediction_arrays(found)


def softmax(analysis: Analysis, request: Request) -> Answer:
    position = integer(request, "position", 0, analysis.n_tokens)
    ids = request.get("token_ids")
    if ids is not None:
        if not isinstance(ids, (list, tuple)) or len(ids) > MAX_TOKEN_IDS:
            raise SliceError(f"token_ids must be a list of at most {MAX_TOKEN_IDS} ids.")
        size = analysis.vocab_size
        ids = [integer({"token_ids": value}, "token_ids", 0, size) for value in ids]
    mode = request.get("mode", "as_is")
    opened = asdict(analysis.softmax(position, token_ids=ids, mode=mode))
    return opened, {}


def language(analysis: Analysis, _request: Request) -> Answer:
    found = analysis.language
    tokens = found.tokens
    data = {
        "words": [asdict(word) for word in found.words],
        "sentences": [asdict(sentence) for sentence in found.sentences],
        "token_word": [token.word for token in tokens],
        "token_sentence": [token.sentence for token in tokens],
        "token_pos": [token.pos for token in tokens],
        "token_entity": [token.entity for token in tokens],
        "tagger": found.tagger_name,
        "notes": list(found.notes),
    }
    return data, {}


HANDLERS: dict[str, Callable[[Analysis, Request], Answer]] = {
    "weights": weights,
    "scores": scores,
    "qkv": qkv,
    "metrics": metrics,
    "predictions": predictions,
    "softmax": softmax,
    "language": language,
}

"""Answers to requests of a page, read as it reads them."""

from __future__ import annotations

from typing import Any

import numpy as np

from attn_widget.analysis import Analysis
from attn_widget.protocol.answer import answer

Arrays = dict[str, "np.ndarray[Any, Any]"]


def arrays_of(reply: tuple[dict[str, Any], list[bytes]]) -> Arrays:
    """The arrays of a reply that is no failure, by name."""
    header, buffers = reply
    assert header["ok"], header
    return {
        head["name"]: np.frombuffer(data, head["dtype"]).reshape(head["shape"])
        for head, data in zip(header["arrays"], buffers, strict=True)
    }


def ask(analysis: Analysis, **request: Any) -> tuple[dict[str, Any], Arrays]:
    """Data and arrays of the answer to a request that is no failure."""
    reply = answer(analysis, request)
    arrays = arrays_of(reply)
    return reply[0]["data"], arrays

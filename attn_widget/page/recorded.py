"""Slices that a saved page carries word for word, as the kernel answers them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attn_widget.analysis import Analysis
from attn_widget.checks.rounding import largest_first
from attn_widget.model.classification import LIKELIEST
from attn_widget.protocol.answer import answer

Asked = dict[str, Any]
Answered = tuple[Asked, dict[str, Any], dict[str, NDArray[Any]]]

LISTED = 20  # tokens of an opened softmax that a page can list
MASKED_TOKENS = 64  # up to here a page keeps masked predictions: one forward pass a token
# Recorded for the output of a cell: what takes milliseconds.
SMALL: tuple[Asked, ...] = (
    {"kind": "language"},
    {"kind": "specialization"},
    {"kind": "patterns"},
    {"kind": "layer_change"},
    {"kind": "metrics", "tau": 0.01},
    {"kind": "classification"},
    {"kind": "next_sentence"},
    {"kind": "first_token", "head": "mean"},
)


# Recorded for attention from one text to another.
OF_TWO_TEXTS = ("language", "layer_change", "metrics", "alignment")


def light_requests(analysis: Analysis) -> tuple[Asked, ...]:
    """`SMALL`, and the predictions in the mode that the model has."""
    if not analysis.trace.square:
        return (
            *(request for request in SMALL if request["kind"] in OF_TWO_TEXTS),
            {"kind": "alignment"},
        )
    return (*SMALL, {"kind": "predictions", "mode": analysis.model.default_mode, "top_k": 5})


def wanted(analysis: Analysis, *, masked: bool = False) -> Iterator[Asked]:
    """Slices that no reader can compute from attention, and small ones that he need not.

    ``masked``: include masked predictions of texts up to `MASKED_TOKENS`, even if they were not computed before.
    """
    if not analysis.trace.square:
        yield from (
            request for request in _of_all_runs(analysis) if request["kind"] in OF_TWO_TEXTS
        )
        yield {"kind": "alignment"}
    else:
        yield from _of_all_runs(analysis, masked=masked)


def _of_all_runs(analysis: Analysis, *, masked: bool = False) -> Iterator[Asked]:
    kinds = (
        "language", "specialization", "layer_change", "classification", "next_sentence", "patterns",
    )  # fmt: skip
    yield from ({"kind": kind} for kind in kinds)
    if analysis.model.addresses_off:
        yield {"kind": "intact"}
    yield {"kind": "roles", "seed": 0}
    yield {"kind": "roles"}
    yield from ({"kind": "metrics", "tau": tau} for tau in (0.01, "uniform"))
    yield {"kind": "predictions", "mode": analysis.model.default_mode, "top_k": LISTED}
    short = masked and analysis.trace.n_tokens <= MASKED_TOKENS
    if analysis.run is not None and (short or analysis.run.masked_known):
        yield {"kind": "predictions", "mode": "masked", "top_k": LISTED}
    yield {"kind": "first_token", "head": "mean"}
    yield from class_slices(analysis)


def class_slices(analysis: Analysis) -> Iterator[Asked]:
    """Requests for the likeliest classes of a text, and for its comparison texts."""
    classes = analysis.model.classification
    if classes is None or classes.task != "sequence":
        return
    if analysis.model.compare_with:
        yield {"kind": "beside"}
    for label in largest_first(classes.logits)[:LIKELIEST]:
        yield {"kind": "class_gradient", "label": label, "head": "mean"}


def record(analysis: Analysis, request: Asked) -> Iterator[Answered]:
    """The kernel's own answer; what it refuses is left out, and refused again by the page."""
    yield from replied(request, answer(analysis, request))


def replied(request: Asked, reply: tuple[Any, list[bytes]]) -> Iterator[Answered]:
    """A reply of the protocol with its arrays; nothing when it is a refusal."""
    header, buffers = reply
    if header["ok"]:
        arrays = {
            head["name"]: np.frombuffer(data, dtype=head["dtype"]).reshape(head["shape"])
            for head, data in zip(header["arrays"], buffers, strict=True)
        }
        yield request, header["data"], arrays

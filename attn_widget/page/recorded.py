"""Slices that a saved page carries word for word, as the kernel answers them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attn_widget.analysis import Analysis
from attn_widget.analysis.model import LIKELIEST
from attn_widget.checks.rounding import largest_first
from attn_widget.errors import NotAvailableError
from attn_widget.features.why.slices import canonical, described
from attn_widget.features.why.targets import Target
from attn_widget.protocol.answer import answer
from attn_widget.trace.embeddings import embedding_parts
from attn_widget.trace.layer_activations import inside

Asked = dict[str, Any]
Answered = tuple[Asked, dict[str, Any], dict[str, NDArray[Any]]]

LISTED = 20  # tokens of an opened softmax that a page can list
MASKED_TOKENS = 64  # up to here a page keeps masked predictions: one forward pass a token
MAX_SENTENCES = 40  # beyond, the matrices of every layer outweigh the attention itself
TESTED_TOKENS = 10  # up to here a page tests all methods of Why: at most 256 sets of masked words
# Methods whose contributions take one or two passes of the model.
QUICK = (
    "decomposition",
    "gradient_x_input",
    "attention_gradient",
    "weights",
    "norms",
    "mixing",
    "alti",
)
# Methods that a page of its own also has of a short text: a pass per token, layer or head of it.
MORE = ("occlusion", "value_zeroing")
NEVER = ("integrated_gradients",)  # refused by decoders, without a pass
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
    {"kind": "sentences", "aggregation": "mass"},
    {"kind": "sentences", "aggregation": "max"},
)


# Recorded for attention from one text to another.
OF_TWO_TEXTS = ("language", "layer_change", "metrics", "alignment", "sentences")


def light_requests(analysis: Analysis) -> tuple[Asked, ...]:
    """`SMALL`, and the predictions in the mode that the model has."""
    if not analysis.trace.square:
        return (
            *(request for request in SMALL if request["kind"] in OF_TWO_TEXTS),
            {"kind": "alignment"},
        )
    return (*SMALL, {"kind": "predictions", "mode": analysis.default_mode, "top_k": 5})


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
    if analysis.part in ("decoder", "cross") and analysis.run is not None:
        yield {"kind": "written_shares"}


def _of_all_runs(analysis: Analysis, *, masked: bool = False) -> Iterator[Asked]:
    kinds = (
        "language", "specialization", "layer_change", "hidden_path", "residuals", "architecture",
        "classification", "next_sentence", "patterns",
    )  # fmt: skip
    yield from ({"kind": kind} for kind in kinds)
    if analysis.addresses_off:
        yield {"kind": "intact"}
    yield {"kind": "roles", "seed": 0}
    yield {"kind": "roles"}
    yield from ({"kind": "metrics", "tau": tau} for tau in (0.01, "uniform"))
    yield {"kind": "predictions", "mode": analysis.default_mode, "top_k": LISTED}
    short = masked and analysis.n_tokens <= MASKED_TOKENS
    if analysis.run is not None and (short or analysis.run.masked_known):
        yield {"kind": "predictions", "mode": "masked", "top_k": LISTED}
    yield {"kind": "first_token", "head": "mean"}
    yield from class_slices(analysis)
    if len(analysis.known_language.sentences) <= MAX_SENTENCES:
        for aggregation in ("mass", "max"):
            yield {"kind": "sentences", "aggregation": aggregation}
            for layer in range(analysis.n_layers):
                yield {"kind": "sentences", "aggregation": aggregation, "layer": layer}


def why_slices(
    analysis: Analysis, targets: Sequence[Target], *, whole: bool, short: bool = False
) -> Iterator[Answered]:
    """Answers that the view Why shows of `targets`, and the list of them; nothing without any.

    ``whole``: all methods, their tests and the effects of heads; else what takes one or two passes.
    ``short``: the effects of heads, and methods with a pass for each token or layer, too.
    A method that a decoder does not have is recorded with the reason, and so are numbers from elsewhere about another target,
    and the test of an encoder-decoder.
    """
    if not targets:
        return
    decoder = analysis.default_mode == "next"
    two_texts = analysis.part != "self"
    # On cross-attention the decoder answers for all but the effects of heads.
    methods_of = () if analysis.part == "cross" else analysis.methods
    yield {"kind": "targets"}, {"targets": [described(analysis, target) for target in targets]}, {}
    for wanted_target in targets:
        target = canonical(analysis, wanted_target)
        requests: list[Asked] = [
            {"kind": "contributions", "target": target, "method": method}
            for method in methods_of
            if whole
            or two_texts
            or method in (*QUICK, *analysis.outside)
            or (short and method in MORE)
            or (decoder and method in NEVER)
        ]
        answers: list[Answered] = []
        for request in requests:
            reply = answer(analysis, request)
            answers += (found := list(replied(request, reply)))
            if not found and (decoder or request["method"] in analysis.outside):
                yield refused(request, reply)
        yield from answers
        methods = [request["method"] for request, _, _ in answers]
        if (whole or two_texts) and methods:
            request = {"kind": "trust", "target": target, "methods": methods}
            reply = answer(analysis, request)
            found = list(replied(request, reply))
            yield from found or ([refused(request, reply)] if two_texts else [])
        if whole or short:
            yield from record(analysis, {"kind": "head_effects", "target": target})
        yield from record(analysis, {"kind": "logit_lens", "target": target})
        if decoder:
            yield from record(analysis, {"kind": "components", "target": target})


def refused(request: Asked, reply: tuple[Any, list[bytes]]) -> Answered:
    """A refusal with its reason, which a page gives in the kernel's words."""
    return request, {"refused": {key: reply[0][key] for key in ("error", "hint")}}, {}


def class_slices(analysis: Analysis) -> Iterator[Asked]:
    """Requests for the likeliest classes of a text, and for its comparison texts."""
    classes = analysis.classification
    if classes is None or classes.task != "sequence":
        return
    if analysis.beside:
        yield {"kind": "beside"}
    for label in largest_first(classes.logits)[:LIKELIEST]:
        yield {"kind": "class_gradient", "label": label, "head": "mean"}


def record(analysis: Analysis, request: Asked) -> Iterator[Answered]:
    """The kernel's own answer; what it refuses is left out, and refused again by the page."""
    for question, data, arrays in replied(request, answer(analysis, request)):
        if request["kind"] == "architecture":
            # A page may lack the tensors whose widths stand on the map.
            data = {**data, "widths": widths(analysis)}
        yield question, data, arrays


def replied(request: Asked, reply: tuple[Any, list[bytes]]) -> Iterator[Answered]:
    """A reply of the protocol with its arrays; nothing when it is a refusal."""
    header, buffers = reply
    if header["ok"]:
        arrays = {
            head["name"]: np.frombuffer(data, dtype=head["dtype"]).reshape(head["shape"])
            for head, data in zip(header["arrays"], buffers, strict=True)
        }
        yield request, header["data"], arrays


def widths(analysis: Analysis) -> dict[str, int]:
    """Columns of three tensors, whatever the text: found with a very short one, where one text is read. Empty where unknown."""
    if analysis.run is None:
        return {}
    encoder = analysis.run.encoder
    shortest = analysis.run.encoding if encoder.parts else encoder.encode("a")
    try:
        parts, embeddings = inside(encoder, shortest, 0), embedding_parts(encoder, shortest)
    except NotAvailableError:
        return {}
    tensors = {
        "sum": embeddings.sum,
        "attention_output": parts.attention_output,
        "ffn_activation": parts.ffn_activation,
    }
    return {name: int(t.shape[1]) for name, t in tensors.items()}

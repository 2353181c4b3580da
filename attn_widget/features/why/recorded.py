"""The data of the view Why in a saved page."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from attn_widget.analysis import Analysis
from attn_widget.analysis.base import methods_from_elsewhere
from attn_widget.analysis.long.detail import ROLLOUT_TOKENS
from attn_widget.features.why.proposals import proposals
from attn_widget.features.why.slices import as_target, canonical, described
from attn_widget.features.why.targets import Target
from attn_widget.page.recorded import MASKED_TOKENS, Answered, Asked, record, replied
from attn_widget.page.spec import PageSpec
from attn_widget.protocol.answer import answer

TESTED_TOKENS = 10  # up to here a page tests all methods of Why: at most 256 sets of masked words
# Up to here a page measures effects of heads unasked, a pass through half of the layers for each, and value zeroing, which runs
# each layer for each token: a third of the time of a page of a decoder with 270 heads.
FEW_HEADS = 144
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
# Methods that a page of its own also has of a short text: a pass per token of it, and with few heads every layer per token.
MORE, WITH_FEW_HEADS = ("occlusion",), ("occlusion", "value_zeroing")
NEVER = ("integrated_gradients",)  # refused by decoders, without a pass


def answers_of(analysis: Analysis, chosen: Mapping[str, Any], spec: PageSpec) -> list[Answered]:
    """Answers that the view shows of a run, and of an encoder-decoder the shares of what it wrote."""
    given = None if analysis.part == "encoder" else spec.why
    explained = targets_of(analysis, chosen, light=spec.light) if given is None else given or []
    few = analysis.trace.n_tokens <= MASKED_TOKENS and not spec.light
    tested = spec.masked and analysis.trace.n_tokens <= TESTED_TOKENS
    whole = given is not None or (few and (tested or bool(chosen.get("target"))))
    found = [
        *why_slices(analysis, explained, whole=whole and not spec.light, short=few and spec.masked)
    ]
    written = analysis.part in ("decoder", "cross") and analysis.run is not None
    if found and written and not spec.light:
        found += record(analysis, {"kind": "written_shares"})
    return found


def targets_of(analysis: Analysis, chosen: Mapping[str, Any], *, light: bool) -> list[Target]:
    """The target of the selection; without one what the text proposes, but for the output of a cell.

    None for a view of words, since a target is a token of its base, and for a text whose methods would multiply matrices too
    large for a rollout: it takes a ``why`` of its own.
    """
    if analysis.base is not None:
        return []
    if chosen.get("target") is not None:
        return [as_target(chosen["target"])]
    if analysis.part == "cross":  # its heads have effects on what the decoder writes
        analysis = analysis.model.writing
    long = analysis.trace.n_tokens > ROLLOUT_TOKENS
    return [] if light or long or analysis.trace.windows is not None else proposals(analysis)[:1]


def why_slices(
    analysis: Analysis, targets: Sequence[Target], *, whole: bool, short: bool = False
) -> Iterator[Answered]:
    """Answers about `targets`, and the list of them; nothing without any.

    ``whole``: all methods, their tests and the effects of heads; else what takes one or two passes.
    ``short``: methods with a pass for each token, and where heads are few their effects and value zeroing, too.
    A method that a decoder does not have is recorded with the reason, and so are numbers from elsewhere about another target,
    and the test of an encoder-decoder.
    """
    if not targets:
        return
    decoder = analysis.model.default_mode == "next"
    two_texts = analysis.part != "self"
    few_heads = analysis.trace.n_layers * analysis.trace.n_heads <= FEW_HEADS
    more = WITH_FEW_HEADS if few_heads else MORE
    # On cross-attention the decoder answers for all but the effects of heads.
    methods_of = () if analysis.part == "cross" else analysis.why.methods
    yield {"kind": "targets"}, {"targets": [described(analysis, target) for target in targets]}, {}
    for wanted_target in targets:
        target = canonical(analysis, wanted_target)
        requests: list[Asked] = [
            {"kind": "contributions", "target": target, "method": method}
            for method in methods_of
            if whole
            or two_texts
            or method in (*QUICK, *methods_from_elsewhere(analysis))
            or (short and method in more)
            or (decoder and method in NEVER)
        ]
        answers: list[Answered] = []
        for request in requests:
            reply = answer(analysis, request)
            answers += (found := list(replied(request, reply)))
            if not found and (decoder or request["method"] in methods_from_elsewhere(analysis)):
                yield refused(request, reply)
        yield from answers
        methods = [request["method"] for request, _, _ in answers]
        if (whole or two_texts) and methods:
            request = {"kind": "trust", "target": target, "methods": methods}
            reply = answer(analysis, request)
            found = list(replied(request, reply))
            yield from found or ([refused(request, reply)] if two_texts else [])
        if whole or (short and few_heads):
            yield from record(analysis, {"kind": "head_effects", "target": target})
        yield from record(analysis, {"kind": "logit_lens", "target": target})
        if decoder:
            yield from record(analysis, {"kind": "components", "target": target})


def refused(request: Asked, reply: tuple[Any, list[bytes]]) -> Answered:
    """A refusal with its reason, which a page gives in the kernel's words."""
    return request, {"refused": {key: reply[0][key] for key in ("error", "hint")}}, {}

"""Slices of what matters for a target: contributions, their tests, effects of heads."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from math import isnan
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from attn_widget.analysis import Analysis
from attn_widget.checks.rounding import rounding
from attn_widget.errors import SliceError
from attn_widget.features.why.proposals import proposals
from attn_widget.features.why.targets import Target
from attn_widget.host.installed import require_torch
from attn_widget.language.whole_words import beginnings
from attn_widget.model.encoder import Ablation
from attn_widget.protocol.handlers import Answer, answers
from attn_widget.protocol.request import Request, one_of
from attn_widget.trace.forward import Progress

if TYPE_CHECKING:
    from attn_widget.features.why.faithfulness import Faithfulness

FIELDS = tuple(Target.__dataclass_fields__)


def target_of(request: Request) -> Target:
    """``request["target"]`` as a `Target`."""
    return as_target(request.get("target"))


def as_target(given: object) -> Target:
    """A mapping with fields of `Target` as one.

    Raises `SliceError`: not a mapping, or a name that is no field. Raises `InputError`, `InputTypeError`: as
    `Target` raises them.
    """
    if not isinstance(given, Mapping):
        raise SliceError(f"target must be an object, got {type(given).__name__}.")
    unknown = [str(name)[:80] for name in given if name not in FIELDS]
    if unknown:
        raise SliceError(f"target has no {unknown[0]!r}.", f"Known: {', '.join(FIELDS)}.")
    return Target(**given)


def plain(target: Target) -> dict[str, Any]:
    """A target as the page has it: without what is not given."""
    # An analysis that a target holds can neither be copied nor sent: its text can.
    other = target.similar_to
    sent = target if other is None else replace(target, similar_to=target.other_text)
    fields = asdict(sent).items()
    return {name: value for name, value in fields if value is not None and value is not False}


def canonical(analysis: Analysis, target: Target) -> dict[str, Any]:
    """`plain`, by vocabulary ids and indices of classes.

    Raises `InputError`, `NotAvailableError`: the run has no such target.
    """
    _where, _run, bound = analysis.model.writing.why._bound(target)  # pyright: ignore[reportPrivateUsage]
    return plain(bound.as_target(target))


def described(analysis: Analysis, target: Target) -> dict[str, Any]:
    """A target with its words, for people."""
    _where, run, bound = analysis.model.writing.why._bound(target)  # pyright: ignore[reportPrivateUsage]
    from attn_widget.features.why.bound_target import names_of  # with torch

    names = names_of(run, target, bound)
    said = {"target": plain(bound.as_target(target)), "of": bound.kind, "names": names}
    next_word = bound.kind == "token" and run.encoder.predicts == "next"
    return {**said, "beginnings": beginnings(names)} if next_word else said


@answers("targets", slow=True)
def targets(analysis: Analysis, _request: Request, progress: Progress | None) -> Answer:
    if analysis.run is not None:
        require_torch("Why")
    proposed = proposals(analysis.model.writing, progress)
    return {"targets": [described(analysis, proposal) for proposal in proposed]}, {}


@answers("contributions", needs_tagger=True, slow=True)
def contributions(analysis: Analysis, request: Request, progress: Progress | None) -> Answer:
    target = target_of(request)
    method = one_of(request, "method", analysis.why.methods)
    explained = analysis.why.contributions(target, method, progress=progress)
    whole = max(float(np.abs(explained.values).sum()), abs(explained.value))
    terms = (whole, explained.bias, explained.baseline)
    data = {
        **described(analysis, target),
        "method": method,
        "signed": explained.signed,
        "value": explained.value,
        "error": value_error(analysis, terms),
        "bias": explained.bias,
        "baseline": explained.baseline,
        "gap": explained.gap,
    }
    arrays = {"values": explained.values}
    if explained.source is not None:
        arrays["source"] = explained.source
    return data, arrays


def value_error(analysis: Analysis, sizes: Iterable[float | None]) -> float:
    """By how much processors may differ in a target, the sum of terms of these sizes: a logit is a sum over the width of every layer."""
    hidden = analysis.trace.hidden_states
    width = 1 if hidden is None else hidden.shape[-1]
    size = sum(abs(size) for size in sizes if size is not None)
    return rounding(size, width, analysis.trace.n_layers)


@answers("trust", needs_tagger=True, slow=True)
def trust(analysis: Analysis, request: Request, progress: Progress | None) -> Answer:
    target, methods, available = target_of(request), request.get("methods"), analysis.why.methods
    if not isinstance(methods, (list, tuple)) or not 1 <= len(methods) <= len(available):
        raise SliceError("methods must be a list of names of methods.", f"Known: {available}.")
    names = [one_of({"methods": name}, "methods", available) for name in methods]
    agreed = analysis.why.agreement(target, names) if len(names) > 1 else None
    data, arrays = masking_test(analysis.why.faithfulness(target, names, progress=progress), names)
    if agreed is not None:
        arrays["rho"] = np.asarray(agreed.rho, np.float32)
    return data, arrays


def masking_test(tested: Faithfulness, names: Sequence[str]) -> Answer:
    """The result of a masking test, as the page reads it."""
    random = tested.random
    mean, low, high = tested.band()
    arrays = {
        "shares": random.shares,
        "deleted": np.stack([curve.deleted for curve in tested.curves.values()]),
        "random": np.stack([random.mean, random.low, random.high]),
    }
    data = {
        "methods": [*names],
        "probability": tested.probability,
        "comprehensiveness": [curve.comprehensiveness for curve in tested.curves.values()],
        "sufficiency": [curve.sufficiency for curve in tested.curves.values()],
        "tests": [
            None if isnan(test.adjusted) else {**asdict(test), "better": test.better}
            for test in tested.tests.values()
        ],
        "untestable": tested.untestable,
        "random": {
            **{"mean": mean, "low": low, "high": high, "orders": random.orders},
            **{"drawn": random.drawn, "words": random.words},
        },
    }
    return data, {name: np.asarray(array, np.float32) for name, array in arrays.items()}


@answers("head_effects", slow=True)
def head_effects(analysis: Analysis, request: Request, progress: Progress | None) -> Answer:
    ablation = cast(
        "Ablation", one_of({"ablation": "zero", **request}, "ablation", ("zero", "mean"))
    )
    measured = analysis.why.head_effects(target_of(request), ablation, progress=progress)
    arrays = {
        "effects": measured.effects,
        "divergence": measured.divergence,
        "proxy": measured.proxy,
    }
    return {"value": measured.value, "correlation": measured.correlation}, arrays


@answers("components")
def components(analysis: Analysis, request: Request) -> Answer:
    """A next token's logit as a sum over heads, MLPs and the embedding."""
    target = target_of(request)
    found = analysis.why.components(target)
    data = {
        **described(analysis, target),
        "value": found.value,
        "embedding": found.embedding,
        "bias": found.bias,
        "gap": found.gap,
    }
    return data, {"heads": found.heads, "mlps": found.mlps}


@answers("logit_lens")
def logit_lens(analysis: Analysis, request: Request) -> Answer:
    target = target_of(request)
    lens = analysis.why.logit_lens(target)
    arrays = {
        "values": lens.values,
        "probabilities": lens.probabilities,
        "ranks": lens.ranks,
    }
    return described(analysis, target), arrays


@answers("written_shares", slow=True)
def written_shares(analysis: Analysis, _request: Request, _progress: Progress | None) -> Answer:
    """Shares of source, of what was written before and of biases in each written token."""
    written = analysis.model.writing.why.written_shares
    arrays = {"shares": written.shares, "logits": written.logits, "source": written.source}
    return {"tokens": [*written.tokens], "gap": written.gap}, {
        **arrays,
        "prefix": written.prefix,
        "bias": written.bias,
    }

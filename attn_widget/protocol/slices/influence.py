"""Slices of what matters for a target: contributions, their tests, effects of heads."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from attn_widget.errors import SliceError
from attn_widget.influence.methods import METHODS, Method
from attn_widget.influence.targets import Target
from attn_widget.protocol.handlers import Answer, answers, answers_slowly
from attn_widget.protocol.request import Request, one_of

if TYPE_CHECKING:
    from attn_widget.analysis import Analysis
    from attn_widget.model.encoder import Ablation
    from attn_widget.trace.forward import Progress

FIELDS = tuple(Target.__dataclass_fields__)


def target_of(request: Request) -> Target:
    """``request["target"]`` as a `Target`."""
    return as_target(request.get("target"))


def as_target(given: object) -> Target:
    """A mapping with fields of `Target` as one.

    Raises
    ------
    SliceError
        Not a mapping, or a name that is no field.
    InputError, InputTypeError
        As `Target` raises them.
    """
    if not isinstance(given, Mapping):
        raise SliceError(f"target must be an object, got {type(given).__name__}.")
    unknown = [str(name)[:80] for name in given if name not in FIELDS]
    if unknown:
        raise SliceError(f"target has no {unknown[0]!r}.", f"Known: {', '.join(FIELDS)}.")
    return Target(**given)


def plain(target: Target) -> dict[str, Any]:
    """A target as the page has it: without what is not given."""
    fields = asdict(target).items()
    return {name: value for name, value in fields if value is not None and value is not False}


def canonical(analysis: Analysis, target: Target) -> dict[str, Any]:
    """`plain`, by vocabulary ids and indices of classes.

    Raises
    ------
    InputError, NotAvailableError
        The run has no such target.
    """
    _where, _run, bound = analysis._bound(target)  # pyright: ignore[reportPrivateUsage]
    return plain(bound.as_target(target))


def described(analysis: Analysis, target: Target) -> dict[str, Any]:
    """A target with its words, for people."""
    _where, run, bound = analysis._bound(target)  # pyright: ignore[reportPrivateUsage]
    ids = [bound.plus] if bound.minus is None else [bound.plus, bound.minus]
    if bound.kind == "token":
        names = run.encoder.token_texts(ids)
    elif bound.kind == "class":
        names = [run.encoder.id2label.get(one, f"LABEL_{one}") for one in ids]
    else:
        names = ["is next"]
    return {"target": plain(bound.as_target(target)), "of": bound.kind, "names": names}


@answers("targets")
def targets(analysis: Analysis, _request: Request) -> Answer:
    from attn_widget.analysis.influence.proposals import proposals

    return {"targets": [described(analysis, proposal) for proposal in proposals(analysis)]}, {}


@answers_slowly("contributions", needs_tagger=True)
def contributions(analysis: Analysis, request: Request, progress: Progress | None) -> Answer:
    target = target_of(request)
    method = cast("Method", one_of(request, "method", METHODS))
    explained = analysis.contributions(target, method, progress=progress)
    data = {
        **described(analysis, target),
        "method": method,
        "signed": explained.signed,
        "value": explained.value,
        "bias": explained.bias,
        "baseline": explained.baseline,
        "gap": explained.gap,
    }
    return data, {"values": explained.values}


@answers_slowly("trust", needs_tagger=True)
def trust(analysis: Analysis, request: Request, progress: Progress | None) -> Answer:
    target, methods = target_of(request), request.get("methods")
    if not isinstance(methods, (list, tuple)) or not 1 <= len(methods) <= len(METHODS):
        raise SliceError("methods must be a list of names of methods.", f"Known: {METHODS}.")
    names = [one_of({"methods": name}, "methods", METHODS) for name in methods]
    agreed = analysis.agreement(target, names) if len(names) > 1 else None
    tested = analysis.faithfulness(target, names, progress=progress)
    random = tested.random
    mean, low, high = tested.band()
    arrays = {
        "shares": random.shares,
        "deleted": np.stack([curve.deleted for curve in tested.curves.values()]),
        "random": np.stack([random.mean, random.low, random.high]),
    }
    if agreed is not None:
        arrays["rho"] = agreed.rho
    data = {
        "methods": names,
        "probability": tested.probability,
        "comprehensiveness": [curve.comprehensiveness for curve in tested.curves.values()],
        "sufficiency": [curve.sufficiency for curve in tested.curves.values()],
        "tests": [
            None if test.better is None else {**asdict(test), "better": test.better}
            for test in tested.tests.values()
        ],
        "untestable": tested.untestable,
        "random": {
            **{"mean": mean, "low": low, "high": high, "orders": random.orders},
            **{"drawn": random.drawn, "words": random.words},
        },
    }
    return data, {name: np.asarray(array, np.float32) for name, array in arrays.items()}


@answers_slowly("head_effects")
def head_effects(analysis: Analysis, request: Request, progress: Progress | None) -> Answer:
    ablation = cast(
        "Ablation", one_of({"ablation": "zero", **request}, "ablation", ("zero", "mean"))
    )
    measured = analysis.head_effects(target_of(request), ablation, progress=progress)
    arrays = {
        "effects": measured.effects,
        "divergence": measured.divergence,
        "proxy": measured.proxy,
    }
    return {"value": measured.value, "correlation": measured.correlation}, arrays


@answers("logit_lens")
def logit_lens(analysis: Analysis, request: Request) -> Answer:
    target = target_of(request)
    lens = analysis.logit_lens(target)
    arrays = {
        "values": lens.values,
        "probabilities": lens.probabilities,
        "ranks": lens.ranks,
    }
    return described(analysis, target), arrays

"""A run that opens on the view Why."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from attn_widget.analysis import Analysis
from attn_widget.errors import InputError
from attn_widget.features.why.proposals import proposals
from attn_widget.features.why.slices import as_target
from attn_widget.features.why.targets import Target
from attn_widget.host.installed import import_torch_early, require_torch


def import_torch() -> None:
    """Import torch early: the page asks for gradients once the kernel is idle."""
    import_torch_early()


def with_contributions(
    analysis: Analysis, contributions: Mapping[str, Any], traits: Mapping[str, Any]
) -> tuple[Analysis, dict[str, Any]]:
    """The run with numbers of another library, and the traits with which `attn_widget.show` opens it."""
    analysis = analysis.model.writing
    target = target_of(analysis, traits.get("target"))
    part = {} if analysis.part == "self" else {"part": analysis.part}
    return (
        analysis.why.with_contributions(contributions, target),
        {"view": "why", **part, **traits, "target": target},
    )


def target_of(analysis: Analysis, chosen: Target | Mapping[str, Any] | None) -> Target:
    """Target of contributions from elsewhere: the chosen one, or the one that Why opens on."""
    if isinstance(chosen, Target):
        return chosen
    if chosen is not None:
        return as_target(chosen)
    analysis._require_model("contributions")  # pyright: ignore[reportPrivateUsage]
    require_torch("Why")
    proposed = proposals(analysis)
    if not proposed:
        raise InputError(
            "contributions are given, and this text proposes nothing that they could be about.",
            "Name it: target=attn_widget.target(...).",
        )
    return proposed[0]

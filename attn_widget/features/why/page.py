"""The option ``why`` of pages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypedDict

from attn_widget.analysis import Analysis
from attn_widget.checks import check_several
from attn_widget.features.why.targets import Target, check_target
from attn_widget.protocol.fields import option


def targets(given: Any) -> list[Target]:
    """Targets, one of which may stand alone; none of False."""
    if given is False:
        return []
    several = [given] if isinstance(given, Target) else given
    return [check_target(target) for target in check_several(several, "why", "targets")]


def check_bound(analysis: Analysis, targets: Sequence[Target]) -> None:
    """Refuse targets that a run does not have."""
    from attn_widget.features.why.slices import canonical

    for target in targets:
        canonical(analysis, target)


@dataclass(frozen=True, kw_only=True)
class WhyPage:
    """Targets of the view Why without a kernel."""

    # Explained by all methods, with their tests and the effects of heads. By default the chosen target or, without
    # one, the text's proposal: by the quick methods, and for a text of up to 10 tokens by all of them with their
    # test. False leaves the view out, which takes most of the time of a short text's page.
    why: Sequence[Target] | Literal[False] | None = option(
        targets, of_a_run=("has no targets to explain.", "Leave why out."), fits=check_bound
    )


class WhyOption(TypedDict, total=False):
    """The same as a keyword."""

    why: Sequence[Target] | Literal[False] | None

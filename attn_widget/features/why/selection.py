"""The selection in the view Why: fields of a `Selection`, and options of `show`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypedDict

from attn_widget.features.why.methods import METHODS, Method
from attn_widget.features.why.targets import Target
from attn_widget.protocol.fields import one_of


@dataclass(frozen=True, kw_only=True)
class WhySelection:
    """Fields of the view Why."""

    # Fields of an `attn_widget.features.why.targets.Target`, by ids; None: the text's own proposal.
    target: Mapping[str, Any] | None = None
    method: str = one_of("decomposition", METHODS)


class WhyOptions(TypedDict, total=False):
    """Traits of the view Why."""

    target: Target | Mapping[str, Any] | None
    method: Method | str | None


class ContributionsOption(TypedDict, total=False):
    """Option of `attn_widget.show` alone."""

    contributions: Mapping[str, Any] | None

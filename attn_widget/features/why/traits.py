"""The traits that the view Why has in a widget."""

from __future__ import annotations

from typing import Any

import traitlets as t

from attn_widget.checks import check_choice
from attn_widget.features.why.selection import WhySelection
from attn_widget.features.why.slices import as_target, canonical, plain
from attn_widget.features.why.targets import Target
from attn_widget.widget.traits import RunTraits, Trait, as_trait_error, synced


def as_plain(value: Any) -> Any:
    """A target as the trait keeps it; anything else as it is."""
    return plain(value) if isinstance(value, Target) else value


class WhyTraits(RunTraits):
    """Target and method of the view Why."""

    target: t.TraitType[dict[str, Any] | None, Target | dict[str, Any] | None] = synced(
        t.Instance(dict, allow_none=True)
    ).tag(plain=as_plain)
    """Number that the view Why explains: None (default; derived from the text) or a target from `attn_widget.target`.
    It is stored as a dict of its fields by ids, which ``target(**w.target)`` turns into a target again."""
    method: Trait[str] = synced(t.Unicode(WhySelection.method))
    """Method of the contributions that color the text in Why; see `Analysis.why.contributions`."""

    def _in_another(self, analysis: Any, *, same: bool) -> dict[str, Any]:
        kept = self.method in analysis.why.methods  # numbers from elsewhere are of one run
        return {
            **super()._in_another(analysis, same=same),
            "method": self.method if kept else WhySelection.method,
            **({} if same else {"target": None}),
        }

    @t.validate("target")
    def _valid_target(self, proposal: Any) -> dict[str, Any] | None:
        value = proposal["value"]
        if value is None:
            return None
        with as_trait_error("target: "):
            return canonical(self.analysis, as_target(value))

    @t.validate("method")
    def _valid_method(self, proposal: Any) -> str:
        with as_trait_error():
            return check_choice(proposal["value"], "method", self.analysis.why.methods)

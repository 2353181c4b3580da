"""Traits that change the run, not the selection: masked tokens, heads that are off, and the part that is shown."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from attn_widget.analysis import Analysis
from attn_widget.analysis.analysis import checked_heads_off, checked_mask
from attn_widget.checks import check_choice, short_repr
from attn_widget.errors import NotAvailableError
from attn_widget.trace.forward import Progress


@dataclass(frozen=True)
class Intervention:
    """A trait whose value follows from the run that is shown; a new value is run first."""

    of: Callable[[Analysis], Any]  # value of the trait for a run
    # Gets the run that is shown and a value of the trait's type; returns the value as ``of`` would. Raises
    # `AttnWidgetError`.
    check: Callable[[Analysis, Any], Any]
    # Gets the run that is shown, a checked value and ``progress``; returns the run of that value.
    run: Callable[[Analysis, Any, Progress | None], Analysis]
    is_pass: bool = True  # True if ``run`` runs the model


def part_of(analysis: Analysis) -> str | None:
    """Value of the trait `part`."""
    return None if analysis.part == "self" else analysis.part


def check_part(analysis: Analysis, name: str | None) -> str:
    """The name of a part of a run.

    Raises `NotAvailableError`: a run of one text. Raises `InputError`: a part that the run has not.
    """
    if analysis.part == "self":
        raise NotAvailableError(
            f"part is {short_repr(name)}, and this run reads one text: its model is no encoder-decoder.",
            "Leave part out.",
        )
    return check_choice(name, "part", analysis.model.parts)


def _pairs(heads: Any) -> list[Any]:
    return [tuple(head) if isinstance(head, list) else head for head in heads]


INTERVENTIONS = {
    "masked": Intervention(
        of=lambda analysis: [hidden.token for hidden in analysis.model.masked],
        check=lambda analysis, tokens: [*checked_mask(analysis, tokens)],
        run=lambda analysis, tokens, progress: analysis.mask(tokens, progress=progress),
    ),
    "heads_off": Intervention(
        of=lambda analysis: [[*address] for address in analysis.model.addresses_off],
        check=lambda analysis, heads: [[*a] for a in checked_heads_off(analysis, _pairs(heads))],
        run=lambda analysis, heads, progress: analysis.ablate(_pairs(heads), progress=progress),
    ),
    "part": Intervention(
        of=part_of,
        check=check_part,
        run=lambda analysis, name, _progress: analysis.of(name),
        is_pass=False,
    ),
}

# Action of the page: the trait, the field of the request, and the items of that list.
ACTIONS = {
    "mask": ("masked", "tokens", "positions"),
    "switch_off": ("heads_off", "heads", "[layer, head]"),
}


def values_of(analysis: Analysis) -> dict[str, Any]:
    """Values of these traits for a run, by name."""
    return {name: each.of(analysis) for name, each in INTERVENTIONS.items()}

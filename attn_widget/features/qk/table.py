"""Direct and total effects, as they are given out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from attn_widget.features.qk.split import Part, Side
from attn_widget.host.frames import Records


@dataclass(frozen=True)
class Effect:
    """Effect of one part on a contrast.

    Attributes
    ----------
    part : int
        Its index in its side.
    direct : float
        What it brings with all else held.
    total : float
        By how much the contrast falls without it.
    weight : float
        The cell's weight without it.
    """

    part: int
    direct: float
    total: float
    weight: float


@dataclass(frozen=True)
class Effects(Records):
    """Direct and total effects of a side's parts.

    Attributes
    ----------
    side : {"query", "key"}
    parts : tuple of Part
        Of the whole side.
    effects : tuple of Effect
    weight : float
        The cell's weight as it is.
    """

    side: Side
    parts: tuple[Part, ...]
    effects: tuple[Effect, ...]
    weight: float

    def to_records(self) -> list[dict[str, Any]]:
        """One record a part: ``part, direct, total, weight``."""
        return [
            {
                "part": self.parts[effect.part].name,
                "direct": effect.direct,
                "total": effect.total,
                "weight": effect.weight,
            }
            for effect in self.effects
        ]

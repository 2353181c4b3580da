"""Names of the methods that give contributions (docs/influence.md, section 2)."""

from __future__ import annotations

from typing import Literal, get_args

Signed = Literal["decomposition", "gradient_x_input", "integrated_gradients", "occlusion"]
Rolled = Literal["weights", "norms", "mixing", "alti", "value_zeroing"]
Method = Literal[Signed, "attention_gradient", Rolled]
SIGNED: tuple[str, ...] = get_args(Signed)
ROLLED: tuple[str, ...] = get_args(Rolled)
METHODS: tuple[str, ...] = (*SIGNED, "attention_gradient", *ROLLED)

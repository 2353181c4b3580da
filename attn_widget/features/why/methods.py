"""The methods that give contributions (docs/influence.md, section 2), with their names for the page."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal, get_args

Signed = Literal["decomposition", "gradient_x_input", "integrated_gradients", "occlusion"]
Rolled = Literal["weights", "norms", "mixing", "alti", "value_zeroing"]
Method = Literal[Signed, "attention_gradient", Rolled]
SIGNED: tuple[str, ...] = get_args(Signed)


@dataclass(frozen=True)
class MethodTexts:
    """Name of a method, and how it works in a line."""

    name: str  # name, short: on screen; in a sentence and in tables
    short: str
    about: str
    quick: bool = True  # it takes one or two passes of the model, whatever the text's length


METHOD_TEXTS: dict[str, MethodTexts] = {
    "decomposition": MethodTexts(
        "Decomposition",
        "decomposition",
        "The network, linearized at this run; adds up to the target with a bias (after Modarressi et al. 2023)",
    ),
    "gradient_x_input": MethodTexts(
        "Gradient × input", "gradient × input", "Slope of the target times the embedding"
    ),
    "integrated_gradients": MethodTexts(
        "Integrated gradients",
        "integrated gradients",
        "Along the path from the masked text (Sundararajan et al. 2017)",
        quick=False,
    ),
    "occlusion": MethodTexts(
        "Occlusion", "occlusion", "Decrease of the target when a word is masked", quick=False
    ),
    "attention_gradient": MethodTexts(
        "Attention × gradient",
        "attention × gradient",
        "Positive part, rolled through the layers (Chefer et al. 2021)",
    ),
    "weights": MethodTexts(
        "Rollout of weights", "weights", "Attention weights alone (Abnar & Zuidema 2020)"
    ),
    "norms": MethodTexts(
        "Rollout of norms", "norms", "Weights times transformed values (Kobayashi et al. 2020)"
    ),
    "mixing": MethodTexts(
        "Rollout of mixing", "mixing", "With residual and LayerNorm (Kobayashi et al. 2021)"
    ),
    "alti": MethodTexts(
        "Rollout of ALTI", "ALTI", "How close each part is to the sum (Ferrando et al. 2022)"
    ),
    "value_zeroing": MethodTexts(
        "Rollout of value zeroing",
        "value zeroing",
        "Each layer rerun without one token's values (Mohebbi et al. 2023)",
        quick=False,
    ),
}
METHODS: tuple[str, ...] = tuple(METHOD_TEXTS)


def catalog() -> list[dict[str, Any]]:
    """The methods for the page's catalog."""
    return [{"key": key, **asdict(texts)} for key, texts in METHOD_TEXTS.items()]

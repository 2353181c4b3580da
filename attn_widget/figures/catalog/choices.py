"""Views, quantities, ramps and themes, with their names and definitions; `make catalog` gives them to the page."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, get_args

from attn_widget.features import declared, loaded
from attn_widget.figures.catalog.view import View

Mixing = Literal["norms", "mixing", "alti", "value_zeroing"]
Quantity = Literal[
    "weights",
    "scores",
    "rollout",
    "norms",
    "mixing",
    "alti",
    "value_zeroing",
    "norms_rollout",
    "mixing_rollout",
    "alti_rollout",
    "value_zeroing_rollout",
]
Scale = Literal["words", "head", "unit", "sqrt"]
Theme = Literal["auto", "light", "dark"]
SCALES: tuple[Scale, ...] = get_args(Scale)
THEMES: tuple[Theme, ...] = get_args(Theme)


#: The views of a run by name, in the order of their tabs: `View.place`, then the order of the registry.
VIEWS: dict[str, View] = {
    view.name: view
    for view in (
        View(
            "attention",
            "Attention",
            "Attention weights: softmax(QKᵀ / √d_k) by row; rows are queries, columns keys.",
            ("quantity", "words", "special", "scale", "token", "pair", "group"),
            head="shown",
            scores=True,
            long=True,
            lazy=False,
            place=0,
        ),
        View(
            "heads",
            "Heads",
            "Six metrics of each head's attention matrix and seven shares of what it attends to.",
            ("metric",),
            head="marked",
            place=1,
        ),
        View(
            "sentences",
            "Sentences",
            "Attention between sentences: mean share (mass) or largest weight (max).",
            ("quantity",),
            place=3,
        ),
        View(
            "predictions",
            "Predictions",
            "softmax of the masked-LM head's logits over the whole vocabulary.",
            ("special",),
            place=4,
        ),
    )
}

if TYPE_CHECKING:
    from attn_widget.features.public import ViewName as ViewName  # pyright: ignore[reportMissingModuleSource]
else:
    VIEWS |= {name: loaded(path) for name, path in declared("views")}
    VIEWS = dict(sorted(VIEWS.items(), key=lambda named: named[1].place))
    ViewName = Literal[tuple(VIEWS)]
#: With the views of results, which a run does not have.
ALL_VIEWS = {**VIEWS, **{name: loaded(path) for name, path in declared("views_of_results")}}

#: What attention carries (docs/influence.md, section 1): the name of each quantity in a sentence.
MIXING_LABELS: dict[str, str] = {
    "norms": "norms",
    "mixing": "mixing",
    "alti": "ALTI",
    "value_zeroing": "value zeroing",
}
MIXINGS: tuple[str, ...] = get_args(Mixing)
ROLLED = tuple(f"{kind}_rollout" for kind in MIXINGS)
QUANTITIES: tuple[Quantity, ...] = get_args(Quantity)
OF_A_HEAD = ("weights", "scores", "norms")  # the others are of a layer, or of all layers so far
#: Definitions of the quantities; weights have that of the view.
DEFINITIONS: dict[str, str] = {
    "scores": "Shown: scaled scores QKᵀ / √d_k, before the softmax.",
    "rollout": "Attention rollout (Abnar & Zuidema 2020): the layers up to this one multiplied, each half its mean head, "
    "half the identity.",
    "norms": "Norms (Kobayashi et al. 2020): ‖A v W_O‖, the length of the vector that a head brings from each token; for the "
    "mean head, that of the sum of all heads.",
    "mixing": "Mixing (Kobayashi et al. 2021): the length of each token's part of the layer's output, residual and "
    "LayerNorm included.",
    "alti": "ALTI (Ferrando et al. 2022): how close each token's part comes to the layer's output; rows sum to 1.",
    "value_zeroing": "Value zeroing (Mohebbi et al. 2023): how far the layer's output turns when a token's values are zero; "
    "rows sum to 1.",
}
DEFINITIONS.update(
    (rolled, f"The layers up to this one multiplied, rows scaled to 1. {DEFINITIONS[kind]}")
    for kind, rolled in zip(MIXINGS, ROLLED, strict=True)
)

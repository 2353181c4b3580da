"""Caption of a saved view; ``js/src/export/caption.ts`` writes the same, word for word."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from attn_widget.figures.metrics import TAU
from attn_widget.protocol.selection import OF_A_HEAD as HEADED
from attn_widget.protocol.selection import Selection

# As in js/src/views/*/index.ts.
DEFINITIONS: dict[str, str] = {
    "attention": "Attention weights: softmax(QKᵀ / √d_k) by row; rows are queries, columns keys.",
    "heads": "Six metrics of each head's attention matrix and seven shares of what it attends to.",
    "tree": "The keys to which each token attends most, starting from the root.",
    "sentences": "Attention between sentences: mean share (mass) or largest weight (max).",
    "predictions": "softmax of the masked-LM head's logits over the whole vocabulary.",
    "inside": "The model's own tensors at one stage of the pipeline.",
    "task": "softmax(W h + b) over the classes, and the first token's attention.",
    "why": "Contribution of every token to one number in the model's output.",
}
ROLLOUT = (
    "Attention rollout (Abnar & Zuidema 2020): the layers up to this one multiplied, each half its mean "
    "head, half the identity."
)
SCORES = " Shown: scaled scores QKᵀ / √d_k, before the softmax."
MIXING: dict[str, str] = {
    "norms": "Norms (Kobayashi et al. 2020): ‖A v W_O‖, the length of the vector that a head brings from each token; for the "
    "mean head, that of the sum of all heads.",
    "mixing": "Mixing (Kobayashi et al. 2021): the length of each token's part of the layer's output, residual and "
    "LayerNorm included.",
    "alti": "ALTI (Ferrando et al. 2022): how close each token's part comes to the layer's output; rows sum "
    "to 1.",
    "value_zeroing": "Value zeroing (Mohebbi et al. 2023): how far the layer's output turns when a token's values "
    "are zero; rows sum to 1.",
}
ROLLED_MIXING = "The layers up to this one multiplied, rows scaled to 1. "
OPTIONS: dict[str, tuple[str, ...]] = {
    "attention": ("quantity", "words", "special", "scale", "token", "pair", "group"),
    "heads": ("metric",),
    "tree": ("quantity", "token", "top_k", "depth", "words", "special"),
    "sentences": ("quantity",),
    "predictions": ("special",),
    "inside": ("token",),
    "why": ("target", "method"),
}
# Options of the views' own switches when a view is opened.
OWN: dict[str, dict[str, Any]] = {
    "heads": {"tau": TAU},
    "sentences": {"aggregation": "mass", "over": "all layers and heads"},
    "predictions": {"mode": "as_is"},
    "inside": {"stage": "token", "over": ""},
}
OF_A_HEAD = ("attention", "tree")
OF_A_SELECTED_HEAD = (*OF_A_HEAD, "heads")


def definition_of(view: str, quantity: str) -> str:
    """Definition of a view's numbers."""
    carried = _carried(quantity) if view in (*OF_A_HEAD, "sentences") else None
    if carried is not None:
        return f"{DEFINITIONS[view]} {carried}" if view == "sentences" else carried
    scores = SCORES if view == "attention" and quantity == "scores" else ""
    return DEFINITIONS[view] + scores


def _carried(quantity: str) -> str | None:
    if quantity == "rollout":
        return ROLLOUT
    kind = quantity.removesuffix("_rollout")
    return (ROLLED_MIXING if kind != quantity else "") + MIXING[kind] if kind in MIXING else None


def caption(meta: Mapping[str, Any], selection: Selection, view: str) -> dict[str, Any]:
    """The caption of a view: model, text, layer, head, definition, options, versions.

    Parameters
    ----------
    meta : mapping
        That of the first paint (``docs/protocol.md``, section "Pack").
    selection : Selection
    view : str

    Returns
    -------
    dict
        JSON-able; the order of its keys is that of the saved file.
    """
    model, profile = meta["model"], meta["profile"]
    quantity = selection.quantity
    headless = view in OF_A_HEAD and quantity not in HEADED
    selected = view in OF_A_SELECTED_HEAD
    chosen = {name: plain(getattr(selection, name)) for name in OPTIONS.get(view, ())}
    own = OWN.get(view, {})
    if view == "sentences" and _carried(quantity) is not None:
        own = {**own, "over": _place(selection)}
    if view == "predictions" and meta["predictions"] is not None:
        own = {"mode": meta["predictions"]["opens"]}
    return {
        "view": view,
        "model": model["name"],
        "revision": model["revision"],
        "text": meta["text"],
        "text_pair": meta["text_pair"],
        "masked": [{"token": item["token"], "text": item["text"]} for item in meta["masked"]],
        **({"heads_off": meta["heads_off"]} if meta.get("heads_off") else {}),
        "profile": profile and {"n_texts": profile["n_texts"], "seed": profile["seed"]},
        "layer": selection.layer if selected else None,
        "head": selection.head if selected and not headless else None,
        "definition": definition_of(view, quantity),
        "options": {**chosen, **own},
        "versions": meta["versions"],
    }


def _place(selection: Selection) -> str:
    """``ALTI · L3``, ``norms · L3 · H5``, ``rollout of ALTI to L3``: the matrix that sentences are gathered from."""
    quantity, head = selection.quantity, selection.head
    kind = quantity.removesuffix("_rollout")
    called = {"alti": "ALTI", "value_zeroing": "value zeroing"}.get(kind, kind)
    if quantity.endswith("rollout"):
        return f"{'rollout' if kind == quantity else f'rollout of {called}'} to L{selection.layer}"
    of_head = quantity in HEADED and head != "mean"
    return f"{called} · L{selection.layer}" + (f" · H{head}" if of_head else "")


def plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        fields = cast("Mapping[str, Any]", value).items()
        return " ".join(name if held is True else f"{name} {held}" for name, held in fields)
    return " ".join(map(str, value)) if isinstance(value, (list, tuple)) else value

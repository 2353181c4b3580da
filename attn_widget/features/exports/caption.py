"""Caption of a saved view: model, text, layer, head, definition, options, versions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from attn_widget.figures.catalog.choices import (
    ALL_VIEWS,
    DEFINITIONS,
    MIXING_LABELS,
    OF_A_HEAD,
    View,
)
from attn_widget.figures.metrics import TAU
from attn_widget.protocol.initial_payload import table_mode
from attn_widget.protocol.selection import Selection

FOUND_MASK = "causal, as found in the weights"
# Options of the views' own switches when a view is opened.
SWITCHES: dict[str, dict[str, Any]] = {
    "heads": {"tau": TAU},
    "sentences": {"aggregation": "mass", "over": "all layers and heads"},
    "predictions": {"mode": "as_is"},
    "tree": {"words_only": True},
    "inside": {"stage": "token", "over": ""},
}


def caption(meta: Mapping[str, Any], selection: Selection, view: str) -> dict[str, Any]:
    """The caption of a view, as JSON; the page has the same in ``js/src/features/exports/caption.ts``.

    Parameters
    ----------
    meta : mapping
        That of the first paint (``docs/protocol.md``, section "Pack").
    selection : Selection
    view : str

    Returns
    -------
    dict
        The order of its keys is that of the saved file.
    """
    model, profile = meta["model"], meta["profile"]
    declared, quantity = ALL_VIEWS[view], selection.quantity
    of_head = declared.head == "marked" or quantity in OF_A_HEAD
    switches = SWITCHES.get(view, {})
    if view == "sentences" and quantity not in ("weights", "scores"):
        switches = {**switches, "over": _matrix_name(selection)}
    if view == "predictions" and meta["predictions"] is not None:
        opens, n_tokens = meta["predictions"]["opens"], len(meta["tokens"]["text"])
        switches = {"mode": table_mode(opens, n_tokens)}
    return {
        "view": view,
        "model": model["name"],
        "revision": model["revision"],
        "text": meta["text"],
        "text_pair": meta["text_pair"],
        **(
            {"part": meta["part"], "source_text": meta.get("source_text")}
            if meta.get("part")
            else {}
        ),
        "masked": [{"token": item["token"], "text": item["text"]} for item in meta["masked"]],
        **({"heads_off": meta["heads_off"]} if meta.get("heads_off") else {}),
        **({"mask": FOUND_MASK} if (meta.get("mask") or {}).get("found") else {}),
        "profile": profile and {"n_texts": profile["n_texts"], "seed": profile["seed"]},
        "layer": selection.layer if declared.head else None,
        "head": selection.head if declared.head and of_head else None,
        "definition": definition_of(declared, quantity),
        "options": {
            **{name: _plain(getattr(selection, name)) for name in declared.options},
            **switches,
        },
        "versions": meta["versions"],
    }


def definition_of(view: View, quantity: str) -> str:
    """Definition of a view's numbers, in a quantity where it shows one."""
    if quantity == "scores":
        return f"{view.definition} {DEFINITIONS[quantity]}" if view.scores else view.definition
    if quantity == "weights" or "quantity" not in view.options:
        return view.definition
    of_quantity = DEFINITIONS[quantity]
    return of_quantity if view.head == "shown" else f"{view.definition} {of_quantity}"


def _matrix_name(selection: Selection) -> str:
    """``ALTI · L3``, ``norms · L3 · H5``, ``rollout of ALTI to L3``."""
    quantity, head = selection.quantity, selection.head
    kind = quantity.removesuffix("_rollout")
    label = MIXING_LABELS.get(kind, kind)
    if quantity == "rollout":
        return f"rollout to L{selection.layer}"
    if kind != quantity:
        return f"rollout of {label} to L{selection.layer}"
    of_head = quantity in OF_A_HEAD and head != "mean"
    return f"{label} · L{selection.layer}" + (f" · H{head}" if of_head else "")


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        fields = cast("Mapping[str, Any]", value).items()
        return " ".join(name if held is True else f"{name} {held}" for name, held in fields)
    return " ".join(map(str, value)) if isinstance(value, (list, tuple)) else value

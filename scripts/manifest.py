"""Names and texts that the page shares, as JSON, from which ``js/catalog.mjs`` writes its half: ``make catalog``."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from typing import Any, Protocol

from attn_widget.features import declared, loaded
from attn_widget.figures.catalog import choices
from attn_widget.figures.catalog.metrics import METRICS
from attn_widget.figures.catalog.specializations import (
    ALIGNMENT,
    FIRST_TOKEN,
    PATTERNS,
    SPECIALIZATIONS,
)
from attn_widget.language import function_words
from attn_widget.protocol.selection import Selection

_IN_PYTHON = ("scale", "opens", "place")  # the page gets their figures with a run


class GivesEntry(Protocol):
    """Function that a feature's ``catalog`` name: an entry of the manifest, ready for JSON."""

    def __call__(self) -> list[Any] | dict[str, Any]: ...


def manifest() -> dict[str, Any]:
    """Figures of a head with their formulas (TeX), and everything that a selection may name.

    >>> manifest()["cards"][0]["key"], manifest()["patterns"][1]["meaning"]
    ('confidence_max', 'one token on')
    >>> manifest()["views"]["heads"]["label"], manifest()["methods"][0]["key"]
    ('Heads', 'decomposition')
    """
    metrics = METRICS.values()
    specializations = (*SPECIALIZATIONS, *PATTERNS, *ALIGNMENT)
    cards = [
        {"key": metric.key, "name": metric.name, **asdict(metric.card)}
        for metric in metrics
        if metric.card is not None
    ]
    return {
        "names": {figure.key: figure.name for figure in (*metrics, *specializations)},
        "cards": [of_the_page(card) for card in cards],
        "specializations": [asdict(metric) for metric in SPECIALIZATIONS],
        "patterns": [asdict(metric) for metric in PATTERNS],
        "alignment": [asdict(metric) for metric in ALIGNMENT],
        "first_token": asdict(FIRST_TOKEN),
        "views": {name: of_the_page(asdict(view)) for name, view in choices.ALL_VIEWS.items()},
        "lists": {
            name: getattr(choices, name)
            for name in ("MIXINGS", "QUANTITIES", "OF_A_HEAD", "SCALES", "THEMES")
        },
        "mixing_labels": choices.MIXING_LABELS,
        "definitions": choices.DEFINITIONS,
        **{name: _entry(path) for name, path in declared("catalog")},
        "function_words": {
            name: sorted(words) for name, words in vars(function_words).items() if name.isupper()
        },
        "selection": Selection(layer=0, head=0).as_dict(),
    }


def _entry(path: str) -> list[Any] | dict[str, Any]:
    give: GivesEntry = loaded(path)
    return give()


def of_the_page(fields: dict[str, Any]) -> dict[str, Any]:
    """The fields of a figure or a view that the page has."""
    return {name: value for name, value in fields.items() if name not in _IN_PYTHON}


if __name__ == "__main__":
    json.dump(manifest(), sys.stdout, ensure_ascii=False)

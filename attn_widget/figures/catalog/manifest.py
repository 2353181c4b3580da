"""The declarations as JSON, from which ``js/catalog.mjs`` writes the page's half: ``make catalog``."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from typing import Any

from attn_widget.figures.catalog.aims import PATTERNS, SPECIALIZATIONS
from attn_widget.figures.catalog.metrics import METRICS

_IN_PYTHON = ("bounds", "uniform")  # the page gets their figures with a run


def manifest() -> dict[str, Any]:
    """Names, texts and formulas (TeX) of every figure of a head.

    Examples
    --------
    >>> manifest()["cards"][0]["key"], manifest()["patterns"][1]["meaning"]
    ('confidence_max', 'one token on')
    """
    metrics = METRICS.values()
    aims = (*SPECIALIZATIONS, *PATTERNS)
    cards = [
        {"key": metric.key, "name": metric.name, **asdict(metric.card)}
        for metric in metrics
        if metric.card is not None
    ]
    return {
        "names": {figure.key: figure.name for figure in (*metrics, *aims)},
        "cards": [{k: v for k, v in card.items() if k not in _IN_PYTHON} for card in cards],
        "specializations": [asdict(aim) for aim in SPECIALIZATIONS],
        "patterns": [asdict(aim) for aim in PATTERNS],
    }


if __name__ == "__main__":
    json.dump(manifest(), sys.stdout, ensure_ascii=False)

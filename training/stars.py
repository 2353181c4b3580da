"""Fine-tuning of the model: sentences to stars, by `fit_classifier`'s defaults. Takes an hour or so."""

from __future__ import annotations

import statistics
from pathlib import Path
from typing import Any

from attn_widget.features import tasks

LOADERS = {"amazon": tasks.load_amazon, "films": tasks.load_films}
CLASSES = 5
SEEDS = (0, 1, 2)


def evaluate_stars(folder: Path, seeds: tuple[int, ...] = SEEDS) -> dict[str, Any]:
    """Per cent of test sentences right, by source: each seed's, their mean and what guessing gets."""
    figures: dict[str, Any] = {}
    for name, loader in LOADERS.items():
        right: list[float] = []
        for seed in seeds:
            data = loader(classes=CLASSES, seed=seed)
            fitted = tasks.fit_classifier(
                str(folder),
                data.train.texts,
                data.train.labels,
                validation=(data.validation.texts, data.validation.labels),
                seed=seed,
                progress=False,
            )
            probabilities = fitted.probabilities(data.test.texts)
            right.append(tasks.score(data.test.labels, probabilities).correct)
        figures[name] = {
            "classes": CLASSES,
            "correct": right,
            "mean": statistics.mean(right),
            "chance": 100 / CLASSES,
        }
    return figures

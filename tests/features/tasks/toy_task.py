"""A task that a small model learns in seconds: does a text speak of a cat, of a dog or of a fox?"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from tests.unit.tiny_models import build

ANIMALS = ("cat", "dog", "fox")
REVIEW = "The movie was incredibly boring, but the acting saved it."
PLACES = ("on the mat", "in the old tree near our house", "over the sea shore", "for a dollar")
QUICK: dict[str, Any] = {"lr_encoder": 3e-3, "lr_head": 1e-2, "batch_size": 8, "progress": False}


@cache
def tiny(family: str = "bert") -> Any:
    """An encoder with weights small enough to learn; MobileBERT's need to stay as they are."""
    return build(family, "Model", **({} if family == "mobilebert" else {"initializer_range": 0.1}))


def texts_and_labels(n: int, start: int = 0) -> tuple[list[str], np.ndarray[Any, Any]]:
    """``n`` texts of different lengths, their classes taking turns."""
    rows = range(start, start + n)
    texts = [
        f"The {ANIMALS[i % 3]} sat {' and the bird looked '.join(PLACES[: 1 + (i // 3) % 4])} {i}"
        for i in rows
    ]
    return texts, np.array([i % 3 for i in rows])

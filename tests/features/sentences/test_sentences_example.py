"""The example in the view Sentences of a text of one sentence has the numbers of the embedded model."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np

import attn_widget as aw

SOURCE = Path(__file__).parents[3] / "js" / "src" / "features" / "sentences" / "example.tsx"


def test_the_example_has_the_numbers_of_the_embedded_model() -> None:
    code = SOURCE.read_text(encoding="utf-8")
    sentences, mass = (
        json.loads(re.sub(r",(\s*])", r"\1", found[1]))
        for found in (
            re.search(r"SENTENCES = (\[.*?\]);", code, re.DOTALL),
            re.search(r"MASS = (\[.*?\]);", code, re.DOTALL),
        )
        if found is not None
    )
    sums = aw.analyze(" ".join(sentences)).sentences
    assert list(sums.texts) == sentences
    assert np.array_equal(np.round(sums.matrix("mass").astype(float), 3), mass)

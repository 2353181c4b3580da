"""The page grows the influence tree itself: the same trees as Python's, written here for its tests to read.

``python -m tests.features.tree.test_tree_twin`` writes the file again.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from attn_widget.features.tree.influence import influence_tree

FILE = Path(__file__).parents[2] / "golden" / "trees.json"
# (tokens, children, levels, distinct weights: few make ties; 0 = all different, masked cells)
SHAPES = ((1, 3, 3, 0, False), (2, 1, 6, 0, False), (5, 3, 3, 2, False), (6, 10, 6, 3, True),
          (9, 3, 3, 0, True), (12, 4, 3, 4, False), (7, 2, 5, 1, False))  # fmt: skip


def cases() -> list[dict[str, Any]]:
    """Matrices with ties, not-a-numbers and masked cells, and every edge of the tree of one root."""
    random = np.random.default_rng(7)
    written: list[dict[str, Any]] = []
    for size, top_k, depth, levels, masked in SHAPES:
        raw = (
            random.random((size, size))
            if levels == 0
            else random.integers(1, levels + 1, (size, size))
        )
        weights = (raw / raw.sum(axis=1, keepdims=True)).astype(np.float32)
        allowed = random.random((size, size)) < 0.6 if masked else None
        root = int(random.integers(size))
        tree = influence_tree(weights, root, top_k=top_k, depth=depth, allowed=allowed)
        edges = [
            [node.token, child.token, child.depth, child.weight, child.product]
            for node in tree.walk()
            for child in node.children
        ]
        written.append({
            "size": size, "root": root, "top_k": top_k, "depth": depth,
            "weights": weights.ravel().tolist(),
            "allowed": None if allowed is None else allowed.ravel().astype(int).tolist(),
            "edges": edges,
        })  # fmt: skip
    return written


def test_the_file_that_the_page_tests_against_is_what_python_grows() -> None:
    assert json.loads(FILE.read_text()) == cases()


if __name__ == "__main__":
    FILE.write_text(json.dumps(cases()) + "\n")

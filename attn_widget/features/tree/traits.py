"""The traits that the view Tree has in a widget."""

from __future__ import annotations

from attn_widget.features.tree.selection import LARGEST_DEPTH, LARGEST_TOP_K, TreeSelection
from attn_widget.widget.traits import Int, RunTraits, Trait, synced


class TreeTraits(RunTraits):
    """Size of the tree."""

    top_k: Trait[int] = synced(Int(TreeSelection.top_k, min=1, max=LARGEST_TOP_K))
    """Children of each token in the tree, 1 to 10. Default 3."""
    depth: Trait[int] = synced(Int(TreeSelection.depth, min=1, max=LARGEST_DEPTH))
    """Levels of the tree below its root, 1 to 6. Default 3."""

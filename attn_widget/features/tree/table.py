"""The table of the view Tree, for a file."""

from __future__ import annotations

from attn_widget.analysis import Analysis
from attn_widget.features.tree.shown import shown_tree
from attn_widget.figures.tables import Columns
from attn_widget.protocol.selection import Selection


def tree_table(analysis: Analysis, selection: Selection) -> Columns:
    """One row an edge: ``parent, token, parent_token, child_token, depth, weight, product, score``.

    As on screen, special tokens and punctuation are left out below the root. `Analysis.heads.tree` has them.
    """
    units, whole = shown_tree(analysis, selection)
    columns = (
        *("parent", "token", "parent_token", "child_token"),
        *("depth", "weight", "product", "score"),
    )
    rows: list[tuple[object, ...]] = []
    for node in whole.walk():
        parent = units[node.token]
        for child in node.children:
            unit = units[child.token]
            rows.append(
                (
                    *(parent.token, unit.token, parent.text, unit.text),
                    *(child.depth, child.weight, child.product, child.score),
                )
            )
    return columns, rows

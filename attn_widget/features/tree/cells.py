"""The picture of the view Tree where no page runs."""

from __future__ import annotations

from attn_widget.analysis import Analysis
from attn_widget.errors import NotAvailableError
from attn_widget.features.tree.shown import shown_tree
from attn_widget.page.listed import listed
from attn_widget.protocol.run_source import title_of
from attn_widget.protocol.selection import Selection
from attn_widget.protocol.source import Cells

PATHS = 12


def tree_cells(analysis: Analysis, selection: Selection, *, quick: bool) -> Cells:  # noqa: ARG001
    """The strongest paths from the focus token, shaded by the product of their weights."""
    units, tree = shown_tree(analysis, selection)
    paths = {id(tree): units[tree.token].surface}
    found: list[tuple[float, str]] = []
    for node in tree.walk():
        for child in node.children:
            paths[id(child)] = path = f"{paths[id(node)]} → {units[child.token].surface}"
            found.append((child.product, f"{path} {child.product:.2g}"))
    if not found:
        raise NotAvailableError("No path leads from the focus token to another word.")
    found = sorted(found, key=lambda one: -one[0])[:PATHS]
    layer, head = selection.place
    name = "mean of the heads" if head == "mean" else f"H{head}"
    caption = f"{title_of(analysis)}: the strongest paths from {units[tree.token].surface} in L{layer} · {name}, products of attention weights."
    products, rows = [product for product, _ in found], [path for _, path in found]
    return listed("Paths", caption, rows, products, "product")

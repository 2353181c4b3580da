"""The view Tree in files: its table, and its picture where no page runs."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

import attn_widget as aw
from attn_widget.features.tree.cells import PATHS
from attn_widget.features.tree.influence import influence_tree
from attn_widget.features.tree.shown import root_of
from attn_widget.features.tree.table import tree_table
from attn_widget.page.view_cells import view_cells
from attn_widget.protocol.matrix import Unit
from attn_widget.protocol.selection import Selection
from tests.golden.make import analysis as masked_analysis

pytest.importorskip("pandas")
TEXT = "The unbelievably fast train left. It was late, -5 minutes."
TROPHY = "The trophy does not fit into the suitcase because it is large."


@pytest.fixture
def widget() -> Iterator[aw.AttentionWidget]:
    widget = aw.show(TEXT, layer=2, head=3, tagger=None, progress=False)
    yield widget
    widget.close()


def test_the_table_has_the_columns_of_the_contract(widget: aw.AttentionWidget) -> None:
    columns = "parent,token,parent_token,child_token,depth,weight,product,score"
    assert ",".join(widget.to_dataframe("tree").columns) == columns


def test_the_tree_is_that_of_the_words(widget: aw.AttentionWidget) -> None:
    widget.token, widget.top_k, widget.depth = 3, 2, 2
    analysis = widget.analysis
    words = [i for i, token in enumerate(analysis.tokens) if token.text.strip("#").isalnum()]
    keep = np.isin(np.arange(analysis.trace.n_tokens), words)
    whole = influence_tree(
        analysis.attention(2, 3),
        3,
        top_k=2,
        depth=2,
        scores=analysis.trace.scores(2, 3),
        keep=keep,
    )
    expected = {
        (n.token, c.token): (c.weight, c.product, c.score) for n in whole.walk() for c in n.children
    }
    rows = widget.to_dataframe("tree")
    assert len(rows) == sum(len(node.children) for node in whole.walk()) == 6
    for row in rows.itertuples():
        assert expected[row.parent, row.token] == (row.weight, row.product, row.score)


def test_the_tree_starts_at_the_focus_token_or_at_the_first_word() -> None:
    units = [Unit(0, 1, "[CLS]", "[CLS]", True), Unit(1, 2, "«", "«", False)]
    units += [Unit(2, 4, "мир", "мир", False), Unit(4, 5, "[SEP]", "[SEP]", True)]
    assert root_of(units, None) == 2
    assert root_of(units, 3) == 2
    assert root_of(units[:2], None) == 1
    assert root_of(units[1:3], 0) == 1


def test_special_tokens_are_hidden_and_the_quantity_followed(widget: aw.AttentionWidget) -> None:
    widget.special = False
    assert not {"[CLS]", "[SEP]"} & {*widget.to_dataframe("tree")["child_token"]}
    widget.special, widget.quantity = True, "alti_rollout"
    first = widget.to_dataframe("tree").iloc[0]
    rolled = widget.analysis.mixing.rollout("alti", 2)
    assert first["weight"] == rolled[first["parent"], first["token"]]


def test_what_the_mask_forbids_is_absent() -> None:
    widget = aw.AttentionWidget(masked_analysis(), layer=1, head=0)
    # Words only: the first word sees none before it, the second one.
    assert widget.to_dataframe("tree").empty
    widget.token, widget.depth = 3, 1
    assert set(widget.to_dataframe("tree")["child_token"]) == {"naïve"}
    widget.close()
    selection = Selection(layer=0, head=0, special=False, top_k=1, depth=1)
    _, rows = tree_table(masked_analysis(), selection)
    assert len(rows) == 1


def test_the_picture_has_the_strongest_paths() -> None:
    widget = aw.show(TROPHY, view="tree", layer=3, head=1, token=10, tagger=None, progress=False)
    cells, table = view_cells(widget.analysis, widget.selection), widget.to_dataframe("tree")
    widget.close()
    products = sorted(table["product"], reverse=True)[:PATHS]
    np.testing.assert_allclose(cells.shades[:, 0], np.array(products) / products[0], atol=1e-6)
    assert cells.rows[0].startswith("it → trophy ")

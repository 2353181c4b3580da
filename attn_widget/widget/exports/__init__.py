"""Exports of a widget from Python: the counterparts of the page's menu."""

from __future__ import annotations

from attn_widget.widget.exports.pages import PageExports
from attn_widget.widget.exports.pictures import PictureExports
from attn_widget.widget.exports.tables import TableExports


class Exports(TableExports, PictureExports, PageExports):
    """Methods of a widget that write what it shows; all follow its selection (traits)."""

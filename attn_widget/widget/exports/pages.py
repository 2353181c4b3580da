"""Saved pages, which stay alive without a kernel: a file, or a frame as HTML."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from attn_widget.checks import check_count
from attn_widget.errors import InputError
from attn_widget.host.files import destination
from attn_widget.protocol.selection import LARGEST_HEIGHT
from attn_widget.widget.exports.shown import Shown

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from attn_widget.influence.targets import Target
    from attn_widget.page.engine.options import Assets, Engine


class PageExports(Shown):
    """Methods of a widget that save it as a page."""

    def to_html(
        self,
        path: str | os.PathLike[str],
        layers: Sequence[int] | None = None,
        heads: Sequence[int] | None = None,
        views: Sequence[str] | None = None,
        title: str | None = None,
        why: Sequence[Target] | None = None,
        *,
        engine: Engine = False,
        assets: Assets = "inside",
        max_bytes: int | None = None,
    ) -> Path:
        """Save a page that stays interactive without a kernel or a network.

        The file contains everything; parts that need another pass of the model say so.
        `attn_widget.to_html` puts several widgets into one page.

        Parameters
        ----------
        path : str or path
            Replaced atomically: if the page cannot be finished, the old one stays.
        layers, heads : sequence of int, optional
            Layers and heads whose weights are included, 0-based; by default all. Not for a profile, which has none.
        views : sequence of str, optional
            Names of the tabs to keep, such as ``["attention", "tree"]``; by default all.
        title : str, optional
            Title of the page.
        why : sequence of Target, optional
            Targets that the view Why explains, by all methods, with their tests and the effects of heads. By default
            the chosen target or, without one, the text's proposal by the quick methods.
        engine : bool or "light"
            Include the model (50 MB for the embedded one), so that the page runs any text typed into it, also with words
            masked or heads switched off. For BERT, with or without a masked-LM head or a text classifier, in all
            views except why. Weights wider than float16 are rounded, and the page states the effect.
            ``"light"`` halves the size with 8-bit matrices, and the page states how far its figures are off.
        assets : "inside", "beside", or a folder
            Place of the engine's weights: in the page, or in a script in the page's folder or another one, which the page
            loads when you first type. Pages of the same model share it. Move the page and the
            script together.
        max_bytes : int, optional
            Maximum size of the page, including its code (0.5 MB). The selected head comes first, then its layer, then the
            layers around it, in the finest encoding that fits; figures and thumbnails of all heads are always
            included. A warning and the page state what was left out.

        Returns
        -------
        Path

        Raises
        ------
        InputError
            A closed widget; a layer, head or view that does not exist; fewer bytes than the smallest page takes, or
            ``max_bytes`` of a page with an engine; a missing folder, or a file
            that cannot be written (no partial file is left).
        NotAvailableError
            A model that the engine cannot run.

        Examples
        --------
        >>> import tempfile, pathlib
        >>> from attn_widget import show
        >>> w = show("the cat sat", progress=False)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     w.to_html(pathlib.Path(folder) / "cat.html", views=["attention"]).name
        'cat.html'
        >>> w.close()
        """
        from attn_widget.page.engine.options import check_engine
        from attn_widget.page.page import save
        from attn_widget.page.saved_run import ExportOptions

        kept = ExportOptions(layers, heads, views, title, why)
        options = check_engine(engine, assets, destination(path))
        if options is not None:
            from attn_widget.page.engine.live import save_live

            if max_bytes is not None:
                raise InputError(
                    "The size of a page with an engine depends on its model.",
                    "Leave max_bytes or engine out.",
                )

            return save_live(path, [(self.source, self.selection)], kept, options)
        return save(path, [(self.source, self.selection)], kept, max_bytes)

    def as_html(self, height: int = 900, title: str | None = None) -> str:
        """The page of `to_html` in a frame, as HTML to put into other pages.

        The frame is sandboxed: its script runs and offers downloads, and reaches nothing around it.
        In a notebook, ``IPython.display.HTML(w.as_html())`` shows it, and every export keeps it.

        Parameters
        ----------
        height : int
            Of the frame, px.
        title : str, optional
            Of the page and the frame; by default the text.

        Raises
        ------
        InputError
            A closed widget, or a height that is no positive int.
        InputTypeError
            A title that is no str.

        Examples
        --------
        >>> from attn_widget import show
        >>> w = show("the cat sat", progress=False)
        >>> w.as_html(height=600).startswith("<iframe sandbox=")
        True
        >>> w.close()
        """
        from attn_widget.page.page import frame
        from attn_widget.page.saved_run import ExportOptions, saved_run

        height = check_count(height, "height", 1, LARGEST_HEIGHT, "CSS px.")
        run = saved_run(self.source, self.selection, ExportOptions(title=title))
        return frame(run, height, title)

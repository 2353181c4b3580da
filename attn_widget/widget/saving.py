"""to_html() and as_html(): widgets as pages that stay alive without a kernel and without a network."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path

from attn_widget.checks import check_several, is_iterable
from attn_widget.comparison.comparison import Comparison
from attn_widget.errors import InputError, InputTypeError
from attn_widget.host.files import destination
from attn_widget.influence.targets import Target
from attn_widget.page.compared import save_compared
from attn_widget.page.engine.live import save_live
from attn_widget.page.engine.options import Assets, Engine, check_engine
from attn_widget.page.page import save
from attn_widget.page.saved_run import ExportOptions
from attn_widget.widget.exports import Exports


def to_html(
    widgets: Exports | Comparison | Iterable[Exports],
    path: str | os.PathLike[str],
    *,
    layers: Sequence[int] | None = None,
    heads: Sequence[int] | None = None,
    views: Sequence[str] | None = None,
    title: str | None = None,
    why: Sequence[Target] | None = None,
    engine: Engine = False,
    assets: Assets = "inside",
    max_bytes: int | None = None,
) -> Path:
    """Write a page with one or several widgets, interactive without a kernel or a network.

    Parameters
    ----------
    widgets : widget that `show` returned, iterable of them, or Comparison
        Shown one below the other; a switch selects a run of a comparison.
    path : str or path
        Replaced atomically: if the page cannot be finished, the old one stays.
    layers, heads : sequence of int, optional
        0-based; by default all.
    views : sequence of str, optional
        Names of the tabs to keep, such as ``["attention", "tree"]``; by default all.
    title : str, optional
        Title of the page.
    why : sequence of Target, optional
        Targets that the view Why of every widget explains; see `AttentionWidget.to_html`.
    engine : bool or "light"
        Include the model, to run any text typed into the page; widgets with the same model share it. See
        `AttentionWidget.to_html`.
    assets : "inside", "beside", or a folder
        Place of the engine's weights; see `AttentionWidget.to_html`.
    max_bytes : int, optional
        Maximum size of the page, shared by its widgets. See `AttentionWidget.to_html`.

    Returns
    -------
    Path

    Raises
    ------
    InputTypeError
        An object that is not a widget, a title that is not a str, or layers, heads or views that are not sequences.
    InputError
        Nothing to save, a closed widget, a layer, head or view that does not exist; more widgets than a
        page can hold, or fewer ``max_bytes`` than they take; widgets of several models with an engine; a file
        that cannot be written (no partial file is left).
    NotAvailableError
        A model that the engine cannot run.

    Examples
    --------
    >>> import attn_widget as aw, tempfile, pathlib
    >>> w = aw.show("the cat sat", progress=False)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     page = to_html(w, pathlib.Path(folder) / "cat.html", layers=[3])
    ...     page.stat().st_size < 1_500_000
    True
    >>> w.close()
    """
    kept = ExportOptions(layers, heads, views, title, why)
    if isinstance(widgets, Exports):
        size = {} if max_bytes is None else {"max_bytes": max_bytes}
        return widgets.to_html(
            path, layers, heads, views, title, why, engine=engine, assets=assets, **size
        )
    options = check_engine(engine, assets, destination(path))
    if max_bytes is not None and (options is not None or isinstance(widgets, Comparison)):
        raise InputError(
            "The size of a page with an engine depends on its model, and that of a comparison on its runs.",
            "Leave max_bytes out, or save widgets without an engine.",
        )
    if isinstance(widgets, Comparison):
        if options is not None:
            raise InputError(
                "A page of a comparison has no engine.", "Leave engine out, or save one widget."
            )
        return save_compared(path, widgets, kept)
    if not is_iterable(widgets):
        raise not_a_widget(widgets)
    checked = check_several(widgets, "widgets", "widgets")
    if not checked:
        raise InputError("There is no widget to save.", "Give one, or a list of them.")
    every = [check_widget(one) for one in checked]
    shown = [(one.source, one.selection) for one in every]
    if options is not None:
        return save_live(path, shown, kept, options)
    return save(path, shown, kept, max_bytes)


def check_widget(widget: object) -> Exports:
    """``widget``, if it is one of ours."""
    if not isinstance(widget, Exports):
        raise not_a_widget(widget)
    return widget


def not_a_widget(given: object) -> InputTypeError:
    return InputTypeError(
        f"to_html() saves widgets, got {type(given).__name__}.",
        "Give what show() returns: of an Analysis, show(analysis).",
    )


def as_html(widget: Exports, *, height: int = 900, title: str | None = None) -> str:
    """A sandboxed iframe with the page inside, for notebooks that are exported.

    Parameters
    ----------
    widget : AttentionWidget or ProfileWidget
    height : int
        Of the frame, px.
    title : str, optional
        Of the page and the frame; the text by default.

    Raises
    ------
    InputTypeError
        No widget, or a title that is no str.
    InputError
        A closed widget, or a height that is no positive int.
    """
    return check_widget(widget).as_html(height, title)

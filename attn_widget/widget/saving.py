"""to_html() and as_html(): widgets as pages that stay alive without a kernel and without a network."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from attn_widget.analysis import Analysis
from attn_widget.checks import check_several, is_iterable
from attn_widget.errors import InputError, InputTypeError
from attn_widget.host.results import Result, widget_of
from attn_widget.page.saving import save_page
from attn_widget.page.shown import Shown, ShownSource
from attn_widget.page.spec import PageOptions, PageSpec
from attn_widget.protocol.run_source import RunSource, view_of
from attn_widget.protocol.selection import Selection
from attn_widget.widget.base import SourceWidget

if TYPE_CHECKING:
    from typing_extensions import Unpack


Saved: TypeAlias = "SourceWidget | Analysis | Result"


def to_html(
    widgets: Saved | Iterable[Saved],
    path: str | os.PathLike[str],
    **options: Unpack[PageOptions],
) -> Path:
    """Write a page with one or several widgets or results, interactive without a kernel or a network.

    The file contains everything; parts that need another pass of the model say so.

    Parameters
    ----------
    widgets : widget that `show` returned, Analysis, Profile, Comparison, Similarity or Ranking, or an iterable of them
        Shown one below the other; a switch selects a run of a comparison. A result is saved as `show` would show it.
    path : str or path
        Replaced atomically: if the page cannot be finished, the old one stays.
    **options
        All optional.

        - ``layers``, ``heads`` (sequence of int): layers and heads whose weights are included, 0-based; by default all. Not
          for a profile, which has none.
        - ``views`` (sequence of str): names of the tabs to keep, such as ``["attention", "tree"]``; by default all.
        - ``title`` (str): title of the page.
        - ``why`` (sequence of Target): targets that the view Why explains, by all methods, with their tests and the effects of
          heads. By default the chosen target or, without one, the text's proposal: by the quick methods, and for a text of up
          to 10 tokens by all of them with their test. False leaves the view out.
        - ``engine`` (bool): include the model (50 MB for the embedded one), so that the page runs any text typed
          into it, also with words masked or heads switched off. For BERT, with or without a masked-LM head or a text
          classifier, in all views except why. Widgets with the same model share it. Weights wider than float16 are rounded,
          and the page states the effect.

    Returns
    -------
    Path

    Raises
    ------
    InputTypeError
        An object that is neither a widget nor a result, an unknown option, a title that is not a str, or layers, heads or views that are not
        sequences.
    InputError
        Nothing to save, a closed widget, a layer, head or view that does not exist; more widgets than a page can hold; widgets of several models with an engine; a file that cannot be written (no partial file is left).
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
    if isinstance(widgets, (SourceWidget, Analysis, Result)):
        widgets = [widgets]
    if not is_iterable(widgets):
        raise _not_a_widget(widgets)
    every = [_shown(widget) for widget in check_several(widgets, "widgets", "widgets")]
    if not every:
        raise InputError("There is no widget to save.", "Give one, or a list of them.")
    return save_page(every, path, PageSpec.of(options))


def _shown(given: object) -> Shown:
    """Content of a widget, or of the one that `show` would make of a result."""
    if isinstance(given, Analysis):
        return ShownSource(RunSource(given), Selection(view=view_of(given)))
    if isinstance(given, Result):
        widget = widget_of(given, {})
        try:
            return widget._shown  # pyright: ignore[reportPrivateUsage]
        finally:
            widget.close()
    return _check_widget(given)._shown  # pyright: ignore[reportPrivateUsage]


def as_html(widget: SourceWidget, *, height: int = 900, title: str | None = None) -> str:
    """The page of a widget in a sandboxed frame, as HTML to put into other pages. See `AttentionWidget.as_html`.

    Parameters
    ----------
    widget : AttentionWidget, ProfileWidget or SimilarityWidget
    height, title
        As in `AttentionWidget.as_html`.
    """
    return _check_widget(widget).as_html(height, title)


def _check_widget(widget: object) -> SourceWidget:
    if not isinstance(widget, SourceWidget):
        raise _not_a_widget(widget)
    return widget


def _not_a_widget(given: object) -> InputTypeError:
    return InputTypeError(
        f"to_html() saves widgets and results, got {type(given).__name__}.",
        "Give what show(), analyze(), profile() or compare() returns.",
    )

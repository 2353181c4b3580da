"""report(): many texts in one page, with a list to pick from."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from attn_widget.errors import AttnWidgetError, InputError, InputTypeError
from attn_widget.export.page import SELECTED, TITLE, SavedRun, saved_run, write_page

RUN_OPTIONS = ("model", "tagger", "truncation")


def report(
    texts: Iterable[str | tuple[str, str]],
    path: str | Path,
    *,
    layers: Sequence[int] | None = None,
    heads: Sequence[int] | None = None,
    views: Sequence[str] | None = None,
    title: str | None = None,
    progress: bool = True,
    **options: Any,
) -> Path:
    """Run a model on many texts and write them to one page, alive without a kernel and a network.

    The page has a list to pick from; a run is decompressed when it is picked. One text is in memory
    at a time. All texts share the room that one would have for the tensors of the view Inside.

    Parameters
    ----------
    texts : iterable of str, or of (text, text_pair)
    path : str or Path
        Replaced in one step.
    layers, heads, views, title
        As in `to_html`.
    progress : bool
        Show a progress bar.
    **options
        ``model``, ``tagger`` and ``truncation`` as in `analyze`; ``layer``, ``head``, ``view`` and the
        other traits of the widget for what is selected at first.

    Returns
    -------
    Path

    Raises
    ------
    InputError
        No text; or one that cannot be used, named by its place. Nothing is written.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     page = report(["the cat sat", "it slept"], pathlib.Path(folder) / "cats.html", progress=False)
    ...     page.name
    'cats.html'
    """
    from tqdm.auto import tqdm

    if isinstance(texts, str):
        raise InputTypeError(
            "texts is one str.", "Give a list of texts, or use to_html(show(text))."
        )
    every = list(texts)
    if not every:
        raise InputError("There is no text to report on.")
    selection = {name: options.pop(name) for name in SELECTED if name in options}
    for name in options:
        if name not in RUN_OPTIONS:
            known = ", ".join((*RUN_OPTIONS, *SELECTED))
            raise InputTypeError(f"report() has no option {name!r}.", f"Options: {known}.")

    def runs() -> Iterator[SavedRun]:
        for number, given in enumerate(tqdm(every, desc="report", disable=not progress)):
            kept = {"layers": layers, "heads": heads, "views": views, "tensors": 1 / len(every)}
            yield run_of(number, given, selection, options, kept)

    return write_page(path, runs(), title or TITLE, "report")


def run_of(
    number: int,
    given: object,
    selection: dict[str, Any],
    options: dict[str, Any],
    kept: dict[str, Any],
) -> SavedRun:
    """One text of a report; what is wrong with it is said with its number."""
    from attn_widget.show import analyze

    pair: tuple[Any, ...] = tuple(given) if isinstance(given, (tuple, list)) else (given, None)
    if len(pair) != 2:
        raise InputTypeError(f"Text {number} has {len(pair)} parts.", "Give (text, text_pair).")
    try:
        analysis = analyze(*pair, progress=False, **options)
        return saved_run(analysis, selection, **kept)
    except AttnWidgetError as error:
        raise type(error)(f"Text {number}: {error.message}", error.hint) from error

"""report(): many texts in one page, with a list to pick from."""

from __future__ import annotations

import os
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attn_widget.errors import AttnWidgetError, InputError, InputTypeError
from attn_widget.export.page import TITLE, deflate, write_page
from attn_widget.export.saved_run import SELECTED, Kept, SavedRun, check_views, saved_run

if TYPE_CHECKING:
    from attn_widget.encoder import Encoder

RUN_OPTIONS = ("model", "tagger", "truncation")
MOST_BYTES = 400e6  # of a page, which the browser holds whole
FOR_ATTENTION = (
    0.45  # of a text's share of that, before base64: the rest is figures and predictions
)
ENOUGH = 8  # texts, from which the size of the page is foreseen


def report(
    texts: Iterable[str | tuple[str, str]],
    path: str | os.PathLike[str],
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
    at a time. All texts share the room that one would have for the tensors of the view Inside, and
    very many texts get a coarser code of their attention (the page states the error).

    Parameters
    ----------
    texts : iterable of str, or of (text, text_pair)
    path : str or path
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
        No text; one that cannot be used, named by its place; or more than a page can hold. All of
        them are read before the first is run, and nothing is written.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     page = report(["the cat sat", "it slept"], pathlib.Path(folder) / "cats.html", progress=False)
    ...     page.name
    'cats.html'
    """
    from tqdm.auto import tqdm

    from attn_widget.encoder import load

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

    # The title is the page's; texts have their own.
    kept = Kept(layers, heads, check_views(views))

    def runs() -> Iterator[SavedRun]:
        encoder = load(options.get("model"), progress=progress)
        kept.check(encoder.n_layers, encoder.n_heads)
        tokens = [count_tokens(encoder, *one, options) for one in enumerate(every)]
        known = {**options, "model": encoder}
        room = Room(tokens)
        for number, given in enumerate(tqdm(every, desc="report", disable=not progress)):
            run = run_of(number, given, selection, known, kept, room.of_one)
            room.take(run)
            yield run

    return write_page(path, runs(), title or TITLE, "report")


class Room:
    """What is left of a page for many texts.

    Parameters
    ----------
    tokens : list of int
        Of each text.
    """

    def __init__(self, tokens: list[int]) -> None:
        self._tokens = tokens
        self._seen = 0
        self._bytes = 0

    @property
    def of_one(self) -> dict[str, float]:
        """How `saved_run` shares it out."""
        count = len(self._tokens)
        return {"tensors": 1 / count, "most": FOR_ATTENTION * MOST_BYTES / count}

    def take(self, run: SavedRun) -> None:
        """Count a text.

        Raises
        ------
        InputError
            All of them would make a page that no browser opens.
        """
        self._bytes += sum(len(deflate(chunk)) for chunk in run.snapshot.chunks.values())
        self._seen += 1
        count = len(self._tokens)
        if self._seen < min(ENOUGH, count):
            return
        mean = self._bytes / self._seen
        longer = sum(self._tokens) / count / (sum(self._tokens[: self._seen]) / self._seen)
        foreseen = mean * count * min(1.0, longer)
        if foreseen > MOST_BYTES:
            raise InputError(
                f"A page of these {count:,} texts would have some {foreseen / 1e6:,.0f} MB, more than "
                f"the {MOST_BYTES / 1e6:.0f} MB that a browser can be asked to open.",
                f"Give about {int(count * MOST_BYTES / foreseen):,} at a time, or fewer layers=, heads=.",
            )


def pair_of(number: int, given: object) -> tuple[Any, Any]:
    """Text and second text."""
    pair: tuple[Any, ...] = tuple(given) if isinstance(given, (tuple, list)) else (given, None)
    if len(pair) != 2:
        raise InputTypeError(f"Text {number} has {len(pair)} parts.", "Give (text, text_pair).")
    return pair


def count_tokens(encoder: Encoder, number: int, given: object, options: dict[str, Any]) -> int:
    """Tokens of one text of a report; raises what running it would raise."""
    pair = pair_of(number, given)
    with numbered(number):
        found = encoder.encode(*pair, truncation=options.get("truncation", False))
    return len(found.tokens)


def run_of(
    number: int,
    given: object,
    selection: dict[str, Any],
    options: dict[str, Any],
    kept: Kept,
    room: dict[str, float],
) -> SavedRun:
    """One text of a report."""
    from attn_widget.show import analyze

    with numbered(number):
        analysis = analyze(*pair_of(number, given), progress=False, **options)
        return saved_run(analysis, selection, kept, **room)


@contextmanager
def numbered(number: int) -> Generator[None]:
    """What is wrong with a text is said with its number."""
    try:
        yield
    except AttnWidgetError as error:
        raise type(error)(f"Text {number}: {error.message}", error.hint) from error

"""report(): many texts, analyses and comparisons in one page, with a list to pick from."""

from __future__ import annotations

import gc
import os
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from attn_widget.analysis import Analysis
from attn_widget.analysis.inputs import read_input
from attn_widget.analysis.texts import TextOptions, analyze
from attn_widget.checks import (
    are_messages,
    check_count,
    check_entries,
    check_flag,
    check_keywords,
    check_title,
    is_iterable,
    short_repr,
)
from attn_widget.errors import AttnWidgetError, InputError, InputTypeError
from attn_widget.features.comparison.comparison import Comparison
from attn_widget.features.comparison.page import compared_runs
from attn_widget.features.corpus.reading.items import split_item
from attn_widget.features.engine.live import page_model, shown_by_engine
from attn_widget.features.engine.options import check_views_of
from attn_widget.host.files import destination
from attn_widget.model.encoder import Encoder
from attn_widget.model.loading import load
from attn_widget.model.two_texts import encode_source, encode_target
from attn_widget.page.page import TITLE, PageModel, write_page
from attn_widget.page.saved_run import SavedRun, saved_run
from attn_widget.page.size_budget import SizeBudget
from attn_widget.page.spec import PageSpec, check_views
from attn_widget.protocol.run_source import RunSource
from attn_widget.protocol.selection import NAMES, ReportTraits, Selection

if TYPE_CHECKING:
    from typing_extensions import Unpack


Given: TypeAlias = "str | tuple[str, str] | Sequence[Mapping[str, Any]] | Analysis | Comparison"

RUN_OPTIONS = (*TextOptions.__annotations__, "generate")
OF_ONE_TEXT = ("token", "pair", "group")
FREED_EVERY = 3  # texts
OF_ALL_TEXTS = tuple(name for name in NAMES if name not in OF_ONE_TEXT)


class ReportOptions(TextOptions, ReportTraits, total=False):
    """Options of `report` that are those of a run, or traits."""

    generate: int


def report(
    texts: Iterable[Given],
    path: str | os.PathLike[str],
    *,
    layers: Sequence[int] | None = None,
    heads: Sequence[int] | None = None,
    views: Sequence[str] | None = None,
    title: str | None = None,
    progress: bool = True,
    engine: bool = False,
    **options: Unpack[ReportOptions],
) -> Path:
    """Write many texts, analyses and comparisons to one page, interactive without a kernel or a network.

    The page has a list to pick from; a run is decompressed when it is picked. The model runs the texts one
    by one, with one in memory at a time. A comparison is one entry of the list: both runs and their difference.
    All entries share the room that one text would have for the tensors of the view Inside. With very many, their
    attention is encoded more coarsely (the page states the error).

    Parameters
    ----------
    texts : iterable of str, (text, text_pair), messages, Analysis or Comparison
        In any mixture; messages are a chat, as in `analyze`. Of an encoder-decoder pairs are (source, output), and a text is a source, for which the model writes up
        to ``generate`` tokens; each entry has all three parts, and opens on ``part``, by default ``"cross"``.
    path : str or path
        Replaced atomically.
    layers, heads, views, title
        As in `to_html`.
    progress : bool
        Show a progress bar.
    engine : bool
        Include the model, once for all texts, to run any text typed into the page; see `AttentionWidget.to_html`.
    **options
        ``model``, ``tagger``, ``truncation`` and ``generate`` as in `analyze`; ``layer``, ``head``, ``view`` and other
        traits of the widget for the initial selection, except positions in one text
        (``token``, ``pair``, ``group``).

    Returns
    -------
    Path

    Raises
    ------
    InputTypeError
        ``texts`` is not a sequence, an option is unknown, or the title is not a str.
    InputError
        There is no text; a text cannot be used (the message gives its position); `show` refuses an option; or
        there are more texts than a page can hold. All texts are checked before the first is run, and nothing is written.
    NotAvailableError
        A model that the engine cannot run.

    Examples
    --------
    >>> from attn_widget import compare
    >>> import tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     cats = compare("the cat sat", "the dog sat", progress=False)
    ...     page = report(["it slept", cats], pathlib.Path(folder) / "cats.html", progress=False)
    ...     page.name
    'cats.html'
    """
    from tqdm.auto import tqdm

    if isinstance(texts, (str, bytes)):
        raise InputTypeError(
            f"texts is one {type(texts).__name__}.",
            "Give a list of texts, or use to_html(show(text)).",
        )
    if isinstance(texts, (Analysis, Comparison)):
        raise InputTypeError(
            f"texts is one {type(texts).__name__}.", "Give a list, or use to_html() for its page."
        )
    if not is_iterable(texts):
        raise InputTypeError(
            f"texts is a {type(texts).__name__}, expected several texts.",
            'report(["first text", "second text"], path)',
        )
    every = check_entries(texts, "texts", pairs=True, chats=True)
    if not every:
        raise InputError("There is no text to report on.")
    given: dict[str, Any] = {**options}
    selection = {name: given.pop(name) for name in OF_ALL_TEXTS if name in given}
    selection = {name: value for name, value in selection.items() if value is not None}
    chosen = Selection(**selection)
    for name in given:
        if name in OF_ONE_TEXT:
            raise InputTypeError(
                f"report() has no option {name!r}: it names places in one text.",
                "Leave it out, or save one text with to_html(show(text)).",
            )
        check_keywords([name], (*RUN_OPTIONS, *OF_ALL_TEXTS), "report()")
    check_flag(given.get("truncation", False), "truncation")
    given["generate"] = check_count(given.get("generate", 0), "generate", 0)
    progress = check_flag(progress, "progress")
    # The title is the page's; texts have their own.
    check_title(title)
    # Thousands of texts: masked predictions would take longer than all the rest.
    spec = PageSpec(layers=layers, heads=heads, views=views, engine=engine, masked=False)
    check_views(spec.views)
    target = destination(path)
    model: PageModel | None = None
    if spec.engine:
        spec = replace(spec, views=check_views_of(spec))
        chosen = shown_by_engine(chosen, spec)
        for number, entry in enumerate(every):
            if isinstance(entry, (Analysis, Comparison)) or are_messages(entry):
                raise InputError(
                    f"Entry {number} is {short_repr(entry)}, and a report with an engine runs texts.",
                    "Give texts, or leave engine out.",
                )
        given["model"] = load(given.get("model"), progress=progress)
        measured = [pair_of(*entry) for entry in enumerate(every)]
        model = page_model(given["model"], measured)

    def runs() -> Iterator[SavedRun]:
        run_options = dict(given)
        if not all(isinstance(entry, (Analysis, Comparison)) for entry in every):
            encoder = run_options["model"] = load(given.get("model"), progress=progress)
            if encoder.part is not None:
                part: Any = chosen.part or "cross"
                encoder = run_options["model"] = encoder.of(part)
            spec.within(encoder.n_layers, encoder.n_heads)
            chosen.check(encoder.n_layers, encoder.n_heads)
        lengths = [
            tokens_of(number, entry, run_options, spec, chosen)
            for number, entry in enumerate(every)
        ]
        budget = SizeBudget([count for every_run in lengths for count in every_run])
        for number, entry in enumerate(tqdm(every, desc="report", disable=not progress)):
            if isinstance(entry, Comparison):
                with numbered(number):
                    yield from compared_runs(entry, spec, budget, selection, pictured=number == 0)
                continue
            run = run_of(number, entry, chosen, run_options, replace(spec, **budget.of_one))
            budget.take(run)
            yield run
            del run
            if number % FREED_EVERY == 0:
                gc.collect()  # masked runs and the run that they are of hold each other

    return write_page(target, runs(), title or TITLE, "report", model)


def tokens_of(
    number: int, entry: object, options: dict[str, Any], spec: PageSpec, chosen: Selection
) -> list[int]:
    """Tokens of each run of an entry; raises what running and saving it would raise."""
    if not isinstance(entry, (Analysis, Comparison)):
        return [count_tokens(options["model"], number, entry, options)]
    runs = [entry.a, entry.b] if isinstance(entry, Comparison) else [entry]
    with numbered(number):
        for run in runs:
            spec.of_source(RunSource(run))
            chosen.check(run.trace.n_layers, run.trace.n_heads)
    return [run.trace.n_tokens for run in runs]


def pair_of(number: int, entry: object) -> tuple[Any, Any]:
    """Text or messages, and second text."""
    if are_messages(entry):
        return entry, None
    pair: tuple[Any, ...] = tuple(entry) if isinstance(entry, (tuple, list)) else (entry, None)
    if len(pair) != 2:
        raise InputTypeError(f"Text {number} has {len(pair)} parts.", "Give (text, text_pair).")
    return pair


def count_tokens(encoder: Encoder, number: int, entry: object, options: dict[str, Any]) -> int:
    """Tokens of one text of a report; raises what running it would raise."""
    pair = pair_of(number, entry)
    with numbered(number):
        if encoder.part is not None:
            read = encode_source(encoder, pair[0], truncation=options.get("truncation", False))
            output = output_of(encoder, pair, options["generate"])
            written = options["generate"] + 1
            if output is not None:
                written = encode_target(encoder, read, output).n_tokens
            return read.n_tokens if encoder.part == "encoder" else written
        truncation = options.get("truncation", False)
        encoding = read_input(
            encoder,
            *pair,
            output=None,
            writes=options["generate"] > 0,
            truncation=truncation,
            any_length=False,
            add_special_tokens=True,
        ) or encoder.encode(*pair, truncation=truncation)
    return len(encoding.tokens)


def run_of(
    number: int,
    entry: object,
    selection: Selection,
    options: dict[str, Any],
    spec: PageSpec,
) -> SavedRun:
    """One text of a report."""
    with numbered(number):
        if isinstance(entry, Analysis):
            seen = entry if selection.part is None else entry.of(selection.part)
            return saved_run(RunSource(seen), selection, spec, pictured=number == 0)
        pair, encoder = pair_of(number, entry), options["model"]
        if encoder.part is not None:
            given: dict[str, Any] = {
                **options,
                "output": output_of(encoder, pair, options["generate"]),
            }
            analysis = analyze(pair[0], progress=False, **given).of(encoder.part)
        else:
            analysis = analyze(*pair, progress=False, **options)
        return saved_run(RunSource(analysis), selection, spec, pictured=number == 0)


def output_of(encoder: Encoder, pair: tuple[Any, Any], generate: int) -> str | None:
    """Output of an entry of an encoder-decoder; None where the model writes it."""
    return split_item(encoder, pair[0] if pair[1] is None else tuple(pair), generate)[1]


@contextmanager
def numbered(number: int) -> Generator[None]:
    """Errors of a text name its number."""
    try:
        yield
    except AttnWidgetError as error:
        raise type(error)(f"Text {number}: {error.message}", error.hint) from error

"""surprisals(): many texts in, a row for each word out."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from attn_widget.checks import (
    check_choice,
    check_count,
    check_entries,
    check_flag,
    check_path,
    known_keywords,
)
from attn_widget.errors import InputError, InputTypeError, NotAvailableError
from attn_widget.features.corpus.engines.settings import failure_record
from attn_widget.features.corpus.identity import identity_of
from attn_widget.features.corpus.reading.chunks import Failure, chunks_of
from attn_widget.features.corpus.reading.sources import (
    COLUMN,
    check_column,
    is_source,
    is_table,
    read_texts,
)
from attn_widget.features.surprisal.kept import Kept
from attn_widget.features.surprisal.read import Reader, Record, stride_of
from attn_widget.features.surprisal.words import is_unspaced
from attn_widget.host.caller_warning import warn_caller
from attn_widget.host.installed import require_extra, require_torch
from attn_widget.host.store import locked
from attn_widget.model.encoder import Encoder
from attn_widget.model.loading import load

if TYPE_CHECKING:
    import pandas

COLUMNS = ("text_id", "index", "word", "start", "end", "position", "tokens", "surprisal", "entropy")


@known_keywords
def surprisals(
    texts: Iterable[Any] | str | Path,
    *,
    column: str | None = None,
    model: Any = None,
    correction: bool = True,
    engine: Literal["local", "ray"] = "local",
    progress: bool = True,
    folder: str | Path | None = None,
    failures: Literal["list", "raise"] = "list",
    address: str | None = None,
    workers: int | None = None,
) -> pandas.DataFrame:
    """Surprisal of every word of many texts: how little the model expected it, in bits.

    A word is what stands between white space, with its punctuation. A decoder predicts it from what comes before;
    an encoder from the whole text, in which all tokens of the word are masked at once (pseudo-surprisal).
    Of texts in scripts without spaces, such as Chinese, the tokens are the words.

    Parameters
    ----------
    texts : iterable of str, str, path, datasets.Dataset or DataFrame
        As for `profile`: a str or path names files.
    column : str, optional
        Column of the texts. Default "text".
    model : optional
        As for `analyze`; it needs a language-model head.
    correction : bool
        Of a decoder whose tokens begin with a space: divide out where words end (Pimentel and Meister 2024). Without it,
        the surprisal of a word is the sum over its tokens.
    engine : {"local", "ray"}
        In this process, or by workers of Ray (``attn-widget[ray]``).
    progress : bool
        Show a progress bar, in texts.
    folder : str or path, optional
        Folder in which finished chunks of texts are kept, so that repeating the call continues where it was interrupted.
        Needs pyarrow.
    failures : {"list", "raise"}
        Whether a text that cannot be read is listed in ``attrs["failed"]``, with a warning, or stops the call.
    address : str, optional
        Of a Ray cluster; without it Ray runs on this machine during the call.
    workers : int, optional
        Number of models with Ray.

    Returns
    -------
    pandas.DataFrame
        One row a word:

        - ``text_id``: index of a DataFrame that was given, else the number of the text, from 0 on;
        - ``index``: number of the word in its text; ``word``; ``start``, ``end``: its characters;
        - ``position``, ``tokens``: its first token, and all of them;
        - ``surprisal``: ``-log2 p(word)``, in bits. NaN at the first word of a decoder without a beginning token;
        - ``entropy``: of the model's distribution at the word's first token, in bits.

        ``attrs`` has ``model``, ``correction``, ``context`` and ``stride`` (tokens), ``notes``, and ``failed``.

    Raises
    ------
    InputError
        No text, or none that can be read; no such column; with ``failures="raise"`` the first text that cannot be read.
    InputTypeError
        ``texts`` is not a list of str, or an option has the wrong type.
    NotAvailableError
        A model without a language-model head, or an encoder-decoder; pandas, torch, Ray or pyarrow is needed but not installed.

    References
    ----------
    Pimentel and Meister (2024), "How to Compute the Probability of a Word", EMNLP.

    Kauf and Ivanova (2023), "A Better Way to Do Masked Language Model Scoring", ACL (words as a whole).

    Examples
    --------
    >>> words = surprisals(["The cat sat on the mat."], progress=False)
    >>> words.columns.tolist()
    ['text_id', 'index', 'word', 'start', 'end', 'position', 'tokens', 'surprisal', 'entropy']
    >>> words.word.tolist()
    ['The', 'cat', 'sat', 'on', 'the', 'mat.']
    >>> words.word[words.surprisal.idxmax()]  # the word that the model expected least
    'cat'
    """
    if not is_source(texts) and (isinstance(texts, bytes) or not hasattr(texts, "__iter__")):
        raise InputTypeError(f"texts is a {type(texts).__name__}, expected a list of str.", "For one text: surprisals([text]).")  # fmt: skip
    check_choice(engine, "engine", ["local", "ray"])
    check_choice(failures, "failures", ["list", "raise"])
    correction, progress = check_flag(correction, "correction"), check_flag(progress, "progress")
    if engine == "local" and not (address is None and workers is None):
        raise InputError("address and workers are options of engine='ray'.", "")
    if workers is not None:
        check_count(workers, "workers", 1, 100_000)
    if address is not None and not isinstance(address, str):
        raise InputTypeError(f"address is a {type(address).__name__}, expected a str.", "")
    kept = None if folder is None else check_path(folder, "folder")
    require_extra("pandas", "A table of surprisals needs pandas", "pandas")
    ids, listed, failed = _given(texts, column)
    encoder = load(model, progress=progress)
    check_predicts(encoder)
    identity = {"work": "surprisal", **identity_of(encoder), "correction": correction}
    with ExitStack() as stack:
        parts = None
        if kept is not None:
            stack.enter_context(locked(kept, "folder"))
            parts = Kept(kept, identity)
        chunks = [*chunks_of(listed)]
        if engine == "ray":
            from attn_widget.features.surprisal.on_ray import read_on_ray

            results = read_on_ray(encoder, model, correction, chunks, parts, address, workers)
        else:
            results = _read_here(Reader(encoder, correction), chunks, parts)
        rows = _collect(results, chunks, ids, failed, failures == "raise", progress)
    if not rows:
        raise InputError(f"No text could be read ({failed[0]['reason']}).", "The first reason is in parentheses.")  # fmt: skip
    if failed:
        warn_caller(f"{len(failed)} of {len(listed)} texts could not be read, {failed[0]['source']} first: {failed[0]['reason']}")  # fmt: skip
    return _table(rows, encoder, correction, failed, any(is_unspaced(str(text)) for text in listed))


def check_predicts(encoder: Encoder) -> None:
    """Refuse a model that predicts no tokens of one text."""
    if encoder.part is not None:
        raise NotAvailableError(
            f"{encoder.name} is an encoder-decoder, which predicts what it writes from another text.",
            "Give a decoder, such as 'smollm2', or an encoder.",
        )
    if not encoder.has_lm:
        raise NotAvailableError(
            f"{encoder.name} {encoder.lacks_lm}, so it predicts no words.",
            "Give a model with a language-model head.",
        )
    if encoder.predicts == "here" and encoder.mask_token_id is None:
        raise NotAvailableError(f"The tokenizer of {encoder.name} has no mask token.", "")
    require_torch("Surprisal of words")


def _given(texts: Any, column: str | None) -> tuple[list[Any], list[Any], list[dict[str, Any]]]:
    """Identifiers, texts, and what could not be read."""
    failed: list[dict[str, Any]] = []
    if is_table(texts) and hasattr(texts, "index") and hasattr(texts, "loc"):  # of pandas
        check_column(column)
        name = COLUMN if column is None else column
        if [*texts.columns].count(name) != 1:
            has = ", ".join(map(repr, texts.columns))
            raise InputError(
                f"The DataFrame has {'no' if name not in texts.columns else 'more than one'} column {name!r} (it has {has}).",
                "Name the column of the texts: surprisals(..., column=name).",
            )
        ids, listed = texts.index.tolist(), texts[name].tolist()
    elif is_source(texts):
        listed, bad = read_texts(texts, column)
        failed += bad
        ids = [*range(len(listed))]
    elif column is not None:
        raise InputError("column is for files and datasets.", "Leave it out for a list of str.")
    else:
        listed = [*check_entries(texts, "texts")]
        ids = [*range(len(listed))]
    if not listed:
        why = f" ({failed[0]['source']}: {failed[0]['reason']})" if failed else ""
        raise InputError(f"texts is empty{why}.", "Give at least one text.")
    return ids, listed, failed


Result = tuple[list[list[Record] | None], list[Failure]]


def _read_here(reader: Reader, chunks: list[list[Any]], parts: Kept | None) -> Iterable[Result]:
    for chunk in chunks:
        stored = None if parts is None else parts.find(chunk)
        if stored is not None:
            yield stored, []
            continue
        done, failures = reader.read(chunk)
        if parts is not None and not failures:
            parts.write(chunk, done)
        yield done, failures


def _collect(
    results: Iterable[Result],
    chunks: Sequence[list[Any]],
    ids: list[Any],
    failed: list[dict[str, Any]],
    strict: bool,
    progress: bool,
) -> list[Record]:
    from tqdm.auto import tqdm

    rows: list[Record] = []
    begins = 0
    with tqdm(total=len(ids), desc="surprisal", unit="text", disable=not progress) as bar:
        for chunk, (done, failures) in zip(chunks, results, strict=True):
            for failure in failures:
                record = failure_record(begins, failure)
                if strict:
                    raise InputError(f"{record['source']} stopped the work: {failure.reason}", "failures='list' goes on without it.")  # fmt: skip
                failed.append({**record, "text_id": ids[record["index"]]})
            for k, words in enumerate(done):
                rows += [{"text_id": ids[begins + k], **word} for word in words or ()]
            begins += len(chunk)
            bar.update(len(chunk))
    return rows


def _table(
    rows: list[Record],
    encoder: Encoder,
    correction: bool,
    failed: list[dict[str, Any]],
    unspaced: bool,
) -> pandas.DataFrame:
    import pandas as pd

    table = pd.DataFrame.from_records(rows, columns=COLUMNS)
    table.attrs = {
        "model": encoder.name,
        "correction": correction and encoder.predicts == "next",
        "context": encoder.max_length,
        "stride": stride_of(encoder.max_length),
        "notes": notes(encoder, correction, unspaced),
        "failed": failed,
    }
    return table


def notes(encoder: Encoder, correction: bool, unspaced: bool) -> list[str]:
    """Remarks that a reader of the table needs."""
    reader = Reader(encoder, correction)
    found: list[str] = []
    if not reader.next:
        found.append(
            f"{encoder.name} is a masked language model: surprisals are pseudo-surprisals, from both sides of a word."
        )
    elif reader.first_id is None:
        found.append(
            f"{encoder.name} has no beginning token, so nothing predicts the first token of a text: the surprisal of first words is NaN."
        )
    if reader.next and correction and reader.begins is None:
        found.append(
            f"The vocabulary of {encoder.name} does not mark where words begin: surprisals are sums over tokens."
        )
    if unspaced:
        found.append(
            "Some texts are in a script without spaces: their tokens are the words, without a correction."
        )
    return found

"""index(): texts in, a table of the hidden states of their tokens out."""

from __future__ import annotations

import json
from collections.abc import Generator, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import numpy as np

from attn_widget.checks import (
    check_entries,
    check_flag,
    check_kind,
    check_path,
    first_line,
    index_in,
)
from attn_widget.errors import InputError, NotAvailableError, NotFiniteError
from attn_widget.features.corpus.engines.settings import failure_record
from attn_widget.features.corpus.identity import identity_of, text_digest
from attn_widget.features.corpus.reading.batch import joined, one_thread
from attn_widget.features.corpus.reading.blocks import blocks_of
from attn_widget.features.corpus.reading.chunks import Failure, chunks_of
from attn_widget.features.corpus.reading.sources import is_source, read_texts
from attn_widget.features.corpus.words.word_index import (
    LARGE,
    METRIC,
    SETTINGS,
    TEXTS,
    TOKENS,
    WordIndex,
    connect,
    holds,
)
from attn_widget.host.model_failures import named_failures as model_failures
from attn_widget.host.store import locked
from attn_widget.language import annotate
from attn_widget.language.taggers import TaggerLike, resolve
from attn_widget.model.encoder import Encoder
from attn_widget.model.families import layer_modules
from attn_widget.model.loading import load
from attn_widget.trace.finite import check_weights
from attn_widget.trace.forward import inference_mode, on_device
from attn_widget.trace.hooks import hidden_of, hooked

SUBVECTOR = 8  # dimensions that one byte of the approximate index stands for


def index(
    texts: Any,
    path: str | Path,
    *,
    layer: int,
    column: str | None = None,
    model: Any = None,
    tagger: TaggerLike = "auto",
    truncation: bool = False,
    progress: bool = True,
) -> WordIndex:
    """Store the hidden state of every token of many texts, to search for words that the model reads alike.

    Special tokens are left out. From 50,000 tokens on, an approximate index is added (IVF-PQ; its results are
    ranked by the full vectors).

    Parameters
    ----------
    texts : iterable of str, str, path or datasets.Dataset
        As for `profile`.
    path : str or path
        A folder that is new or empty; or an address of an object store. It holds the texts. An index that was not
        finished, because the process ended, is made again.
    layer : int
        Layer whose output is stored, 0-based.
    column, model, tagger, truncation, progress
        As for `profile`.

    Returns
    -------
    WordIndex
        ``failed`` lists texts that could not be read.

    Raises
    ------
    InputError, InputTypeError
        No text, no such layer, a path that holds an index already or cannot be written to.
    NotAvailableError
        LanceDB is not installed, or the layers of the model are not known.
    NotFiniteError
        The model has weights that are NaN or infinite.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from attn_widget import analyze, corpus
    >>> texts = ["The bank of the river.", "She sat by the river.", "The bank lends money."]
    >>> with TemporaryDirectory() as folder:
    ...     found = corpus.index(texts, folder, layer=5, tagger=None, progress=False)
    ...     a = analyze("A boat on the river.", progress=False)
    ...     near = found.near(a, token=5, k=2)
    >>> found
    <WordIndex of attn_widget/mini, layer 5: 18 tokens of 3 texts, exact>
    >>> near["token"].tolist()
    ['river', 'river']
    """
    truncation, progress = check_flag(truncation, "truncation"), check_flag(progress, "progress")
    database = connect(path)
    refuse_finished(database, path)
    failed: list[dict[str, Any]]
    if is_source(texts):
        checked, bad = read_texts(texts, column)
        failed = [dict(failure) for failure in bad]
    elif column is not None:
        raise InputError("column is for files and datasets.", "Leave it out for a list of str.")
    else:
        checked, failed = check_entries(texts, "texts"), []
    if not checked:
        raise InputError("texts is empty.", "Give at least one text.")
    encoder = load(model, progress=progress)
    check_weights(encoder)
    layer = index_in(layer, encoder.n_layers, "layer")
    if layer_modules(encoder.family, encoder.network) is None:
        raise NotAvailableError(f"The layers of {encoder.name} are not known.")
    tag_with, _ = resolve(tagger)
    builder = _Builder(encoder, layer, tagger, truncation)
    remote = isinstance(path, str) and "://" in path
    with nullcontext() if remote else locked(check_path(path, "path"), "path"):
        refuse_finished(database, path)  # another call may have finished one
        _write(database, checked, builder, progress)
        settings = _finish(database, builder, failed, None if tag_with is None else tag_with.name)
    return WordIndex(database, encoder, settings)


def refuse_finished(database: Any, path: Any) -> None:
    """Refuse a folder with a finished index; what a call left that did not finish is replaced."""
    if holds(database, SETTINGS):
        raise InputError(
            f"{str(path)!r} holds an index already.",
            "Open it with WordIndex.open(path), or give another folder.",
        )


def _finish(
    database: Any, builder: _Builder, failed: list[dict[str, Any]], tagger: str | None
) -> dict[str, Any]:
    """Add the approximate index and the settings, which say that the index is complete."""
    encoder = builder.encoder
    if not builder.n_tokens:
        why = f" ({builder.failed[0]['reason']})" if builder.failed else ""
        raise InputError(f"No text could be read{why}.", "Give at least one text.")
    table = database.open_table(TOKENS)
    if builder.n_tokens >= LARGE:
        # As many partitions as a search then reads tokens in each (Jegou et al. 2011, section 5).
        from lancedb.index import IvfPq

        partitions = max(16, round(builder.n_tokens**0.5 / 4))
        parts = _sub_vectors(encoder.hidden_size)
        table.create_index(
            "vector",
            config=IvfPq(distance_type=METRIC, num_partitions=partitions, num_sub_vectors=parts),
        )
    settings = {
        "layer": builder.layer,
        **identity_of(encoder),
        "tagger": tagger,
        "n_texts": builder.n_texts,
        "n_tokens": builder.n_tokens,
        "failed": failed + builder.failed,
    }
    # Written last: an index without it is not finished.
    with named_failures():
        database.create_table(SETTINGS, data=[{"json": json.dumps(settings)}])
    return settings


@contextmanager
def named_failures() -> Generator[None]:
    """Say that the database failed, and why; what the model raises is none of its failures."""
    try:
        yield
    except (OSError, RuntimeError) as error:
        raise InputError(
            f"The index cannot be written: {first_line(error)}.",
            "Free some disk space, and give an empty folder.",
        ) from error


def _sub_vectors(width: int) -> int:
    """Parts of a vector with one byte each: as many as divide it."""
    return next(n for n in range(max(1, width // SUBVECTOR), 0, -1) if width % n == 0)


def _write(database: Any, texts: list[Any], builder: _Builder, progress: bool) -> None:
    import pyarrow as pa
    from tqdm.auto import tqdm

    width = builder.encoder.hidden_size
    schema = pa.schema(
        [
            ("vector", pa.list_(pa.float32(), width)),
            ("token", pa.string()),
            ("pos", pa.string()),
            ("index", pa.int64()),
            ("position", pa.int32()),
            ("start", pa.int32()),
            ("end", pa.int32()),
        ]
    )
    told = pa.schema([("index", pa.int64()), ("text", pa.string())])
    with named_failures():
        for name in (TOKENS, TEXTS):  # of a call that was killed
            database.drop_table(name, ignore_missing=True)
        tokens = database.create_table(TOKENS, schema=schema)
        read = database.create_table(TEXTS, schema=told)
    first = 0
    with tqdm(total=len(texts), desc="index", unit="text", disable=not progress) as bar:
        for chunk in chunks_of(texts):
            rows, vectors = builder.chunk(chunk, first)
            if rows:
                columns = {name: [row[name] for row in rows] for name in schema.names[1:]}
                flat = pa.array(vectors.reshape(-1))
                columns["vector"] = pa.FixedSizeListArray.from_arrays(flat, width)
                there = sorted({row["index"] for row in rows})
                said = {"index": there, "text": [chunk[k - first] for k in there]}
                with named_failures():
                    tokens.add(pa.table(columns, schema=schema))
                    read.add(pa.table(said, schema=told))
            first += len(chunk)
            bar.update(len(chunk))


class _Builder:
    """Tokens and hidden states of chunks."""

    def __init__(self, encoder: Encoder, layer: int, tagger: TaggerLike, truncation: bool) -> None:
        check_kind(layer, int, "layer", "A layer's number, 0-based.")
        self.encoder, self.layer = encoder, layer
        self.tagger: TaggerLike = tagger
        self.truncation = truncation
        self.n_texts = self.n_tokens = 0
        self.failed: list[dict[str, Any]] = []

    def chunk(self, texts: list[Any], first: int) -> tuple[list[dict[str, Any]], Any]:
        """Rows of the chunk's tokens, and their hidden states, float32 [tokens, d]."""
        places: list[int] = []
        encodings: list[Any] = []
        for place, text in enumerate(texts):
            try:
                encoding = self.encoder.encode(text, truncation=self.truncation)
                language = annotate(encoding.tokens, encoding.text, None, tagger=self.tagger)
            except Exception as error:
                self._fail(first, place, text, error)
                continue
            places.append(place)
            encodings.append((encoding, language))
        lengths = [encoding.n_tokens for encoding, _ in encodings]
        rows: list[dict[str, Any]] = []
        states: list[Any] = []
        read = 0
        with one_thread():
            for block in blocks_of(lengths, [text_digest(texts[k]) for k in places]):
                hidden = self._states([encodings[k][0] for k in block])
                for k, own in zip(block, hidden, strict=True):
                    if not np.isfinite(own).all():
                        self._fail(first, places[k], texts[places[k]], self._overflow())
                        continue
                    read += 1
                    of_text = list(_rows(encodings[k][1].tokens, first + places[k]))
                    rows += of_text
                    states.append(own[[row["position"] for row in of_text]])
        self.n_texts += read
        self.n_tokens += len(rows)
        return rows, np.concatenate(states) if states else np.zeros((0, 0), np.float32)

    def _fail(self, first: int, place: int, text: Any, error: Exception) -> None:
        self.failed.append(failure_record(first, Failure(place, str(text), error)))

    def _overflow(self) -> NotFiniteError:
        return NotFiniteError(
            f"Layer {self.layer} of {self.encoder.name} gave numbers that are not finite."
        )

    def _states(self, encodings: list[Any]) -> Any:
        """Output of the layer, float32 [texts, n, d]."""
        encoder = self.encoder
        inputs = on_device(encoder, joined(encodings))
        entered: list[Any] = []

        def note(_module: Any, args: Any, kwargs: Any) -> None:
            entered.append(hidden_of(args, kwargs))

        modules: Any = layer_modules(encoder.family, encoder.network)
        with (
            inference_mode(encoder),
            hooked(modules, before=note),
            model_failures(encoder.network, encoder.name),
        ):
            outputs = encoder.network.base_model(**inputs, return_dict=True)
        # The output of a layer enters the next one; after the last one some models normalize once more.
        states = [*entered, outputs[0]][self.layer + 1]
        return states.float().cpu().numpy()


def _rows(tokens: Any, place: int) -> Iterator[dict[str, Any]]:
    for position, token in enumerate(tokens):
        if not token.special and token.start < token.end:
            yield {
                "token": token.text,
                "pos": token.pos,
                "index": place,
                "position": position,
                "start": token.start,
                "end": token.end,
            }

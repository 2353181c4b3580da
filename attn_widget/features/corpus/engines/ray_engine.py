"""The engine of Ray Data: workers read chunks, keep them as parts of a folder, and sum them up.

First, tasks read the sources and cut them into chunks; a pool of actors, each with a model, makes a part of
every chunk that has none yet. Then tasks sum the parts up, each its share, and the sums are merged: of whole
numbers, so that neither shares nor order change a bit. What is moved is texts, names of parts, and one sum a
task; a task or an actor that dies is started again, and a part that is made twice is the same part.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from attn_widget.checks import check_entries
from attn_widget.errors import AttnWidgetError, InputError, NotAvailableError
from attn_widget.features.corpus.engines.cluster import connected
from attn_widget.features.corpus.engines.folder import Folder
from attn_widget.features.corpus.engines.settings import (
    Options,
    failure_record,
    kept_identity,
    load_for_profile,
    profile_meta,
)
from attn_widget.features.corpus.examples import ReadTexts
from attn_widget.features.corpus.heaps import Heaps, example_names
from attn_widget.features.corpus.identity import same_model
from attn_widget.features.corpus.profile import Profile
from attn_widget.features.corpus.reading.blocks import KEYS
from attn_widget.features.corpus.reading.chunks import chunks_of, read_chunk
from attn_widget.features.corpus.reading.sources import (
    check_column,
    check_sources,
    dataset_texts,
    file_texts,
    files_of,
    is_source,
)
from attn_widget.features.corpus.totals import Totals
from attn_widget.host.installed import require_extra
from attn_widget.model.encoder import Encoder
from attn_widget.model.loading import load

# Processors that a task which reads files asks for: it must run while the models have all of them.
READING = 0
RETRIES = 20  # of a task that sums parts up


def profile_with_ray(
    texts: Any, options: Options, address: str | None, workers: int | None, threads: int
) -> Profile:
    """The work of `attn_widget.profile` with Ray.

    ``texts``: files, a dataset, or an iterable of str. ``address``: None: Ray runs on this machine. ``threads``: of
    each worker.
    """
    require_extra("ray", "engine='ray' needs Ray", "ray")
    check_column(options.column)
    files = files_of(texts) if isinstance(texts, (str, Path)) else None
    if files is not None:
        check_sources(files, options.column)
    elif not is_source(texts):
        if options.column is not None:
            raise InputError("column is for files and datasets.", "Leave it out for a list of str.")
        texts = check_entries(texts, "texts", pairs=True)
        if not texts:
            raise InputError("texts is empty.", "Give at least one text.")
    encoder = load_for_profile(options)
    if encoder.part is not None:
        raise NotAvailableError(
            f"{encoder.name} is an encoder-decoder, and workers of Ray read one text for each run.",
            "Use engine='local'; folder= keeps what is finished.",
        )
    meta = profile_meta(encoder, options.tagger, options.truncation)
    with _folder(options.folder) as place:
        stores = options.folder is not None
        folder = Folder(place, kept_identity(meta, options.tagger) if stores else dict(meta))
        folder.open()
        with connected(address, threads if workers is None else workers * threads):
            run = _Run(folder, options, encoder, workers, threads)
            parts, failed = run.read(_chunks(files, texts, options.column))
            if not any(part["rows"] for part in parts):
                why = f" ({failed[0]['reason']})" if failed else ""
                raise InputError(f"No text could be read{why}.", "Give at least one text.")
            totals = run.total(parts)
    n_texts = totals.n_texts + sum("index" in entry for entry in failed)
    meta |= {"n_texts": n_texts, "texts": ""} | ({"failed": failed} if failed else {})
    read = ReadTexts((), encoder, options.truncation, options.tagger)
    return Profile(totals, meta, options.seed, read)


@contextmanager
def _folder(given: str | None) -> Generator[str]:
    """The folder of the parts; one for the time being unless it is given."""
    if given is not None:
        yield given
        return
    place = tempfile.mkdtemp(prefix="attn_widget-")
    try:
        yield place
    finally:
        shutil.rmtree(place, ignore_errors=True)


def _chunks(files: list[Any] | None, texts: Any, column: str | None) -> Any:
    """A Ray data set of chunks: ``source``, ``first`` and ``chunk``, JSON of texts and of what failed."""
    import pyarrow as pa
    import ray

    if files is not None:
        rows = [{"source": k, "file": str(file)} for k, file in enumerate(files)]
        table = ray.data.from_items(rows, override_num_blocks=len(rows))
        read_file: Any = partial(_read_file, column=column)
        return table.map_batches(read_file, batch_size=1, num_cpus=READING)
    failed: list[dict[str, str]] = []
    readable = texts
    if is_source(texts):
        readable = dataset_texts(
            texts, column, lambda source, why: failed.append({"source": source, "reason": why})
        )
    tables: list[Any] = []
    first = 0
    for chunk in chunks_of(readable):
        tables.append(ray.put(pa.Table.from_pylist([_chunk_row(0, first, chunk, failed)])))
        first += len(chunk)
    tables.append(ray.put(pa.Table.from_pylist([_chunk_row(0, first, [], failed)])))
    return ray.data.from_arrow_refs(tables)


def _chunk_row(
    source: int, first: int, chunk: list[Any], failed: list[dict[str, str]]
) -> dict[str, Any]:
    texts = [text if isinstance(text, str) else {"no text": type(text).__name__} for text in chunk]
    row = {"texts": texts, "failed": list(failed)}
    failed.clear()
    return {"source": source, "first": first, "chunk": json.dumps(row)}


def _read_file(batch: dict[str, Any], column: str | None) -> Iterator[dict[str, Any]]:
    """Chunks of a file, one batch each."""
    source = int(batch["source"][0])
    file = str(batch["file"][0])
    failed: list[dict[str, str]] = []
    path = files_of(file)[0]
    texts = file_texts(
        path, column, lambda place, why: failed.append({"source": place, "reason": why})
    )
    first = 0
    try:
        for chunk in chunks_of(texts):
            yield _batch(_chunk_row(source, first, chunk, failed))
            first += len(chunk)
    except AttnWidgetError as error:  # a later row without the column, say
        failed.append({"source": file, "reason": error.message})
    yield _batch(_chunk_row(source, first, [], failed))


def _batch(row: dict[str, Any]) -> dict[str, Any]:
    return {name: np.array([value]) for name, value in row.items()}


class Worker:
    """An actor with a model: makes a part of each chunk that has none.

    ``model``: what `load` takes.
    """

    def __init__(self, folder: Folder, model: Any, options: Options, threads: int) -> None:
        os.environ.setdefault("HF_HUB_OFFLINE", "1")
        import torch

        torch.set_num_threads(1)
        self.folder, self.options, self.threads = folder, options, threads
        self.encoder = load(model, progress=False)
        self.problem = ""
        if not same_model(self.encoder, folder.identity):
            self.problem = (
                f"A worker has other weights, or another tokenizer, of {self.encoder.name}."
            )
        elif (
            profile_meta(self.encoder, options.tagger, False)["tagger"] != folder.identity["tagger"]
        ):
            self.problem = "A worker has another tagger."

    def __call__(self, batch: dict[str, Any]) -> dict[str, Any]:
        """The name of the part of a chunk, how many texts it has, and those that failed."""
        results = [
            self._part(int(source), int(first), json.loads(str(chunk)))
            for source, first, chunk in zip(
                *(batch[k] for k in ("source", "first", "chunk")), strict=True
            )
        ]
        return {"result": np.array([json.dumps(result) for result in results])}

    def _part(self, source: int, first: int, chunk: dict[str, Any]) -> dict[str, Any]:
        texts = chunk["texts"]
        result = {"source": source, "first": first, "texts": len(texts), "failed": chunk["failed"]}
        result |= {"name": "", "rows": 0, "bad": [], "error": self.problem}
        if not texts or self.problem:
            return result
        name = self.folder.name_of(source, first, texts)
        if self.folder.find(name) is not None:
            return result | {"name": name, "rows": len(texts)}
        options = self.options
        rows, bad = read_chunk(
            self.encoder, texts, options.tagger, options.truncation, self.threads
        )
        result["bad"] = [failure_record(first, failure) for failure in bad]
        if not len(rows.index):
            return result
        if bad:  # under another name, so that it is read again next time
            name = f"partial-{name}"
        try:
            self.folder.write(name, replace(rows, texts=[texts[k] for k in rows.index]))
        except AttnWidgetError as error:
            return result | {"error": f"{error.message} {error.hint}"}
        return result | {"name": name, "rows": len(rows.index)}


def _sum_up(
    folder: Folder, parts: list[tuple[str, int]], shape: tuple[int, int, int], seed: int
) -> Totals:
    """The sums of some parts, each with the place where its chunk begins."""
    _, n_layers, n_heads = shape
    totals = Totals(shape, seed, Heaps(example_names(KEYS), n_layers, n_heads))
    for name, begins in parts:
        rows = folder.read(name)
        totals.add(replace(rows, index=rows.index + begins))
    return totals


class _Run:
    """One profile on a cluster that is connected."""

    def __init__(
        self, folder: Folder, options: Options, encoder: Any, workers: int | None, threads: int
    ) -> None:
        import ray

        self.folder, self.options, self.encoder = folder, options, encoder
        self.threads = threads
        processors = int(ray.cluster_resources().get("CPU", 1))
        self.workers = workers or max(1, processors // threads)

    def read(self, chunks: Any) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
        """Make a part of every chunk: parts in the order of the texts, and what failed."""
        import ray
        from tqdm.auto import tqdm

        model = self.options.model
        if isinstance(model, Encoder):
            model = (model.model, model.tokenizer)
        options = replace(self.options, model=None)
        results = chunks.map_batches(
            Worker,
            batch_size=1,
            compute=ray.data.ActorPoolStrategy(size=self.workers),
            num_cpus=self.threads,
            fn_constructor_args=(self.folder, model, options, self.threads),
        )
        parts: list[dict[str, Any]] = []
        failed: list[dict[str, Any]] = []
        with tqdm(desc="profile", unit="text", disable=not self.options.progress) as bar:
            for row in results.iter_rows():
                part = json.loads(row["result"])
                if part["error"]:
                    raise InputError(part["error"])
                if part["bad"] and self.options.strict:
                    first = part["bad"][0]
                    raise InputError(f"{first['source']} stopped the profile: {first['reason']}")
                parts.append(part)
                bar.update(part["texts"])
        parts.sort(key=lambda part: (part["source"], part["first"]))
        begins, total, source = 0, 0, 0
        for part in parts:
            if part["source"] != source:
                source, begins = part["source"], total
            part["begins"] = begins + part["first"]
            total += part["texts"]
            failed += part["failed"]
            for bad in part["bad"]:
                index = bad["index"] + begins
                failed.append({**bad, "index": index, "source": f"text {index}"})
        return parts, failed

    def total(self, parts: list[dict[str, Any]]) -> Totals:
        """The sums of all parts: every worker sums some up, and they are merged here."""
        import ray
        from ray.exceptions import RayTaskError

        shape = (len(KEYS), self.encoder.n_layers, self.encoder.n_heads)
        named = [(part["name"], part["begins"]) for part in parts if part["name"]]
        summing = ray.remote(num_cpus=1, max_retries=RETRIES)(_sum_up)
        waiting = [
            summing.remote(self.folder, named[k :: self.workers], shape, self.options.seed)
            for k in range(min(self.workers, len(named)))
        ]
        totals: Totals | None = None
        while waiting:
            done, waiting = ray.wait(waiting)
            try:
                first: Any = ray.get(done[0])
            except RayTaskError as error:
                if isinstance(error.cause, AttnWidgetError):
                    raise error.cause from error
                raise
            if totals is None:
                # Arrays out of Ray's store cannot be written to.
                totals = Totals(shape, self.options.seed, first.heaps.empty())
            totals.merge(first)
        assert totals is not None
        return totals

"""Figures of texts as Parquet: one row a text, one column a figure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import compress
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attn_widget.errors import InputError
from attn_widget.features.corpus.parquet_file import described_content, need_pyarrow, pack, unpack
from attn_widget.features.corpus.reading.observed import Observed
from attn_widget.host.caller_warning import warn_caller
from attn_widget.host.files import write_parts
from attn_widget.host.store import check_identity

Columns = Mapping[str, NDArray[Any]]  # numbers of texts, [texts, ...] each
_METADATA = b"attn_widget"
HINT = "Give another folder, or the same model, texts and options."


@dataclass(frozen=True)
class Rows:
    """Figures of some of the texts."""

    index: NDArray[np.int64]  # [texts]; place in the list of texts
    n_tokens: NDArray[np.int64]  # [texts]
    figures: NDArray[np.float32]  # [texts, keys, L, H]; NaN = N/A
    # [texts]; a hash of each text; None in files of earlier versions.
    digests: NDArray[np.uint64] | None = None
    observed: Observed | None = None  # links and patterns; None in files of earlier versions
    texts: list[str] | None = None
    tokens: list[list[str]] | None = None  # both in the parts of a folder alone

    def take(self, chosen: NDArray[np.bool_]) -> Rows:
        """The rows that are chosen."""
        return Rows(
            self.index[chosen],
            self.n_tokens[chosen],
            self.figures[chosen],
            None if self.digests is None else self.digests[chosen],
            None if self.observed is None else self.observed.take(np.flatnonzero(chosen)),
            None if self.texts is None else [*compress(self.texts, chosen)],
            None if self.tokens is None else [*compress(self.tokens, chosen)],
        )

    @staticmethod
    def empty(n_keys: int, n_layers: int, n_heads: int) -> Rows:
        """No text."""
        figures = np.zeros((0, n_keys, n_layers, n_heads), np.float32)
        return Rows(np.zeros(0, np.int64), np.zeros(0, np.int64), figures)


def write(
    path: Path, rows: Rows, meta: dict[str, Any], more: Columns = MappingProxyType({})
) -> None:
    """Write rows atomically: an existing file is always complete.

    ``meta``: kept in the file's schema as JSON; ``meta["keys"]`` names the columns. ``more``: further numbers of each
    text, which `read` gives as ``meta["more"]``. Raises `InputError`: the file cannot be written; nothing of it stays.
    """
    write_parts(path, [packed(rows, meta, more)])


def packed(rows: Rows, meta: dict[str, Any], more: Columns = MappingProxyType({})) -> bytes:
    """The file that `write` writes."""
    need_pyarrow()
    import pyarrow as pa

    n_layers, n_heads = rows.figures.shape[2:]
    columns: dict[str, Any] = {"index": rows.index, "n_tokens": rows.n_tokens}
    if rows.digests is not None:
        columns["digest"] = rows.digests
    for k, key in enumerate(meta["keys"]):
        values = pa.array(rows.figures[:, k].reshape(-1))
        columns[key] = pa.FixedSizeListArray.from_arrays(values, n_layers * n_heads)
    observed = {} if rows.observed is None else vars(rows.observed)
    wide = {"observed": observed, "more": more}
    for group, arrays in wide.items():
        for name, values in arrays.items():
            flat = pa.array(values.reshape(-1))
            columns[f"{group}:{name}"] = pa.FixedSizeListArray.from_arrays(flat, values[:1].size)
    shapes = {
        group: {name: list(values.shape[1:]) for name, values in arrays.items()}
        for group, arrays in wide.items()
    }
    if rows.texts is not None:
        columns["text"] = rows.texts
    if rows.tokens is not None:
        columns["tokens"] = pa.array(rows.tokens, pa.list_(pa.string()))
    described = {**meta, "shape": [n_layers, n_heads], **shapes}
    return pack(pa.table(columns), _METADATA, described)


def read(path: Path, data: bytes | None = None) -> tuple[Rows, dict[str, Any]]:
    """Read what `write` wrote.

    ``data``: the file's content, where it has been read; ``path`` is then its name in messages. Raises
    `InputError`: there is no such file, or it is not a profile. Raises `DamagedError`: it has changed since it was
    written.
    """
    table, meta = unpack(path, _METADATA, data)
    with described_content(path):
        shape = (table.num_rows, *meta["shape"])
        figures = [
            table[key].combine_chunks().flatten().to_numpy(zero_copy_only=False).reshape(shape)
            for key in meta["keys"]
        ]
        observed = _wide(table, "observed", meta.pop("observed", {}))
        more = _wide(table, "more", meta.pop("more", {}))
        if more:
            meta["more"] = more
        rows = Rows(
            table["index"].to_numpy(),
            table["n_tokens"].to_numpy(),
            np.stack(figures, 1).astype(np.float32),
            table["digest"].to_numpy() if "digest" in table.column_names else None,
            Observed(**observed) if observed else None,
            table["text"].to_pylist() if "text" in table.column_names else None,
            table["tokens"].to_pylist() if "tokens" in table.column_names else None,
        )
        return rows, meta


def _wide(table: Any, group: str, shapes: dict[str, list[int]]) -> dict[str, NDArray[Any]]:
    """Columns of several numbers a text, by name."""
    arrays = {
        name: table[f"{group}:{name}"].combine_chunks().flatten().to_numpy(zero_copy_only=False)
        for name in shapes
    }
    return {n: a.reshape(table.num_rows, *shapes[n]) for n, a in arrays.items()}


def join(parts: Sequence[Rows]) -> Rows:
    """All rows in the order of the texts."""
    index = np.concatenate([part.index for part in parts])
    n_tokens = np.concatenate([part.n_tokens for part in parts])
    figures = np.concatenate([part.figures for part in parts])
    order = np.argsort(index, kind="stable")
    hashes = [part.digests for part in parts if part.digests is not None]
    observed = [part.observed for part in parts if part.observed is not None]
    return Rows(
        index[order],
        n_tokens[order],
        figures[order],
        np.concatenate(hashes)[order] if len(hashes) == len(parts) else None,
        Observed.join(observed).take(order) if len(observed) == len(parts) else None,
    )


class Parts:
    """A folder of finished work, one Parquet file for each stretch of it. The caller holds its lock (`locked`).

    A damaged part is named in a warning and removed, so that its work is done again. Of work that lies there twice, such
    as a copy under another name, one is taken.

    ``identity``: what the work depends on; work of another identity is refused, never mixed in.
    """

    def __init__(self, folder: Path, identity: dict[str, Any]) -> None:
        need_pyarrow()
        self.folder = folder
        self.identity = identity
        self.done: list[Rows] = []
        for path in sorted(folder.glob("part-*.parquet")):
            try:
                rows, meta = read(path)
            except InputError as error:
                warn_caller(f"{error.message} Its work is done again.")
                path.unlink()
                continue
            check_identity(meta, identity, f"The work in {str(folder)!r} is not of this run", HINT)
            known = [index for part in self.done for index in part.index]
            again = np.isin(rows.index, known)
            if again.any():
                warn_caller(
                    f"{str(path)!r} holds work that another part holds too ({again.sum()} items): it counts once."
                )
            if not again.all():
                self.done.append(rows.take(~again))
        self._next = len(self.done)

    def add(self, rows: Rows, meta: dict[str, Any]) -> None:
        """Keep more finished work."""
        while (path := self.folder / f"part-{self._next:06d}.parquet").exists():
            self._next += 1
        write(path, rows, {**meta, **self.identity})
        self.done.append(rows)

"""Totals as a Parquet file: one row an array."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from attn_widget.features.corpus.heaps import Heaps, Kept
from attn_widget.features.corpus.parquet_file import (
    described_content,
    has_key,
    need_pyarrow,
    pack,
    unpack,
)
from attn_widget.features.corpus.totals import Totals
from attn_widget.host.files import write_parts

_METADATA = b"attn_widget_totals"


def write_totals(path: Path, totals: Totals, meta: dict[str, Any]) -> None:
    """Write sums and examples; at once or not at all.

    Raises `InputError`: the file cannot be written; nothing of it stays. Raises `NotAvailableError`: pyarrow is not
    installed.
    """
    need_pyarrow()
    import pyarrow as pa

    arrays = dict(totals.arrays)
    texts: dict[int, Kept] = {}
    if totals.heaps is not None:
        arrays.update({f"heap:{name}": part for name, part in totals.heaps.entries.items()})
        texts = totals.heaps.texts
    shape = {
        "totals": list(totals.shape),
        "heaps": None if totals.heaps is None else list(totals.heaps.names),
        "n_texts": totals.n_texts,
        "n_tokens": totals.n_tokens,
        "texts": [(place, item.text, item.tokens) for place, item in texts.items()],
    }
    table = pa.table(
        {
            "name": list(arrays),
            "dtype": [str(values.dtype) for values in arrays.values()],
            "shape": [list(values.shape) for values in arrays.values()],
            "data": [values.tobytes() for values in arrays.values()],
        }
    )
    write_parts(path, [pack(table, _METADATA, {**meta, "sums": shape}, use_dictionary=False)])


def is_totals(path: Path) -> bool:
    """True if `write_totals` wrote this file."""
    return has_key(path, _METADATA)


def read_totals(path: Path) -> tuple[Totals, dict[str, Any]]:
    """Read what `write_totals` wrote.

    Raises `InputError`: it is damaged (`DamagedError`), or of another version.
    """
    table, meta = unpack(path, _METADATA)
    with described_content(path):
        arrays = {
            row["name"]: np.frombuffer(row["data"], row["dtype"]).reshape(row["shape"]).copy()
            for row in table.to_pylist()
        }
        sums = meta.pop("sums")
        heaps = None
        if sums["heaps"] is not None:
            heaps = Heaps(sums["heaps"], *sums["totals"][1:])
            heaps.entries = {name: arrays.pop(f"heap:{name}") for name in heaps.entries}
            heaps.texts = {int(place): Kept(text, tokens) for place, text, tokens in sums["texts"]}
        totals = Totals(tuple(sums["totals"]), int(meta["seed"]), heaps)
        totals.n_texts, totals.n_tokens = sums["n_texts"], sums["n_tokens"]
        totals.arrays = arrays
        return totals, meta

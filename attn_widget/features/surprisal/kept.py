"""A folder of finished chunks of words: one Parquet part each, named by what it depends on."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from attn_widget.errors import InputError
from attn_widget.features.corpus.parquet_file import described_content, need_pyarrow, pack, unpack
from attn_widget.host.caller_warning import warn_caller
from attn_widget.host.files import write_parts

KEY = b"attn_widget:surprisal"
Record = dict[str, Any]


class Kept:
    """Finished chunks in a folder. The caller holds its lock (`attn_widget.host.store.locked`).

    Parts of other models and options may lie there too: their names differ.

    Parameters
    ----------
    folder : Path
    identity : dict
        What the figures depend on, besides the texts.
    """

    def __init__(self, folder: Path, identity: dict[str, Any]) -> None:
        need_pyarrow()
        self.folder, self.identity = folder, identity

    def path_of(self, texts: Sequence[Any]) -> Path:
        """Path of the part of a chunk."""
        written = json.dumps([self.identity, [str(text) for text in texts]], sort_keys=True)
        name = hashlib.sha256(written.encode(errors="surrogatepass")).hexdigest()[:24]
        return self.folder / f"words-{name}.parquet"

    def find(self, texts: Sequence[Any]) -> list[list[Record] | None] | None:
        """The words of each text of a chunk; None where they are not kept, or damaged, which a warning says."""
        path = self.path_of(texts)
        if not path.is_file():
            return None
        try:
            table, meta = unpack(path, KEY)
            with described_content(path):
                done: list[list[Record] | None] = [[] for _ in range(meta["texts"])]
                for row in table.to_pylist():
                    done[row.pop("text")].append(row)  # pyright: ignore[reportOptionalMemberAccess]
        except InputError as error:
            warn_caller(f"{error.message} Its texts are read again.")
            return None
        return done

    def write(self, texts: Sequence[Any], done: Sequence[list[Record] | None]) -> None:
        """Keep the words of each text of a chunk, whole or not at all."""
        import pyarrow as pa

        rows = [{"text": k, **word} for k, words in enumerate(done) for word in words or ()]
        table = pa.Table.from_pylist(rows) if rows else pa.table({"text": pa.array([], pa.int64())})
        write_parts(self.path_of(texts), [pack(table, KEY, {"texts": len(done)})])

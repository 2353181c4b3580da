"""A folder of finished chunks: one Parquet part each, named by its content."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from uuid import uuid4

from attn_widget.errors import InputError
from attn_widget.features.corpus.parquet_file import need_pyarrow
from attn_widget.features.corpus.storage import HINT, Rows, packed, read
from attn_widget.host.caller_warning import warn_caller
from attn_widget.host.json_file import parsed_object
from attn_widget.host.store import check_identity

SETTINGS = "settings.json"


class Folder:
    """Storage of chunks: a folder of this machine, one that all machines share, or an object store.

    A part appears once it is whole, under a name made from the settings of the run, the place of the chunk and
    its texts: work that is done twice gives one part.

    ``place``: a path, or an address that pyarrow knows (``s3://bucket/run``). ``identity``: what the figures depend
    on.
    """

    def __init__(self, place: str, identity: dict[str, Any]) -> None:
        need_pyarrow()
        self.place, self.identity = str(place), identity
        self._mark = json.dumps(identity, sort_keys=True)

    def _found(self) -> tuple[Any, str]:
        """File system and folder."""
        from pyarrow import fs

        if "://" in self.place:
            return fs.FileSystem.from_uri(self.place.rstrip("/"))
        return fs.LocalFileSystem(), str(Path(self.place).absolute())

    def open(self) -> None:
        """Make the folder, or make sure that it is of this run.

        Raises `InputError`: the folder cannot be made or written to, or holds the work of other settings.
        """
        import pyarrow as pa

        shown = repr(self.place)
        try:
            system, folder = self._found()
            info = system.get_file_info(folder)
            if info.is_file:
                raise InputError(f"folder={shown} is a file.", "Give a folder of its own.")
            system.create_dir(folder, recursive=True)
            before = self._settings()
            if before is None:
                self._write(SETTINGS, self._mark.encode())
                return
        except (OSError, ValueError, pa.ArrowException) as error:
            raise InputError(
                f"folder={shown} cannot be made: {_reason(error)}.",
                "Give a folder that you may write to.",
            ) from error
        check_identity(before, self.identity, f"The work in {shown} is not of this run", HINT)

    def _settings(self) -> dict[str, Any] | None:
        """The settings that were written; None where there are none, or none that can be read.

        They are written again then: the names of parts depend on the settings, so those of another run stay apart.
        """
        if not self._is_file(SETTINGS):
            return None
        before = parsed_object(self._content(SETTINGS))
        if before is not None:
            return before
        warn_caller(f"{SETTINGS} in {self.place!r} is damaged. It is written again.")
        return None

    def name_of(self, source: int, first: int, texts: Sequence[Any]) -> str:
        """Name of the part of a chunk: ``source`` and ``first`` are the file and the place in it."""
        digest = hashlib.sha256(self._mark.encode())
        digest.update(f"\0{source} {first} {len(texts)}".encode())
        for text in texts:
            encoded = str(text).encode(errors="surrogatepass")
            digest.update(len(encoded).to_bytes(8, "little") + encoded)
        return f"part-{digest.hexdigest()[:24]}.parquet"

    def find(self, name: str) -> Rows | None:
        """A finished part; None where there is none, or where it is damaged, which a warning says.

        What is damaged is made again and replaced.
        """
        import pyarrow as pa

        try:
            if not self._is_file(name):
                return None
            return self.read(name)
        except (OSError, pa.ArrowException, InputError) as error:
            reason = error.message if isinstance(error, InputError) else _reason(error)
            warn_caller(
                f"A part in {self.place!r} cannot be used: {reason} Its texts are read again."
            )
            return None

    def _is_file(self, name: str) -> bool:
        system, folder = self._found()
        return system.get_file_info(f"{folder}/{name}").is_file

    def write(self, name: str, rows: Rows) -> None:
        """Keep a part.

        Raises `InputError`: it cannot be written: the disk is full, say. Nothing of it stays, and all other parts
        do.
        """
        import pyarrow as pa

        try:
            self._write(name, packed(rows, {**self.identity, "file": name}))
        except (OSError, pa.ArrowException) as error:
            raise InputError(
                f"A finished part cannot be written to {self.place!r}: {_reason(error)}.",
                "Finished parts are kept: make room, and call again with the same folder.",
            ) from error

    def _write(self, name: str, data: bytes) -> None:
        system, folder = self._found()
        new = f"{folder}/.{name}.{uuid4().hex[:8]}"
        try:
            with system.open_output_stream(new) as file:
                file.write(data)
            system.move(new, f"{folder}/{name}")
        except BaseException:
            if system.get_file_info(new).is_file:
                system.delete_file(new)
            raise

    def read(self, name: str) -> Rows:
        """A part that is there.

        Raises `InputError`: it is damaged, or was kept under another name: it is of other texts.
        """
        path = Path(self.place) / name
        rows, meta = read(path, self._content(name))
        if meta.get("file", name) != name:
            raise InputError(
                f"{str(path)!r} is a copy of {meta['file']}, which holds other texts.",
                "Delete it.",
            )
        return rows

    def _content(self, name: str) -> bytes:
        system, folder = self._found()
        with system.open_input_stream(f"{folder}/{name}") as file:
            return file.read()


def _reason(error: Exception) -> str:
    return getattr(error, "strerror", None) or str(error)

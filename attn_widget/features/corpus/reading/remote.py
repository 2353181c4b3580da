"""Files of an object store, by the file systems of pyarrow."""

from __future__ import annotations

import io
from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import PurePosixPath
from typing import Any, BinaryIO, cast

from attn_widget.checks import first_line
from attn_widget.errors import InputError
from attn_widget.host.installed import require_extra


@dataclass(frozen=True)
class RemoteFile:
    """A file by its address: ``s3://bucket/texts.jsonl``."""

    address: str

    @property
    def suffix(self) -> str:
        return PurePosixPath(self.address).suffix

    def open(self, _mode: str = "rb") -> BinaryIO:
        """The file, to be read; its lines can be walked through."""
        from pyarrow import fs

        system, path = fs.FileSystem.from_uri(self.address)
        return io.BufferedReader(cast("Any", system.open_input_file(path)))

    def __str__(self) -> str:
        return self.address


def remote_files(pattern: str) -> Iterator[RemoteFile]:
    """The files that an address names; ``*``, ``?`` and ``[]`` in its last part match several."""
    require_extra("pyarrow", "Reading addresses needs pyarrow", "pandas")
    import pyarrow as pa
    from pyarrow import fs

    parent, _, name = pattern.rpartition("/")
    try:
        system, folder = fs.FileSystem.from_uri(parent)
        entries = system.get_file_info(fs.FileSelector(folder, allow_not_found=True))
    except (OSError, ValueError, pa.ArrowException) as error:
        raise InputError(
            f"{pattern!r} cannot be listed: {first_line(error)}.",
            "Give an address that pyarrow can open.",
        ) from error
    names = sorted(entry.base_name for entry in entries if entry.is_file)
    matching = [file for file in names if file == name] or [
        file for file in names if fnmatch(file, name)
    ]
    if not matching:
        raise InputError(f"No file matches {pattern!r}.", "Give an address of files, or a glob.")
    for file in matching:
        yield RemoteFile(f"{parent}/{file}")

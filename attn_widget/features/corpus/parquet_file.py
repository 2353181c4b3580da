"""Parquet files with a checksum over all of their bytes."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from attn_widget.checks import first_line
from attn_widget.errors import AttnWidgetError, InputError
from attn_widget.host.installed import require_extra

FORMAT = 2  # 1: without a checksum
MARK = b"attn_widget:sha256="
EMPTY = MARK + b"0" * 64
WRITTEN = re.compile(re.escape(MARK) + rb"([0-9a-f]{64})")
HINT = "Give a file that Profile.save() wrote."


class DamagedError(InputError):
    """A file whose content is not what was written."""


def need_pyarrow() -> None:
    """Raise in words when Parquet cannot be written or read."""
    require_extra("pyarrow", "Saving, loading and resuming a profile need pyarrow", "pandas")


def pack(table: Any, key: bytes, meta: dict[str, Any], **options: Any) -> bytes:
    """A Parquet file of ``table``, with ``meta`` as JSON under ``key`` in its schema.

    Its checksum is that of the file with 64 zeros in the checksum's place.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    described = {key: json.dumps({**meta, "format": FORMAT}), b"checksum": EMPTY}
    file = pa.BufferOutputStream()
    pq.write_table(table.replace_schema_metadata(described), file, compression="zstd", **options)
    data = bytearray(file.getvalue().to_pybytes())
    start = data.rindex(EMPTY) + len(MARK)
    data[start : start + 64] = hashlib.sha256(data).hexdigest().encode()
    return bytes(data)


def unpack(path: Path, key: bytes, data: bytes | None = None) -> tuple[Any, dict[str, Any]]:
    """The table and the description in what `pack` gave.

    ``path``: read unless ``data`` is given; named in messages. Raises `InputError`: there is no such file, or it is
    not one with this ``key``. Raises `DamagedError`: it has changed since it was written.
    """
    need_pyarrow()
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        content = path.read_bytes() if data is None else data
    except OSError as error:
        message = f"{str(path)!r} cannot be read as Parquet ({error.strerror or error})."
        raise InputError(message, HINT) from error
    sound = _is_sound(content)
    if sound is False:
        raise _damaged(path)
    try:
        table = pq.read_table(pa.BufferReader(content))
    except Exception as error:  # whatever a damaged description makes of the reader
        raise InputError(
            f"{str(path)!r} cannot be read as Parquet ({first_line(error)}).", HINT
        ) from error
    packed = (table.schema.metadata or {}).get(key)
    if packed is None:
        raise InputError(f"{str(path)!r} is Parquet, but not a profile.", HINT)
    try:
        meta = json.loads(packed)
        version = meta.pop("format")
    except (ValueError, KeyError, AttributeError) as error:
        raise _damaged(path) from error
    if version not in (1, FORMAT):
        raise InputError(
            f"{str(path)!r} has format {version}; this version reads {FORMAT}.",
            "Read it with the version of attn_widget that wrote it.",
        )
    if version == FORMAT and not sound:
        raise _damaged(path)
    return table, meta


@contextmanager
def described_content(path: Path) -> Generator[None]:
    """Turn whatever a description that does not fit the table makes of the reader into a `DamagedError`."""
    try:
        yield
    except (AttnWidgetError, MemoryError, OSError):
        raise
    except Exception as error:
        raise DamagedError(
            f"{str(path)!r} is damaged: its description does not fit its content ({first_line(error)}).",
            "Restore the file, or make it again.",
        ) from error


def has_key(path: Path, key: bytes) -> bool:
    """True if the schema of a Parquet file has this key."""
    need_pyarrow()
    import pyarrow.parquet as pq

    try:
        return key in (pq.read_schema(path).metadata or {})
    except Exception:  # `unpack` says what is wrong
        return False


def _is_sound(data: bytes) -> bool | None:
    """True if a file has the checksum of its content; None where it has no checksum."""
    marks = [*WRITTEN.finditer(data)]
    if not marks:
        return None
    start, end = marks[-1].span(1)
    blank = bytearray(data)
    blank[start:end] = b"0" * 64
    return hashlib.sha256(blank).hexdigest().encode() == marks[-1][1]


def _damaged(path: Path) -> DamagedError:
    return DamagedError(
        f"{str(path)!r} is damaged: its checksum is not that of its content.",
        "Restore the file, or make it again.",
    )

"""The header of a GGUF file: lengths that its size allows, before a reader believes them."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import IO

# Bytes of a value by its type; https://github.com/ggml-org/ggml/blob/master/docs/gguf.md
SIZES = {0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8}
STRING, ARRAY = 8, 9
LITTLE_ENDIAN = 0xFFFF  # versions above it are numbers of the other byte order


def is_sound_header(path: Path) -> bool:
    """False if the header names more values than the file has room for: the reader would count on for days.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "a.gguf"
    ...     _ = path.write_bytes(b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + b"cut off")
    ...     is_sound_header(path)
    False
    """
    size = path.stat().st_size
    with path.open("rb") as file:
        file.seek(4)
        try:
            version, _, fields = struct.unpack("<IQQ", file.read(20))
            if version > LITTLE_ENDIAN:
                return True  # the reader knows that order
            for _ in range(fields):
                _skip(file, STRING, size)
                _skip(file, _number(file, "<I"), size)
        except (struct.error, KeyError, EOFError):
            return False
    return True


def _number(file: IO[bytes], form: str) -> int:
    return struct.unpack(form, file.read(struct.calcsize(form)))[0]


def _skip(file: IO[bytes], kind: int, size: int) -> None:
    """Go past one value."""
    if kind == ARRAY:
        of, count = _number(file, "<I"), _number(file, "<Q")
        if of in SIZES:
            _pass(file, SIZES[of] * count, size)
        elif of == STRING:
            for _ in range(count):
                _skip(file, of, size)
        else:
            raise KeyError(of)  # arrays of arrays, which no reader of them has
    else:
        _pass(file, _number(file, "<Q") if kind == STRING else SIZES[kind], size)


def _pass(file: IO[bytes], count: int, size: int) -> None:
    if count > size - file.tell():
        raise EOFError
    file.seek(count, 1)

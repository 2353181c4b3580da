"""CSV fields of any length."""

from __future__ import annotations

import csv
from collections.abc import Generator
from contextlib import contextmanager

LARGEST_FIELD = 2**31 - 1  # characters; a C long has 32 bits on Windows


@contextmanager
def wide_fields() -> Generator[None]:
    """Let `csv` read fields of more than 131,072 characters within the block.

    >>> with wide_fields():
    ...     [field] = next(csv.reader(["a" * 200_000]))
    >>> len(field)
    200000
    """
    limit = csv.field_size_limit(LARGEST_FIELD)
    try:
        yield
    finally:
        csv.field_size_limit(limit)

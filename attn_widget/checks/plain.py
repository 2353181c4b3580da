"""Values that JSON can say."""

from __future__ import annotations

from typing import Any

LARGEST_INT = 2**53  # the largest that JavaScript counts to
MAX_ENTRIES = 10_000  # of a list or an object


def is_plain(value: Any, deepest: int) -> bool:
    """True if a value is what JSON can say, or bytes, in at most ``deepest`` levels of lists and objects.

    Examples
    --------
    >>> is_plain({"layer": [1, 2]}, 2), is_plain([[[]]], 2), is_plain(10**5000, 1)
    (True, False, False)
    """
    if isinstance(value, (list, tuple, dict)):
        keys, entries = (value, value.values()) if isinstance(value, dict) else ((), value)
        return (
            deepest > 0
            and all(isinstance(key, str) for key in keys)
            and len(entries) <= MAX_ENTRIES
            and all(is_plain(entry, deepest - 1) for entry in entries)
        )
    if isinstance(value, int):
        return abs(value) <= LARGEST_INT
    return value is None or isinstance(value, (float, str, bytes))

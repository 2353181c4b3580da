"""Parts of messages: the value that was given, and the name that was meant."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable
from pathlib import Path
from reprlib import Repr
from typing import Any

MAX_SHOWN = 80  # characters of a value in a message
MAX_NAMED = 10  # choices in a message
PATH = re.compile(
    r"""(\(|\b(at|see|in|from|file)\b)?[\s'"(\[]*[^\s'"(]*\b(site|dist)-packages\b""", re.IGNORECASE
)
LONGEST_WORD = 100  # characters that are compared with names


class _Short(Repr):
    """`repr` that looks at the beginning of a value alone."""

    def __init__(self) -> None:
        super().__init__()
        self.maxlevel, self.maxlong = 2, MAX_SHOWN
        self.maxstring = self.maxother = 3 * MAX_SHOWN

    def repr_int(self, x: int, level: int) -> str:  # noqa: ARG002
        if abs(x) >= 10**MAX_SHOWN:  # Python refuses to write some of these
            return f"an int of {x.bit_length():,} bits"
        return repr(x)

    def repr_instance(self, x: Any, level: int) -> str:  # noqa: ARG002
        try:
            return repr(x)
        except Exception:
            return f"<{type(x).__name__}>"


_short = _Short()


def short_repr(value: Any) -> str:
    """``value`` as a message writes it: `repr`, in at most `MAX_SHOWN` characters.

    >>> short_repr("no"), short_repr(10**5000), len(short_repr("a" * 100_000))
    ("'no'", 'an int of 16,610 bits', 80)
    """
    text = _short.repr(value)
    return text if len(text) <= MAX_SHOWN else f"{text[: MAX_SHOWN - 1]}…"


def first_line(error: BaseException) -> str:
    """Message of another library's error, in one line that ends before a path of its files; its class if it has none.

    >>> first_line(ValueError("No kernel (see /usr/lib/python3/site-packages/x.py)."))
    'No kernel'
    """
    said = PATH.split(str(error).strip().partition("\n")[0])[0]
    return said[:200].rstrip(" .,:;([") or type(error).__name__


def nearest(name: Any, names: Iterable[str]) -> str:
    """The question whether a known name was meant, where one is near; else empty.

    >>> nearest("layre", ("layer", "head"))
    "Did you mean 'layer'?"
    """
    matches = difflib.get_close_matches(str(name)[:LONGEST_WORD], [*names], n=1)
    return f"Did you mean {matches[0]!r}?" if matches else ""


def stands_at(path: Path) -> str:
    """``"folder"``, ``"file"`` or, where there is none, ``""``: also for a name that no disk takes."""
    try:
        return "folder" if path.is_dir() else "file" if path.is_file() else ""
    except OSError:
        return ""

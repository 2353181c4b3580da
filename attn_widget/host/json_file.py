"""JSON that may be damaged."""

from __future__ import annotations

import json
from typing import Any


def parsed_object(content: bytes | str) -> dict[str, Any] | None:
    """The JSON object in ``content``; None where it is none, such as damaged JSON or a list.

    >>> parsed_object('{"a": 1}'), parsed_object("[" * 100_000), parsed_object("3")
    ({'a': 1}, None, None)
    """
    try:
        found = json.loads(content)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None

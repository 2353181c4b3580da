"""`attn-widget --chat messages.json -o page.html`: a chat in place of a text."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from attn_widget.command import Option
from attn_widget.errors import InputError

OPTIONS = {
    "chat": Option(
        "messages as JSON: a list of role and content (- reads standard input)", {"metavar": "FILE"}, (), ("pair", "against"),
        "with messages",
    ),
}  # fmt: skip


def prepare(options: argparse.Namespace) -> None:
    """The messages take the place of the text, where a file of them is given."""
    if options.chat is not None:
        options.text = read_messages(options.chat)


def read_messages(name: str) -> Any:
    """The JSON of a UTF-8 file; ``-`` is standard input. A dict with ``messages`` gives these.

    Raises `InputError`: no file, no JSON, or JSON that is no list.
    """
    called = "standard input" if name == "-" else repr(name)
    try:
        data = sys.stdin.buffer.read() if name == "-" else Path(name).read_bytes()
        given = json.loads(data.decode("utf-8-sig"))
    except OSError as error:
        raise InputError(f"{called} cannot be read: {error.strerror or error}.") from error
    except (ValueError, RecursionError) as error:
        raise InputError(f"{called} is no JSON: {error}.", '[{"role": "user", "content": "..."}]') from error  # fmt: skip
    if isinstance(given, dict) and isinstance(given.get("messages"), list):
        given = given["messages"]
    if not isinstance(given, list):
        raise InputError(f"{called} holds no list of messages.", '[{"role": "user", "content": "..."}]')  # fmt: skip
    return given

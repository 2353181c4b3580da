"""Shared by the commands of the core and of features: options as data, and lines on the screen."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from attn_widget.errors import AttnWidgetError
from attn_widget.host.installed import needing

PIPE_CLOSED = 141  # exit status of a command that SIGPIPE ends


class Option(NamedTuple):
    """An option of a command: the arguments of argparse, and the options that it needs or excludes.

    ``texts``: what it gives in place of the text, where it does.
    """

    help: str
    takes: dict[str, Any]
    needs: tuple[str, ...] = ()
    without: tuple[str, ...] = ()
    texts: str = ""


SWITCH: dict[str, Any] = {"action": "store_true"}
OUTPUT = Option("write a page that needs no kernel and no network", {"metavar": "PAGE"})
TITLE = Option("of the page", {}, needs=("output",))
TRUNCATION = Option("truncate a text that is too long", SWITCH)


def flag(name: str) -> str:
    """An option as it is typed."""
    return "-o PAGE" if name == "output" else f"--{name.replace('_', '-')}"


def add_options(parser: argparse.ArgumentParser, options: dict[str, Option]) -> None:
    for name, option in options.items():
        short = ["-o"] if name == "output" else []
        parser.add_argument(*short, f"--{name.replace('_', '-')}", help=option.help, **option.takes)


def parse(
    parser: argparse.ArgumentParser, options: dict[str, Option], arguments: Sequence[str]
) -> argparse.Namespace:
    """The options, each with all that it needs and none that it excludes."""
    found = parser.parse_args(arguments)
    given = {name for name in options if getattr(found, name) not in (None, False)}
    for name in [name for name in options if name in given]:
        for other in options[name].needs:
            if other not in given:
                parser.error(f"{flag(name)} needs {flag(other)}")
        for other in options[name].without:
            if other in given:
                parser.error(f"{flag(name)} cannot be combined with {flag(other)}")
    return found


def ended(work: Callable[[argparse.Namespace], None], options: argparse.Namespace) -> int:
    """Do the work; its exit status."""
    try:
        with needing("This command"):
            work(options)
        sys.stdout.flush()
    except BrokenPipeError:  # of `| head`, which has read enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return PIPE_CLOSED
    except (AttnWidgetError, OSError) as error:
        print(f"attn-widget: {' '.join(str(error).split())}", file=sys.stderr)
        return 2
    return 0


def say(line: str) -> None:
    """Print a line; what the terminal has no characters for is written as escapes."""
    encoding = sys.stdout.encoding or "utf-8"
    print(line.encode(encoding, "backslashreplace").decode(encoding))

"""Fields of the dataclasses that features add theirs to: a default, and what is allowed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import field
from typing import Any


def one_of(default: str, choices: Sequence[str]) -> Any:
    """A field with one of some names."""
    return field(default=default, metadata={"choices": choices})


def up_to(most: int, default: int) -> Any:
    """A field with a whole number from 1."""
    return field(default=default, metadata={"most": most})


def option(
    check: Callable[[Any], Any],
    default: Any = None,
    *,
    of_a_run: tuple[str, str] | None = None,
    fits: Callable[[Any, Any], object] | None = None,
) -> Any:
    """An option of a page.

    ``check``: gives what was given, checked. ``of_a_run``: of what only a run has: what other sources say of it,
    and what to do instead. ``fits``: raises what is wrong with it for an analysis, before anything is computed.
    """
    return field(default=default, metadata={"check": check, "of_a_run": of_a_run, "fits": fits})

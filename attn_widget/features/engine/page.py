"""The option ``engine`` of pages."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypedDict

from attn_widget.checks import check_flag
from attn_widget.protocol.fields import option


@dataclass(frozen=True, kw_only=True)
class EnginePage:
    """The model in the page."""

    # Include the model, so that the page runs any text typed into it (docs/saved-pages.md).
    engine: bool = option(lambda given: check_flag(given, "engine"), False)


class EngineOption(TypedDict, total=False):
    """The same as a keyword."""

    engine: bool

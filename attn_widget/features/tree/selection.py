"""The selection in the view Tree: fields of a `Selection`, and options of `show`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypedDict

from attn_widget.protocol.fields import up_to

LARGEST_TOP_K = 10
LARGEST_DEPTH = 6


@dataclass(frozen=True, kw_only=True)
class TreeSelection:
    """Fields of the view Tree."""

    top_k: int = up_to(LARGEST_TOP_K, 3)
    depth: int = up_to(LARGEST_DEPTH, 3)


class TreeOptions(TypedDict, total=False):
    """Traits of the view Tree."""

    top_k: int | None
    depth: int | None

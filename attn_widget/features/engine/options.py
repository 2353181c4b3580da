"""The options ``engine`` and ``assets`` of pages, checked."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from attn_widget.checks import check_flag, check_path, short_repr
from attn_widget.errors import InputError
from attn_widget.page.saved_run import ExportOptions

Engine = bool | Literal["light"]
Assets = Literal["inside", "beside"] | str | os.PathLike[str]

# The views whose every figure the engine computes (js/src/features/engine/page/answers).
LIVE_VIEWS = ("attention", "heads", "tree", "sentences", "predictions", "inside", "task")


@dataclass(frozen=True)
class EngineOptions:
    """Which weights a page takes along, and where they are.

    Attributes
    ----------
    light : bool
        Matrices of 8 bits, which are always in the page.
    folder : Path or None
        Where a script with the weights is written for the page to load; None: they are in the page.
    """

    light: bool = False
    folder: Path | None = None


def check_engine(engine: object, assets: Assets, page: Path) -> EngineOptions | None:
    """The options of ``page``; None without an engine.

    Raises
    ------
    InputError, InputTypeError
        Another word, assets without an engine or with a light one, or a folder that does not exist.
    """
    if not isinstance(assets, str):
        assets = check_path(assets, "assets")
    if isinstance(engine, str):
        if engine != "light":
            raise InputError(f"engine is {short_repr(engine)}, expected True, False or 'light'.")
    elif not check_flag(engine, "engine"):
        if assets != "inside":
            raise InputError(
                "assets sets where the weights of an engine are stored, but there is no engine.",
                "Give engine=True as well.",
            )
        return None
    light = engine == "light"
    if assets == "inside":
        return EngineOptions(light)
    if light:
        raise InputError(
            "The 8-bit weights of engine='light' are always stored in the page, so assets cannot be given with it.",
            "Leave assets out, or give engine=True.",
        )
    if assets == "beside":
        return EngineOptions(folder=page.parent)
    folder = check_path(assets, "assets")
    if not folder.is_dir():
        raise InputError(
            f"assets is {str(assets)!r}, which is not a folder.",
            "Expected 'inside', 'beside' or an existing folder.",
        )
    return EngineOptions(folder=folder)


def check_views_of(options: ExportOptions) -> list[str]:
    """The views of a page with an engine."""
    if options.layers is not None or options.heads is not None:
        raise InputError(
            "A page with an engine computes all layers and heads.",
            "Leave layers and heads out, or leave engine out.",
        )
    if options.why is not None:
        raise InputError(
            "A page with an engine explains no target: that needs gradients.", "Leave why out."
        )
    views: Sequence[str] = LIVE_VIEWS if options.views is None else options.views
    other = [view for view in views if view not in LIVE_VIEWS]
    if other:
        raise InputError(
            f"The engine of a page has no view {other[0]!r}.", f"It has {', '.join(LIVE_VIEWS)}."
        )
    return [view for view in LIVE_VIEWS if view in views]

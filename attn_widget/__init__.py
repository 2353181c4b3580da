"""See inside BERT-family models: ``show("the cat sat on the mat")`` in a notebook cell."""

from __future__ import annotations

import os
from importlib import import_module
from typing import TYPE_CHECKING, Any

from attn_widget._version import __version__
from attn_widget.features import declared
from attn_widget.host.installed import imported, needing

if TYPE_CHECKING:
    from attn_widget.analysis import Analysis
    from attn_widget.analysis.external import from_attentions
    from attn_widget.analysis.texts import analyze
    from attn_widget.errors import AttnWidgetError
    from attn_widget.features import public  # pyright: ignore[reportMissingModuleSource]
    from attn_widget.features.public import *  # noqa: F403  # pyright: ignore[reportMissingModuleSource]
    from attn_widget.model.encoder import Encoder
    from attn_widget.model.loading import load, unload
    from attn_widget.widget import AttentionWidget, close_all
    from attn_widget.widget.saving import as_html, to_html

# Torch's threads spin while they wait for each other, which next to other work takes a short text several times the seconds
# (benchmarks/threads.py). OpenMP reads this when torch is imported.
if imported("torch") is None:
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")

# Names come when they are first used, so that `import attn_widget` does not wait for torch.
_HOMES = {
    "Analysis": "attn_widget.analysis",
    "AttentionWidget": "attn_widget.widget",
    "AttnWidgetError": "attn_widget.errors",
    "Encoder": "attn_widget.model.encoder",
    "analyze": "attn_widget.analysis.texts",
    "as_html": "attn_widget.widget.saving",
    "close_all": "attn_widget.widget",
    "from_attentions": "attn_widget.analysis.external",
    "load": "attn_widget.model.loading",
    "show": "attn_widget.api",
    "to_html": "attn_widget.widget.saving",
    "unload": "attn_widget.model.loading",
}

__all__ = [  # noqa: F405
    "Analysis",
    "AttentionWidget",
    "AttnWidgetError",
    "Encoder",
    "__version__",
    "analyze",
    "as_html",
    "close_all",
    "from_attentions",
    "load",
    "show",
    "to_html",
    "unload",
]


if TYPE_CHECKING:
    __all__ += public.__all__
else:  # a checker would take every name for one of ours
    _HOMES |= declared("names")
    __all__ = sorted([*__all__, *dict(declared("names"))])

    def __getattr__(name: str) -> Any:
        if name in _HOMES:
            with needing(f"attn_widget.{name}"):
                value = getattr(import_module(_HOMES[name]), name)
            globals()[name] = value
            return value
        raise AttributeError(f"module 'attn_widget' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__

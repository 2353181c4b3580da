"""See inside BERT-family models: ``show("the cat sat on the mat")`` in a notebook cell."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from attn_widget._version import __version__
from attn_widget.host.installed import needing
from attn_widget.host.results import display_by

if TYPE_CHECKING:
    from attn_widget.analysis import Analysis
    from attn_widget.analysis.external import from_attentions
    from attn_widget.analysis.texts import analyze
    from attn_widget.api import show
    from attn_widget.errors import AttnWidgetError
    from attn_widget.features.comparison import Comparison, ManyComparisons, compare, compare_many
    from attn_widget.features.corpus import Profile, profile
    from attn_widget.features.corpus.head_means import head_means
    from attn_widget.features.corpus.trust import agreement, faithfulness
    from attn_widget.features.corpus.words import WordIndex, index
    from attn_widget.features.exports.report import report
    from attn_widget.features.similarity import Ranking, Similarity, similarity
    from attn_widget.features.why.targets import Target, target
    from attn_widget.model.encoder import Encoder
    from attn_widget.model.loading import load, unload
    from attn_widget.widget import AttentionWidget, close_all
    from attn_widget.widget.saving import as_html, to_html

# Names come when they are first used, so that `import attn_widget` does not wait for torch.
_HOMES = {
    "Analysis": "attn_widget.analysis",
    "AttentionWidget": "attn_widget.widget",
    "AttnWidgetError": "attn_widget.errors",
    "Comparison": "attn_widget.features.comparison",
    "Encoder": "attn_widget.model.encoder",
    "ManyComparisons": "attn_widget.features.comparison",
    "Profile": "attn_widget.features.corpus",
    "Ranking": "attn_widget.features.similarity",
    "Similarity": "attn_widget.features.similarity",
    "Target": "attn_widget.features.why.targets",
    "WordIndex": "attn_widget.features.corpus.words",
    "agreement": "attn_widget.features.corpus.trust",
    "analyze": "attn_widget.analysis.texts",
    "as_html": "attn_widget.widget.saving",
    "close_all": "attn_widget.widget",
    "compare": "attn_widget.features.comparison",
    "compare_many": "attn_widget.features.comparison",
    "faithfulness": "attn_widget.features.corpus.trust",
    "from_attentions": "attn_widget.analysis.external",
    "head_means": "attn_widget.features.corpus.head_means",
    "index": "attn_widget.features.corpus.words",
    "load": "attn_widget.model.loading",
    "profile": "attn_widget.features.corpus.run",
    "report": "attn_widget.features.exports.report",
    "show": "attn_widget.api",
    "similarity": "attn_widget.features.similarity",
    "target": "attn_widget.features.why.targets",
    "to_html": "attn_widget.widget.saving",
    "unload": "attn_widget.model.loading",
}

__all__ = [
    "Analysis",
    "AttentionWidget",
    "AttnWidgetError",
    "Comparison",
    "Encoder",
    "ManyComparisons",
    "Profile",
    "Ranking",
    "Similarity",
    "Target",
    "WordIndex",
    "__version__",
    "agreement",
    "analyze",
    "as_html",
    "close_all",
    "compare",
    "compare_many",
    "faithfulness",
    "from_attentions",
    "head_means",
    "index",
    "load",
    "profile",
    "report",
    "show",
    "similarity",
    "target",
    "to_html",
    "unload",
]


# Results such as a Similarity display themselves: their room is below that of widgets.
display_by(
    lambda result, traits: import_module("attn_widget.features.similarity.widget").widget_of(
        result, traits
    )
)


if not TYPE_CHECKING:  # a checker would take every name for one of ours

    def __getattr__(name: str) -> Any:
        if name in _HOMES:
            with needing(f"attn_widget.{name}"):
                value = getattr(import_module(_HOMES[name]), name)
            globals()[name] = value
            return value
        raise AttributeError(f"module 'attn_widget' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__

# Written by `make catalog` from the registry, for type checkers alone.
from collections.abc import Mapping, Sequence
from typing import Any, Literal, overload

from typing_extensions import Unpack

from attn_widget.analysis import Analysis
from attn_widget.analysis.attention import AttentionFigures
from attn_widget.analysis.heads import HeadFigures
from attn_widget.analysis.model import ModelFigures
from attn_widget.api import ShowOptions, WidgetOptions
from attn_widget.features.chat.figures import OfChat
from attn_widget.features.comparison.call import compare as compare
from attn_widget.features.comparison.comparison import Comparison as Comparison
from attn_widget.features.comparison.many_results import ManyComparisons as ManyComparisons
from attn_widget.features.comparison.widget import ComparisonWidget
from attn_widget.features.corpus.call import corpus as corpus
from attn_widget.features.corpus.profile import Profile as Profile
from attn_widget.features.corpus.run import profile as profile
from attn_widget.features.corpus.widget import ProfileTraits, ProfileWidget
from attn_widget.features.corpus.words.word_index import WordIndex as WordIndex
from attn_widget.features.engine.page import EngineOption, EnginePage
from attn_widget.features.exports.report import report as report
from attn_widget.features.exports.widget import Exports
from attn_widget.features.images.view import OfImage
from attn_widget.features.inside.figures import InsideFigures
from attn_widget.features.lens.figures import LensFigures
from attn_widget.features.qk.figures import QKFigures
from attn_widget.features.sentences.figures import SentenceFigures
from attn_widget.features.similarity.ranking import Ranking as Ranking
from attn_widget.features.similarity.similarity import Similarity as Similarity
from attn_widget.features.similarity.texts import similarity as similarity
from attn_widget.features.similarity.widget import SimilarityTraits, SimilarityWidget
from attn_widget.features.surprisal.run import surprisals as surprisals
from attn_widget.features.tasks.figures import TaskFigures
from attn_widget.features.tree.figures import TreeFigures
from attn_widget.features.tree.selection import TreeOptions, TreeSelection
from attn_widget.features.tree.traits import TreeTraits
from attn_widget.features.why.page import WhyOption, WhyPage
from attn_widget.features.why.selection import ContributionsOption, WhyOptions, WhySelection
from attn_widget.features.why.targets import Target as Target
from attn_widget.features.why.targets import target as target
from attn_widget.features.why.traits import WhyTraits
from attn_widget.features.why.trust import OfWhy
from attn_widget.model.prepared import TokenIds
from attn_widget.widget import AttentionWidget
from attn_widget.widget.traits import CheckedWidget, RunTraits

__all__ = [
    "Comparison",
    "ManyComparisons",
    "Profile",
    "Ranking",
    "Similarity",
    "Target",
    "WordIndex",
    "compare",
    "corpus",
    "profile",
    "report",
    "show",
    "similarity",
    "surprisals",
    "target",
]

class OfAnalysis(
    OfChat, OfImage, LensFigures, QKFigures, SentenceFigures, OfWhy, AttentionFigures
): ...
class OfHeads(TreeFigures, HeadFigures): ...
class OfModel(InsideFigures, TaskFigures, ModelFigures): ...
class OfPage(EnginePage, WhyPage): ...
class OfPageOptions(EngineOption, WhyOption, total=False): ...
class OfRuns(TreeTraits, WhyTraits, RunTraits): ...
class OfSelection(TreeSelection, WhySelection): ...
class OfShow(ContributionsOption, total=False): ...
class OfTraits(TreeOptions, WhyOptions, total=False): ...
class OfWidgets(Exports, CheckedWidget): ...

ViewName = Literal[
    "images",
    "attention",
    "heads",
    "tree",
    "sentences",
    "predictions",
    "inside",
    "lens",
    "task",
    "why",
]

@overload
def show(text: Comparison, **options: Any) -> ComparisonWidget: ...
@overload
def show(text: Profile, **options: Unpack[ProfileTraits]) -> ProfileWidget: ...
@overload
def show(text: Ranking, **options: Unpack[SimilarityTraits]) -> SimilarityWidget: ...
@overload
def show(text: Similarity, **options: Unpack[SimilarityTraits]) -> SimilarityWidget: ...
@overload
def show(text: Analysis, **options: Unpack[WidgetOptions]) -> AttentionWidget: ...
@overload
def show(
    text: str | TokenIds | Sequence[Mapping[str, Any]],
    text_pair: str | None = None,
    **options: Unpack[ShowOptions],
) -> AttentionWidget: ...

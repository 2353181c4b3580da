"""The widget of a similarity or a ranking: the view Similarity, with texts to edit and heads to switch off."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal, TypedDict

import traitlets as t

from attn_widget.analysis.analysis import checked_heads_off
from attn_widget.checks import check_kind, short_repr
from attn_widget.errors import InputError, NotAvailableError, SliceError
from attn_widget.features.similarity.ranking import Ranking
from attn_widget.features.similarity.similarity import Similarity
from attn_widget.features.similarity.source import HANDLERS, SimilaritySource, similarity_paint
from attn_widget.figures.catalog.choices import Theme
from attn_widget.protocol.tasks import Tasks
from attn_widget.trace.forward import Progress
from attn_widget.widget import actions
from attn_widget.widget.base import RunWidget
from attn_widget.widget.code import page_code
from attn_widget.widget.jobs import Job, Jobs
from attn_widget.widget.runs import RUNNING
from attn_widget.widget.traits import Trait, TraitBatch, check_traits, synced

if TYPE_CHECKING:
    from typing_extensions import Unpack

Work = Callable[[Progress], Similarity]
Computed = tuple[SimilaritySource, dict[str, Any]]


class SimilarityTraits(TypedDict, total=False):
    """Traits of a `SimilarityWidget` that can be chosen when it is made; None is the default."""

    words: bool | None
    theme: Theme | None
    height: int | None
    chrome: bool | None


class SimilarityJobs(Jobs):
    """The similarity that a widget shows, and its replacement by that of other texts.

    ``source``: None once the widget is closed.
    """

    def __init__(self, batch: TraitBatch, source: SimilaritySource) -> None:
        super().__init__(batch, _traits_of(source))
        self.source: SimilaritySource | None = source

    def require(self) -> SimilaritySource:
        """The source that is shown; raises `InputError` once the widget is closed."""
        if self.source is None:
            raise InputError("This widget is closed.", "Call show() again to make a new one.")
        return self.source

    def _free(self) -> None:
        self.source = None

    def _next(self, job: Job, work: Work) -> Computed:
        step = job.step(RUNNING)
        step(0, 0)
        source = SimilaritySource(work(step))
        traits = _traits_of(source)
        step(0, 0)  # canceled meanwhile?
        return source, traits

    def _replace(self, computed: Computed) -> dict[str, Any]:
        self.require()
        self.source, traits = computed
        return traits


def _traits_of(source: SimilaritySource) -> dict[str, Any]:
    result = source.result
    a, b = (result.query, None) if isinstance(result, Ranking) else result.texts
    return {"text": a, "text_pair": b, "first_paint": similarity_paint(source)}


class SimilarityWidget(RunWidget[SimilarityJobs]):
    """Why two texts are similar, or why passages are ranked as they are.

    Made by `Similarity.show` and `Ranking.show`, which a notebook calls for the last line of a cell.

    ``**traits``: initial values of the public traits below. Raises `traitlets.TraitError`: a trait outside its
    range; the message names what is allowed.
    """

    _WHY = "it is tied to the page that shows it"
    _INSTEAD = "Save the page with w.to_html(path), or its numbers with w.to_dataframe()."
    _ANOTHER = "w.run(a, b) shows other texts"

    view: Trait[Literal["similarity"]] = synced(t.Enum(["similarity"], "similarity"))
    """Always ``"similarity"``."""
    words: Trait[bool] = synced(t.Bool(True))
    """Add up the pieces of a word. Default True."""
    status: Trait[Literal["ready", "running", "closed", "error"]] = synced(
        t.Enum(["ready", "running", "closed", "error"], "ready")
    )
    """Activity of the kernel for this widget."""

    def __init__(self, result: Similarity | Ranking, **traits: Any) -> None:
        if not isinstance(result, Ranking):
            check_kind(result, Similarity, "result", "similarity(a, b) gives one.")
        check_traits(traits, SimilaritySource.options, "SimilarityWidget()")
        self._runs = jobs = SimilarityJobs(self._batch, SimilaritySource(result))
        self._tasks = Tasks(lambda: jobs.source, HANDLERS)
        super().__init__(**page_code(), **jobs.shown, **traits)

    @property
    def result(self) -> Similarity | Ranking:
        """Result that is shown; of texts that were edited in the page, their similarity.

        Raises `InputError`: the widget was closed.
        """
        return self._require_runs().require().result

    def run(self, a: str | None = None, b: str | None = None) -> None:
        """Show other texts, by the same model; None keeps one. On failure the old picture stays.

        Raises `AttnWidgetError`: a text that cannot be read, or a ranking, whose texts are given to
        `attn_widget.similarity`.
        """
        similarity = self._editable()
        jobs = self._require_runs()
        jobs.run(lambda _progress: similarity.with_texts(a, b))

    def close(self) -> None:
        """Free both runs here and in the page. The traits stay readable."""
        if self._open_source() is None:
            return
        assert self._tasks is not None
        self._tasks.close()
        self._require_runs().close()
        super().close()

    def _begin(self, kind: str, asked: Any) -> None:
        jobs, similarity = self._require_runs(), self._editable()
        if kind == "run":
            a, b = actions.texts_of(asked)
            # An image stays, whatever stands in its place on the page.
            texts = [
                None if run.text is None else text
                for run, text in ((similarity.a, a), (similarity.b, b))
            ]
            jobs.start(lambda _progress: similarity.with_texts(*texts))
        elif kind == "switch_off":
            checked = checked_heads_off(
                similarity.a, actions.list_of(asked, "heads", "[layer, head]")
            )
            heads = [(head[-2], head[-1]) for head in checked]
            jobs.start(lambda _progress: similarity.ablate(heads))
        else:
            raise NotAvailableError(
                "Masks of single words are not part of a similarity.", "Edit the text instead."
            )

    def _editable(self) -> Similarity:
        result = self.result
        if isinstance(result, Ranking):
            raise NotAvailableError(
                "A ranking's texts are fixed.", "Call similarity(query, passages) again."
            )
        return result

    def _open_source(self) -> SimilaritySource | None:
        return None if self._runs is None else self._runs.source

    def _source_at(self, address: object) -> Tasks:
        if address is not None:
            raise SliceError(
                f"A similarity has no run {short_repr(address)}.", "It has one source."
            )
        assert self._tasks is not None
        return self._tasks

    def __repr__(self) -> str:
        if self._open_source() is None:
            return "<SimilarityWidget, closed>"
        return f"<SimilarityWidget of {self.result!r}>"


def widget_of(result: Similarity | Ranking, **traits: Unpack[SimilarityTraits]) -> SimilarityWidget:
    """The widget of a result, not displayed yet.

    Raises `InputTypeError`: a trait that this widget does not have.
    """
    check_traits(traits, SimilaritySource.options, "show()")
    return SimilarityWidget(result, **{k: v for k, v in traits.items() if v is not None})

"""show(): a text or a result in, a widget out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, overload

from attn_widget.analysis import Analysis
from attn_widget.analysis.texts import (
    RunOptions,
    analyze,
    check_two_texts,
    one_text,
    run_text,
    run_two_texts,
)
from attn_widget.checks import check_keywords
from attn_widget.errors import InputTypeError
from attn_widget.features import declared, loaded, with_options
from attn_widget.host.notice import loading_notice
from attn_widget.host.results import Result, show_result
from attn_widget.host.threads import activity
from attn_widget.protocol.run_source import view_of
from attn_widget.protocol.selection import NAMES, Traits

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from attn_widget.features.public import OfShow  # pyright: ignore[reportMissingModuleSource]
    from attn_widget.model.prepared import TokenIds
    from attn_widget.trace.forward import Progress
    from attn_widget.widget import AttentionWidget
    from attn_widget.widget.actions import Analyze
    from attn_widget.widget.widget import Saved
else:
    OfShow = with_options("show_options")

WIDGET_TRAITS = (*NAMES, "saved")
RUN_OPTIONS = tuple(RunOptions.__annotations__)


class AddsToShow(Protocol):
    """Function that a feature's ``added`` name: the run and its traits, from those of `show` and the value of the feature's option."""

    def __call__(
        self, analysis: Analysis, value: Any, traits: dict[str, Any], /
    ) -> tuple[Analysis, dict[str, Any]]: ...


class WidgetOptions(Traits, OfShow, total=False):
    """Options of `show` for an `Analysis`."""

    saved: Saved | None
    progress: bool


class ShowOptions(WidgetOptions, RunOptions, total=False):
    """Options of `show` for a text."""


@overload
def show(text: Result, **options: Any) -> Any: ...


@overload
def show(text: Analysis, **options: Unpack[WidgetOptions]) -> AttentionWidget: ...


@overload
def show(
    text: str | TokenIds | Sequence[Mapping[str, Any]],
    text_pair: str | None = None,
    **options: Unpack[ShowOptions],
) -> AttentionWidget: ...


def show(
    text: str | TokenIds | Sequence[Mapping[str, Any]] | Analysis | Result,
    text_pair: str | None = None,
    **options: Any,
) -> Any:
    """Run a model on ``text`` and show the whole run; or show an analysis, a profile, a comparison or a similarity.

    Displayed once in a notebook; also returned, so that Python can read and set the selection.

    Parameters
    ----------
    text : str, messages of a chat, image, Analysis, Profile, Comparison, Similarity or Ranking
        A text, or an image, as in `analyze`; or the result of `analyze` or `from_attentions`, with the options for traits
        alone; or the result of `profile`, to show its heads over many texts (options: layer,
        head, metric, theme, height, chrome); or the result of `compare`, without other arguments, to show both
        runs and their difference (a `ComparisonWidget`); or the result of `similarity` (options: words, theme, height, chrome).
    text_pair, model, tagger, truncation, windows, masked, compare_with, generate, output, add_special_tokens, progress
        As in `analyze`.
    part, layer, head, token, pair, view, quantity, target, method, group, top_k, depth, theme, metric, special,
    words, scale, height, chrome, saved
        Initial values of the widget's traits (`AttentionWidget`). All indices are 0-based. A classifier
        opens on the view ``"task"`` unless another is given, and an encoder-decoder on its part ``"cross"``; an `Analysis`
        of one of its parts on that part.
    contributions : dict of str to array-like, optional
        Numbers of another library for each token, such as ``{"shap": values}``: rows of the view Why about ``target``, by
        default the one that Why opens on. See `Analysis.why.with_contributions`. The view is ``"why"`` unless another is given.

    Returns
    -------
    AttentionWidget
        A `ProfileWidget` for a profile, a `ComparisonWidget` for a comparison, a `SimilarityWidget` for a similarity.

    Raises
    ------
    InputTypeError
        An unknown keyword; the message names the nearest known one. Also an option of `analyze` with an
        `Analysis`, which has been run already.
    traitlets.TraitError
        A trait outside its range.

    Examples
    --------
    >>> w = show("the cat sat on the mat", layer=3, head=5, progress=False)
    >>> w
    <AttentionWidget 'the cat sat on the mat', 8 tokens, L3 H5>
    >>> w.close()
    """
    if isinstance(text, Result):
        if text_pair is not None:
            raise InputTypeError("show() of a result takes no text_pair.", "show(result)")
        return show_result(text, options)
    check_keywords(options, (*RUN_OPTIONS, *WIDGET_TRAITS, *dict(declared("added"))), "show()")
    traits = {name: options.pop(name) for name in WIDGET_TRAITS if name in options}
    traits = {name: value for name, value in traits.items() if value is not None}
    added = {name: options.pop(name) for name, _ in declared("added") if name in options}
    if isinstance(text, Analysis):
        check_not_run(text_pair, options)

    with activity.busy(), loading_notice(options.get("progress", True) is True):
        analysis = text if isinstance(text, Analysis) else analyze(text, text_pair, **options)
        is_run = analysis is not text
        for name, path in declared("added"):
            if added.get(name) is not None:
                add: AddsToShow = loaded(path)
                analysis, traits = add(analysis, added[name], traits)
        if is_run and analysis.part != "self":
            traits.setdefault("part", "cross")
        from attn_widget.widget.widget import AttentionWidget

        traits.setdefault("view", view_of(analysis))
        widget = AttentionWidget(analysis, analyze=runner(analysis, options), **traits)
        widget.display()
    return widget


def runner(analysis: Analysis, options: dict[str, Any]) -> Analyze | None:
    """Runs another text as ``analysis`` was run, with its model, whatever was loaded since; None without a model.

    An encoder-decoder writes as many tokens for another text, or has the same output forced.
    """
    run = analysis.model.writing.run
    if run is None or not run.encoding.text:  # no text to run another one in its place
        return None
    encoder, tagger = run.encoder.unpinned(), options.get("tagger", "auto")
    read_in = analysis.trace.windows
    before = (read_in.size, read_in.overlap) if read_in else False
    written = options.get("generate", 0) or run.encoding.asked
    forced = None if written else run.encoding.text

    def run_another(
        text: str,
        text_pair: str | None,
        *,
        truncation: bool | None = None,
        output: str | None = None,
        progress: Progress | None = None,
    ) -> Analysis:
        cut = options.get("truncation", False) if truncation is None else truncation
        same: dict[str, Any] = {"truncation": cut, "tagger": tagger, "progress": progress}
        same["add_special_tokens"] = options.get("add_special_tokens", True)
        if encoder.part is not None:
            chosen = forced if output is None else output
            count = written if chosen is None else 0
            check_two_texts(encoder, chosen, count, {"text_pair": text_pair})
            return run_two_texts(encoder, text, chosen, generate=count, **same)
        if output is not None:
            raise one_text(encoder)
        # A text that is to be cut is read at once.
        windows = False if cut else options.get("windows", before)
        return run_text(encoder, text, text_pair, windows=windows, **same)

    return run_another


def check_not_run(text_pair: str | None, options: dict[str, Any]) -> None:
    """Refuse what only a run takes, for an `Analysis`, which has been run."""
    given = [name for name in options if name != "progress"]
    if text_pair is not None:
        given.insert(0, "text_pair")
    if given:
        raise InputTypeError(
            f"show() of an Analysis takes no {given[0]}: it has been run already.",
            f"Give {given[0]} to analyze(), or show the text itself.",
        )

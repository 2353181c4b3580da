"""show(): a text or a result in, a widget out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, overload

from attn_widget.analysis.texts import analyze, run_text
from attn_widget.checks import check_keywords
from attn_widget.errors import InputTypeError
from attn_widget.host.idle import activity
from attn_widget.host.notice import loading_notice
from attn_widget.protocol.selection import NAMES

if TYPE_CHECKING:
    from attn_widget.analysis import Analysis
    from attn_widget.comparison.comparison import Comparison
    from attn_widget.corpus.profile import Profile
    from attn_widget.trace.forward import Progress
    from attn_widget.widget import AttentionWidget
    from attn_widget.widget.actions import Analyze
    from attn_widget.widget.compared import ComparisonWidget
    from attn_widget.widget.profile import ProfileWidget

WIDGET_TRAITS = (*NAMES, "saved")
RUN_OPTIONS = ("model", "tagger", "truncation", "windows", "masked", "beside", "progress")


@overload
def show(text: Profile, **options: Any) -> ProfileWidget: ...


@overload
def show(text: Comparison) -> ComparisonWidget: ...


@overload
def show(text: Analysis, **options: Any) -> AttentionWidget: ...


@overload
def show(text: str, text_pair: str | None = None, **options: Any) -> AttentionWidget: ...


def show(
    text: str | Analysis | Profile | Comparison, text_pair: str | None = None, **options: Any
) -> AttentionWidget | ProfileWidget:
    """Run a model on ``text`` and show the whole run; or show an analysis, a profile or a comparison.

    Displayed once in a notebook; also returned, so that Python can read and set the selection.

    Parameters
    ----------
    text : str, Analysis, Profile or Comparison
        A text as in `analyze`; or the result of `analyze` or `from_attentions`, with the options for traits
        alone; or the result of `profile`, to show its heads over many texts (options: layer,
        head, metric, theme, height, chrome); or the result of `compare`, without other arguments, to show both
        runs and their difference (a `ComparisonWidget`).
    text_pair, model, tagger, truncation, windows, masked, beside, progress
        As in `analyze`.
    layer, head, token, pair, view, quantity, target, method, group, top_k, depth, theme, metric, special,
    words, scale, height, chrome, saved
        Initial values of the widget's traits (`AttentionWidget`). All indices are 0-based. A classifier
        opens on the view ``"task"`` unless another is given.

    Returns
    -------
    AttentionWidget
        A `ProfileWidget` for a profile, a `ComparisonWidget` for a comparison.

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
    from attn_widget.analysis import Analysis
    from attn_widget.comparison.comparison import Comparison
    from attn_widget.corpus.profile import Profile

    if isinstance(text, Comparison):
        if text_pair is not None or options:
            raise InputTypeError(
                "show() of a comparison takes no other arguments.", "show(comparison)"
            )
        from attn_widget.widget.compared import show_compared

        return show_compared(text, runner(text.a, {}))
    if isinstance(text, Profile):
        from attn_widget.widget.profile import show_profile

        return show_profile(text, options)
    check_options(options)
    traits = {name: options.pop(name) for name in WIDGET_TRAITS if name in options}
    traits = {name: value for name, value in traits.items() if value is not None}
    if isinstance(text, Analysis):
        check_not_run(text_pair, options)

    from attn_widget.model.loading import is_loaded

    cold = not isinstance(text, Analysis) and not is_loaded(options.get("model"))
    with activity.busy(), loading_notice(cold and options.get("progress", True) is True):
        analysis = text if isinstance(text, Analysis) else analyze(text, text_pair, **options)
        from attn_widget.widget import AttentionWidget

        if "view" not in traits and analysis.classification is not None:
            traits["view"] = "task"
        widget = AttentionWidget(analysis, analyze=runner(analysis, options), **traits)
        widget.display()
    return widget


def runner(analysis: Analysis, options: dict[str, Any]) -> Analyze | None:
    """Runs another text as ``analysis`` was run, with its model, whatever was loaded since; None without a model."""
    if analysis.run is None:
        return None
    encoder = analysis.run.encoder
    usual = options.get("truncation", False)
    read_in = analysis.trace.windows
    before = (read_in.size, read_in.overlap) if read_in else False
    tagger, windows = options.get("tagger", "auto"), options.get("windows", before)

    def run_another(
        text: str,
        text_pair: str | None,
        *,
        truncation: bool | None = None,
        progress: Progress | None = None,
    ) -> Analysis:
        cut = usual if truncation is None else truncation
        read = False if cut else windows  # a text that is to be cut is read at once
        return run_text(
            encoder, text, text_pair, truncation=cut, windows=read, tagger=tagger, progress=progress
        )

    return run_another


def check_options(options: dict[str, Any]) -> None:
    """Refuse keywords that `show` does not know, naming the nearest one."""
    check_keywords(options, (*RUN_OPTIONS, *WIDGET_TRAITS), "show()")


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

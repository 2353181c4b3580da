"""A text to an analysis: load, encode, run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from attn_widget.checks import check_flag, is_iterable, listed, shown
from attn_widget.errors import InputError, InputTypeError
from attn_widget.host.idle import activity
from attn_widget.host.notice import tell

if TYPE_CHECKING:
    from collections.abc import Iterable

    from attn_widget.analysis import Analysis
    from attn_widget.model.encoder import Encoder
    from attn_widget.trace.forward import Progress


def analyze(
    text: str,
    text_pair: str | None = None,
    *,
    model: Any = None,
    tagger: Any = "auto",
    truncation: bool = False,
    windows: bool | tuple[int, int] = False,
    masked: Iterable[int] = (),
    beside: Iterable[str | tuple[str, str]] | None = (),
    progress: bool = True,
) -> Analysis:
    """Run a model on ``text`` and return its figures, without a widget.

    Parameters
    ----------
    text : str
        What the model reads.
    text_pair : str, optional
        A second segment, as in sentence-pair tasks.
    model : optional
        None (the embedded model), a hub name, a folder, a ``(model, tokenizer)`` pair of
        `transformers`, or an `Encoder`.
    tagger : "auto", None, spaCy pipeline or callable
        Tagger of parts of speech and entities; used only if a figure needs it.
    truncation : bool
        Truncate a text that is longer than the model allows instead of raising.
    windows : bool or (int, int)
        Read a text of any length in overlapping windows. With True, windows are as long as the model allows and
        neighbors share a quarter; otherwise give size and overlap in tokens. Of a pair, the longer text is read in
        windows, each with all of the other one. A row of attention, a hidden state and
        a prediction are those of the window in which the token is most central. Keys outside that window are N/A,
        and so are figures that join windows (rollout, flow, contributions).
    masked : iterable of int
        Tokens that the model reads as the mask token; see `Analysis.mask`.
    beside : iterable of str or (str, str), optional
        Other texts (or pairs) for a text classifier, to compare with this one in the Task view: for
        example, a text of each class. At most 50.
    progress : bool
        Show a progress bar while weights load.

    Returns
    -------
    Analysis

    Raises
    ------
    InputError, InputTypeError
        The text is empty, not a str, or holds lone surrogates; ``truncation`` is not a bool; the model cannot
        read the windows.
    TooLongError
        More tokens than the model allows, without ``truncation``.
    ModelLoadError
        The model cannot be loaded.

    Examples
    --------
    >>> a = analyze("the cat sat on the mat", progress=False)
    >>> [token.text for token in a.tokens]
    ['[CLS]', 'the', 'cat', 'sat', 'on', 'the', 'mat', '[SEP]']
    >>> a.attention(3, 5).shape
    (8, 8)
    """
    from attn_widget.model.loading import load

    others = check_beside(beside)
    check_flag(truncation, "truncation")
    check_flag(progress, "progress")
    encoder = load(model, progress=progress)
    if others and encoder.classifier != "sequence":
        raise InputError(
            f"{encoder.name} does not classify texts, so there is nothing to compare beside them.",
            "Leave beside out, or load a checkpoint for sequence classification.",
        )
    analysis = run_text(
        encoder, text, text_pair, truncation=truncation, windows=windows, tagger=tagger
    )
    if others:
        from attn_widget.analysis.base import with_beside
        from attn_widget.analysis.beside import comparison_text_of

        runs = (run_text(encoder, *pair, truncation=truncation, tagger=tagger) for pair in others)
        analysis = with_beside(analysis, filter(None, map(comparison_text_of, runs)))
    return analysis.mask(masked)


def check_beside(texts: Iterable[str | tuple[str, str]] | None) -> list[tuple[str, str | None]]:
    """``beside`` as ``(text, text_pair)``; refused before anything runs."""
    from attn_widget.analysis.beside import MOST_BESIDE

    if texts is None:
        return []
    if isinstance(texts, (str, bytes)) or not is_iterable(texts):
        raise InputTypeError(f"beside is {shown(texts)}, expected several texts.", "beside=[text]")
    pairs: list[tuple[str, str | None]] = []
    for one in listed(texts, "beside"):
        pair = tuple(one) if isinstance(one, (tuple, list)) else (one, None)
        if (
            len(pair) != 2
            or not isinstance(pair[0], str)
            or not isinstance(pair[1], (str, type(None)))
        ):
            raise InputTypeError(
                f"beside holds {shown(one)}, expected a text or (text, text_pair).",
                "beside=[text]",
            )
        pairs.append((pair[0], pair[1]))
    if len(pairs) > MOST_BESIDE:
        raise InputError(
            f"beside holds {len(pairs)} texts, at most {MOST_BESIDE} are shown.",
            "report(texts, path) takes any number.",
        )
    return pairs


def run_text(
    encoder: Encoder,
    text: str,
    text_pair: str | None,
    *,
    truncation: bool,
    windows: bool | tuple[int, int] = False,
    tagger: Any,
    progress: Progress | None = None,
) -> Analysis:
    """`analyze` with a model that is loaded; ``progress`` is called with ``(layers done, all layers)``."""
    from attn_widget.analysis import Analysis
    from attn_widget.trace.capture import capture
    from attn_widget.trace.run import Run
    from attn_widget.trace.windows.plan import check_windows

    span = check_windows(windows, encoder.max_length)
    if span is not None and truncation:
        raise InputError(
            "windows= and truncation=True exclude each other.",
            "Leave truncation out: windows read a text of any length.",
        )
    with activity.busy():
        if span is None:
            encoding = encoder.encode(text, text_pair, truncation=truncation)
            tell("Running the model")
            run = Run(encoder, encoding, capture(encoder, encoding, progress=progress))
        else:
            from attn_widget.model.tokenizing import encode
            from attn_widget.trace.windows.run import run_in_windows

            encoding = encode(encoder, text, text_pair, truncation=False, any_length=True)
            tell("Running the model")
            run = run_in_windows(encoder, encoding, *span, progress=progress)
    return Analysis(run.trace, run=run, tagger=tagger)

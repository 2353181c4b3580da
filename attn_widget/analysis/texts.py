"""A text to an analysis: load, encode, run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypedDict

from attn_widget.analysis import Analysis
from attn_widget.analysis.base import with_comparison_texts
from attn_widget.analysis.comparison_texts import MAX_COMPARISON_TEXTS, comparison_text_of
from attn_widget.analysis.inputs import read_input
from attn_widget.checks import (
    check_flag,
    is_iterable,
    known_keywords,
    listed,
    short_repr,
)
from attn_widget.errors import InputError, InputTypeError, NotAvailableError, TooLongError
from attn_widget.host.caller_warning import warn_caller
from attn_widget.host.notice import tell_on
from attn_widget.host.threads import activity
from attn_widget.model.encoder import Encoder
from attn_widget.model.loading import load
from attn_widget.model.tokenizing import encode
from attn_widget.model.two_texts import encode_source, encode_target
from attn_widget.trace.capture import capture
from attn_widget.trace.forward import Progress
from attn_widget.trace.generation import check_writing, chosen_by, continued, translated
from attn_widget.trace.run import Run
from attn_widget.trace.windows.plan import check_windows
from attn_widget.trace.windows.run import check_length, run_in_windows

if TYPE_CHECKING:
    from attn_widget.model.prepared import TokenIds


class TextOptions(TypedDict, total=False):
    """Options of `analyze` that texts of one page share."""

    model: Any
    tagger: Any
    truncation: bool


class RunOptions(TextOptions, total=False):
    """Options of `analyze`, where they are described."""

    windows: bool | tuple[int, int]
    masked: Iterable[int]
    compare_with: Iterable[str | tuple[str, str]] | None
    generate: int | Mapping[str, Any]
    output: str | None
    add_special_tokens: bool
    progress: bool


@known_keywords
def analyze(
    text: str | TokenIds | Sequence[Mapping[str, Any]],
    text_pair: str | None = None,
    *,
    model: Any = None,
    tagger: Any = "auto",
    truncation: bool = False,
    windows: bool | tuple[int, int] = False,
    masked: Iterable[int] = (),
    compare_with: Iterable[str | tuple[str, str]] | None = (),
    generate: int | Mapping[str, Any] = 0,
    output: str | None = None,
    add_special_tokens: bool = True,
    progress: bool = True,
) -> Analysis:
    """Run a model on ``text`` and return its figures, without a widget.

    Parameters
    ----------
    text : str, token ids, or messages
        What the model reads. Ids (a list of int, an array or tensor [n] or [1, n], or the `BatchEncoding` of one text)
        are read exactly as they are. Messages (a list of dicts with ``role`` and ``content``) are a chat, written by the tokenizer's own
        template (docs/chats.md). For a model that reads images: a path, a PIL image or an array (docs/images.md).
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
    compare_with : iterable of str or (str, str), optional
        Other texts (or pairs) for a text classifier, to compare with this one in the Task view: for
        example, a text of each class. At most 50.
    generate : int or dict
        How many tokens a decoder writes after the text, or an encoder-decoder for it, the likeliest one at each step,
        fewer where it ends the text itself; or options of ``model.generate``, with ``max_new_tokens``, and ``seed`` for its random numbers,
        such as ``{"max_new_tokens": 40, "do_sample": True, "seed": 1}``. The figures are of the whole text; `Analysis.model.generated` has the tokens that the
        model wrote.
    output : str, optional
        What an encoder-decoder (T5, BART, Marian ...) writes for the text, or a decoder as its turn in a chat: it reads this, whatever it
        would write itself. Of an encoder-decoder the analysis is of the decoder; `Analysis.of` gives the encoder and cross-attention.
    add_special_tokens : bool
        Whether the tokenizer adds its special tokens to ``text``, such as ``[CLS]``. The beginning token of a decoder is not
        added to a text that begins with it, such as that of a chat template.
    progress : bool
        Show a progress bar while weights load.

    Returns
    -------
    Analysis

    Raises
    ------
    InputError, InputTypeError
        The text is empty, not a str, or holds lone surrogates; ``truncation`` is not a bool; the model cannot
        read the windows; more tokens to write than it can read; an encoder-decoder without ``output`` and ``generate``.
    NotAvailableError
        ``generate`` of an encoder; ``output`` of any model but an encoder-decoder, unless the text is a chat.
    TooLongError
        More tokens than the model allows, without ``truncation``.
    ModelLoadError
        The model cannot be loaded.

    Warns
    -----
    UserWarning
        The model ends the text at once and writes nothing, or its generation config (such as a repetition penalty)
        keeps it from the likeliest token.

    Examples
    --------
    >>> a = analyze("the cat sat on the mat", progress=False)
    >>> [token.text for token in a.tokens]
    ['[CLS]', 'the', 'cat', 'sat', 'on', 'the', 'mat', '[SEP]']
    >>> a.attention(3, 5).shape
    (8, 8)
    """
    others = check_beside(compare_with)
    check_flag(truncation, "truncation")
    check_flag(progress, "progress")
    check_writing(generate)
    encoder = load(model, progress=progress)
    if encoder.part is not None:
        given = {"text_pair": text_pair, "windows": windows, "masked": listed(masked, "masked")}
        check_two_texts(encoder, output, generate, {**given, "compare_with": others})
        return warn_of_writing(
            run_two_texts(
                encoder,
                text,
                output,
                generate=generate,
                truncation=truncation,
                tagger=tagger,
                add_special_tokens=add_special_tokens,
            ),
            generate,
        )
    if others and encoder.classifier != "sequence":
        raise InputError(
            f"{encoder.name} does not classify texts, so there is nothing to compare beside them.",
            "Leave compare_with out, or load a checkpoint for sequence classification.",
        )
    analysis = run_text(
        encoder,
        text,
        text_pair,
        truncation=truncation,
        windows=windows,
        tagger=tagger,
        generate=generate,
        output=output,
        add_special_tokens=add_special_tokens,
    )
    warn_of_writing(analysis, generate)
    if others:
        runs = (run_text(encoder, *pair, truncation=truncation, tagger=tagger) for pair in others)
        analysis = with_comparison_texts(analysis, filter(None, map(comparison_text_of, runs)))
    return analysis if isinstance(masked, tuple) and not masked else analysis.mask(masked)


def warn_of_writing(analysis: Analysis, generate: int | Mapping[str, Any]) -> Analysis:
    """The analysis, after a warning if the model wrote nothing, or was kept from the likeliest tokens."""
    if not generate or analysis.run is None:
        return analysis
    encoder = analysis.run.encoder
    if not analysis.model.generated:
        warn_caller(
            f"generate is {check_writing(generate).count:,}, and {encoder.name} ended the text at once: it wrote nothing. "
            "Change the text that it reads; predictions() of the analysis has what else it would have written."
        )
    elif isinstance(generate, int) and (chosen := chosen_by(encoder)):
        warn_caller(
            f"The generation config of {encoder.name} has {chosen}, which generate obeys: "
            "a token that is written need not be the likeliest."
        )
    return analysis


def check_two_texts(
    encoder: Encoder, output: object, generate: int | Mapping[str, Any], others: dict[str, Any]
) -> None:
    """Refuse what an encoder-decoder cannot be asked, before it runs; ``others`` are options of one text."""
    for name, given in others.items():
        # Whatever is given: a Series, say, is neither true nor false.
        if not (
            given is None or given is False or (isinstance(given, (str, list, tuple)) and not given)
        ):
            raise NotAvailableError(
                f"{name} is given, and {encoder.name} is an encoder-decoder, which reads one text and writes another.",
                f"Leave {name} out.",
            )
    if (output is None) == (generate == 0):
        both = "output and generate are given" if generate else "no target is given"
        raise InputError(
            f"{encoder.name} is an encoder-decoder: it reads a text and writes another one, and {both}.",
            "output='...' forces what it writes, generate=50 lets it write up to 50 tokens.",
        )


def one_text(encoder: Encoder) -> NotAvailableError:
    """Error for a target of a model that reads one text."""
    kind, hint = "an encoder, which writes no text", "Leave output out."
    if encoder.predicts == "next":
        kind = "a decoder, which reads one text and goes on with it"
        hint = "Put what it is to read into the text: analyze(text + output)."
    return NotAvailableError(f"output is given, and {encoder.name} is {kind}.", hint)


def run_two_texts(
    encoder: Encoder,
    source: str | TokenIds | Sequence[Mapping[str, Any]],
    output: str | None,
    *,
    generate: int | Mapping[str, Any] = 0,
    truncation: bool = False,
    add_special_tokens: bool = True,
    tagger: Any,
    progress: Progress | None = None,
) -> Analysis:
    """`analyze` with an encoder-decoder that is loaded: the analysis of its decoder; ``progress`` as of `run_text`."""
    encoder = encoder.of("decoder").pinned()
    options = {"truncation": truncation, "add_special_tokens": add_special_tokens}
    with activity.busy():
        given = {"output": output, "writes": bool(generate), "any_length": False}
        read_input(encoder, source, None, **given, **options)  # refuses what is no text
        read = encode_source(encoder, source, **options)
        if output is None:
            tell_on("Writing")
            encoding = translated(encoder, read, generate, progress)
        else:
            encoding = encode_target(encoder, read, output)
        tell_on("Running the model")
        run = Run(encoder, encoding, capture(encoder, encoding, progress=progress))
    return Analysis(run.trace, run=run, tagger=tagger)


def check_beside(texts: Iterable[str | tuple[str, str]] | None) -> list[tuple[str, str | None]]:
    """``compare_with`` as ``(text, text_pair)``; refused before anything runs."""
    if texts is None:
        return []
    if isinstance(texts, (str, bytes)) or not is_iterable(texts):
        raise InputTypeError(
            f"compare_with is {short_repr(texts)}, expected several texts.", "compare_with=[text]"
        )
    pairs: list[tuple[str, str | None]] = []
    for entry in listed(texts, "compare_with"):
        pair = tuple(entry) if isinstance(entry, (tuple, list)) else (entry, None)
        if (
            len(pair) != 2
            or not isinstance(pair[0], str)
            or not isinstance(pair[1], (str, type(None)))
        ):
            raise InputTypeError(
                f"compare_with holds {short_repr(entry)}, expected a text or (text, text_pair).",
                "compare_with=[text]",
            )
        pairs.append((pair[0], pair[1]))
    if len(pairs) > MAX_COMPARISON_TEXTS:
        raise InputError(
            f"compare_with holds {len(pairs)} texts, at most {MAX_COMPARISON_TEXTS} are shown.",
            "report(texts, path) takes any number.",
        )
    return pairs


def run_text(
    encoder: Encoder,
    text: str | TokenIds | Sequence[Mapping[str, Any]],
    text_pair: str | None,
    *,
    truncation: bool,
    windows: bool | tuple[int, int] = False,
    tagger: Any,
    generate: int | Mapping[str, Any] = 0,
    output: str | None = None,
    add_special_tokens: bool = True,
    progress: Progress | None = None,
) -> Analysis:
    """`analyze` with a model that is loaded; ``progress`` is called with ``(tokens written, all)`` and ``(layers done, all layers)``."""
    span = None if windows is False else check_windows(windows, encoder.max_length)
    if span is not None and truncation:
        raise InputError(
            "windows= and truncation=True exclude each other.",
            "Leave truncation out: windows read a text of any length.",
        )
    if span is not None and generate:
        raise InputError(
            "windows= and generate= exclude each other: what is written follows the text that is read at once.",
            "Leave windows out.",
        )
    encoder = encoder.pinned()
    options: dict[str, Any] = {"truncation": truncation, "add_special_tokens": add_special_tokens}
    windowed = span is not None
    with activity.busy():
        for name, given in (("text", text), ("text_pair", text_pair)):
            if span is not None and isinstance(given, str) and encoder.vocab_size:
                check_length(encoder, given, name, *span)
        try:
            encoding = read_input(
                encoder,
                text,
                text_pair,
                output=output,
                writes=bool(generate),
                any_length=windowed,
                **options,
            )
            if encoding is None and output is not None:
                raise one_text(encoder)
            if encoding is None and windowed:
                encoding = encode(encoder, text, text_pair, any_length=True, **options)
            elif encoding is None:
                encoding = encoder.encode(text, text_pair, **options)  # a role may have its own
        except TooLongError as error:
            if not generate:
                raise
            hint = "Shorten it: what is written follows the whole of it."
            raise TooLongError(error.message, hint) from None
        if generate:
            tell_on("Writing")
            encoding = continued(encoder, encoding, generate, progress)
        tell_on("Running the model")
        if span is None:
            run = Run(encoder, encoding, capture(encoder, encoding, progress=progress))
        else:
            run = run_in_windows(encoder, encoding, *span, progress=progress)
    return Analysis(run.trace, run=run, tagger=tagger)

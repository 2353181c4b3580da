"""show() and analyze(): text in, widget or figures out."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING, Any

from attn_widget.errors import InputTypeError

if TYPE_CHECKING:
    from attn_widget.analysis import Analysis
    from attn_widget.widget import AttentionWidget

WIDGET_TRAITS = (
    "layer", "head", "token", "pair", "view", "theme", "metric", "special", "words", "scale", "height",
    "quantity", "group", "top_k", "depth", "chrome",
)  # fmt: skip
RUN_OPTIONS = ("model", "tagger", "truncation", "progress")


def analyze(
    text: str,
    text_pair: str | None = None,
    *,
    model: Any = None,
    tagger: Any = "auto",
    truncation: bool = False,
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
        Who tags parts of speech and entities; asked only when a figure needs it.
    truncation : bool
        Cut a text that is longer than the model allows instead of raising.
    progress : bool
        Show a progress bar while weights load.

    Returns
    -------
    Analysis

    Raises
    ------
    InputError, InputTypeError
        The text is empty, not a str, or holds lone surrogates.
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
    from attn_widget.analysis import Analysis
    from attn_widget.capture import capture
    from attn_widget.encoder import load
    from attn_widget.run import Run

    encoder = load(model, progress=progress)
    encoding = encoder.encode(text, text_pair, truncation=truncation)
    trace = capture(encoder, encoding)
    return Analysis(trace, run=Run(encoder, encoding, trace), tagger=tagger)


def show(text: str, text_pair: str | None = None, **options: Any) -> AttentionWidget:
    """Run a model on ``text`` and show all that it did.

    Displayed once in a notebook; also returned, so that Python can read and set the selection.

    Parameters
    ----------
    text, text_pair, model, tagger, truncation, progress
        As in `analyze`.
    layer, head, token, pair, view, quantity, group, top_k, depth, theme, metric, special, words,
    scale, height, chrome
        Initial values of the widget's traits (`AttentionWidget`). All indices are 0-based.

    Returns
    -------
    AttentionWidget

    Raises
    ------
    InputTypeError
        An unknown keyword; the message names the nearest real one.
    traitlets.TraitError
        A trait outside its range.

    Examples
    --------
    >>> w = show("the cat sat on the mat", layer=3, head=5, progress=False)
    >>> w
    <AttentionWidget 'the cat sat on the mat', 8 tokens, L3 H5>
    >>> w.close()
    """
    check_options(options)
    traits = {name: options.pop(name) for name in WIDGET_TRAITS if name in options}
    traits = {name: value for name, value in traits.items() if value is not None}

    def again(new_text: str, new_pair: str | None) -> Analysis:
        return analyze(new_text, new_pair, **options)

    from attn_widget.widget import AttentionWidget

    widget = AttentionWidget(again(text, text_pair), analyze=again, **traits)
    widget.display()
    return widget


def check_options(options: dict[str, Any]) -> None:
    """Refuse keywords that `show` does not know, naming the nearest one."""
    known = (*RUN_OPTIONS, *WIDGET_TRAITS)
    for name in options:
        if name not in known:
            nearest = difflib.get_close_matches(name, known, n=1)
            raise InputTypeError(
                f"show() has no option {name!r}.",
                f"Did you mean {nearest[0]!r}?" if nearest else f"Options: {', '.join(known)}.",
            )

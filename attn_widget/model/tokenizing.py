"""Text to tokens: what the model reads, and where every token lies in the text."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from attn_widget.checks import (
    are_ids,
    check_characters,
    check_entries,
    check_flag,
    listed,
    refuse_container,
    short_repr,
)
from attn_widget.errors import InputError, InputTypeError, NotAvailableError, TooLongError
from attn_widget.host.caller_warning import warn_caller
from attn_widget.model.encoding import Encoding, Masked
from attn_widget.model.prepared import decoded, read_prepared
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
    if not isinstance(value, str):
        refuse_container(value, name)
        raise InputTypeError(f"{name} is a {type(value).__name__}, expected a str.")
    if not value:
        raise InputError(f"{name} is empty.", "Give at least one word.")
    if value.isspace():
        raise InputError(f"{name} holds only white space.", "Give at least one word.")
    return check_characters(value, name)


def check_texts(texts: object, example: str) -> list[str]:
    """``texts`` as a list of texts that a tokenizer can read; ``example`` is a call for the message about an empty one."""
    checked = [check_text(one, f"text {k}") for k, one in enumerate(check_entries(texts, "texts"))]
    if not checked:
        raise InputError("texts is empty.", f"For example {example}")
    return checked


def encode(
    encoder: Reads,
    text: Any,
    text_pair: str | None,
    *,
    truncation: bool,
    any_length: bool = False,
    add_special_tokens: bool = True,
) -> Encoding:
    """See `Encoder.encode`."""
    check_flag(add_special_tokens, "add_special_tokens")
    if not are_ids(text):
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
    if are_ids(text):
        return encode_ids(encoder, text, text_pair, any_length=any_length)
    limit = encoder.max_length
    if not any_length:
        check_characters_of(encoder, text, "text")
        check_characters_of(encoder, text_pair or "", "text_pair")
    with encoder.lock:
        pair = None if text_pair is None else [text_pair]
        given: dict[str, Any] = {"text": [text], "text_pair": pair}
        given["add_special_tokens"] = add_special_tokens
        batch = tokenize_alone(encoder, None, encoder.takes_segments, given)
        begun = _begins_twice(encoder, batch)
        length = len(batch["input_ids"][0]) - begun
        truncated = None
        if length > limit and not any_length:
            if not truncation:
                raise TooLongError(
                    f"The text has {length:,} tokens; {encoder.name} reads at most {limit:,}.",
                    "Shorten it, or pass truncation=True to read its beginning, windows=True to read it in parts.",
                )
            batch = tokenize_alone(encoder, limit + begun, encoder.takes_segments, given)
            truncated = {"limit": limit, "length": length}
    if encoder.reader.model_max_length < length <= limit:
        warn_caller(
            f"The text has {length:,} tokens. The tokenizer of {encoder.name} names {encoder.reader.model_max_length:,} as "
            f"the most (model_max_length); the model has {limit:,} positions, and reads all of them."
        )
    check_ids(encoder, batch["input_ids"][0])
    tokens = tokens_of(encoder.reader, batch, text, text_pair, control_ids(encoder))[begun:]
    arrays = {name: array[:, begun:] for name, array in _arrays(encoder, batch).items()}
    segments = {token.segment for token in tokens if not token.special}
    for segment, name in enumerate(("text",) if text_pair is None else ("text", "text_pair")):
        if segment not in segments and truncated is None:
            raise InputError(
                f"The tokenizer keeps nothing of {name}: it holds only control or invisible characters.",
                "Give at least one word.",
            )
    note = f"The text begins with {tokens[0].text} itself: the tokenizer's own is left out."
    return Encoding(text, text_pair, tokens, arrays, truncated, note=note if begun else "")


def _begins_twice(encoder: Reads, batch: Any) -> bool:
    """True if a decoder's text begins with the token that its tokenizer adds, as that of a chat template does."""
    encoded = batch.encodings[0]
    return (
        encoder.predicts == "next"
        and len(encoded.ids) > 1
        and encoded.ids[0] == encoded.ids[1]
        and encoded.sequence_ids[0] is None
        and encoded.sequence_ids[1] is not None
    )


def control_ids(encoder: Reads) -> frozenset[int]:
    """Ids of the tokens that a decoder's tokenizer flags as special: they steer the model (``<|im_start|>``), and are no words.

    In an encoder's text such a token stands for text (``[MASK]``), or is spelled out as one.
    """
    return _flagged(encoder) if encoder.predicts == "next" else frozenset()


def control_texts(encoder: Reads) -> list[str]:
    """Control tokens of a decoder's tokenizer, as a text spells them."""
    texts = encoder.reader.convert_ids_to_tokens(sorted(control_ids(encoder)))
    return [text for text in texts if text]


def _flagged(encoder: Reads) -> frozenset[int]:
    """Ids of special tokens, but those that stand for text that they do not spell."""
    reader = encoder.reader
    if not hasattr(reader.backend_tokenizer, "get_added_tokens_decoder"):
        return frozenset()
    added = reader.backend_tokenizer.get_added_tokens_decoder()
    stands_for_text = {reader.mask_token_id}
    unknown = reader.unk_token_id
    if unknown not in (
        getattr(reader, "bos_token_id", None),
        getattr(reader, "eos_token_id", None),
    ):
        stands_for_text.add(unknown)  # GPT-2 has one token for all three
    return frozenset(i for i, token in added.items() if token.special) - stands_for_text


def encode_ids(
    encoder: Reads, given: Any, text_pair: object, *, any_length: bool = False
) -> Encoding:
    """Ids as the model reads them, with the text that they spell.

    The tokens that the tokenizer adds to every text are no part of it, and of an encoder no special token is.
    """
    if text_pair is not None:
        raise InputError(
            "text is token ids, and text_pair is given.",
            "Give both as one: tokenizer(text, text_pair).",
        )
    ids, segments = read_prepared(given)
    length, limit = len(ids), encoder.max_length
    if length > limit and not any_length:
        raise TooLongError(
            f"There are {length:,} token ids; {encoder.name} reads at most {limit:,}.",
            "Give fewer: they are read as they are. windows=True reads them in parts.",
        )
    check_ids(encoder, ids.tolist())
    reader, backend = encoder.reader, encoder.reader.backend_tokenizer
    if segments is None or not encoder.takes_segments:
        segments = np.zeros_like(ids)
    with encoder.lock:
        names = [f"[{i}]" if name is None else name
                 for i, name in zip(ids.tolist(), reader.convert_ids_to_tokens(ids.tolist()), strict=True)]  # fmt: skip
        around, flagged = list(backend.encode("").ids), _flagged(encoder)
        special = [i in flagged for i in ids.tolist()]
        outside = list(special)
        if encoder.predicts == "next":
            outside = [False] * length
            for at, added in ((0, around[:1]), (-1, around[-1:])):
                outside[at] |= special[at] and added == [ids[at]]
        tokens = [Token(name, i, 0, 0, name, segment=s, special=True)
                  for name, i, s in zip(names, ids.tolist(), segments.tolist(), strict=True)]  # fmt: skip
        texts: list[str] = []
        for segment in range(2):
            inside = [k for k in range(length) if not outside[k] and segments[k] == segment]
            text, spans = decoded(backend, ids[inside].tolist())
            again = {"text": [text], "add_special_tokens": False}
            batch = tokenize_alone(encoder, None, False, again) if text else None
            if batch is not None and batch["input_ids"][0] == ids[inside].tolist():
                spans = batch.encodings[0].offsets  # also of tokens that share a character
            texts.append(text)
            for k, span in zip(inside, spans, strict=True):
                start, end = trim(names[k], *span, text)
                tokens[k] = replace(
                    tokens[k], start=start, end=end, surface=text[start:end], special=special[k]
                )
    words = {token.segment for token in tokens if not token.special}
    if 0 not in words or not words <= {0, 1}:
        raise InputError(
            "The token ids hold no word: only control tokens."
            if words <= {0, 1}
            else f"token_type_ids holds {max(words)}, expected 0 and 1.",
            "Give the ids of at least one word, with 0 for those of the first text.",
        )
    mask = np.ones_like(ids)
    arrays = {"input_ids": ids[None], "attention_mask": mask[None]}
    if encoder.takes_segments:
        arrays["token_type_ids"] = segments[None]
    return Encoding(texts[0], texts[1] if 1 in words else None, tuple(tokens), arrays)


def check_characters_of(encoder: Reads, text: str, name: str) -> None:
    """Refuse a text that no tokenizer makes fit, before it is tokenized, which takes a second and 0.3 GB per MB.

    Raises `TooLongError`.
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

    Raises `InputTypeError`, `InputError`, `NotAvailableError`: as `check_mask` says.

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
    encoder: Reads, limit: int | None, segments: bool, texts: Mapping[str, Any]
) -> Any:
    """One text as a batch, by the tokenizer's names for it and its options; its own padding and truncation stay as they were."""
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


def tokens_of(
    tokenizer: Any,
    batch: Any,
    text: str,
    text_pair: str | None,
    control: frozenset[int] = frozenset(),
) -> tuple[Token, ...]:
    """Tokens of a batch of one; ``control`` are ids of special tokens also where the text spells them."""
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
        special = token_id in control
        tokens.append(Token(name, token_id, start, end, surface, segment=sequence, special=special))
    return tuple(tokens)


def trim(token: str, start: int, end: int, text: str) -> tuple[int, int]:
    """Offsets without the white space that byte-level and SentencePiece tokens begin with.

    A token of white space alone keeps its span. A lone ``"▁"`` that stands for no character of the
    text (SentencePiece puts one before the first word) has an empty span.

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

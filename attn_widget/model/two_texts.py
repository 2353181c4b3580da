"""Source and target to tokens: what an encoder-decoder reads, and what its decoder is to write."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attn_widget.checks import are_ids, check_flag, short_repr
from attn_widget.errors import InputError, NotAvailableError, TooLongError
from attn_widget.model.encoder import Encoder
from attn_widget.model.encoding import Encoding, TwoTexts
from attn_widget.model.tokenizing import (
    check_characters_of,
    check_ids,
    check_text,
    encode_ids,
    tokenize_alone,
    tokens_of,
)
from attn_widget.model.tokens import Token


def encode_source(
    encoder: Encoder, source: Any, *, truncation: bool = False, add_special_tokens: bool = True
) -> Encoding:
    """The text that the encoder reads, with its tokens.

    Raises `InputTypeError`, `InputError`, `TooLongError`: as `Encoder.encode`.
    """
    check_flag(add_special_tokens, "add_special_tokens")
    if are_ids(source):
        return encode_ids(encoder, source, None)
    check_text(source, "text")
    options = {} if add_special_tokens else {"add_special_tokens": False}
    tokens, truncated = _read(encoder, source, "text", truncation, target=False, **options)
    ids = np.array([[token.id for token in tokens]], np.int64)
    arrays = {"input_ids": ids, "attention_mask": np.ones_like(ids)}
    return Encoding(source, None, tokens, arrays, truncated)


def encode_target(encoder: Encoder, source: Encoding, output: object) -> Encoding:
    """The source with ``output`` as what the decoder writes: teacher forcing.

    Returns: of the decoder: its tokens are the start token and those of ``output``, without the end token: it reads
    these, and is to write the next one after each. Raises `InputTypeError`, `InputError`: ``output`` is no text,
    empty, or begins with a prompt that belongs to the source. Raises `TooLongError`: more tokens than the model
    writes.
    """
    text = check_text(output, "output")
    _check_not_swapped(encoder, source.text, text)
    written, _ = _read(encoder, text, "output", False, target=True)
    labels = np.array([[token.id for token in written]], np.int64)
    first = int(_shifted(encoder, labels)[0, 0])
    end = (
        max(k for k, token in enumerate(written) if not token.special) + 1
    )  # mBART: also a language
    tokens = (start_token(encoder, first), *written[:end])
    return joined(source, Encoding(text, None, tokens, {}))


def joined(source: Encoding, target: Encoding) -> Encoding:
    """Source and target as one input, of which the target is the text: its ``both`` has the two."""
    ids = np.array([[token.id for token in target.tokens]], np.int64)
    arrays = {**source.arrays, "decoder_input_ids": ids}
    both = TwoTexts(replace(source, arrays=arrays), replace(target, arrays=arrays))
    return replace(both.target, both=both)


def start_token(encoder: Encoder, token_id: int) -> Token:
    """The token that the decoder reads before it has written any; or another special one."""
    name = encoder.token_texts([token_id])[0]
    return Token(name, token_id, 0, 0, name, special=True)


def start_id(encoder: Encoder) -> int:
    """Id of the token that generation starts from.

    Raises `NotAvailableError`: the model names none.
    """
    network = encoder.network
    holders = (getattr(network, "generation_config", None), network.config)
    for name in ("decoder_start_token_id", "bos_token_id"):
        for holder in holders:
            found = getattr(holder, name, None)
            if isinstance(found, int):
                return found
    raise NotAvailableError(
        f"{encoder.name} names no token that its decoder starts from.",
        "Set model.config.decoder_start_token_id, or force what is written: output='...'.",
    )


def target_language(encoder: Encoder) -> str | None:
    """The language that a tokenizer of many marks what is written with; None where it marks none, or none is chosen.

    The generation config decides, by a token that it has the decoder begin with; else the tokenizer's ``tgt_lang``.
    """
    reader = encoder.reader
    if not hasattr(reader, "tgt_lang"):
        return None
    settings = getattr(encoder.network, "generation_config", None)
    named: Any = [
        getattr(settings, name, None) for name in ("forced_bos_token_id", "decoder_start_token_id")
    ]
    kinds = ("bos", "eos", "unk", "sep", "pad", "cls", "mask")
    languages = set(reader.all_special_tokens) - {
        getattr(reader, f"{kind}_token") for kind in kinds
    }
    names = [encoder.token_texts([i])[0] for i in named if isinstance(i, int)]
    return next((name for name in names if name in languages), reader.tgt_lang)


@contextmanager
def _target_mode(encoder: Encoder) -> Generator[None]:
    """The tokenizer marks the target with `target_language`; by itself it takes the source's where none is set."""
    reader = encoder.reader
    if not hasattr(reader, "tgt_lang"):
        yield
        return
    before, language = reader.tgt_lang, target_language(encoder)
    if language is None:
        raise InputError(
            f"The tokenizer of {encoder.name} marks each text with its language, and that of output is not known.",
            "Name it: tokenizer.tgt_lang = 'fra_Latn', or by its token: model.generation_config.forced_bos_token_id.",
        )
    reader.tgt_lang = language
    try:
        yield
    finally:
        reader.tgt_lang = before
        reader._switch_to_input_mode()


def _read(
    encoder: Encoder, text: str, name: str, truncation: bool, *, target: bool, **options: bool
) -> tuple[tuple[Token, ...], dict[str, int] | None]:
    """Tokens of a text, and how it was truncated; ``target``: as the tokenizer splits what is written."""
    limit = encoder.max_length
    check_characters_of(encoder, text, name)
    # mBART marks languages differently
    given = {"text_target" if target else "text": [text], **options}
    with encoder.lock, _target_mode(encoder) if target else nullcontext():
        batch = tokenize_alone(encoder, None, False, given)
        length, truncated = len(batch["input_ids"][0]), None
        if length > limit:
            if not truncation:
                verb = "writes" if target else "reads"
                raise TooLongError(
                    f"{name} has {length:,} tokens; {encoder.name} {verb} at most {limit:,}.",
                    "Shorten it." if target else "Shorten it, or pass truncation=True.",
                )
            batch = tokenize_alone(encoder, limit, False, given)
            truncated = {"limit": limit, "length": length}
    check_ids(encoder, batch["input_ids"][0])
    tokens = tokens_of(encoder.reader, batch, text, None)
    if all(token.special for token in tokens):
        raise InputError(
            f"The tokenizer keeps nothing of {name}: it holds only control or invisible characters.",
            "Give at least one word.",
        )
    return tokens, truncated


def _shifted(encoder: Encoder, labels: NDArray[np.int64]) -> NDArray[np.int64]:
    """Input of the decoder that is to write ``labels``, int64 [1, n]: the model's own rule, which mBART has by language."""
    import torch

    shift = getattr(encoder.network, "prepare_decoder_input_ids_from_labels", None)
    if shift is None:  # a model without its head
        return np.concatenate([np.array([[start_id(encoder)]]), labels[:, :-1]], axis=1)
    try:
        return shift(torch.from_numpy(labels)).numpy()
    except (AttributeError, ValueError, TypeError) as error:
        raise NotAvailableError(
            f"{encoder.name} does not say what its decoder starts from.",
            "Set decoder_start_token_id and pad_token_id in its config.",
        ) from error


def _check_not_swapped(encoder: Encoder, source: str, output: str) -> None:
    """Refuse an output that begins with a prompt of the source (T5's ``translate English to German:``)."""
    tasks: Any = getattr(encoder.network.config, "task_specific_params", None)
    tasks = tasks.values() if isinstance(tasks, dict) else ()
    prefixes: Sequence[str] = [str(task.get("prefix") or "") for task in tasks if task]
    for prefix in filter(None, map(str.strip, prefixes)):
        if output.startswith(prefix) and not source.startswith(prefix):
            raise InputError(
                f"output begins with {short_repr(prefix)}, with which {encoder.name} expects its source to begin.",
                "Swap the two: analyze(source, output=target).",
            )

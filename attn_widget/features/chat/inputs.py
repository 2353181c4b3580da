"""Chats as inputs of `attn_widget.analyze`: messages, and texts or ids that a chat template wrote."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from attn_widget.analysis.inputs import HowRead
from attn_widget.checks import are_ids, check_characters
from attn_widget.errors import InputError, InputTypeError
from attn_widget.features.chat.messages import Messages, check_messages, is_chat
from attn_widget.features.chat.recovered import recovered
from attn_widget.features.chat.template import Template, takes_chats
from attn_widget.model.encoder import Encoder
from attn_widget.model.encoding import Encoding
from attn_widget.model.tokenizing import encode
from attn_widget.model.tokens import Token

REPLY = "assistant"  # the role of what the model writes


def read(encoder: Encoder, given: Any, text_pair: object, how: HowRead) -> Encoding | None:
    """See `attn_widget.analysis.inputs.ReadInput`."""
    output, writes, begins = how.output, how.writes, how.add_special_tokens
    options: dict[str, Any] = {"truncation": how.truncation, "any_length": how.any_length}
    if is_chat(given):
        if text_pair is not None:
            raise InputError("text is a chat, and text_pair is given.", "Give it as a message.")
        messages = check_messages(given)
        template = Template(encoder)
        reply = _reply(output, writes)
        if (writes or reply) and messages[-1]["role"] == REPLY:
            raise InputError(
                f"The chat ends with a turn of the {REPLY}, so there is no turn for the model to write.",
                "Add a user's turn, or leave generate and output out.",
            )
        return _of_messages(template, messages, reply, options)
    may_be = isinstance(given, str) or are_ids(given)
    if not may_be or text_pair is not None or not takes_chats(encoder):
        return None
    if isinstance(given, str):
        return _of_text(encoder, given, output, options, writes=writes, begins=begins)
    encoding = encode(encoder, given, None, **options)
    turns = recovered(Template(encoder), encoding.text)
    if turns and output is not None:
        raise InputError(
            "output is given, and text is token ids.",
            "Give the ids of the whole chat, or its messages.",
        )
    return _with_turns(encoding, turns, Template(encoder).own_prompt()) if turns else None


def _of_text(
    encoder: Encoder,
    text: str,
    output: str | None,
    options: dict[str, Any],
    *,
    writes: bool,
    begins: bool,
) -> Encoding | None:
    """A text that the template wrote; None of any other with control tokens. A beginning token that the template writes is there once, if ``begins``."""
    template = Template(encoder)
    turns = recovered(template, text)
    if not turns:
        return None
    reply = _reply(output, writes)
    whole, begun = text + (reply or ""), text.startswith(str(encoder.reader.bos_token))
    begins = begins and template.begins and not begun
    encoding = encode(encoder, whole, None, add_special_tokens=begins, **options)
    if begun:  # the tokenizer might have begun it too
        note = encode(encoder, whole, None, add_special_tokens=True, **options).note
        encoding = replace(encoding, note=note)
    encoding = _with_turns(encoding, turns, template.own_prompt())
    return encoding if reply is None else _with_reply(encoding, len(text))


def _reply(output: str | None, writes: bool) -> str | None:
    """``output``, checked."""
    if output is None:
        return None
    if not isinstance(output, str):
        raise InputTypeError(f"output is a {type(output).__name__}, expected a str.", "Give the text of the reply.")  # fmt: skip
    if not output.strip():
        raise InputError("output is empty.", "Give the text of the reply, or leave it out.")
    if writes:
        raise InputError(
            "output and generate are given, and a chat has one reply.",
            "output='...' is read as the reply, generate=50 lets the model write it.",
        )
    return check_characters(output, "output")


def _of_messages(
    template: Template, messages: Messages, reply: str | None, options: dict[str, Any]
) -> Encoding:
    encoder = template.encoder
    written = template.written(messages, prompt=messages[-1]["role"] == "user")
    text, turns = written.text, [(turn.role, turn.start) for turn in written.turns]
    begin = len(text)
    if reply is not None:
        try:
            answered = template.written(
                [*messages, {"role": REPLY, "content": reply}], prompt=False
            )
        except InputError:  # it looks into what it is given: the reply stands as it is
            turns, text = [*turns, (REPLY, written.prompt)], text + reply
        else:
            # Without what ends the turn: the model has not written more than this.
            *_, last = answered.turns
            text, begin = answered.text[: last.last], last.first
            turns = [(turn.role, turn.start) for turn in answered.turns]
    elif written.prompt < len(text):
        turns.append((REPLY, written.prompt))
    encoding = encode(encoder, text, None, add_special_tokens=False, **options)
    said = any(message["role"] == "system" for message in messages)
    encoding = _with_turns(encoding, turns, ("", 0) if said else template.own_prompt())
    return encoding if reply is None else _with_reply(encoding, begin)


def _with_turns(
    encoding: Encoding, turns: Sequence[tuple[str, int]], own: tuple[str, int]
) -> Encoding:
    """The encoding with turns by their first characters, and a last one for what is written if it is not there yet.

    ``own``: see `Template.own_prompt`.
    """
    # Tokens that the text does not spell have the place of the token before them.
    ordered = np.maximum.accumulate([token.start for token in encoding.tokens]).tolist()
    units = [(role, bisect_left(ordered, start) if start else 0) for role, start in turns]
    headers = [i for role, first in units for i in _header(encoding.tokens, role, first)]
    tokens = list(encoding.tokens)
    for i in headers:
        tokens[i] = replace(tokens[i], special=True)
    head, begin = own
    if head and encoding.text.startswith(head):
        tokens = [
            replace(token, boilerplate=not token.special and begin <= token.start < len(head))
            for token in tokens
        ]
    if units[-1][0] != REPLY:
        units.append((REPLY, encoding.n_tokens))
    return replace(encoding, tokens=tuple(tokens), units=tuple(units))


def _header(tokens: Sequence[Token], role: str, first: int) -> list[int]:
    """Tokens of the role's name between control tokens, or after one and before a line break: the template wrote them, no message holds them."""
    names = {role.lower(), *(["model"] if role == REPLY else [])}
    start = first
    while start < len(tokens) and tokens[start].special:
        start += 1
    stop, name = start, ""
    while stop < len(tokens) and not tokens[stop].special and name not in names:
        name += tokens[stop].surface.strip().lower()
        stop += 1
    ends = stop == len(tokens) or tokens[stop].special or not tokens[stop].surface.strip()
    if start == first or name not in names or not ends:
        return []
    if stop < len(tokens) and not tokens[stop].special:
        stop += 1
    return [*range(start, stop)]


def _with_reply(encoding: Encoding, begin: int) -> Encoding:
    """The tokens from a character on count as written."""
    first = next((k for k, token in enumerate(encoding.tokens) if token.start >= begin), encoding.n_tokens)  # fmt: skip
    return replace(encoding, written=encoding.n_tokens - first)

"""Messages of a chat, as `transformers` takes them: checked before the template sees them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from attn_widget.checks import check_characters, short_repr
from attn_widget.errors import InputError, InputTypeError, NotAvailableError

EXAMPLE = 'For example [{"role": "user", "content": "What is the capital of France?"}].'
FIELDS = ("role", "content")
TOOLS = ("tool_calls", "tool_call_id", "tools", "function_call")
TOOL_ROLES = ("tool", "function", "ipython")
Messages = list[dict[str, Any]]


def is_chat(given: object) -> bool:
    """True of what is meant as messages: a list of mappings, an empty list, one message, a row that holds messages.

    >>> is_chat([{"role": "user", "content": "hi"}]), is_chat([]), is_chat("hi"), is_chat([5, 6]), is_chat(["hi"])
    (True, True, False, False, False)
    """
    if isinstance(given, Mapping):
        return "input_ids" not in given and bool({*FIELDS, "messages"} & {*given})
    if not isinstance(given, (list, tuple)):
        return False
    if not given:
        return True
    first = given[0]
    if isinstance(first, (list, tuple)) and first:
        first = first[0]
    return isinstance(first, Mapping) and bool({*FIELDS} & {*first})


def check_messages(given: Any) -> Messages:
    """``given`` as messages whose contents are texts.

    Raises `InputTypeError`, `InputError`: no list of messages, or one that is no message. Raises `NotAvailableError`: images, tools.
    """
    if isinstance(given, Mapping):
        if "messages" in given:
            raise InputTypeError(
                "text is a dict that holds messages, expected the list.", "Give text['messages']."
            )
        raise InputTypeError("text is one message, expected a list of them.", "Put it into a list: [message].")  # fmt: skip
    if not given:
        raise InputError("text is an empty list, and a chat has a message or more.", EXAMPLE)
    if isinstance(given[0], (list, tuple)):
        raise InputError(f"text holds {len(given)} chats, expected the messages of one.", "Give one of them: chats[0].")  # fmt: skip
    messages = [_message(one, k) for k, one in enumerate(given)]
    system = [k for k, message in enumerate(messages) if message["role"] == "system"]
    if len(system) > 1:
        raise InputError(
            f"Messages {system[0]} and {system[1]} are both of the role 'system', and a chat has one such turn.",
            "Join their texts.",
        )
    return messages


def _message(given: object, k: int) -> dict[str, Any]:
    if not isinstance(given, Mapping):
        raise InputTypeError(f"Message {k} is {short_repr(given)}, expected a dict with role and content.", EXAMPLE)  # fmt: skip
    for name in TOOLS:
        value = given.get(name)
        empty = isinstance(value, (list, tuple, str, Mapping)) and not value
        if value is not None and not empty:
            raise NotAvailableError(f"Message {k} has {name}, and tools are not read.", "Leave it out, or write what the tool was asked and said as text.")  # fmt: skip
    role = given.get("role")
    if not isinstance(role, str) or not role.strip():
        raise InputTypeError(f"Message {k} has the role {short_repr(role)}, expected a name such as 'user'.", EXAMPLE)  # fmt: skip
    if role in TOOL_ROLES:
        raise NotAvailableError(f"Message {k} is of the role {role!r}, and tools are not read.", "Write what the tool said as text in a user's turn.")  # fmt: skip
    if "content" not in given:
        raise InputTypeError(f"Message {k} ({short_repr(role)}) has no content.", EXAMPLE)
    content = _text(given["content"], f"The content of message {k} ({short_repr(role)})")
    if (
        not content.strip() and role != "system"
    ):  # an empty system turn keeps a template from its own
        raise InputError(f"The content of message {k} ({short_repr(role)}) is empty.", "Leave the message out, or give it a text.")  # fmt: skip
    others = {str(name): value for name, value in given.items() if name not in TOOLS}
    return {**others, "role": check_characters(role, "role"), "content": content}


def _text(content: object, name: str) -> str:
    """A content as one text: of a list of parts, the text parts together."""
    if isinstance(content, str):
        return check_characters(content, name)
    if not isinstance(content, (list, tuple)):
        raise InputTypeError(f"{name} is {short_repr(content)}, expected a str or a list of parts.", EXAMPLE)  # fmt: skip
    texts: list[str] = []
    for k, part in enumerate(content):
        if isinstance(part, str):
            texts.append(part)
            continue
        kind = part.get("type") if isinstance(part, Mapping) else None
        if not isinstance(part, Mapping) or not isinstance(kind, str):
            raise InputTypeError(f"{name} has part {k}, {short_repr(part)}, expected a dict with type and text.", '{"type": "text", "text": "..."}')  # fmt: skip
        if kind != "text":
            raise NotAvailableError(f"{name} has part {k} of the type {short_repr(kind)}, and only text is read here.", "Leave the part out.")  # fmt: skip
        text = part.get("text")
        if not isinstance(text, str):
            raise InputTypeError(f"{name} has part {k} with the text {short_repr(text)}, expected a str.")  # fmt: skip
        texts.append(text)
    return check_characters("".join(texts), name)

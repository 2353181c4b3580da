"""A tokenizer's chat template: the text that it makes of messages, and where each turn of it begins.

A template may add a system turn of its own, trim contents, or move the system's text into another turn. So each content is found by
a mark that is rendered in its place, and two turns are divided where the template ends the chat that the first of them closes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from attn_widget.checks import first_line
from attn_widget.errors import AttnWidgetError, InputError, NotAvailableError
from attn_widget.features.chat.messages import Messages
from attn_widget.model.encoder import Encoder
from attn_widget.model.tokenizing import control_texts


class Turn(NamedTuple):
    """A turn in a text: its role, its first character, and its content ``[first, last)``."""

    role: str
    start: int
    first: int
    last: int


class Written(NamedTuple):
    """A chat as text. ``turns``: in the order of the text, the first from 0; without a prompt for a reply, which begins at ``prompt``."""

    text: str
    turns: list[Turn]
    prompt: int


class Template:
    """The chat template of an encoder's tokenizer.

    Raises `NotAvailableError`: an encoder, or a tokenizer without a template.
    """

    def __init__(self, encoder: Encoder) -> None:
        reader = encoder.reader
        if encoder.predicts != "next" or encoder.part is not None:
            kind = "an encoder-decoder" if encoder.part is not None else "an encoder"
            raise NotAvailableError(
                f"text is a chat, and {encoder.name} is {kind}, which takes no turns.",
                "Give a text, or load a decoder that was trained on chats, such as 'smollm2'.",
            )
        if not getattr(reader, "chat_template", None):
            raise NotAvailableError(
                f"text is a chat, and the tokenizer of {encoder.name} has no template for one: its chat_template is empty.",
                "Load a checkpoint that was trained on chats, set tokenizer.chat_template, or write the turns as one text.",
            )
        self.encoder = encoder
        self.control = control_texts(encoder)
        self._gaps: dict[tuple[str, str, str], int] = {}

    def render(self, messages: Sequence[dict[str, Any]], *, prompt: bool = False) -> str:
        """The text of messages; ``prompt``: with what a reply begins with.

        Raises `InputError`: the template refuses them. Raises `NotAvailableError`: it needs a package that is missing.
        """
        try:
            text = self.encoder.reader.apply_chat_template(
                [dict(message) for message in messages],
                tokenize=False,
                add_generation_prompt=prompt,
            )
        except ImportError as error:
            raise NotAvailableError(f"A chat template cannot be read: {first_line(error)}.", "Run: pip install jinja2") from error  # fmt: skip
        except Exception as error:  # whatever a template raises
            roles = ", ".join(str(message["role"])[:40] for message in messages[:12])
            raise InputError(
                f"The chat template of {self.encoder.name} refuses these messages ({roles}): {first_line(error)}.",
                "Most templates want an optional system turn, then user and assistant in turn.",
            ) from error
        if not isinstance(text, str):
            raise InputError(f"The chat template of {self.encoder.name} gives no text.")
        return text

    @property
    def begins(self) -> bool:
        """True if it writes the beginning token."""
        beginning = getattr(self.encoder.reader, "bos_token", None)
        probe = self._rendered([{"role": "user", "content": "probe"}])
        return bool(beginning) and probe is not None and probe.startswith(str(beginning))

    def own_prompt(self) -> tuple[str, int]:
        """The beginning of a chat without a system turn, up to the end of the system prompt that the template adds, and where that prompt begins.

        Empty where it adds none.
        """
        try:
            written = self.written([{"role": "user", "content": "probe"}], prompt=False)
        except AttnWidgetError:  # no chat begins with a user's turn
            return "", 0
        first = written.turns[0]
        return (written.text[: first.last], first.first) if first.role == "system" else ("", 0)

    def written(self, messages: Messages, *, prompt: bool) -> Written:
        """The text of messages with its turns; ``prompt``: with what a reply begins with.

        Raises `InputError`: the template refuses the messages, or leaves one out.
        """
        text = self.render(messages, prompt=prompt)
        marks = _marks(messages)
        marked = [{**m, "content": mark} for m, mark in zip(messages, marks, strict=True)]
        whole = self._rendered(marked, prompt=prompt)
        places = [] if whole is None else sorted((whole.find(mark), k) for k, mark in enumerate(marks))  # fmt: skip
        found = None
        if whole is not None and all(whole.count(mark) == 1 for mark in marks):
            order = [k for _, k in places]
            pieces = _pieces(whole, [marks[k] for k in order])
            found = _contents(text, pieces, [messages[k]["content"] for k in order])
        else:
            order = [*range(len(messages))]
        found = found or self._searched(text, messages)
        turns: list[Turn] = []
        start = 0
        for place, (k, (first, last)) in enumerate(zip(order, found, strict=True)):
            if not place:
                start = self._default(marked, text[:first], order, turns)
            turns.append(Turn(messages[k]["role"], start, first, last))
            stop = found[place + 1][0] if place + 1 < len(found) else len(text)
            following = messages[order[place + 1]]["role"] if place + 1 < len(found) else ""
            start = last + self._split(text[last:stop], marked, marks, k, following)
        return Written(text, turns, start if prompt else len(text))

    def _rendered(self, messages: Sequence[dict[str, Any]], *, prompt: bool = False) -> str | None:
        try:
            return self.render(messages, prompt=prompt)
        except AttnWidgetError:
            return None

    def _searched(self, text: str, messages: Messages) -> list[tuple[int, int]]:
        """Contents where they come in turn, for a template that looks into them."""
        found: list[tuple[int, int]] = []
        at = 0
        for k, message in enumerate(messages):
            content = message["content"].strip()
            first = text.find(content, at)
            if first < 0:
                raise InputError(
                    f"The chat template of {self.encoder.name} leaves out message {k} ({message['role'][:40]!r}), or changes its text.",
                    "Leave the message out, or write the turns as one text: tokenizer.apply_chat_template(messages, tokenize=False).",
                )
            at = first + len(content)
            found.append((first, at))
        return found

    def _default(
        self, marked: Sequence[dict[str, Any]], head: str, order: list[int], turns: list[Turn]
    ) -> int:
        """Start of the first message's turn; ``turns`` gets the system turn before it that the template adds by itself."""
        if any(message["role"] == "system" for message in marked):
            return 0
        mark = _marks(marked)[0]
        whole = self._rendered([{"role": "system", "content": mark}, *marked])
        if whole is None or whole.count(mark) != 1 or whole.find(mark) > whole.find(marked[order[0]]["content"]):  # fmt: skip
            return 0
        before, after = whole.split(mark)
        after = after[: after.find(marked[order[0]]["content"])]
        if not after or not head.startswith(before) or not head.endswith(after) or len(head) < len(before) + len(after):  # fmt: skip
            return 0
        last = len(head) - len(after)
        turns.append(Turn("system", 0, len(before), last))
        first = marked[order[0]]["role"]
        return last + self._split(after, [{"role": "system", "content": mark}], [mark], 0, first)

    def _split(
        self,
        gap: str,
        marked: Sequence[dict[str, Any]],
        marks: Sequence[str],
        k: int,
        following: str,
    ) -> int:
        """Place in the text between two contents at which the second turn begins; message ``k`` stands before it."""
        key = (marked[k]["role"], following, gap)
        if key not in self._gaps:
            shorter = self._rendered(marked[: k + 1])
            if shorter is not None and shorter.count(marks[k]) == 1:
                end = _common(shorter.split(marks[k])[1], gap)
                inside = [at for at, stop in self._controls(gap) if at < end < stop]
                self._gaps[key] = min([end, *inside])
            else:
                self._gaps[key] = self._after_control(gap)
        return self._gaps[key]

    def _controls(self, text: str) -> list[tuple[int, int]]:
        """Places of control tokens in a text."""
        return sorted(
            (at, at + len(token))
            for token in self.control
            for at in range(len(text))
            if text.startswith(token, at)
        )

    def _after_control(self, gap: str) -> int:
        """After the control token that closes a turn and white space; the whole gap without one."""
        controls = self._controls(gap)
        if not controls:
            return len(gap)
        end = controls[0][1]
        return end + len(gap[end:]) - len(gap[end:].lstrip())


def takes_chats(encoder: Encoder) -> bool:
    """True of a decoder whose tokenizer has a template."""
    template = getattr(encoder.reader, "chat_template", None)
    return bool(template) and encoder.predicts == "next" and encoder.part is None


def _marks(messages: Sequence[dict[str, Any]]) -> list[str]:
    """A text for each message that occurs in none of them, and in no other mark."""
    contents = "\0".join(str(message["content"]) for message in messages)
    salt = "mark"
    while salt in contents:
        salt += "q"
    return [f"x{salt}{k:05d}x" for k in range(len(messages))]


def _pieces(text: str, marks: Sequence[str]) -> list[str]:
    """Texts around marks, which come in this order."""
    pieces: list[str] = []
    for mark in marks:
        before, _, text = text.partition(mark)
        pieces.append(before)
    return [*pieces, text]


def _contents(
    text: str, pieces: Sequence[str], contents: Sequence[str]
) -> list[tuple[int, int]] | None:
    """Places of contents between pieces, each whole or trimmed; None where the text is another."""
    found: list[tuple[int, int]] = []
    at = len(pieces[0])
    if not text.startswith(pieces[0]):
        return None
    for content, after in zip(contents, pieces[1:], strict=True):
        forms = (content, content.strip(), content.lstrip(), content.rstrip())
        fitting = (form for form in forms if text.startswith(form + after, at))
        form = next(fitting, None)
        if form is None:
            return None
        found.append((at, at + len(form)))
        at += len(form) + len(after)
    return found if at == len(text) else None


def _common(a: str, b: str) -> int:
    """Length of the beginning that two texts share."""
    return next((k for k, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))  # fmt: skip

"""Turns of a text that a template wrote elsewhere, by what stands before and after each role's turns in that template."""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

from attn_widget.errors import AttnWidgetError
from attn_widget.features.chat.template import Template

PROBES = (("system", "user", "assistant", "user"), ("user", "assistant", "user", "assistant"))


class Sign(NamedTuple):
    """A text at which a turn of ``role`` begins: with it, or after it where ``after`` names the role whose turn it ends."""

    text: str
    role: str
    after: str | None = None


def recovered(template: Template, text: str) -> list[tuple[str, int]]:
    """Role and first character of each turn in a text; none where the text does not begin with one."""
    signs = _signs(template)
    found: list[tuple[str, int]] = []
    at = 0
    while at < len(text):
        current = found[-1][0] if found else None
        fitting = [
            sign
            for sign in signs
            if sign.after in (None, current) and text.startswith(sign.text, at)
        ]
        if not fitting:
            at += 1
            continue
        sign = max(fitting, key=lambda sign: len(sign.text))
        start = at if sign.after is None else at + len(sign.text)
        if not found and _without_control(template, text[:at]).strip():
            return []
        found.append((sign.role, start))
        at += len(sign.text)
    if found:
        found[0] = (found[0][0], 0)
    return found


def _signs(template: Template) -> list[Sign]:
    """Texts that begin a turn of each role; a role whose turns begin without a text of their own is known by what ends the turn before."""
    beginning = str(getattr(template.encoder.reader, "bos_token", None) or "")
    openers: dict[str, str] = {}
    closers: set[Sign] = set()
    for roles in PROBES:
        messages = [{"role": role, "content": f"probe{k}probe"} for k, role in enumerate(roles)]
        try:
            whole = template.written(messages, prompt=False)
        except AttnWidgetError:  # without a system turn, or none that can be read
            continue
        for turn in whole.turns:
            opener = whole.text[turn.start : turn.first].strip()
            # SmolLM2 names as its beginning token what every turn begins with.
            for text in (opener, opener.removeprefix(beginning).strip()):
                # The system's text may stand in a user's turn.
                if _is_sign(template, text) and openers.get(text, "system") == "system":
                    openers[text] = turn.role
        for before, turn in pairwise(whole.turns):
            closer = whole.text[before.last : turn.start].lstrip()
            if closer.strip() and not whole.text[turn.start : turn.first].strip():
                closers.add(Sign(closer, turn.role, before.role))
    return [*closers, *(Sign(text, role) for text, role in openers.items())]


def _is_sign(template: Template, opener: str) -> bool:
    """True of a text that holds a control token, or markup such as ``[INST]``."""
    marked = _without_control(template, opener) != opener
    return marked or (len(opener) > 2 and not opener.replace(" ", "").isalnum())


def _without_control(template: Template, text: str) -> str:
    for token in template.control:
        text = text.replace(token, "")
    return text

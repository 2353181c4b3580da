"""The index of the tutorials as cards: a picture, the question, minutes and level, in the paths of notebooks/README.md."""

from __future__ import annotations

import html
import re
from dataclasses import dataclass
from pathlib import Path

ENTRY = re.compile(
    r"^### \[(?P<title>.+?)\]\((?P<name>[\w-]+)\.ipynb\)\n\n(?P<about>.+?)\n\n\*(?P<minutes>\d+) minutes, (?P<level>\w+)\*\n",
    re.MULTILINE,
)
LEVELS = ("beginner", "intermediate", "advanced")
PICTURES = "_static/tutorials"


@dataclass(frozen=True)
class Card:
    """An entry of the index."""

    title: str
    name: str
    question: str  # the entry's first sentence
    about: str
    minutes: int
    level: str


def listed(index: str) -> list[Card]:
    r"""The entries of an index, in its order.

    >>> listed("### [Induction](induction.ipynb)\n\nHow? By heads.\n\n*30 minutes, advanced*\n")
    [Card(title='Induction', name='induction', question='How?', about='By heads.', minutes=30, level='advanced')]
    """
    return [card_of(found) for found in ENTRY.finditer(index)]


def card_of(found: re.Match[str]) -> Card:
    """The card of an entry."""
    question, _, about = found["about"].partition("? ")
    assert found["level"] in LEVELS, f"{found['title']}: {found['level']} is none of {LEVELS}"
    return Card(found["title"], found["name"], f"{question}?", about, int(found["minutes"]), found["level"])  # fmt: skip


def with_cards(index: str, assets: Path) -> str:
    """The index for the site: each entry as a card, with its picture where there is one among the ``assets``."""
    parts = re.split(r"(?=^## )", index, flags=re.MULTILINE)
    return "".join(in_row(part, assets) for part in parts)


def in_row(part: str, assets: Path) -> str:
    """A section of the index, its entries in one row of cards."""
    cards = listed(part)
    if not cards:
        return part
    row = "\n".join(markup(card, assets) for card in cards)
    rest = ENTRY.sub("", part).rstrip()
    return f'{rest}\n\n```{{raw}} html\n<div class="cards">\n{row}\n</div>\n```\n\n'


def markup(card: Card, assets: Path) -> str:
    """A card, the whole of which is a link."""
    has_picture = (assets / "tutorials" / f"{card.name}.png").exists()
    source = f"../{PICTURES}/{card.name}.png"
    image = f'<img loading="lazy" alt="" src="{source}">' if has_picture else ""
    return (
        f'<a class="card-link" href="{card.name}.html">{image}<h3>{html.escape(card.title)}</h3>\n'
        f"<p>{html.escape(card.question)}</p>\n"
        f'<p class="card-facts">{card.minutes} minutes · {card.level}</p></a>'
    )

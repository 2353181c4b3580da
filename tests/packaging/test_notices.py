"""Licenses of what the weights began with and learned from: named where the weights are, with the texts that each copy has to carry."""

from __future__ import annotations

import re
from pathlib import Path

from training.card import SOURCES

ROOT = Path(__file__).resolve().parents[2]
NOTICE = (ROOT / "NOTICE").read_text(encoding="utf-8")
OF_WEIGHTS = (ROOT / "attn_widget/mini/NOTICE").read_text(encoding="utf-8")
CARD = (ROOT / "attn_widget/mini/README.md").read_text(encoding="utf-8")
LICENSES = re.compile(
    r"CC BY(?:-SA)?(?: [\d.]+(?: FR)?)?|CC0|BSD 3-[Cc]lause|public domain|WordNet [Ll]icen[sc]e"
)


def test_the_notice_has_that_of_the_weights() -> None:
    assert OF_WEIGHTS in NOTICE


def test_every_source_of_the_card_is_named_with_its_license() -> None:
    rows = [line for line in OF_WEIGHTS.splitlines() if re.match(r"  \S.{50,}  \S", line)]
    named = " ".join(rows).lower().replace("license", "licence")
    for name, source in SOURCES.items():
        found = LICENSES.findall(source)
        assert found and source in CARD, name
        for license_ in found:
            assert license_.lower().replace("license", "licence") in named, (name, license_)
    for who in (
        "Wikipedia",
        "Gutenberg",
        "Fainberg",
        "Rastogi",
        "Byrne",
        "tatoeba",
        "WordNet",
        "Corpora",
    ):
        assert any(who in row for row in rows) and who in CARD, who


def test_the_texts_that_a_copy_carries_are_whole() -> None:
    words = " ".join(OF_WEIGHTS.split())
    mit = "The above copyright notice and this permission notice shall be included in all copies"
    assert "Copyright (c) Microsoft Corporation" in words and mit in words
    wordnet = "that the same appear on ALL copies of the software, database and documentation"
    assert "WordNet 3.0 Copyright 2006 by Princeton University. All rights reserved." in words
    assert wordnet in words and "LICENSEE agrees to preserve same." in words

"""A chat on the page, live and saved: its turns in the ribbon, in the matrix that stands for sentences, and below Why."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Browser, Locator, Page, expect

import attn_widget as aw
from scripts.widget_parts import values
from tests.e2e.saved import offline
from tests.e2e.saving import save
from tests.e2e.sources import SOURCES, opened
from tests.e2e.test_accessibility import violations
from tests.e2e.views import FLOAT32, choose, part, settle
from tests.features.chat import chat_models

CHAT = [
    {"role": "system", "content": "Be short."},
    {"role": "user", "content": "The cat sat on the mat"},
    {"role": "assistant", "content": "It sat on the dog."},
    {"role": "user", "content": "And the dog looked at the bird?"},
]
NAMES = ["system", "user 1", "assistant 1", "user 2", "assistant 2"]
WRITTEN = 5
HOSTILE = "<img src=x onerror=alert(1)>"


def chat(messages: Any = CHAT, **options: Any) -> aw.AttentionWidget:
    model = chat_models.build("chatml")
    return aw.show(messages, model=model, generate=WRITTEN, tagger=None, progress=False, **options)


def turns(page: Page) -> Locator:
    return part(page, "ribbon").locator('.aw-ribbon-line [role="group"]')


def check_ribbon(page: Page, a: aw.Analysis) -> None:
    """Every turn is a group with its name, which holds its tokens."""
    expect(turns(page)).to_have_count(len(a.chat.turns))
    for group, turn in zip(turns(page).all(), a.chat.turns, strict=True):
        expect(group).to_have_accessible_name(turn.name)
        expect(group.locator(".aw-section-name")).to_have_text(turn.name)
        tokens = group.locator("[data-token]").evaluate_all(
            "all => all.map(e => Number(e.dataset.token))"
        )
        shown = [i for i in range(turn.start, turn.stop) if not a.tokens[i].special]
        assert set(shown) <= set(tokens) <= set(range(turn.start, turn.stop))


@pytest.mark.parametrize("source", SOURCES)
def test_turns_are_ruled_off_and_their_numbers_are_pythons(
    browser: Browser, tmp_path: Path, source: str
) -> None:
    widget = chat(view="why")
    a = widget.analysis
    found = a.chat.contributions()
    n = a.trace.n_tokens
    assert found.positions == tuple(range(n - WRITTEN, n))
    with opened(browser, widget, source, tmp_path) as one:
        page = one.page
        check_ribbon(page, a)
        tab = page.locator('[role="tab"][data-view="sentences"]')
        expect(tab).to_have_text("Turns")

        choose(page, "why")
        columns = part(page, "turns-columns").locator("button")
        expect(columns).to_have_count(WRITTEN)
        terms = np.column_stack([found.values, found.bias])
        cells = part(page, "turns-columns").locator(".aw-turns-cell")
        rows = cells.count() // WRITTEN  # that of the biases only where the model has any
        one.agree(cells, terms[:, :rows], rel=FLOAT32)
        said = part(page, "turns-said")
        expect(said).to_contain_text("of what is written")
        share = pytest.approx(float(found.system.mean()), rel=1e-5)
        assert share in values(said.locator("[data-aw-value]"))
        last = columns.nth(WRITTEN - 1)
        last.click()
        expect(last).to_have_attribute("aria-pressed", "true")
        *shown, logit = values(part(page, "turns-sum").locator("[data-aw-value]"))
        assert logit == pytest.approx(found.logits[-1], rel=1e-5)
        assert sum(shown) == pytest.approx(logit, abs=1e-5 * float(np.abs(terms).max()))
        settle(page)
        drawing = save(page, "svg", tmp_path).read_text("utf-8")
        assert all(f">{name}<" in drawing for name in NAMES)
        with save(page, "csv", tmp_path).open(encoding="utf-8", newline="") as file:
            table = list(csv.DictReader(file))
        assert [row["section"] for row in table] == [
            turn.name for turn in a.chat.turns for _ in range(turn.start, turn.stop)
        ]
        assert [*table[0]] == [*widget.to_dataframe().columns]
        for theme in ("light", "dark"):
            page.emulate_media(color_scheme=theme)
            assert violations(page) == []

        choose(page, "sentences")
        heads = page.locator(".aw-isa-column .aw-isa-name")
        expect(heads).to_have_text(NAMES)
        expect(page.locator(".aw-isa-label .aw-isa-name")).to_have_text(NAMES)
        expect(page.locator(".aw-isa-label .aw-isa-text").nth(3)).to_have_text(CHAT[3]["content"])
        shares = a.sentences.matrix("mass")
        possible = np.tril_indices(len(NAMES))
        for row in range(len(NAMES)):
            given = page.locator(
                f'.aw-isa-row[data-a="{row}"] [role=gridcell][data-b][data-aw-value]'
            )
            one.agree(given, shares[row, : row + 1], rel=FLOAT32)
        assert shares[possible].min() > 0
        expect(part(page, "sentence")).to_contain_text("times its share of the tokens")
        assert violations(page) == []
    widget.close()


def test_a_narrow_page_has_the_names_above_their_turns(browser: Browser, tmp_path: Path) -> None:
    widget = chat(view="sentences")
    path = widget.to_html(tmp_path / "chat.html")
    with offline(browser, path, width=390) as one:
        check_ribbon(one.page, widget.analysis)
        name, text = (turns(one.page).first.locator(f":scope > {tag}") for tag in ("bdi", "span"))
        above, below = name.bounding_box(), text.bounding_box()
        assert above is not None and below is not None
        assert above["y"] + above["height"] <= below["y"] + 1 and above["x"] <= below["x"] + 1
        choose(one.page, "sentences")
        expect(one.page.locator(".aw-isa.is-upright")).to_be_visible()
        wide = "() => document.documentElement.scrollWidth - document.documentElement.clientWidth"
        assert one.page.evaluate(wide) <= 0
        choose(one.page, "why")
        expect(part(one.page, "turns-columns").locator("button")).to_have_count(WRITTEN)
        assert one.page.evaluate(wide) <= 0
        assert violations(one.page) == []
        assert one.asked == [] and one.errors == []
    widget.close()


def test_a_role_is_text_whatever_it_is(browser: Browser, tmp_path: Path) -> None:
    widget = chat([{"role": HOSTILE, "content": "The cat sat"}, CHAT[1]], view="why")
    path = widget.to_html(tmp_path / "hostile.html")
    with offline(browser, path) as one:
        roles = turns(one.page).locator(".aw-section-name")
        shown = [role for role in roles.all_text_contents() if role.startswith("<img")]
        assert shown == [f"{HOSTILE[:23]}…"]
        for view in ("sentences", "why"):
            choose(one.page, view)
            expect(one.page.locator("img")).to_have_count(0)
        assert one.asked == [] and one.errors == []
    widget.close()

"""Ten questions that users bring, each answered on screen within five actions from a fresh widget.

The same steps on a live widget and on a saved page.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Browser, Locator, expect

import attn_widget as aw
from attn_widget.protocol.initial_payload import opening_mode
from tests.e2e.runs import shown
from tests.e2e.sources import SOURCES, Opened, opened
from tests.e2e.views import READY, panel_of, part

TEXT = "The cat sat on the mat. It was tired, and the bank was closed! Nobody came to the river."
MAX_ACTIONS = 5


class Reader:
    """Someone with a fresh widget, whose clicks and choices are counted."""

    def __init__(self, one: Opened) -> None:
        self.page = one.page
        self.widget = one.widget
        self.source = one.source
        self.agree = one.agree
        self.analysis = one.widget.analysis
        self.actions = 0

    def act(self, what: Callable[[], object]) -> None:
        self.actions += 1
        what()
        self.page.wait_for_function(READY)

    def open(self, view: str) -> Locator:
        self.act(self.page.locator(f'[role="tab"][data-view="{view}"]').click)
        panel = panel_of(self.page, view)
        expect(panel).to_be_visible()
        self.page.wait_for_function(READY)
        return panel

    def shade(self, metric: str) -> None:
        self.act(lambda: part(self.page, "metric").select_option(metric))

    def head(self, layer: int, head: int) -> None:
        place = f'[data-layer="{layer}"][data-head="{head}"]'
        self.act(part(self.page, "heads").locator(place).click)

    def token(self, word: str) -> int:
        """Click a word of the ribbon; returns its position."""
        surfaces = [token.surface.lower() for token in self.analysis.tokens]
        position = surfaces.index(word)
        self.act(part(self.page, "ribbon").locator(f'[data-token="{position}"]').click)
        return position

    def part(self, name: str) -> Locator:
        return part(self.page, name)


@pytest.fixture(params=SOURCES)
def reader(browser: Browser, request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Reader]:
    if request.param == "saved":
        widget = shown(TEXT, layer=0, head=0)
        # What was computed before goes along.
        widget.analysis.predictions(mode="masked")
    else:
        widget = aw.show(TEXT, layer=0, head=0, progress=False)
    with opened(browser, widget, request.param, tmp_path) as one:
        reader = Reader(one)
        yield reader
        assert 0 < reader.actions <= MAX_ACTIONS
    widget.close()


def place_of_largest(figures: np.ndarray) -> tuple[int, int]:
    layer, head = np.unravel_index(np.nanargmax(figures), figures.shape)
    return int(layer), int(head)


def test_which_head_looks_at_the_previous_token(reader: Reader) -> None:
    reader.shade("previous")
    layer, head = place_of_largest(reader.analysis.heads.patterns.previous)
    expect(reader.part("grid-most")).to_contain_text(f"L{layer} · H{head}")
    reader.act(reader.part("grid-most").click)
    expect(reader.part("head-name")).to_have_text(f"L{layer} · H{head}")


def test_which_head_specializes_in_punctuation(reader: Reader) -> None:
    reader.shade("punctuation")
    layer, head = place_of_largest(reader.analysis.heads.specialization.punctuation)
    expect(reader.part("grid-most")).to_contain_text(f"L{layer} · H{head}")


def test_what_does_it_attend_to_in_layer_4(reader: Reader) -> None:
    reader.head(4, 0)
    reader.act(reader.part("display").click)
    reader.act(reader.part("mean").click)
    position = reader.token("it")
    row = reader.analysis.attention(4, "mean")[position]
    keys = reader.part("focus-keys").locator("[data-token]")
    expect(keys.first).to_have_attribute("data-token", str(int(row.argmax())))
    listed = reader.part("focus-keys").locator("[data-aw-value]")
    reader.agree(listed, np.sort(row)[::-1], head=True)


def test_which_sentence_draws_the_attention_of_sentence_2(reader: Reader) -> None:
    reader.open("sentences")
    row = reader.analysis.sentences.matrix("mass")[2].copy()
    row[2] = -1
    grid = reader.part("sentence-matrix")
    reader.act(grid.locator('[data-a="2"][data-b="2"]').click)
    expect(reader.part("sentence")).to_contain_text(
        f"Of what S2 gives to other sentences, S{int(row.argmax())} gets most"
    )
    reader.agree(grid.locator(f'[data-a="2"][data-b="{int(row.argmax())}"]'), row.max())


def test_what_would_the_model_say_instead_of_cat(reader: Reader) -> None:
    position = reader.token("cat")
    panel = reader.open("predictions")
    reader.act(panel.locator('[data-mode="masked"]').click)
    found = reader.analysis.predictions(mode="masked")
    row = panel.locator(f'[data-position="{position}"]').first
    expect(row.locator(".aw-prediction").first).to_contain_text(found.tokens[position][0])


def test_which_layer_changes_the_most(reader: Reader) -> None:
    reader.open("inside")
    changed = int(np.argmax(reader.analysis.heads.layer_change))
    expect(reader.part("changes")).to_contain_text(
        f"Attention changes most from L{changed} to L{changed + 1}"
    )


def test_what_did_the_ffn_do_to_bank(reader: Reader) -> None:
    position = reader.token("bank")
    reader.open("inside")
    reader.act(
        reader.part("stage").and_(reader.page.locator('[data-stage="ffn_activation"]')).click
    )
    units = reader.part("top-units").locator("[data-unit]")
    expect(units.first).to_be_visible()
    activation = reader.analysis.model.ffn(reader.widget.layer)[position]
    expect(units.first).to_have_attribute("data-unit", str(int(np.abs(activation).argmax())))
    ratio = float(reader.analysis.model.residuals.ffn[reader.widget.layer, position])
    reader.agree(reader.part("residual").locator("[data-aw-value]").last, ratio)


def test_what_is_the_third_child_of_sat(reader: Reader) -> None:
    position = reader.token("sat")
    reader.open("tree")
    row = reader.analysis.attention(0, 0)[position]
    words = [
        i
        for i, token in enumerate(reader.analysis.tokens)
        if token.text.isalpha() and i != position
    ]
    third = sorted(words, key=lambda i: -row[i])[2]
    node = reader.part("tree-node").and_(reader.page.locator('[aria-level="2"][aria-posinset="3"]'))
    expect(node).to_have_attribute("data-token", str(third))


def test_which_tokens_get_the_most_attention_in_the_last_layer(reader: Reader) -> None:
    reader.head(reader.analysis.trace.n_layers - 1, 0)
    reader.act(reader.part("display").click)
    reader.act(reader.part("mean").click)
    expect(reader.part("head-name")).to_contain_text("L5")
    received = reader.analysis.attention(5, "mean").mean(axis=0)
    shown = reader.part("focus-keys").locator("[data-aw-value]")
    reader.agree(shown, np.sort(received)[::-1], head=True)


def test_what_does_the_softmax_over_the_top_prediction_sum_to(reader: Reader) -> None:
    position = reader.token("cat")
    panel = reader.open("predictions")
    reader.act(panel.locator(f'[data-position="{position}"] [data-column="1"]').click)
    mode = "masked" if reader.source == "saved" else opening_mode(reader.analysis)
    opened = reader.analysis.model.softmax(position, mode=mode)
    expect(panel).to_contain_text(re.compile(r"100\s*%"))
    expect(panel).to_contain_text(f"{opened.sum_exp:.3g}"[:4])

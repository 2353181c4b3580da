"""An encoder-decoder on the page, live and saved: its parts, its two texts, and what of them explains a written token."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Browser, Locator, Page, expect

import attn_widget as aw
from attn_widget.analysis.opening import opening
from attn_widget.features.why.proposals import proposals
from scripts.lab import Lab, OpenNotebook
from scripts.widget_parts import agree, values
from tests.close import assert_close
from tests.e2e.sources import SOURCES, opened
from tests.e2e.test_accessibility import violations
from tests.e2e.views import FLOAT32, choose, part, setting, unfold
from tests.unit.tiny_models import build

SOURCE = "The cat sat on the mat."
OUTPUT = "A quick brown fox."


def switch(page: Page, name: str) -> Locator:
    return part(page, "part").locator(f'[data-part="{name}"]')


def tokens(page: Page, line: str = "tokens") -> Locator:
    """Of the line of the focus token, or of the ``source`` above it."""
    return part(page, line).locator("[data-token]")


def focus(token: Locator) -> None:
    """Make it the focus token, which it may be at the start."""
    if token.get_attribute("aria-pressed") != "true":
        token.click()


@pytest.mark.parametrize("source", SOURCES)
def test_parts_keep_their_head_and_focus_and_the_numbers_of_a_written_token_add_up(
    browser: Browser, tmp_path: Path, source: str
) -> None:
    widget = aw.show(
        SOURCE, output=OUTPUT, model=build("bart"), tagger=None, token=3, progress=False
    )
    a = widget.analysis.of("decoder")
    cross, encoder = a.of("cross"), a.of("encoder")
    with opened(browser, widget, source, tmp_path) as one:
        page = one.page
        # At first cross-attention: a focus token of the target, whose row paints the source.
        expect(switch(page, "cross")).to_have_attribute("aria-pressed", "true")
        grid = part(page, "heads")
        grid.locator('[data-layer="2"][data-head="0"]').click()
        row = cross.attention(2, 0)[3]
        one.agree(tokens(page, "source"), row)
        assert tokens(page).count() == cross.trace.n_tokens
        tokens(page, "source").nth(int(row.argmax())).click()
        expect(tokens(page, "source").nth(int(row.argmax()))).to_have_attribute("data-aw-pair", "")
        # What attention carries from the source: a pair's norm is its weight times a length.
        column = int(row.argmax())
        setting(page, "carried-quantity").select_option("norms")
        page.keyboard.press("Escape")
        chain = part(page, "carried").locator("[data-aw-value]")
        length = cross.mixing.value_lengths(2)[0, column]
        one.agree(chain, [row[column], length, row[column] * length], rel=1e-4)
        setting(page, "carried-quantity").select_option("")
        page.keyboard.press("Escape")
        # Another part, by the switch and by the key; it has a focus of its own.
        switch(page, "encoder").click()
        expect(part(page, "source")).to_have_count(0)
        expect(tokens(page)).to_have_count(encoder.trace.n_tokens)
        grid.locator('[data-layer="1"][data-head="1"]').click()
        focus(tokens(page).nth(2))
        one.agree(tokens(page), encoder.attention(1, 1)[2])
        # Inside is the encoder's: its sums close.
        choose(page, "inside")
        counts = [
            count for key, count in encoder.model.parameters.items() if count and key != "total"
        ]
        parameters = part(page, "parameters").locator("dd[data-aw-value]")
        assert sorted(map(int, values(parameters)))[:-1] == sorted(counts)
        for stage, in_, out in (
            ("attention_sum", "layer_input", "attention_output"),
            ("ffn_sum", "attention_norm", "ffn_output"),
        ):
            part(page, "stage").and_(page.locator(f'[data-stage="{stage}"]')).click()
            layer = encoder.model.layer(1)
            for tensor in (in_, out, stage):
                cells = page.locator(f'[data-tensor="{tensor}"] rect[data-dimension]')
                one.agree(cells, getattr(layer, tensor)[2], rel=1e-5)
            assert_close(getattr(layer, in_) + getattr(layer, out), getattr(layer, stage), terms=2)
        choose(page, "attention")
        page.keyboard.press("c")
        expect(switch(page, "decoder")).to_have_attribute("aria-pressed", "true")
        expect(tokens(page).nth(3)).to_have_attribute("aria-pressed", "true")
        page.keyboard.press("c")
        expect(switch(page, "cross")).to_have_attribute("aria-pressed", "true")
        expect(grid.locator('[data-layer="2"][data-head="0"]')).to_have_attribute(
            "aria-pressed", "true"
        )
        expect(tokens(page).nth(3)).to_have_attribute("aria-pressed", "true")
        expect(tokens(page, "source").nth(int(row.argmax()))).to_have_attribute("data-aw-pair", "")
        switch(page, "encoder").click()
        expect(tokens(page).nth(2)).to_have_attribute("aria-pressed", "true")
        expect(grid.locator('[data-layer="1"][data-head="1"]')).to_have_attribute(
            "aria-pressed", "true"
        )
        switch(page, "cross").click()
        expect(switch(page, "cross")).to_have_attribute("aria-pressed", "true")
        heads = choose(page, "heads")
        one.agree(heads.locator("circle[data-token]"), cross.heads.monotony.expected[2, 0])
        unfold(page, "matrix")
        heads.locator('[data-metric="uniformity"] .aw-card-title').click()
        size = f"for these {cross.trace.n_tokens} queries and {len(cross.model.key_tokens)} keys"
        expect(heads.get_by_role("dialog")).to_contain_text(size)
        page.keyboard.press("Escape")
        # The tree goes on in the encoder; sentences are those of two texts.
        tree = choose(page, "tree")
        first = opening(encoder)
        below = f"the encoder’s L{first.layer} · H{first.head}"
        expect(tree).to_contain_text(f"those inside the source: {below}")
        sentences = choose(page, "sentences")
        expect(sentences.locator('[role="columnheader"][data-b="0"]')).to_have_text("source 0")
        # Why: both texts and the biases make the number. A saved page has the question that the text proposes.
        why = choose(page, "why")
        found = a.why.contributions(proposals(a)[0] if source == "saved" else why_written(a, 3))
        assert found.source is not None and found.bias is not None
        both = np.concatenate([found.source, found.values])
        expect(part(page, "why-sum")).to_contain_text("=")
        painted = tokens(page, "source").or_(tokens(page))
        one.agree(painted, both, rel=1e-4)
        assert abs(float(both.sum() + found.bias - found.value)) <= 1e-5
        shares = a.why.written_shares.shares
        expect(part(page, "why-shares").locator(".aw-written-share")).to_have_count(len(shares))
        one.agree(part(page, "why-shares").locator("[data-aw-value]"), shares.ravel(), rel=1e-4)
        expect(why).to_contain_text("N/A here: Gradient × input")
        for theme in ("light", "dark"):
            page.emulate_media(color_scheme=theme)
            assert violations(page) == []
        # Parts that are chosen quickly one after the other are opened once each.
        shown: list[str] = []
        widget.observe(lambda change: shown.append(change["new"]), "part")
        part(page, "part").evaluate(
            "box => ['encoder', 'cross', 'decoder', 'cross'].forEach("
            "part => box.querySelector(`[data-part=${part}]`).click())"
        )
        choose(page, "heads")
        one.agree(heads.locator("circle[data-token]"), cross.heads.monotony.expected[2, 0])
        assert shown == ([] if source == "saved" else ["encoder", "cross", "decoder", "cross"])
    widget.close()


@pytest.mark.parametrize("source", SOURCES)
def test_a_part_with_more_heads_and_tokens_is_drawn_from_every_view(
    browser: Browser, tmp_path: Path, source: str
) -> None:
    sizes = {"encoder_layers": 4, "encoder_attention_heads": 8, "decoder_layers": 2}
    model = build("bart", **sizes)
    widget = aw.show(SOURCE, output="A fox.", model=model, tagger=None, token=2, progress=False)
    with opened(browser, widget, source, tmp_path) as one:
        page = one.page
        last = part(page, "heads").locator('[data-layer="3"][data-head="7"]')
        switch(page, "encoder").click()
        last.click()
        focus(tokens(page).nth(8))
        switch(page, "cross").click()
        expect(switch(page, "cross")).to_have_attribute("aria-pressed", "true")
        for view in ("heads", "tree", "sentences", "predictions", "attention"):
            choose(page, view)
            for name in ("encoder", "cross"):
                switch(page, name).click()
                expect(switch(page, name)).to_have_attribute("aria-pressed", "true")
                if name == "encoder":
                    expect(last).to_have_attribute("aria-pressed", "true")
                    expect(tokens(page).nth(8)).to_have_attribute("aria-pressed", "true")
        assert page.locator(".aw-messages").inner_text() == ""
    widget.close()


def why_written(a: aw.Analysis, token: int) -> aw.Target:
    """Why the model wrote a token, rather than its likeliest other choice."""
    assert a.run is not None
    written = a.run.encoding.text_ids[token]
    guesses = a.predictions(top_k=2).ids[token - 1].tolist()
    against = next(guess for guess in guesses if guess != written)
    return aw.target(position=token - 1, token=written, against=against)


DATE, WRITTEN = "the 8th of November 1987", "1987-11-08"


@pytest.mark.timeout(900)
def test_jupyterlab_switches_parts_and_predicts(lab: Lab, open_notebook: OpenNotebook) -> None:
    show = f'w = aw.show({DATE!r}, output={WRITTEN!r}, model="dates", token=3)'
    notebook = open_notebook(lab.write("parts.ipynb", ["import attn_widget as aw", show]))
    notebook.run_all()
    widget, page = notebook.widget(0), notebook.page
    widget.wait_drawn()
    a = aw.analyze(DATE, output=WRITTEN, model="dates", progress=False)
    cross, encoder = a.of("cross"), a.of("encoder")
    source = widget.part("source").locator("[data-token]")
    widget.head(1, 1).click()
    agree(source, cross.attention(1, 1)[3], rtol=FLOAT32)
    notebook.prints("print(w.part, w.layer, w.head)", "cross 1 1\n")

    widget.part("part").locator('[data-part="encoder"]').click()
    text = widget.part("tokens").locator("[data-token]")
    expect(text).to_have_count(encoder.trace.n_tokens)
    focus(text.nth(5))
    widget.head(0, 2).click()
    agree(text, encoder.attention(0, 2)[5], rtol=FLOAT32)
    for name in ("decoder", "cross"):
        page.keyboard.press("c")
        pressed = widget.part("part").locator(f'[data-part="{name}"]')
        expect(pressed).to_have_attribute("aria-pressed", "true")
    agree(source, cross.attention(1, 1)[3], rtol=FLOAT32)
    notebook.prints("print(w.part, w.layer, w.head, w.token)", "cross 1 1 3\n")

    widget.tab("predictions").click()
    best = a.predictions(top_k=1)
    first = widget.part("view").locator('[data-position="3"] .aw-prediction').first
    expect(first).to_have_attribute("data-token-id", str(best.ids[3, 0]))
    agree(first, best.probabilities[3, 0], rtol=FLOAT32)

    # Why explains the token in focus: why the step before wrote it.
    widget.tab("why").click()
    assert a.run is not None
    for token in (3, 4):
        target = why_written(a, token)
        assert isinstance(target.token, int) and isinstance(target.against, int)
        names = a.run.encoder.token_texts([target.token, target.against])
        expect(widget.part("view").locator("h3")).to_have_text(
            f"Why {names[0]} rather than {names[1]}?"
        )
        notebook.prints(
            "print(*w.target.values())", f"{token - 1} {target.token} {target.against}\n"
        )
        widget.part("player").get_by_label("One token on").click()

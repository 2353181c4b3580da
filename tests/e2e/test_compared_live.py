"""A comparison in a live widget in Chromium: asked for, patched, and run again."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Browser, Page, expect

import attn_widget as aw
from scripts.page import mount
from tests.close import assert_close
from tests.e2e.compared import A, B, open_panel
from tests.e2e.views import part


def test_a_live_widget_compares_and_patches(browser: Browser, keys_and_key: aw.Comparison) -> None:
    page = browser.new_page(viewport={"width": 1200, "height": 1000})
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    widget = aw.show(A, progress=False)
    mount(page, widget, width=1200)
    part(page, "compare-button").click()
    text = part(page, "compare-text")
    expect(text).to_have_value(A)
    text.press("Enter")
    expect(page.locator(".aw-compare-ask")).to_contain_text("Change a word.")
    text.fill("")
    text.press("Enter")
    expect(page.locator(".aw-compare-ask")).to_contain_text("empty")
    text.fill(B)
    text.press("Enter")
    expect(part(page, "difference")).to_be_visible(timeout=60_000)
    c = keys_and_key
    every_quantity_is_that_of_numpy(page, c, widget.layer, int(widget.head))
    every_prediction_is_that_of_python(page, c)
    open_panel(page, "patching")
    values = c.recovery(c.proposals()[0]).values
    layer, head = divmod(int(values.argmax()), 12)
    grid = part(page, "patching-map")
    grid.focus()
    for key in ["ArrowDown"] * (layer + 1) + ["ArrowRight"] * head:
        grid.press(key)
    grid.press("Enter")
    expect(part(page, "patched")).to_contain_text(f"recovered +{values.max():.2f}", timeout=60_000)
    expect(part(page, "patched-note")).to_contain_text(f"L{layer} · H{head}")
    patched = c.patch([("head", layer, head)])
    reply, buffers = widget._slice({"kind": "weights", "layer": 5, "head": 0, "source": "b"}, [])
    assert isinstance(reply, dict) and reply["ok"]
    shown = np.frombuffer(buffers[0], np.float32).reshape(10, 10)
    # Of a score's error a weight takes at most half.
    size = patched.scores(5, 0) / 2
    assert_close(shown, patched.attention(5, 0), terms=384, steps=4 * 6, size=size)
    part(page, "unpatch").click()
    expect(part(page, "patched-note")).to_have_count(0)
    for of, kind in (("states", "state"), ("mlp", "mlp"), ("attention", "attention")):
        a_cell_puts_its_part_of_a_into_b(page, widget, c, of, kind)
    part(page, "compare-close").click()
    expect(part(page, "compare")).to_have_count(0)
    expect(page.locator(".attn-widget").first).to_be_visible()
    widget.close()
    page.close()
    assert errors == []


def a_cell_puts_its_part_of_a_into_b(
    page: Page, widget: aw.AttentionWidget, c: aw.Comparison, of: str, kind: str
) -> None:
    """The third matched token after layer 1, which the third column of the second row is."""
    open_panel(page, "patching")
    page.locator(f'[data-of="{of}"]').click()
    grid = part(page, "patching-map")
    expect(grid).to_be_visible(timeout=60_000)
    grid.focus()
    for key in ("ArrowDown", "ArrowDown", "ArrowRight", "ArrowRight", "Enter"):
        grid.press(key)
    expect(part(page, "patched-note")).to_be_visible(timeout=60_000)
    _, position = c.alignment.tokens[2]
    patched = c.patch([(kind, 1, position)])
    reply, buffers = widget._slice({"kind": "weights", "layer": 5, "head": 0, "source": "b"}, [])
    assert isinstance(reply, dict) and reply["ok"]
    shown = np.frombuffer(buffers[0], np.float32).reshape(10, 10)
    # Of a score's error a weight takes at most half.
    size = patched.scores(5, 0) / 2
    assert_close(shown, patched.attention(5, 0), terms=384, steps=4 * 6, size=size)
    assert not np.allclose(shown, c.b.attention(5, 0), atol=1e-5)
    part(page, "unpatch").click()
    expect(part(page, "patched-note")).to_have_count(0)


def test_an_earlier_run_is_b_and_stays_while_a_is_run_again(browser: Browser) -> None:
    page = browser.new_page(viewport={"width": 1200, "height": 1000})
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    widget = aw.show(B, progress=False)
    mount(page, widget, width=1200)
    first = page.locator(".attn-widget").nth(0)
    run_text(page, A)
    part(page, "compare-button").click()
    page.locator(".aw-compare-ask [data-aw-part=history] button").first.click()
    expect(part(page, "difference")).to_contain_text("Changed: “keys” → “key”.", timeout=60_000)
    part(page, "compare").get_by_role("button", name="A", exact=True).click()
    run_text(page, "The boxes to the cabinet are here.")
    expect(part(page, "compare")).to_contain_text("A The boxes to the cabinet", timeout=60_000)
    expect(part(page, "compare")).to_contain_text(f"B {B}")
    part(page, "compare").get_by_role("button", name="B − A").click()
    expect(part(page, "difference")).to_contain_text("Changed: “boxes” → “key”.")
    part(page, "compare-another").click()
    text = part(page, "compare-text")
    expect(text).to_have_value(B)
    text.fill("word " * 600)
    text.press("Enter")
    expect(page.locator(".aw-compare-ask")).to_contain_text("602 tokens", timeout=60_000)
    expect(part(page, "difference")).to_contain_text("“boxes” → “key”")  # the last picture stays
    text.fill("The box to the cabinet are here.")
    text.press("Enter")
    expect(part(page, "difference")).to_contain_text("“boxes” → “box”", timeout=60_000)
    expect(first).to_be_attached()
    widget.close()
    page.close()
    assert errors == []


def run_text(page: Page, text: str) -> None:
    field = part(page, "run-text").locator("visible=true")
    field.fill(text)
    field.press("Enter")
    expect(part(page, "ribbon").locator("visible=true")).to_contain_text(
        text.split()[1], timeout=60_000
    )


def every_quantity_is_that_of_numpy(page: Page, c: aw.Comparison, layer: int, head: int) -> None:
    """The strongest change of the chosen head, whatever is shown of it."""
    of_a, of_b = (list(places) for places in zip(*c.alignment.tokens, strict=True))
    for quantity in ("scores", "norms", "mixing", "alti", "value_zeroing", "rollout", "weights"):
        part(page, "difference-quantity").select_option(quantity)
        matrices = [matrix_of(run, quantity, layer, head) for run in (c.a, c.b)]
        change = matrices[1][np.ix_(of_b, of_b)] - matrices[0][np.ix_(of_a, of_a)]
        strongest = float(change.flat[np.abs(change).argmax()])
        page.wait_for_function(
            "([name, value]) => Math.abs(document.querySelector('[data-aw-part=reading]').dataset.awValue"
            " - value) < 1e-5",
            arg=[quantity, strongest],
            timeout=60_000,
        )


def matrix_of(run: aw.Analysis, quantity: str, layer: int, head: int) -> Any:
    if quantity == "weights":
        return run.attention(layer, head)
    if quantity == "scores":
        return run.scores(layer, head)
    if quantity == "rollout":
        return run.rollout(layer)
    return run.mixing.matrix(quantity, layer, *([head] if quantity == "norms" else []))  # pyright: ignore[reportArgumentType]


def every_prediction_is_that_of_python(page: Page, c: aw.Comparison) -> None:
    open_panel(page, "predictions")
    records = c.predictions(5, "masked")
    for row in part(page, "guesses").locator("[data-position]").all():
        position = int(str(row.get_attribute("data-position")))
        shown = float(str(row.locator(".aw-change").get_attribute("data-aw-value")))
        own = [one for one in records if one["position_a"] == position]
        likely = [one for one in own if max(one["before"], one["after"]) >= 0.01] or own
        assert shown == pytest.approx(max((one["log_odds"] for one in likely), key=abs), abs=1e-4)
    part(page, "difference").get_by_role("tab", name="Attention").click()

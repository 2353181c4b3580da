"""What notebooks/attention-by-hand.ipynb promises: the arithmetic of a pinned pair is numpy's, step by step."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from playwright.sync_api import Browser, Locator, Page

import attn_widget as aw
from attn_widget.checks.rounding import rounding
from scripts.page import mount
from scripts.widget_parts import agree

TEXT = "The movie was incredibly boring, but the acting saved it."
BORING, INCREDIBLY = 5, 4


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    opened = browser.new_page(viewport={"width": 1200, "height": 1000}, reduced_motion="reduce")
    yield opened
    opened.close()


def steps(q: np.ndarray, k: np.ndarray) -> list[float]:
    """q · k, scale, scaled score, row max, exponential, sum of the row, weight: of a pair, in float64."""
    row = k.astype(np.float64) @ q[BORING]
    scale = 1 / np.sqrt(q.shape[1])
    scores = row * scale
    exponentials = np.exp(scores - scores.max())
    one, total = exponentials[INCREDIBLY], exponentials.sum()
    return [
        row[INCREDIBLY], scale, scores[INCREDIBLY], scores.max(), one, total, one / total,
    ]  # fmt: skip


def shown(page: Page, widget: aw.AttentionWidget) -> Locator:
    mount(page, widget, width=1000)
    return page.locator(".aw-chain [data-aw-value]")


@pytest.mark.parametrize("layer", range(6))
def test_every_step_of_a_real_heads_pair_is_that_of_numpy(page: Page, layer: int) -> None:
    head = 2
    widget = aw.show(
        TEXT, layer=layer, head=head, pair=[BORING, INCREDIBLY], tagger=None, progress=False
    )
    a = widget.analysis
    q, k = a.model.queries(layer, head), a.model.keys(layer, head)
    expected, error = steps(q, k), rounding(np.abs(q[BORING]) @ np.abs(k).max(axis=0), q.shape[1])
    agree(shown(page, widget), expected, rtol=error, atol=error)
    widget.close()


def test_every_step_of_a_pair_of_four_dimensions_is_that_of_numpy(page: Page) -> None:
    rng = np.random.default_rng(0)
    q, k = rng.normal(size=(2, 14, 4)).round(1)
    q[BORING], k[INCREDIBLY] = [0.3, -0.2, 0.1, 0.4], [0.4, -0.3, 0.7, 0.0]
    expected = steps(q, k)
    assert expected[0] == pytest.approx(0.25)
    error = rounding(np.abs(q[BORING]) @ np.abs(k).max(axis=0), 4)
    exponentials = np.exp(q @ k.T / 2)
    weights = exponentials / exponentials.sum(axis=1, keepdims=True)
    given = aw.from_attentions(
        weights[None, None],
        [f"w{i}" for i in range(14)],
        queries=q[None, None],
        keys=k[None, None],
        tagger=None,
    )
    widget = aw.AttentionWidget(given, pair=[BORING, INCREDIBLY])
    agree(shown(page, widget), expected, rtol=error, atol=error)
    widget.close()

"""JupyterLab in Chromium: one browser and one server for all end-to-end tests."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest
from playwright.sync_api import Browser, expect

import attn_widget as aw
from scripts.lab import Lab, Notebook, OpenNotebook, jupyterlab
from scripts.widget_parts import STEP_MS
from tests.e2e.compared import A, B

# All of these wait for a machine that may be busy with other tests.
expect.set_options(timeout=STEP_MS)


@pytest.fixture(scope="session")
def keys_and_key() -> aw.Comparison:
    """The comparison of A and B, for what only reads it."""
    return aw.compare(A, B, progress=False)


@pytest.fixture(scope="session")
def lab() -> Iterator[Lab]:
    with jupyterlab() as server:
        yield server


@pytest.fixture(scope="module")
def open_notebook(lab: Lab, browser: Browser) -> Iterator[OpenNotebook]:
    """Open notebooks of the server; at the end nothing may have failed or left this machine."""
    opened: list[Notebook] = []
    with ExitStack() as stack:

        def opener(name: str, **options: Any) -> Notebook:
            notebook = lab.open(browser, name, **options)
            stack.callback(notebook.close)
            opened.append(notebook)
            return notebook

        yield opener
        for notebook in opened:
            assert notebook.outside == [], "requests left this machine"
            assert notebook.errors == [], "the page reported errors"

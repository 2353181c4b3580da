"""Pictures while the kernel is busy with another cell, in JupyterLab and Notebook: they wait, and then all stands."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from playwright.sync_api import expect

import attn_widget as aw
from scripts.busy_kernel import HOSTS, TEXT, busy_until, wait_complete
from scripts.lab import Lab, Notebook, OpenNotebook
from scripts.widget_parts import STEP_MS, Widget, agree
from tests.e2e.reference import reference

WEIGHT_ERROR = 1e-5
FOCUS, MASKED = 2, 5
WAITING = "Waiting for the kernel"
LONG_S = 45

pytestmark = pytest.mark.timeout(900)


class Busy:
    """A notebook whose kernel is kept busy until `let_go`."""

    def __init__(self, lab: Lab, open_notebook: OpenNotebook, host: str) -> None:
        self.gate: Path = lab.folder / f"{host}.gate"
        cells = [
            "import attn_widget as aw",
            f"w = aw.show({TEXT!r}, layer=0, head=0, token={FOCUS}, progress=False)",
            "w.layer, w.head = 3, 7",
            busy_until(self.gate),
        ]
        name = lab.write(f"busy-{host}.ipynb", cells)
        self.notebook: Notebook = open_notebook(name, height=1400, host=HOSTS[host])
        self.widget: Widget = self.notebook.widget(0)
        # With subshells a kernel answers during a cell. Older kernels and other hosts have none.
        self.notebook.page.evaluate(
            "() => { window.jupyterapp.serviceManager.kernels.commsOverSubshells = 'disabled'; }"
        )

    def start(self, before: str = "") -> None:
        """Run ``before`` and then occupy the kernel, beside the cells."""
        self.notebook.page.evaluate(
            """code => {
                const {kernel} = window.jupyterapp.shell.currentWidget.sessionContext.session;
                window.running = kernel.requestExecute({code}).done;
            }""",
            f"{before}\n{busy_until(self.gate)}",
        )

    def waits(self) -> None:
        """Wait until the page says that it waits, which it does calmly."""
        expect(self.widget.part("kernel")).to_contain_text(WAITING)
        self.is_calm()

    def is_calm(self) -> None:
        for name in ("error", "missing"):
            expect(self.widget.part(name)).to_be_hidden()

    def let_go(self) -> None:
        self.gate.touch()
        self.notebook.finish_all()
        wait_complete(self.notebook)
        self.gate.unlink()

    def agrees(self, expected: aw.Analysis | None = None) -> None:
        """Wait until the ribbon has the weights of the selected head."""
        layer, head = (int(n) for n in self.notebook.python("print(w.layer, w.head)").split())
        expect(self.widget.part("head-name")).to_have_text(f"L{layer} · H{head}")
        weights = reference(TEXT).weights[layer, head]
        if expected is not None:
            weights = expected.attention(layer, head)
        shown = self.widget.part("ribbon").locator("[data-token]")
        agree(shown, weights[FOCUS], atol=WEIGHT_ERROR)


@pytest.fixture(scope="module", params=HOSTS)
def busy(request: pytest.FixtureRequest, lab: Lab, open_notebook: OpenNotebook) -> Busy:
    return Busy(lab, open_notebook, request.param)


def test_run_all_with_a_long_cell_ends_in_a_picture_that_lacks_nothing(
    busy: Busy, request: pytest.FixtureRequest
) -> None:
    busy.notebook.start_all()
    began = time.monotonic()
    busy.waits()
    # Its code is on its way now.
    busy.widget.tab("why").click()
    expect(busy.widget.part("view")).to_have_text("Loading Why …")
    if "JupyterLab" in request.node.name:  # one clock runs in both
        busy.notebook.page.wait_for_timeout(1000 * max(0, LONG_S - (time.monotonic() - began)))
        busy.waits()
        expect(busy.widget.part("view")).to_have_text("Loading Why …")
    busy.let_go()
    terms = busy.widget.part("why-sum").locator("[data-token] [data-aw-value]")
    expect(terms.first).to_be_visible()
    busy.widget.tab("predictions").click()
    expect(busy.widget.part("view").locator('[role="row"]').nth(FOCUS)).to_be_visible()
    busy.widget.tab("attention").click()
    busy.agrees()


def test_a_head_that_is_set_before_a_long_cell_is_drawn_after_it(busy: Busy) -> None:
    busy.start("w.layer, w.head = 1, 2")
    busy.waits()
    busy.let_go()
    busy.agrees()


def test_a_run_during_which_the_kernel_gets_busy_is_shown(busy: Busy) -> None:
    busy.widget.token(MASKED).focus()
    # Both messages leave in this order: the run has begun on its thread when the cell begins.
    busy.notebook.page.keyboard.press("x")
    busy.start()
    busy.waits()
    busy.let_go()
    expect(busy.widget.token(MASKED)).to_have_attribute("data-aw-masked", "")
    masked = aw.analyze(TEXT, progress=False).mask([MASKED])
    busy.agrees(masked)
    busy.widget.tab("predictions").click()
    wait_complete(busy.notebook)


def test_a_restart_during_a_long_cell_is_an_error(busy: Busy) -> None:
    busy.widget.tab("attention").click()
    busy.start()
    busy.widget.head(5, 9).click()
    busy.waits()
    busy.notebook.restart_kernel()
    expect(busy.widget.part("kernel")).to_have_text(
        "The kernel is gone: what is loaded stays usable. Run the cell again."
    )
    expect(busy.widget.part("missing")).to_contain_text("L5 · H9 is not loaded.", timeout=STEP_MS)

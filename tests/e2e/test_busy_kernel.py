"""Pictures while the kernel is busy with another cell, in JupyterLab and Notebook: they wait, and then all stands."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from playwright.sync_api import expect

import attn_widget as aw
from scripts.busy_kernel import HOSTS, SHORT, TEXT, busy_until, wait_complete
from scripts.lab import LATE_MODULE, Lab, Notebook, OpenNotebook
from scripts.widget_parts import STEP_MS, Widget, agree
from tests.e2e.reference import WEIGHT_ERROR, reference
from tests.e2e.views import part

FOCUS, MASKED = 2, 5
WAITING = "Waiting for the kernel"
LONG_S = 45

# Modules that the host imports from now on wait until `window.open_gate` is called.
HOLD_MODULES = """() => {
    const address = URL.createObjectURL;
    window.gate = new Promise(open => { window.open_gate = open; });
    URL.createObjectURL = blob => address.call(URL, blob.type === 'text/javascript'
        ? new Blob(['await window.gate;', blob], {type: blob.type}) : blob);
}"""

# With subshells a kernel answers during a cell. Older kernels and other hosts have none.
WITHOUT_SUBSHELLS = (
    "() => { window.jupyterapp.serviceManager.kernels.commsOverSubshells = 'disabled'; }"
)
BUSY = """code => {
    const {kernel} = window.jupyterapp.shell.currentWidget.sessionContext.session;
    window.running = kernel.requestExecute({code}).done;
}"""

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
        self.notebook.page.evaluate(WITHOUT_SUBSHELLS)

    def begin(self) -> None:
        """Run All, and open a view whose code the kernel cannot send yet."""
        self.notebook.start_all()
        self.began = time.monotonic()
        self.waits()
        self.widget.tab("why").click()
        expect(self.widget.part("view")).to_have_text("Loading Why …")

    def start(self, before: str = "") -> None:
        """Run ``before`` and then occupy the kernel, beside the cells."""
        self.notebook.page.evaluate(BUSY, f"{before}\n{busy_until(self.gate)}")

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


@pytest.fixture(scope="module")
def long(lab: Lab, open_notebook: OpenNotebook) -> Busy:
    """In JupyterLab, with a cell that goes on during the tests in Notebook; the code of a view is on its way meanwhile."""
    opened = Busy(lab, open_notebook, "JupyterLab")
    opened.begin()
    return opened


# Notebook first: what takes `LONG_S` in JupyterLab has begun by then.
@pytest.fixture(scope="module", params=["Notebook", "JupyterLab"])
def busy(request: pytest.FixtureRequest, lab: Lab, open_notebook: OpenNotebook, long: Busy) -> Busy:
    return long if request.param == "JupyterLab" else Busy(lab, open_notebook, request.param)


def test_run_all_with_a_long_cell_ends_in_a_picture_that_lacks_nothing(
    busy: Busy, long: Busy
) -> None:
    if busy is long:  # one clock runs in both hosts
        left = LONG_S - (time.monotonic() - busy.began)
        busy.notebook.page.wait_for_timeout(1000 * max(0, left))
        busy.waits()
        expect(busy.widget.part("view")).to_have_text("Loading Why …")
    else:
        busy.begin()
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


def test_a_comparison_says_that_it_waits_whichever_run_is_shown(busy: Busy) -> None:
    page = busy.notebook.page
    busy.widget.tab("attention").click()
    busy.widget.part("compare-button").click()
    text = part(page, "compare-text")
    text.fill("the dog ran")
    text.press("Enter")
    bar = part(page, "compare")
    bar.get_by_role("button", name="B − A").click()
    # Drawn before the kernel is busy: its options are there.
    expect(part(page, "difference-quantity")).to_be_visible()
    expect(part(page, "difference").locator("[aria-busy=true]")).to_have_count(0)
    busy.start()
    part(page, "difference-quantity").select_option("norms")
    said = part(page, "compare-kernel")
    expect(said).to_contain_text(WAITING)
    for side in ("B", "B − A"):
        bar.get_by_role("button", name=side, exact=True).click()
        expect(said).to_be_visible()
    bar.get_by_role("button", name="A", exact=True).click()
    expect(said).to_be_hidden()
    expect(part(page, "kernel").locator("visible=true")).to_contain_text(WAITING)
    bar.get_by_role("button", name="B − A").click()
    busy.gate.touch()
    expect(said).to_be_hidden()
    expect(part(page, "difference").locator("[aria-busy=true]")).to_have_count(0)
    part(page, "difference-quantity").select_option("weights")
    part(page, "compare-close").click()
    busy.let_go()


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


@pytest.mark.parametrize("to", [0, 3], ids=["the shown head", "another head of its layer"])
def test_a_head_that_is_chosen_while_another_text_is_run_stands(
    lab: Lab, open_notebook: OpenNotebook, to: int
) -> None:
    """The run ends while a cell occupies the kernel, which hears of the click only later: of half a place, or of none."""
    start, gate = lab.folder / f"start-{to}", lab.folder / f"race-{to}.gate"
    text = "a small dog runs by the old river"
    opened = aw.show(SHORT, progress=False)
    layer, head = opened.layer, (int(opened.head) + to) % opened.analysis.trace.n_heads
    a = aw.analyze(text, progress=False)
    assert aw.show(a).layer != layer
    slow = f"""
import pathlib, time
analyze = w._runs.analyze
def waiting(*args, **options):
    while not pathlib.Path({str(start)!r}).exists():
        time.sleep(0.01)
    return analyze(*args, **options)
w._runs.analyze = waiting
"""
    show = f"import attn_widget as aw\nw = aw.show({SHORT!r}, progress=False)"
    notebook = open_notebook(lab.write(f"race-{to}.ipynb", [show, slow]), height=1400)
    notebook.page.evaluate(WITHOUT_SUBSHELLS)
    notebook.run_all()
    widget = notebook.widget(0)
    widget.part("run-text").fill(text)
    widget.part("run-button").click()
    expect(widget.element).to_have_attribute("data-aw-status", "running")
    notebook.page.evaluate(BUSY, busy_until(gate))
    widget.head(layer, head).click()
    start.touch()
    shown = widget.part("ribbon").locator("[data-token]")
    expect(shown).to_have_count(a.trace.n_tokens)
    expect(widget.head(layer, head)).to_have_attribute("aria-pressed", "true")
    gate.touch()
    notebook.finish_all()
    expect(widget.part("head-name")).to_have_text(f"L{layer} · H{head}")
    notebook.prints("print(w.layer, w.head)", f"{layer} {head}\n")


def test_a_widget_whose_code_loads_late_misses_no_message(
    lab: Lab, open_notebook: OpenNotebook
) -> None:
    cells = [
        "import attn_widget as aw",
        f"w = aw.show({TEXT!r}, layer=0, head=0, token={FOCUS}, progress=False)",
        "w.layer, w.head = 3, 7",
    ]
    notebook = open_notebook(lab.write("late.ipynb", cells), height=1400)
    notebook.page.evaluate(HOLD_MODULES)
    # After 2 s the host gives up and drops what has come and what will come.
    with notebook.page.expect_event("pageerror", lambda error: error.message == LATE_MODULE):
        notebook.run_all()
    notebook.page.evaluate("() => window.open_gate()")
    wait_complete(notebook)
    widget = notebook.widget(0)
    expect(widget.part("head-name")).to_have_text("L3 · H7")
    for layer, head in ((3, 7), (2, 5)):
        widget.head(layer, head).click()
        shown = widget.part("ribbon").locator("[data-token]")
        agree(shown, reference(TEXT).weights[layer, head][FOCUS], atol=WEIGHT_ERROR)
    notebook.prints("print(w.layer, w.head)", "2 5\n")

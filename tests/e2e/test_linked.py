"""One selection: what is chosen in any view is chosen in all others, and in Python."""

from __future__ import annotations

import json

import pytest
from playwright.sync_api import Locator, expect

from scripts.lab import ROOT, Lab, Notebook, OpenNotebook
from scripts.widget_parts import STEP_MS

TEXT = "The cat sat on the mat. It was tired, and the bank was closed!"
LOOK_MS = 200
MAX_LOOKS = STEP_MS // LOOK_MS
VIEWS = ("attention", "heads", "tree", "sentences", "predictions", "inside", "task")

pytestmark = pytest.mark.timeout(900)


@pytest.fixture(scope="module")
def notebook(lab: Lab, open_notebook: OpenNotebook) -> Notebook:
    """A notebook with a widget of a classifier that can predict too: all seven views."""
    name = lab.write(
        "linked.ipynb",
        [
            f"import sys; sys.path.insert(0, {str(ROOT)!r})\n"
            "import attn_widget as aw\n"
            "from scripts.probe import sentiment\n"
            f"w = aw.show({TEXT!r}, model=sentiment(), layer=1, head=2, token=3, view='attention')",
            f"v = aw.show({TEXT!r}, layer=1, head=2, token=3)",
        ],
    )
    opened = open_notebook(name, height=2600)
    opened.run_all()
    for index in (0, 1):
        opened.widget(index).wait_drawn()
    return opened


class Linked:
    """One widget of the notebook, and the name that Python has for it."""

    def __init__(self, notebook: Notebook, index: int, name: str) -> None:
        self.notebook, self.widget, self.name = notebook, notebook.widget(index), name

    def part(self, name: str) -> Locator:
        return self.widget.part(name)

    def find(self, selector: str) -> Locator:
        return self.widget.element.locator(selector)

    def open(self, view: str) -> Locator:
        self.widget.tab(view).click()
        panel = self.find(f'[data-aw-part="view"] > [data-view="{view}"]')
        expect(panel).to_be_visible()
        return panel

    def python_has(self, **expected: object) -> None:
        """Wait until Python has these traits: the page's messages take their time."""
        asked = ", ".join(f"{self.name}.{name}" for name in expected)
        code = f"import json; print(json.dumps([{asked}]))"
        found: list[object] = []
        for _ in range(MAX_LOOKS):
            found = json.loads(self.notebook.python(code))
            if found == list(expected.values()):
                return
            self.notebook.page.wait_for_timeout(LOOK_MS)
        assert dict(zip(expected, found, strict=True)) == expected

    def agrees(self, layer: int, head: int, token: int) -> None:
        """The frame, every view and Python say the same."""
        expect(self.widget.head(layer, head)).to_have_attribute("aria-pressed", "true")
        expect(self.widget.token(token)).to_have_attribute("aria-pressed", "true")
        panel = self.open("attention")
        expect(self.part("head-name")).to_have_text(f"L{layer} · H{head}")
        panel = self.open("heads")
        expect(panel).to_contain_text(f"Layer {layer}, head {head}")
        radio = self.part("radar-heads").locator(f'[data-head="{head}"]')
        expect(radio).to_have_attribute("aria-checked", "true")
        self.open("tree")
        root = self.find('[data-aw-part="tree-node"][aria-level="1"]')
        expect(root).to_have_attribute("data-token", str(token))
        panel = self.open("sentences")
        expect(panel).to_contain_text(f"Head L{layer} H{head}")
        self.open("inside")
        row = self.find(f'[data-aw-part="residuals"][data-layer="{layer}"]')
        expect(row).to_have_attribute("aria-pressed", "true")
        self.python_has(layer=layer, head=head, token=token)


@pytest.fixture
def linked(notebook: Notebook) -> Linked:
    one = Linked(notebook, 1, "v")
    # What the page said last may reach the kernel after what is run here: then once more.
    for _ in range(MAX_LOOKS):
        notebook.python("v.layer, v.head, v.token, v.pair, v.view = 1, 2, 3, None, 'attention'")
        notebook.page.wait_for_timeout(LOOK_MS)
        focused = one.widget.token(3).get_attribute("aria-pressed") == "true"
        if focused and one.part("head-name").count() == 1:
            break
    expect(one.part("head-name")).to_have_text("L1 · H2")
    expect(one.widget.token(3)).to_have_attribute("aria-pressed", "true")
    return one


def test_a_choice_in_any_view_is_made_in_all(linked: Linked) -> None:
    # Attention: a pinned cell
    n = int(linked.notebook.python("print(v.analysis.trace.n_tokens)"))
    linked.widget.hover_cell(5, 2, n)
    linked.notebook.page.mouse.down()
    linked.notebook.page.mouse.up()
    expect(linked.part("ribbon").locator("[data-aw-pair]")).to_have_attribute("data-token", "2")
    linked.python_has(pair=[5, 2])

    # the ribbon: a token
    linked.widget.token(6).click()
    linked.agrees(1, 2, 6)

    # Heads: a head of the layer
    linked.open("heads")
    linked.part("radar-heads").locator('[data-head="9"]').click()
    linked.agrees(1, 9, 6)

    # Tree: a child becomes the root
    linked.open("tree")
    child = linked.find('[data-aw-part="tree-node"][aria-level="2"]').first
    token = int(child.get_attribute("data-token") or -1)
    child.locator(".aw-tree-label").click()
    linked.agrees(1, 9, token)

    # Inside: another layer
    linked.open("inside")
    linked.find('[data-aw-part="residuals"][data-layer="4"]').click()
    linked.agrees(4, 9, token)

    # Predictions: another position
    linked.open("predictions")
    linked.find('.aw-position-token[data-position="8"]').click()
    linked.agrees(4, 9, 8)

    # Sentences: the head and the pair that made a maximum
    linked.open("sentences")
    linked.find('[data-aggregation="max"]').click()
    linked.find('[data-aw-part="sentence-matrix"] [data-a="1"][data-b="0"]').click()
    linked.part("show-witness").click()
    witness = json.loads(
        linked.notebook.python(
            "s = v.analysis.sentences.witness(1, 0)\n"
            "print(json.dumps([s.layer, s.head, s.query, s.key]))"
        )
    )
    expect(linked.part("head-name")).to_have_text(f"L{witness[0]} · H{witness[1]}")
    linked.python_has(layer=witness[0], head=witness[1], pair=witness[2:])
    linked.agrees(witness[0], witness[1], witness[2])


def test_python_chooses_for_every_view(linked: Linked) -> None:
    linked.notebook.python("v.layer, v.head, v.token = 5, 0, 9")
    linked.agrees(5, 0, 9)


def test_the_view_of_a_classifier_is_linked_too(notebook: Notebook) -> None:
    one = Linked(notebook, 0, "w")
    one.open("task")
    cell = one.find('.aw-first-token[data-layer="4"][data-token="5"]')
    cell.click()
    expect(one.widget.head(4, 2)).to_have_attribute("aria-pressed", "true")
    one.python_has(layer=4, pair=[0, 5])
    one.open("attention")
    expect(one.part("ribbon").locator("[data-aw-pair]")).to_have_attribute("data-token", "5")


def test_every_trait_follows_the_page(linked: Linked) -> None:
    linked.open("tree")
    linked.part("display").click()
    linked.part("top-k").get_by_role("button").last.click()
    linked.python_has(top_k=4)
    for view in VIEWS[:-1]:
        linked.open(view)
        linked.python_has(view=view)

"""The gallery as a page: questions, the code that answers each, and its live picture.

The code on the page is the code that is run. `make gallery` draws the wall of pictures that developers compare.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass
from functools import partial
from typing import Any

import attn_widget as aw
from attn_widget.page.spec import PageSpec
from scripts.sentence import SENTENCE
from scripts.site.kept import digest, kept, package, write
from scripts.site.places import SOURCE
from scripts.site.recorded import chunks_of, picture_of, place, write_run
from scripts.site.tutorials import FENCE, raw

TEXTS = (
    "The train leaves at nine. It stops in four villages and reaches the lake before noon. "
    "From there a narrow path leads to an old bridge."
)
QUERY = "How do I reset my password?"


@dataclass(frozen=True)
class Entry:
    """One picture: its question, a sentence, the code, and where to read on."""

    name: str
    question: str
    about: str
    code: str
    more: str
    spec: PageSpec = PageSpec(tensors=0.0)  # noqa: RUF009


PARTS: dict[str, tuple[Entry, ...]] = {
    "One text": (
        Entry(
            "head",
            "Where does a head look?",
            "The matrix of one head, its links, and the words that the chosen word attends to.",
            f'aw.show("{SENTENCE}")',
            "[Attention](docs/views.md)",
        ),
        Entry(
            "heads",
            "What is special about this head?",
            "Every head by one figure, and where the chosen one stands out among all.",
            f'aw.show("{SENTENCE}", view="heads")',
            "[Definitions](docs/definitions.md)",
        ),
        Entry(
            "tree",
            "Through which words does it get there?",
            "The words that a word attends to, the words that those attend to, and so on.",
            f'aw.show("{SENTENCE}", view="tree")',
            "[Definitions](docs/definitions.md)",
        ),
        Entry(
            "sentences",
            "Which sentence reads which?",
            "How much each sentence attends to each other one.",
            f'aw.show(\n    "{TEXTS}",\n    view="sentences",\n)',
            "[Sentences and influence](notebooks/sentences-and-influence.md)",
        ),
        Entry(
            "inside",
            "What happens in a layer?",
            "The model as a map, and every tensor on the way through a layer.",
            'aw.show("Time flies like an arrow.", view="inside")',
            "[Inside a layer](notebooks/inside-a-layer.md)",
            PageSpec(),
        ),
    ),
    "Predictions": (
        Entry(
            "predictions",
            "Which word fills the gap?",
            "The five best words at every position, with their probabilities.",
            'aw.show("Paris is the [MASK] of France.", view="predictions")',
            "[Masked words](notebooks/masked-words.md)",
        ),
        Entry(
            "why",
            "Which words are the reason?",
            "What each word contributes, by several methods, and which of them survive a test.",
            'aw.show("The keys to the cabinet [MASK] on the table.", view="why")',
            "[Influence](docs/influence.md)",
        ),
        Entry(
            "write",
            "What does a language model expect next?",
            "Each token by how much it surprises, and the text that the model writes.",
            'aw.show("The capital of France is", model="smollm2", generate=6, view="predictions")',
            "[A model that writes](notebooks/a-model-that-writes.md)",
            PageSpec(views=("attention", "heads", "predictions"), tensors=0.0, light=True),
        ),
        Entry(
            "dates",
            "What is read for each letter that is written?",
            "Cross-attention of a model that reads a date and writes it in digits.",
            'aw.show("the 8th of November 1987", model="dates", generate=12)',
            "[Reading and writing](notebooks/reading-and-writing.md)",
        ),
    ),
    "Two texts": (
        Entry(
            "similarity",
            "Why are these texts similar?",
            "The score as a sum over pairs of words.",
            'aw.similarity("The movie was good.", "The movie was not good.")',
            "[Similarity](docs/similarity.md)",
            PageSpec(),
        ),
        Entry(
            "ranking",
            "Why does this passage come first?",
            "A ranking, and each score taken apart.",
            f'aw.similarity(\n    "{QUERY}",\n    ["Recover access to your account.", "Opening hours.", "How to change a password."],\n)',
            "[Why does search find this?](notebooks/why-does-search-find-this.md)",
            PageSpec(),
        ),
        Entry(
            "compared",
            "What does one word change?",
            "Two runs side by side, aligned and subtracted.",
            'aw.compare("The keys are here.", "The key is here.")',
            "[Two runs](docs/compare.md)",
        ),
    ),
    "Other languages": (
        Entry(
            "hebrew",
            "And from right to left?",
            "The ribbon, the matrix and the tree follow the direction of the text.",
            'aw.show("החתול ישב על המחצלת.")',
            "[Other models](docs/models.md)",
        ),
    ),
}


def run(code: str) -> Any:
    """The widget that the code of an entry makes: its last expression, shown as a cell shows it."""
    value = eval(compile(ast.parse(code, mode="eval"), "gallery", "eval"), {"aw": aw})
    return value if hasattr(value, "_shown") else aw.show(value)


def record(entry: Entry) -> dict[str, Any]:
    """The picture and the runs of an entry."""
    print(f"[site] running the gallery's {entry.name}", flush=True)
    widget = run(entry.code)
    made = {"picture": picture_of(widget), "runs": chunks_of(widget, entry.spec)}
    widget.close()
    return made


def page(pictures: dict[str, str]) -> str:
    """The page, in Markdown, with the pictures of its entries."""
    lines = ["# Gallery", "", "Questions, the line of code that answers each, and its live picture: click, point, and where there is a field, type.", ""]  # fmt: skip
    for part, entries in PARTS.items():
        lines += [f"## {part}", ""]
        for entry in entries:
            code = (
                f"import attn_widget as aw\n\n{entry.code}" if entry.name == "head" else entry.code
            )
            lines += [f"### {entry.question}", "", f"{entry.about} {entry.more}", ""]
            lines += [f"{FENCE}python\n{code}\n{FENCE}", "", raw(place(entry.name, pictures[entry.name])), ""]  # fmt: skip
    return "\n".join(lines)


def write_gallery() -> None:
    """Write the page below the source folder, and the runs among the assets."""
    pictures: dict[str, str] = {}
    for entry in (entry for entries in PARTS.values() for entry in entries):
        made_from = digest([], package(), entry.code, str(entry.spec))
        made = kept(f"gallery-{entry.name}", made_from, partial(record, entry))
        pictures[entry.name] = made["picture"]
        write_run(entry.name, made["runs"])
    write(SOURCE / "gallery.md", page(pictures))

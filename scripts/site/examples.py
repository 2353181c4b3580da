"""The examples of the front page: recorded runs, the first in the page, each other one in a file that a click loads."""

from __future__ import annotations

import html
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import attn_widget as aw
from attn_widget.page.spec import PageSpec
from scripts.sentence import SENTENCE
from scripts.site.kept import digest, kept, package
from scripts.site.recorded import chunks_of, write_run

MASKED = "Paris is the [MASK] of France."
AGREEMENT = "The keys to the cabinet [MASK] on the table."
DENIED = ("The movie was good.", "The movie was not good.")
REPHRASED = "I liked the film."
QUESTION = "<|im_start|>user\nWhat is the capital of France?<|im_end|>\n<|im_start|>assistant\n"
VIEWS = ("attention", "heads", "tree", "sentences", "predictions", "inside", "why")


@dataclass(frozen=True)
class Recorded:
    """A run that was made for the page: the widget, what its page holds, and a sentence with its own numbers."""

    widget: Any
    spec: PageSpec
    said: str


@dataclass(frozen=True)
class Example:
    """One button: its name in addresses, its two lines, and how its run is made."""

    name: str
    label: str
    question: str
    record: Callable[[], Recorded]


def percent(share: float) -> str:
    """A share in percent.

    >>> percent(0.6132)
    '61%'
    """
    return f"{100 * share:.0f}%"


def whole(widget: Any, said: str, **spec: Any) -> Recorded:
    """A run with its views, without the tensors of Inside, which weigh as much as all else together."""
    return Recorded(widget, PageSpec(tensors=0.0, **{"views": VIEWS, **spec}), said)


def pronoun() -> Recorded:
    widget = aw.show(SENTENCE, progress=False)
    analysis, token = widget.analysis, widget.token
    row = analysis.trace.weights(widget.layer, widget.head)[token]
    key = int(row.argmax())
    return whole(
        widget,
        f"Layer {widget.layer}, head {widget.head}: “{analysis.tokens[token].text}” attends to "
        f"“{analysis.tokens[key].text}” with {percent(float(row[key]))} of its weight. Click another word or head, or type.",
    )


def best(analysis: Any, words: int) -> list[str]:
    """The best tokens for the gap, with their probabilities."""
    table = analysis.predictions().to_dataframe()
    gap = table[table["token"] == "[MASK]"].head(words)
    return [f"“{row.prediction}” {percent(row.probability)}" for row in gap.itertuples()]


def mask() -> Recorded:
    widget = aw.show(MASKED, view="predictions", progress=False)
    first, second = best(widget.analysis, 2)
    return whole(widget, f"For the gap the model expects {first}; the next best is {second}.")


def agreement() -> Recorded:
    widget = aw.show(AGREEMENT, view="why", progress=False)
    first, second = best(widget.analysis, 2)
    return whole(
        widget,
        f"The noun beside the gap is singular, yet the model expects {first} and {second}. Below: what each word contributes to that.",
    )


def negation() -> Recorded:
    result = aw.similarity(*DENIED, progress=False)
    other = aw.similarity(DENIED[0], REPHRASED, progress=False)
    return Recorded(
        result.show(),
        PageSpec(),
        f"To a sentence embedder the denial is as close ({result.score:.2f}) as the paraphrase “{REPHRASED}” "
        f"({other.score:.2f}): the score is a sum over pairs of words, and “not” takes little away.",
    )


def chat() -> Recorded:
    widget = aw.show(QUESTION, model="smollm2", generate=12, progress=False)
    written = widget.text.removeprefix(QUESTION).strip()
    return whole(
        widget,
        f"SmolLM2-135M, a small chat model, wrote “{written}” one token after the other. Recorded: the model itself is not on this site.",
        views=("attention", "heads", "predictions"),
        light=True,
    )


EXAMPLES = (
    Example("pronoun", "Pronoun", "What does “it” stand for?", pronoun),
    Example("mask", "Mask", "Which word fills the gap?", mask),
    Example("agreement", "Agreement", "Keys are, or cabinet is?", agreement),
    Example("negation", "Negation", "Does “not” make texts differ?", negation),
    Example("chat", "Chat", "How does a chat answer?", chat),
)


def record(example: Example) -> dict[str, Any]:
    """The runs of an example, and its sentence."""
    recorded = example.record()
    made = {"runs": chunks_of(recorded.widget, recorded.spec), "said": recorded.said}
    recorded.widget.close()
    return made


def write_examples() -> tuple[str, dict[str, str]]:
    """Write the files of all examples but the first; give the buttons as HTML, and the first run's chunks."""
    buttons: list[str] = []
    first: dict[str, str] = {}
    made_from = digest([Path(__file__)], package(), SENTENCE)
    for example in EXAMPLES:
        made = kept(f"example-{example.name}", made_from, partial(record, example))
        if not buttons:
            (first,) = made["runs"]
        else:
            write_run(example.name, made["runs"])
        buttons.append(
            f'<button type="button" class="example" data-example="{example.name}" '
            f'data-said="{html.escape(made["said"])}" aria-pressed="{str(not buttons).lower()}">'
            f"<strong>{example.label}</strong> <span>{html.escape(example.question)}</span></button>"
        )
    row = "\n".join(buttons)
    group = f'<div class="examples pst-js-only" role="group" aria-label="Examples">\n{row}\n</div>'
    return group, first

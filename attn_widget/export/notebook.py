"""nbconvert: live pages instead of widgets that need a kernel and a network.

``jupyter nbconvert --to html --Exporter.preprocessors=attn_widget.export.notebook.LivePages a.ipynb``
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from nbconvert.preprocessors import Preprocessor

from attn_widget.export.output import code_element, version

VIEW = "application/vnd.jupyter.widget-view+json"
STATE = "application/vnd.jupyter.widget-state+json"
OUTPUT = re.compile(r'<div class="attn-widget-output" data-version="(\w+)"')
CODE = re.compile(r'<script type="text/plain" class="attn-widget-code" data-version="(\w+)">')
REFERENCE = "IPY_MODEL_"


class LivePages(Preprocessor):
    """Let the pages in the outputs stand for our widgets, and drop the widgets and their state.

    nbconvert prefers a widget to the page beside it as soon as the notebook has stored state, and such
    a widget asks the network for its libraries. Widgets of other packages stay as they are. Works for
    all formats; with ``--to notebook`` it gives a notebook whose pages live without a kernel.

    Where the part of the page that outputs share is missing, that of the installed package is added.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.enabled = True  # naming it is asking for it

    def preprocess(self, nb: Any, resources: Any) -> tuple[Any, Any]:
        """Change ``nb`` in place.

        Parameters
        ----------
        nb : nbformat.NotebookNode
        resources : dict
            Not touched.
        """
        stored: dict[str, Any] = nb.metadata.get("widgets", {}).get(STATE, {}).get("state", {})
        dropped: set[str] = set()
        versions: list[str] = []
        carried: set[str] = set()
        last: Any = None
        for data in outputs_of(nb):
            page = joined(data.get("text/html", ""))
            found = OUTPUT.search(page)
            if found is None:
                continue
            versions.append(found[1])
            carried.update(CODE.findall(page))
            last = data
            if VIEW in data:
                dropped.add(data.pop(VIEW)["model_id"])
        if version() in versions and version() not in carried:
            last["text/html"] = joined(last["text/html"]) + code_element()
            carried.add(version())
        for lost in set(versions) - carried:
            self.log.warning(
                "attn_widget: outputs of another version (%s) lack the part that they share; "
                "run the notebook again.",
                lost,
            )
        forget(stored, dropped)
        if STATE in nb.metadata.get("widgets", {}) and not stored:
            del nb.metadata["widgets"]
        return nb, resources


def outputs_of(nb: Any) -> Iterator[dict[str, Any]]:
    """The data of all outputs that have some."""
    for cell in nb.cells:
        for output in cell.get("outputs", []):
            if "data" in output:
                yield output["data"]


def joined(text: str | list[str]) -> str:
    """A file may hold a text as a list of lines."""
    return text if isinstance(text, str) else "".join(text)


def forget(stored: dict[str, Any], dropped: set[str]) -> None:
    """Remove models, and those that only they refer to."""
    going = {model for model in dropped if model in stored}
    while going:
        children = {child for model in going for child in references(stored.pop(model))}
        used = {child for model in stored.values() for child in references(model)}
        going = {child for child in children if child in stored and child not in used}


def references(model: dict[str, Any]) -> set[str]:
    """Models that a model names."""
    found: set[str] = set()
    waiting: list[Any] = [model.get("state", {})]
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            waiting += value.values()
        elif isinstance(value, list):
            waiting += value
        elif isinstance(value, str) and value.startswith(REFERENCE):
            found.add(value[len(REFERENCE) :])
    return found

"""Notebooks with live pages instead of widgets that need a kernel and a network.

When one is converted:
``jupyter nbconvert --to html --Exporter.preprocessors=attn_widget.features.exports.notebook.LivePages a.ipynb``;
whenever a server saves one: as its extension, ``attn_widget.features.exports.notebook`` (``docs/hosts.md``).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import nbformat
from nbconvert.preprocessors import Preprocessor

from attn_widget.page.output import code_element, version
from attn_widget.widget.captured import METADATA, VIEW

STATE = "application/vnd.jupyter.widget-state+json"
OUTPUT = re.compile(r'<div class="attn-widget-output" data-version="(\w+)"')
PICTURE = '<div class="attn-widget-picture">'
CODE = re.compile(r'<script type="text/plain" class="attn-widget-code" data-version="(\w+)">')
REFERENCE = "IPY_MODEL_"


class LivePages(Preprocessor):
    """Replace our widgets by the pages or pictures stored in the same outputs; drop the widgets and their state.

    nbconvert prefers a widget to the page next to it as soon as the notebook has stored state, and such
    a widget asks the network for its libraries. Widgets of other packages stay as they are. Works for
    all formats; with ``--to notebook`` it gives a notebook whose pages live without a kernel.

    Where the part of the page that outputs share is missing, that of the installed package is added.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.enabled = True  # naming it is asking for it

    def preprocess(self, nb: Any, resources: Any) -> tuple[Any, Any]:
        """Change ``nb`` in place.

        ``resources``: not touched.
        """
        widgets = mapping(mapping(nb.get("metadata")).get("widgets"))
        stored = mapping(mapping(widgets.get(STATE)).get("state"))
        dropped: set[str] = set()
        carried: set[str] = set()
        first: dict[str, Any] = {}  # output of each version
        for data in outputs_of(nb):
            page = joined(data.get("text/html", ""))
            match = OUTPUT.search(page)
            if match is None and PICTURE not in page:
                continue
            if match is not None:
                first.setdefault(match[1], data)
            carried.update(CODE.findall(page))
            if VIEW in data:
                dropped.add(str(mapping(data.pop(VIEW)).get("model_id")))
        dropped |= drop_outputs(nb, stored)
        missing = first.keys() - carried
        if missing:
            missing -= self._add_code({name: first[name] for name in missing})
        for lost in missing:
            self.log.warning(
                "attn_widget: outputs of another version (%s) lack the part that they share; "
                "run the notebook again.",
                lost,
            )
        drop_models(stored, dropped)
        if STATE in widgets and not stored:
            del nb.metadata["widgets"]
        return nb, resources

    def _add_code(self, outputs: dict[str, Any]) -> set[str]:
        """Put the installed package's code where the outputs of its version lack it; says which they are."""
        # Here, because it takes seconds and a server that saves notebooks seldom needs it.
        output = outputs.get(version())
        if output is None:
            return set()
        # In front: where outputs are made one by one, the page's own script finds it.
        output["text/html"] = code_element() + joined(output["text/html"])
        return {version()}


def before_saving(model: dict[str, Any], **_: Any) -> None:
    """Convert a notebook as `LivePages` does, whenever Jupyter's server saves one.

    Opened again without its kernel, such a notebook shows live pages, where JupyterLab would say "model
    not found": it puts a widget before all other formats, and stores no widget's state by default.
    What stands in the window stays as it is.

    ``model``: what is saved, as Jupyter's contents manager has it; changed in place.
    """
    content = model.get("content")
    if model.get("type") != "notebook" or mapping(content).get("nbformat") != 4:
        return
    model["content"], _resources = LivePages().preprocess(nbformat.from_dict(content), {})


def drop_outputs(nb: Any, stored: dict[str, Any]) -> set[str]:
    """Take each `ipywidgets.Output` out of ``nb`` whose widgets all have their pages below it; gives the models that go with it."""
    pages: dict[str, set[str]] = {}
    for cell in entries(nb.get("cells")):
        for output in entries(mapping(cell).get("outputs")):
            ours = mapping(mapping(mapping(output).get("metadata")).get(METADATA))
            if ours:
                pages.setdefault(str(ours.get("output")), set()).add(str(ours.get("widget")))
    gone: set[str] = set()
    for model, widgets in pages.items():
        state = mapping(mapping(stored.get(model)).get("state"))
        held = [mapping(one) for one in entries(state.get("outputs"))]
        empty = [
            one for one in held if one.get("output_type") == "display_data" and not one.get("data")
        ]
        if all(view_of(mapping(one.get("data"))) in widgets for one in held if one not in empty):
            gone |= {model, *widgets}
    for cell in entries(nb.get("cells")):
        outputs = entries(mapping(cell).get("outputs"))
        kept = [one for one in outputs if view_of(mapping(mapping(one).get("data"))) not in gone]
        if len(kept) < len(outputs):
            cell["outputs"] = kept
    return gone


def view_of(data: dict[str, Any]) -> str:
    """The model of a widget's output; empty for another one."""
    return str(mapping(data.get(VIEW)).get("model_id", ""))


def outputs_of(nb: Any) -> Iterator[dict[str, Any]]:
    """The data of all outputs that have some."""
    for cell in entries(nb.get("cells")):
        for output in entries(mapping(cell).get("outputs")):
            if data := mapping(mapping(output).get("data")):
                yield data


def mapping(value: Any) -> dict[str, Any]:
    """``value`` if it is a mapping; of a damaged notebook, an empty one."""
    return value if isinstance(value, dict) else {}


def entries(value: Any) -> list[Any]:
    """``value`` if it is a list; of a damaged notebook, an empty one."""
    return value if isinstance(value, list) else []


def joined(text: Any) -> str:
    """A file may hold a text as a list of lines."""
    return (
        text
        if isinstance(text, str)
        else "".join(part for part in entries(text) if isinstance(part, str))
    )


def drop_models(stored: dict[str, Any], dropped: set[str]) -> None:
    """Remove models from ``stored``, and those that only they refer to."""
    going = {model for model in dropped if model in stored}
    while going:
        children = {child for model in going for child in references(stored.pop(model))}
        used = {child for model in stored.values() for child in references(model)}
        going = {child for child in children if child in stored and child not in used}


def references(model: dict[str, Any]) -> set[str]:
    """Models that a model names."""
    references_found: set[str] = set()
    waiting: list[Any] = [mapping(model).get("state")]
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            waiting += value.values()
        elif isinstance(value, list):
            waiting += value
        elif isinstance(value, str) and value.startswith(REFERENCE):
            references_found.add(value[len(REFERENCE) :])
    return references_found

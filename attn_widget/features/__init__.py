"""Registry of the features: a folder for each, next to the core, and one line for each folder.

The core (one text, one run, seen) imports none of them, and works without any: deleting a feature's folders and its line takes it away
(`scripts/deletion.py`). What a line names is imported when it is first needed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module
from types import MappingProxyType
from typing import Any, NamedTuple, TypedDict

NONE: Mapping[str, str] = MappingProxyType({})


class Feature(NamedTuple):
    """Line of a feature. Modules are those of its own folder; ``"module:name"`` is a name in one.

    What the core calls has the signature of the class that `HOOKS` names for its field.

    Attributes
    ----------
    uses : tuple of str
        Other features that it imports.
    names : mapping
        Its public names, as in ``attn_widget.profile``, and their modules.
    inputs : mapping
        Under any name, what reads inputs of `analyze` that are no plain texts (`attn_widget.analysis.inputs`).
    encoders : mapping
        Types of models that read no text, and what makes their encoders.
    meta : mapping
        By name, a field of what a page reads of a run whose input is no plain text, and what gives it.
    slices : mapping
        Kinds of slices that it answers, and the modules that do.
    results : mapping
        Classes of results that `attn_widget.show` takes, and what makes their widgets.
    addresses : mapping
        Addresses of requests besides the run of a widget, and what answers those of one widget.
    model_types : mapping
        Types of models that `transformers` does not know, and the modules that tell it of them.
    widgets, analysis, heads, model, traits : mapping
        Under any name, a class whose methods every widget, every `Analysis`, the ``a.heads`` or the ``a.model`` of each, or the widget
        of every run has as its own.
    selection, page : mapping
        Under any name, a dataclass whose fields every `Selection`, or every `PageSpec`, has: options of a view or a page, each
        with its default and check.
    selection_options, show_options, page_options : mapping
        The same, for type checkers: TypedDicts of keywords.
    added : mapping
        Options of `attn_widget.show` alone, and what turns an analysis and its traits into those that are shown.
    views, views_of_results : mapping
        Views that it adds to a run, in the order of their tabs, or that its results have.
    opened : mapping
        By view, what to do once a run has opened on it.
    recorded : mapping
        By view, what a saved page carries for it; a page has no view without anything.
    fills : mapping
        By view, what a saved page carries for it as far as there is room.
    carried : mapping
        By view, what a saved page carries of what was asked there, if anything.
    sections : mapping
        Figures that it adds to the command line's JSON, of a run that has them.
    tables : mapping
        Views that it adds, and what gives their columns and rows for a file.
    cells : mapping
        Views that it adds, and what gives their rows and columns for a document that runs no page.
    catalog : mapping
        Entries of the catalog that the page shares, and what gives them.
    writers : mapping
        Options of a page, and what writes a page that has them (or gives None).
    commands : mapping
        Commands besides ``attn-widget TEXT``, and what runs them.
    options : mapping
        Under any name, a module with ``OPTIONS`` of ``attn-widget TEXT``, and with what they do: ``prepare(options)``,
        ``write(options, target, run)`` and ``on_page(options, analysis)``, each if it is there.
    """

    uses: tuple[str, ...] = ()
    names: Mapping[str, str] = NONE
    inputs: Mapping[str, str] = NONE
    encoders: Mapping[str, str] = NONE
    meta: Mapping[str, str] = NONE
    slices: Mapping[str, str] = NONE
    results: Mapping[str, str] = NONE
    addresses: Mapping[str, str] = NONE
    model_types: Mapping[str, str] = NONE
    widgets: Mapping[str, str] = NONE
    analysis: Mapping[str, str] = NONE
    heads: Mapping[str, str] = NONE
    model: Mapping[str, str] = NONE
    traits: Mapping[str, str] = NONE
    selection: Mapping[str, str] = NONE
    page: Mapping[str, str] = NONE
    selection_options: Mapping[str, str] = NONE
    show_options: Mapping[str, str] = NONE
    added: Mapping[str, str] = NONE
    page_options: Mapping[str, str] = NONE
    views: Mapping[str, str] = NONE
    views_of_results: Mapping[str, str] = NONE
    opened: Mapping[str, str] = NONE
    recorded: Mapping[str, str] = NONE
    fills: Mapping[str, str] = NONE
    carried: Mapping[str, str] = NONE
    sections: Mapping[str, str] = NONE
    tables: Mapping[str, str] = NONE
    cells: Mapping[str, str] = NONE
    catalog: Mapping[str, str] = NONE
    writers: Mapping[str, str] = NONE
    commands: Mapping[str, str] = NONE
    options: Mapping[str, str] = NONE


#: Where the core (or `make catalog`) calls what a field names, and with which arguments: a class of that module with a typed ``__call__``.
HOOKS = {
    "added": "attn_widget.api:AddsToShow",
    "addresses": "attn_widget.widget.widget:AnswersBeside",
    "carried": "attn_widget.page.snapshot:CarriesAnswers",
    "catalog": "scripts.manifest:GivesEntry",
    "cells": "attn_widget.page.view_cells:MakesCells",
    "commands": "attn_widget.__main__:Command",
    "fills": "attn_widget.page.snapshot:FillsRoom",
    "encoders": "attn_widget.model.checkpoint:ReadsOther",
    "inputs": "attn_widget.analysis.inputs:ReadInput",
    "meta": "attn_widget.protocol.initial_payload:GivesMeta",
    "opened": "attn_widget.widget.widget:Opens",
    "recorded": "attn_widget.page.snapshot:RecordsView",
    "results": "attn_widget.host.results:MakesWidget",
    "sections": "attn_widget.analysis.report_json:GivesSection",
    "tables": "attn_widget.page.view_cells:MakesTable",
    "writers": "attn_widget.page.saving:WritesPage",
}

FEATURES = {
    "chat": Feature(
        uses=("sentences", "why"), inputs={"chat": "inputs:read"}, meta={"chat": "turns:meta"},
        analysis={"chat": "figures:OfChat"}, slices=dict.fromkeys(("turns", "turn_contributions"), "slices"),
        carried={"why": "recorded:answers_of"}, sections={"turns": "turns:section"}, options={"chat": "command"},
    ),
    "comparison": Feature(
        uses=("corpus", "qk", "why"),
        names={"Comparison": "comparison", "ManyComparisons": "many_results", "compare": "call"},
        results={"Comparison": "widget:widget_of"},
        options={"comparison": "command"},
        addresses={"b": "second_run:Comparing", "both": "second_run:Comparing"},
    ),
    "corpus": Feature(
        uses=("qk", "similarity", "why"),
        names={
            "Profile": "profile", "WordIndex": "words.word_index", "corpus": "call", "profile": "run",
        },
        slices={"near": "near"},
        results={"Profile": "widget:widget_of"},
    ),
    "engine": Feature(
        uses=("similarity", "why"),
        page={"engine": "page:EnginePage"}, page_options={"engine": "page:EngineOption"},
        writers={"engine": "live:save_with"},
        options={"engine": "command"},
    ),
    "exports": Feature(
        uses=("comparison", "corpus", "engine"), names={"report": "report"},
        widgets={"exports": "widget:Exports"}, options={"exports": "command"},
    ),
    "images": Feature(
        inputs={"images": "inputs:read"}, meta={"image": "encoding:meta", "wordless": "encoding:wordless"},
        encoders=dict.fromkeys(["vit", "deit", "dinov2", "dinov2_with_registers", "beit", "clip", "clip_vision_model", "siglip", "siglip_vision_model"], "loading:checkpoint_of"),
        analysis={"images": "view:OfImage"}, slices=dict.fromkeys(("image", "patch_rows", "patch_patterns"), "slices"),
        views={"images": "view:PICTURE"}, recorded={"images": "recorded:answers_of"},
        carried={"attention": "recorded:picture_of", "similarity": "recorded:drawing_of"}, tables={"images": "table:picture_table"}, cells={"images": "cells:picture_cells"},
    ),
    "inside": Feature(
        model={"inside": "figures:InsideFigures"},
        slices=dict.fromkeys(("tensor", "hidden_path", "residuals", "architecture"), "slices"),
        views={"inside": "view:INSIDE"}, recorded={"inside": "recorded:answers_of"}, fills={"inside": "tensors:answers_of"},
        tables={"inside": "table:inside_table"}, cells={"inside": "cells:inside_cells"},
        sections={name: f"sections:{name}" for name in ("hidden_states", "residuals", "parameters")},
    ),
    "lens": Feature(
        analysis={"lens": "figures:LensFigures"}, slices={"lens": "slices"},
        views={"lens": "view:LENS"}, recorded={"lens": "recorded:answers_of"},
        tables={"lens": "table:lens_table"}, cells={"lens": "cells:lens_cells"},
    ),
    "qk": Feature(
        uses=("why",),
        analysis={"qk": "figures:QKFigures"},
        slices=dict.fromkeys(("qk", "qk_effects", "qk_trace"), "slices"),
        carried={"attention": "saved:answers_of"},
    ),
    "sentences": Feature(
        analysis={"sentences": "figures:SentenceFigures"}, sections={"sentences": "sections:sentences"},
        slices=dict.fromkeys(("sentences", "drill"), "slices"), carried={"sentences": "recorded:answers_of"},
        views={"sentences": "view:SENTENCES"}, tables={"sentences": "table:sentences_table"},
        cells={"sentences": "cells:sentences_cells"},
    ),
    "similarity": Feature(
        uses=("why",),
        names={"Ranking": "ranking", "Similarity": "similarity", "similarity": "texts"},
        results={"Ranking": "widget:widget_of", "Similarity": "widget:widget_of"},
        views_of_results={"similarity": "catalog_view:SIMILARITY"},
        commands={"similarity": "command:main"},
    ),
    "surprisal": Feature(
        uses=("corpus",), names={"surprisals": "run"}, commands={"surprisal": "command:main"},
        slices={"word_surprisal": "slices"}, carried={"predictions": "saved:answers_of"},
    ),
    "tasks": Feature(
        uses=("comparison", "corpus"),
        model={"tasks": "figures:TaskFigures"},
        slices=dict.fromkeys(("first_token", "class_gradient", "beside"), "slices"),
        views={"task": "view:TASK"}, cells={"task": "cells:task_cells"},
        model_types={"attn_widget_mean_pooling": "mean", "attn_widget_text_cnn": "cnn"},
    ),
    "tree": Feature(
        heads={"tree": "figures:TreeFigures"},
        traits={"tree": "traits:TreeTraits"},
        selection={"tree": "selection:TreeSelection"}, selection_options={"tree": "selection:TreeOptions"},
        views={"tree": "view:TREE"}, tables={"tree": "table:tree_table"}, cells={"tree": "cells:tree_cells"},
    ),
    "why": Feature(
        names={"Target": "targets", "target": "targets"},
        analysis={"why": "trust:OfWhy"},
        tables={"why": "table:why_table"}, cells={"why": "cells:why_cells"},
        catalog={"methods": "methods:catalog"},
        views={"why": "view:WHY"}, opened={"why": "opened:import_torch"},
        traits={"why": "traits:WhyTraits"},
        selection={"why": "selection:WhySelection"}, selection_options={"why": "selection:WhyOptions"},
        show_options={"why": "selection:ContributionsOption"}, added={"contributions": "opened:with_contributions"},
        page={"why": "page:WhyPage"}, page_options={"why": "page:WhyOption"}, recorded={"why": "recorded:answers_of"},
        sections={"written_shares": "sections:written_shares"},
        slices=dict.fromkeys(
            ("targets", "contributions", "trust", "head_effects", "components", "logit_lens", "written_shares"), "slices"
        ),
        options={"why": "command"},
    ),
}  # fmt: skip


def declared(field: str) -> Iterator[tuple[str, str]]:
    """Entries of a field in all lines: a name, and the path of what it stands for."""
    for feature, line in FEATURES.items():
        for name, path in getattr(line, field).items():
            yield name, f"{__name__}.{feature}.{path}"


def loaded(path: str) -> Any:
    """A module, or what ``"module:name"`` names in one."""
    module, _, name = path.partition(":")
    found = import_module(module)
    return getattr(found, name) if name else found


def with_features(field: str, base: type) -> type:
    """``base`` with the methods, traits or fields of the classes that a field names."""
    found = tuple(loaded(path) for _, path in declared(field))
    return type(base)(f"{base.__name__}WithFeatures", (*found, base), {"__module__": __name__})


def with_options(field: str) -> Any:
    """The keywords of the TypedDicts that a field names, as one."""
    keywords: dict[str, Any] = {}
    for _, path in declared(field):
        keywords |= loaded(path).__annotations__
    return TypedDict("Options", keywords, total=False)  # pyright: ignore[reportArgumentType]

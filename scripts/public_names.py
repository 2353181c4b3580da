"""Write what type checkers read of the registry: ``attn_widget/features/public.pyi``, from the lines of `attn_widget.features`."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

from attn_widget.features import declared, loaded
from attn_widget.figures.catalog.choices import VIEWS

STUB = Path(__file__).parents[1] / "attn_widget" / "features" / "public.pyi"

# Bases of the core's classes: the name in the file, the field of the registry, the base in the core.
WITH_FEATURES = (
    ("OfAnalysis", "analysis", "attn_widget.analysis.attention:AttentionFigures"),
    ("OfHeads", "heads", "attn_widget.analysis.heads:HeadFigures"),
    ("OfModel", "model", "attn_widget.analysis.model:ModelFigures"),
    ("OfPage", "page", "builtins:object"),
    ("OfPageOptions", "page_options", "typing_extensions:TypedDict"),
    ("OfRuns", "traits", "attn_widget.widget.traits:RunTraits"),
    ("OfSelection", "selection", "builtins:object"),
    ("OfShow", "show_options", "typing_extensions:TypedDict"),
    ("OfTraits", "selection_options", "typing_extensions:TypedDict"),
    ("OfWidgets", "widgets", "attn_widget.widget.traits:CheckedWidget"),
)


def stub() -> str:
    """The text of the file: public names, and `show` of each result."""
    names = dict(declared("names"))
    lines = [
        "# Written by `make catalog` from the registry, for type checkers alone.",
        "from collections.abc import Mapping, Sequence",
        "from typing import Literal, overload",
        "from typing_extensions import Unpack",
        "from attn_widget.analysis import Analysis",
        "from attn_widget.api import ShowOptions, WidgetOptions",
        "from attn_widget.model.prepared import TokenIds",
        "from attn_widget.widget import AttentionWidget",
        *(f"from {names[name]} import {name} as {name}" for name in sorted(names)),
    ]
    overloads: list[str] = []
    classes_of: list[str] = []
    imports: dict[str, set[str]] = {"builtins": set()}
    for name, maker in declared("results"):
        signature = inspect.signature(loaded(maker))
        options = list(signature.parameters.values())[1].annotation
        widget, module = signature.return_annotation, maker.partition(":")[0]
        kinds = sorted({*re.findall(r"Unpack\[(\w+)\]", options), widget})
        imports.setdefault(module, set()).update(kinds)
        overloads.append(
            f"@overload\ndef show(text: {name}, **options: {options}) -> {widget}: ..."
        )
    for of, field, base in WITH_FEATURES:
        added = [path for _, path in declared(field)]
        typed = base.endswith(":TypedDict")
        classes = [path.split(":") for path in (added if typed and added else [*added, base])]
        for module, name in classes:
            imports.setdefault(module, set()).add(name)
        bases = [
            *(name for _, name in classes if name != "object"),
            *(["total=False"] if typed else []),
        ]
        classes_of.append(f"class {of}({', '.join(bases)}): ...")
    del imports["builtins"]
    lines += [
        f"from {module} import {', '.join(sorted(found))}" for module, found in imports.items()
    ]
    classes_of.append(f"ViewName = Literal[{', '.join(map(repr, VIEWS))}]")
    overloads += [
        "@overload\ndef show(text: Analysis, **options: Unpack[WidgetOptions]) -> AttentionWidget: ...",
        "@overload\ndef show(text: str | TokenIds | Sequence[Mapping[str, Any]], text_pair: str | None = None, **options: Unpack[ShowOptions]) -> AttentionWidget: ...",
    ]
    exported = f"__all__ = {sorted([*names, 'show'])!r}"
    lines.append("from typing import Any")
    return "\n".join([*dict.fromkeys(lines), "", exported, "", *classes_of, *overloads]) + "\n"


if __name__ == "__main__":
    STUB.write_text(stub(), encoding="utf-8")

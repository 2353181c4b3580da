"""What a feature's line names takes the arguments with which the core calls it: the names there are strings, which no type checker follows."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import pytest

from attn_widget.features import HOOKS, Feature, declared, loaded

#: Fields that name no function of the core's: features, classes, views, modules.
NO_CALL = {
    *("uses", "names", "slices", "model_types", "views", "views_of_results", "options"),
    *("widgets", "analysis", "heads", "model", "traits", "selection", "page"),
    *("selection_options", "show_options", "page_options"),
}
ANY = ("Any", "object")
ENTRIES = [(field, name, path) for field in HOOKS for name, path in declared(field)]


def misfits(given: Callable[..., Any], hook: type) -> list[str]:
    """Why ``given`` cannot be called as the hook's ``__call__`` says; types are compared by the last word of their names."""
    _, *called = inspect.signature(hook.__call__).parameters.values()
    signature = inspect.signature(given)
    by_name = {p.name: p for p in called if p.kind is p.KEYWORD_ONLY}
    in_order = [p for p in called if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    try:
        signature.bind(*in_order, **by_name)
    except TypeError as error:
        return [str(error)]
    takes = list(signature.parameters.values())
    pairs = [*zip(in_order, takes, strict=False)]
    pairs += [(p, signature.parameters[name]) for name, p in by_name.items()]
    return [
        f"{wanted.name}: {wanted.annotation} is called, {found.annotation} is taken"
        for wanted, found in pairs
        if not fits(str(wanted.annotation), str(found.annotation))
    ]


def fits(wanted: str, found: str) -> bool:
    """True where a type is taken: the same words, a wider one, or `Any`."""
    wider = {"Analysis": ("AnalysisBase",), "dict[str, Any]": ("Mapping[str, Any]",)}
    return found == wanted or found in ANY or wanted in ANY or found in wider.get(wanted, ())


def test_each_field_is_called_by_a_typed_hook_or_not_at_all() -> None:
    assert {*Feature._fields} == {*HOOKS, *NO_CALL}


@pytest.mark.parametrize(
    ("field", "path"),
    [(field, path) for field, _, path in ENTRIES],
    ids=[f"{f}-{n}" for f, n, _ in ENTRIES],
)
def test_what_a_line_names_takes_what_the_core_gives(field: str, path: str) -> None:
    assert misfits(loaded(path), loaded(HOOKS[field])) == []


def test_a_hook_of_other_arguments_is_named() -> None:
    def more(analysis: Any, selection: Any, columns: Any) -> None: ...
    def other(analysis: Analysis, selection: Analysis) -> None: ...  # type: ignore[name-defined]  # noqa: F821

    hook = loaded(HOOKS["tables"])
    assert misfits(more, hook) == ["missing a required argument: 'columns'"]
    assert misfits(other, hook) == ["selection: Selection is called, Analysis is taken"]

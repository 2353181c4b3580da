"""What an editor knows of the interface: typed options, described traits, near names. `tests/packaging` runs the checkers."""

from __future__ import annotations

import ast
import inspect
import itertools
from collections import ChainMap
from dataclasses import fields
from typing import get_args

import pytest

import attn_widget as aw
from attn_widget import api
from attn_widget.errors import InputTypeError
from attn_widget.features import declared
from attn_widget.features.corpus.source import ProfileSource
from attn_widget.features.corpus.widget import ProfileTraits, ProfileWidget
from attn_widget.features.exports import report
from attn_widget.features.similarity.source import SimilaritySource
from attn_widget.features.similarity.widget import SimilarityTraits, SimilarityWidget
from attn_widget.figures.catalog import choices
from attn_widget.page.spec import PageOptions, PageSpec
from attn_widget.protocol import selection
from attn_widget.widget.traits import own_traits


def keys(options: type) -> set[str]:
    return set(options.__annotations__)  # those of its bases too


def test_typed_options_are_those_that_are_known() -> None:
    assert keys(selection.Traits) == {*selection.NAMES}
    assert keys(selection.ReportTraits) == {*report.OF_ALL_TEXTS}
    assert keys(ProfileTraits) == {*ProfileSource.options} - {"view"}
    assert keys(SimilarityTraits) == {*SimilaritySource.options} - {"view"}
    assert keys(api.ShowOptions) == {*api.WIDGET_TRAITS, *api.RUN_OPTIONS, *dict(declared("added"))}
    options = [field.name for field in fields(PageSpec) if "check" in field.metadata]
    assert keys(PageOptions) == {*options}
    assert keys(report.ReportOptions) == {*report.RUN_OPTIONS, *report.OF_ALL_TEXTS}
    assert get_args(choices.ViewName) == tuple(choices.VIEWS)
    carried = (*choices.MIXINGS, *choices.ROLLED)
    assert choices.QUANTITIES[3:] == carried


def descriptions(cls: type) -> dict[str, str]:
    """The strings below the attributes that a class declares."""
    (declared,) = ast.parse(inspect.getsource(cls)).body
    assert isinstance(declared, ast.ClassDef)
    return {
        ast.unparse(node.target): " ".join(str(below.value.value).replace("``", "").split())
        for node, below in itertools.pairwise(declared.body)
        if isinstance(node, ast.AnnAssign)
        and isinstance(below, ast.Expr)
        and isinstance(below.value, ast.Constant)
    }


@pytest.mark.parametrize("widget", [aw.AttentionWidget, ProfileWidget, SimilarityWidget])
def test_every_trait_is_described(widget: type) -> None:
    ours = [
        cls
        for cls in widget.__mro__
        if cls.__module__.startswith("attn_widget.") and cls.__module__ != "attn_widget.features"
    ]
    described = ChainMap(*map(descriptions, ours))
    for name in own_traits(widget):
        assert described[name].endswith("."), name


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: aw.analyze("a cat", modle=1), "analyze() has no option 'modle'. Did you mean 'model'?"),  # pyright: ignore[reportCallIssue]
        (lambda: aw.profile(["a cat"], sede=1), "profile() has no option 'sede'. Did you mean 'seed'?"),  # pyright: ignore[reportCallIssue]
        (lambda: aw.target(postion=1), "target() has no option 'postion'. Did you mean 'position'?"),  # pyright: ignore[reportCallIssue]
    ],
)  # fmt: skip
def test_a_misspelled_option_is_answered_with_the_nearest(call: object, said: str) -> None:
    assert callable(call)
    with pytest.raises(InputTypeError) as raised:
        call()
    assert said in str(raised.value)

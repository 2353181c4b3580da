"""Arguments of the wrong type or out of range are refused in words, before any work."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import attn_widget as aw
from attn_widget.checks import LARGEST_SEED, check_seed
from attn_widget.errors import InputError, InputTypeError
from attn_widget.features import tasks
from attn_widget.model import loading as encoders
from attn_widget.protocol.selection import Selection

TEXT = "the cat sat on the mat"


@pytest.fixture(scope="module")
def analysis() -> aw.Analysis:
    return aw.analyze(TEXT, progress=False)


@pytest.fixture
def no_model(monkeypatch: pytest.MonkeyPatch) -> None:
    def loaded(*_: Any, **__: Any) -> Any:
        raise AssertionError("a model was loaded")

    monkeypatch.setattr(encoders, "_loaded", loaded)


@pytest.mark.parametrize(
    ("error", "said", "ask"),
    [
        (InputError, "top_k is -1, expected 1 to", lambda a: a.model.softmax(1, top_k=-1)),
        (InputError, "top_k is 0, expected 1 to", lambda a: a.model.softmax(1, top_k=0)),
        (InputTypeError, "top_k is a str", lambda a: a.model.softmax(1, top_k="5")),
        (InputError, "position is 1.9, expected an int", lambda a: a.model.softmax(1.9)),
        (InputError, "position is 8, expected 0 to 7", lambda a: a.model.softmax(8)),
        (InputError, "token_ids is 1.5, expected an int", lambda a: a.model.softmax(1, [1.5])),
        (InputError, "token_ids is -1, expected 0 to", lambda a: a.model.softmax(1, [-1])),
        (InputError, "token_ids is 30522, expected 0 to", lambda a: a.model.softmax(1, [30_522])),
        (InputTypeError, "token_ids is 5, expected several", lambda a: a.model.softmax(1, 5)),
        (InputTypeError, "top_k is a float", lambda a: a.predictions(2.5)),
        (InputTypeError, "rows is 5, expected a slice", lambda a: a.predictions(rows=5)),
        (InputTypeError, "rows is 0, expected a slice", lambda a: a.predictions(rows=0)),
        (InputTypeError, "expected a slice", lambda a: a.predictions(rows=slice("a", None))),
        (InputTypeError, "keys is 5, expected several", lambda a: a.heads.flow(1, keys=5)),
        (InputTypeError, "keys is '12', expected several", lambda a: a.heads.flow(1, keys="12")),
        (InputError, "keys is 1.5, expected an int", lambda a: a.heads.flow(1, keys=[1.5])),
        (InputError, "token is 'a', expected an int", lambda a: a.heads.flow("a")),
        (InputTypeError, "top_k is a float", lambda a: a.heads.tree(2, layer=0, head=0, top_k=2.0)),
        (InputTypeError, "depth is a NoneType", lambda a: a.heads.tree(2, layer=0, head=0, depth=None)),
        (InputError, "seed is -1, expected 0 to", lambda a: a.heads.roles(-1)),
        (InputError, "seed is 4294967296, expected 0 to", lambda a: a.heads.roles(2**32)),
        (InputTypeError, "seed is a str, expected an int", lambda a: a.heads.roles("a")),
    ],
)  # fmt: skip
def test_figures_refuse_what_they_cannot_be_asked(
    analysis: aw.Analysis, error: type[Exception], said: str, ask: Callable[[Any], Any]
) -> None:
    with pytest.raises(error, match=said):
        ask(analysis)


def test_integers_of_numpy_are_integers(analysis: aw.Analysis) -> None:
    one: Any = np.int64(1)
    ids: Any = np.array([5, 7])
    assert analysis.model.softmax(one, ids).entries == analysis.model.softmax(1, [5, 7]).entries
    assert (
        analysis.heads.flow(one, keys=ids[:1]).tolist() == analysis.heads.flow(1, keys=[5]).tolist()
    )
    assert analysis.heads.roles(one) is analysis.heads.roles(1)
    assert check_seed(LARGEST_SEED) == LARGEST_SEED


@pytest.mark.usefixtures("no_model")
@pytest.mark.parametrize(
    ("error", "said", "options"),
    [
        (InputError, "seed is -1, expected 0 to 4,294,967,295", {"seed": -1}),
        (InputTypeError, "seed is a str, expected an int", {"seed": "a"}),
        (InputTypeError, "resume is a int, expected a str or a path", {"resume": 5}),
        (InputTypeError, "truncation is 'no', expected True or False", {"truncation": "no"}),
    ],
)
def test_a_profile_is_refused_before_a_model_is_loaded(
    error: type[Exception], said: str, options: dict[str, Any]
) -> None:
    with pytest.raises(error, match=said):
        aw.profile([TEXT], progress=False, **options)


@pytest.mark.usefixtures("no_model")
@pytest.mark.parametrize("compare_with", [5, "a text", b"a text", [5], [("a", "b", "c")]])
def test_texts_beside_are_refused_before_a_model_is_loaded(compare_with: Any) -> None:
    with pytest.raises(InputTypeError, match=r"compare_with (is|holds) .*compare_with=\[text\]"):
        aw.analyze(TEXT, compare_with=compare_with)


def test_nothing_beside_is_none() -> None:
    assert aw.analyze(TEXT, compare_with=None, progress=False).model.compare_with == ()


@pytest.mark.usefixtures("no_model")
@pytest.mark.parametrize("truncation", ["no", 1, None])
def test_truncation_is_yes_or_no(truncation: Any) -> None:
    with pytest.raises(InputTypeError, match=r"truncation is .*, expected True or False"):
        aw.analyze(TEXT, truncation=truncation)


def test_another_text_is_not_cut_by_a_word() -> None:
    cut: Any = "no"
    shown = aw.show(TEXT, progress=False)
    with pytest.raises(InputTypeError, match="truncation is 'no'"):
        shown.run("dog " * 600, truncation=cut)
    with pytest.raises(InputTypeError, match="truncation is array"):
        shown.run("the dog", truncation=np.zeros(2))  # pyright: ignore
    shown.close()
    with pytest.raises(InputTypeError, match="truncation is 'no'"):
        encoders.load(progress=False).encode(TEXT, truncation=cut)


def test_a_folder_that_cannot_be_made_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match=r"cannot be made: .*may write"):
        aw.profile([TEXT], progress=False, resume=tmp_path / "file" / "inside")
    with pytest.raises(InputError, match="more than the disk takes"):
        aw.profile([TEXT], progress=False, resume=tmp_path / ("a" * 300))


@pytest.mark.parametrize("seed", [-1, 2**32, 1.5])
def test_the_roles_of_a_profile_take_the_same_seeds(seed: Any) -> None:
    with pytest.raises((InputError, InputTypeError), match="seed is"):
        aw.profile([TEXT], progress=False).roles(seed)


FIVE: Any = 5
NONE: Any = None
EVEN = np.full((1, 1, 2, 2), 0.5)


@pytest.mark.parametrize(
    ("error", "said", "ask"),
    [
        (InputError, r"tokens\[1\] has a lone surrogate, U\+D800",
         lambda: aw.from_attentions(EVEN, ["a", "b\ud800"])),
        (InputError, "text has a lone surrogate",
         lambda: aw.from_attentions(EVEN, ["a", "b"], text="a b\udc00")),
        (InputTypeError, "text is a int, expected a str",
         lambda: aw.from_attentions(EVEN, ["a", "b"], text=FIVE)),
        (InputTypeError, "attentions holds complex numbers",
         lambda: aw.from_attentions(EVEN + 0.1j, ["a", "b"])),
        (InputTypeError, "queries holds complex numbers",
         lambda: aw.from_attentions(EVEN, ["a", "b"], queries=EVEN * 1j, keys=EVEN)),
    ],
)  # fmt: skip
def test_tensors_from_outside_are_real_and_their_tokens_whole(
    error: type[Exception], said: str, ask: Callable[[], Any]
) -> None:
    with pytest.raises(error, match=said):
        ask()


@pytest.mark.parametrize(
    ("said", "ask"),
    [
        ("path is a int, expected a str or a path", lambda: tasks.read_csv(FIVE)),
        ("path is a NoneType", lambda: tasks.read_csv(NONE)),
        ("folder is a int", lambda: tasks.load_classifier(FIVE)),
        ("folder is a NoneType", lambda: tasks.load_classifier(NONE)),
        ("cache is a int", lambda: tasks.load_films(cache=FIVE)),
        ("labels cannot be read as an array", lambda: tasks.score([0, [1]], [[0.5, 0.5]] * 2)),
        ("probabilities cannot be read", lambda: tasks.score([0, 1], [[0.5, 0.5], [1.0]])),
        ("probabilities cannot be read", lambda: tasks.score([0], "x")),
        ("scores cannot be read as an array", lambda: tasks.stars("x")),
        ("scores cannot be read as an array", lambda: tasks.stars([[1.0], [1.0, 2.0]])),
        (
            "name is 5, expected a str",
            lambda: tasks.RatedSentences(FIVE, ("1",), ("1",), ("a",), np.zeros(1)),
        ),
        ("train is a int, expected a Split", lambda: tasks.LexiconBaseline().fit(FIVE)),
    ],
)
def test_tasks_refuse_what_is_of_another_type(said: str, ask: Callable[[], Any]) -> None:
    with pytest.raises(InputTypeError, match=said):
        ask()


def test_a_name_of_a_classifier_that_no_disk_takes_is_said() -> None:
    with pytest.raises(InputError, match="300 characters, more than the disk takes"):
        tasks.load_classifier("a" * 300)


@pytest.mark.parametrize(
    ("name", "least", "most"),
    [("layer", 0, 2), ("head", 0, 1), ("top_k", 1, 10), ("depth", 1, 6), ("height", 1, 100_000)],
)
def test_a_selection_goes_from_the_least_to_the_most_and_no_further(
    name: str, least: int, most: int
) -> None:
    def checked(value: int) -> Selection:
        options: dict[str, Any] = {name: value}
        return Selection(**options).check(n_layers=3, n_heads=2)

    assert [getattr(checked(value), name) for value in (least, most)] == [least, most]
    for value in (least - 1, most + 1):
        with pytest.raises(InputError, match=f"{name} is {value}"):
            checked(value)

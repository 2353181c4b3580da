"""Kept work is taken again only where model, tokenizer, texts, functions and options are the same."""

from __future__ import annotations

import copy
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import attn_widget as aw
from attn_widget.errors import InputError
from attn_widget.features import tasks
from attn_widget.features.corpus.identity import identity_of, value_digest
from attn_widget.host.fingerprint import fingerprint
from tests.close import assert_close
from tests.unit import tiny_models
from tests.unit.needs import needs_lancedb

TEXTS = ["the cat sat on the mat", "the dog looked at the bird"]
PAIRS = [("the cat sat", "the dog sat"), ("he sells", "she sells")]


@pytest.fixture
def pair() -> Any:
    """A model of its own, and its tokenizer."""
    model, tokenizer = tiny_models.build("bert")
    return copy.deepcopy(model), tokenizer


def query_of(model: Any) -> Any:
    return model.base_model.encoder.layer[1].attention.self.query.weight


def scale_in_place(model: Any) -> None:
    """One head in the middle of the matrix: neither the first nor the last 64 values change."""
    with torch.no_grad():
        query_of(model)[8:16] *= 30


def scale_through_data(model: Any) -> None:
    query_of(model).data[8:16] *= 30


def swap_heads(model: Any) -> None:
    weights = query_of(model)
    with torch.no_grad():
        weights[8:24] = torch.cat([weights[16:24], weights[8:16]])


def change_tokenizer(_model: Any) -> None:
    """See `other_tokenizer`."""


CHANGES = [scale_in_place, scale_through_data, swap_heads, change_tokenizer]


def other_tokenizer(tokenizer: Any) -> Any:
    """The same vocabulary; upper case is kept, so that other ids are read."""
    other = copy.deepcopy(tokenizer)
    from tokenizers import normalizers

    other.backend_tokenizer.normalizer = normalizers.BertNormalizer(lowercase=False)
    return other


def profiled(pair: Any, folder: Path) -> Any:
    return aw.profile(TEXTS, model=pair, tagger=None, progress=False, folder=folder)


def compared(pair: Any, folder: Path) -> Any:
    return aw.compare.many(PAIRS, model=pair, progress=False, resume=folder)


def agreed(pair: Any, folder: Path) -> Any:
    target = aw.target(position=2, token="cat")
    options: dict[str, Any] = {
        "methods": ["weights", "norms"],
        "tagger": None,
        "progress": False,
    }
    return aw.corpus.agreement(TEXTS, target=target, model=pair, resume=folder, **options)


def indexed(pair: Any, folder: Path) -> Any:
    if folder.is_dir():
        return aw.WordIndex.open(folder, model=pair)
    return aw.corpus.index(TEXTS, folder, layer=1, model=pair, tagger=None, progress=False)


def fitted(pair: Any, folder: Path) -> Any:
    return tasks.fit_classifier(
        pair, TEXTS * 4, [0, 1] * 4, epochs=1, checkpoint=folder, progress=False
    )


KEEPERS = [
    profiled,
    compared,
    agreed,
    pytest.param(indexed, marks=needs_lancedb),
    fitted,
]


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("keep", KEEPERS)
def test_work_of_other_weights_or_another_tokenizer_is_refused(
    keep: Callable[[Any, Path], Any], change: Callable[[Any], None], pair: Any, tmp_path: Path
) -> None:
    folder = tmp_path / "work"
    keep(pair, folder)
    keep(pair, folder)  # unchanged, it goes on
    change(pair[0])
    if change is change_tokenizer:
        pair = (pair[0], other_tokenizer(pair[1]))
    with pytest.raises(InputError, match=r"weights|tokenizer"):
        keep(pair, folder)


@needs_lancedb
def test_a_search_after_a_step_of_training_is_refused(pair: Any, tmp_path: Path) -> None:
    found = indexed(pair, tmp_path / "words")
    a = aw.analyze(TEXTS[0], model=pair, tagger=None, progress=False)
    assert len(found.near(a, token=1, k=2)) == 2
    optimizer = torch.optim.AdamW([query_of(pair[0])], lr=0.1)
    query_of(pair[0]).sum().backward()
    optimizer.step()
    with pytest.raises(InputError, match="other weights"):
        found.near(a, token=1, k=2)


def test_cached_hashes_follow_versions_and_storages(pair: Any) -> None:
    model = pair[0]
    seen = [fingerprint(model, cached=True)]
    assert fingerprint(model, cached=True) == fingerprint(model) == seen[0]
    scale_in_place(model)
    seen.append(fingerprint(model, cached=True))
    query_of(model).data = query_of(model).data.clone() * 2
    seen.append(fingerprint(model, cached=True))
    model.load_state_dict({k: v + 1 for k, v in model.state_dict().items() if v.is_floating_point()}, strict=False)  # fmt: skip
    seen.append(fingerprint(model, cached=True))
    assert len(set(seen)) == 4 and seen[-1] == fingerprint(model)


def test_types_buffers_and_names_count(pair: Any) -> None:
    model = pair[0]
    before = fingerprint(model)
    assert fingerprint(copy.deepcopy(model)) == before
    assert fingerprint(copy.deepcopy(model).to(torch.bfloat16)) != before
    other = copy.deepcopy(model)
    other.register_buffer("mean", torch.zeros(2))
    first = fingerprint(other)
    other.mean += 1
    assert len({before, first, fingerprint(other)}) == 3


def test_the_embedded_model_has_one_identity_with_and_without_transformers() -> None:
    encoder = aw.load(progress=False)
    before = identity_of(encoder)
    assert encoder.model is not None  # filled
    assert identity_of(encoder) == before
    assert identity_of(aw.load((encoder.model, encoder.tokenizer)))["weights"] == before["weights"]


def test_a_model_without_a_head_is_another_one(pair: Any, tmp_path: Path) -> None:
    encoder = aw.load(pair)
    off = encoder.without([(0, 0)])
    whole, without = (profiled(one, tmp_path / name) for one, name in ((encoder, "a"), (off, "b")))
    alone = aw.analyze(TEXTS[0], model=off, tagger=None, progress=False)
    found = without.figures[0, without.keys.index("confidence_max")]
    assert_close(found, alone.metrics.confidence_max, **tiny_models.SUMS, size=1)
    assert not np.allclose(without.mean["confidence_max"], whole.mean["confidence_max"], rtol=1e-3)
    with pytest.raises(InputError, match="changed"):
        profiled(off, tmp_path / "a")
    with pytest.raises(InputError, match="changed"):
        profiled(encoder.without([(0, 1)]), tmp_path / "b")


LIMIT = 3


def uses_a_global(analysis: Any) -> Any:
    return aw.target(position=LIMIT, token="cat") if analysis else None


def helper(analysis: Any) -> int:
    return LIMIT + analysis.trace.n_tokens


def by_closure(number: Any) -> Callable[[Any], Any]:
    return lambda analysis: (number, analysis)


class Chooser:
    offset = 1

    def __init__(self, place: int) -> None:
        self.place = place

    def __call__(self, analysis: Any) -> Any:
        return self.place + self.offset

    @property
    def double(self) -> int:
        return 2 * self.place


FUNCTIONS: list[Any] = [
    lambda a: a.trace.n_tokens,
    lambda a: a.trace.n_tokens + 1,
    lambda a: a.n_words,
    lambda a: [k for k in range(a.trace.n_tokens) if k > 2],
    lambda a: [k for k in range(a.trace.n_tokens) if k > 3],
    lambda a, k=1: k,
    lambda a, k=2: k,
    lambda a, *, k=2: k,
    lambda a: helper(a),
    uses_a_global,
    helper,
    by_closure(1),
    by_closure(True),
    by_closure("1"),
    by_closure(np.arange(3)),
    by_closure(np.arange(3.0)),
    by_closure(torch.arange(3)),
    by_closure({"a": 1}),
    by_closure({"a"}),
    by_closure([["a"], "b"]),
    by_closure(["a", ["b"]]),
    by_closure(aw.target(position=1, token="cat")),
    by_closure(aw.target(position=2, token="cat")),
    by_closure(helper),
    by_closure(np.argmax),
    by_closure(np.log),
    by_closure(len),
    by_closure(str.lower),
    Chooser(1),
    Chooser(2),
    Chooser(1).__call__,
    partial(helper, 1),
    partial(helper, 2),
]


def test_functions_are_told_apart_by_their_content() -> None:
    digests = [value_digest(function, "target") for function in FUNCTIONS]
    assert len(set(digests)) == len(FUNCTIONS)
    assert digests == [value_digest(function, "target") for function in FUNCTIONS]


def test_a_function_changes_with_what_it_calls_and_reads(monkeypatch: pytest.MonkeyPatch) -> None:
    before = [value_digest(one, "target") for one in (uses_a_global, helper, FUNCTIONS[8])]
    monkeypatch.setitem(globals(), "LIMIT", 4)
    after = [value_digest(one, "target") for one in (uses_a_global, helper, FUNCTIONS[8])]
    assert all(a != b for a, b in zip(before, after, strict=True))
    monkeypatch.undo()
    chooser = value_digest(Chooser(1), "target")
    monkeypatch.setattr(Chooser, "double", property(lambda self: 3 * self.place))
    assert value_digest(Chooser(1), "target") != chooser


SCRIPT = """
import re
from attn_widget.features.corpus.identity import value_digest
words = {"a", "b", "c", "d"}
pattern = re.compile("x+")
def tag(text):
    return [(m.start(), m.end()) for m in pattern.finditer(text) if text in words and text in {"u", "v", "w"}]
def again(n):
    return again(n - 1) if n else tag
print(value_digest([tag, again], "tagger"))
"""


def test_another_process_gives_the_same_digest() -> None:
    """The order of a set differs from process to process."""
    runs = [
        subprocess.run(
            [sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=True,
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": str(Path(__file__).parents[3])},
        ).stdout
        for seed in ("1", "2")
    ]  # fmt: skip
    assert runs[0] == runs[1] != ""


def test_a_function_with_another_body_is_another_target(tmp_path: Path) -> None:
    options: dict[str, Any] = {
        "methods": ["weights", "norms"],
        "tagger": None,
        "progress": False,
    }
    model = tiny_models.build("bert")

    def agree(target: Any) -> Any:
        return aw.corpus.agreement(TEXTS, target=target, model=model, resume=tmp_path, **options)

    def target_at(place: int) -> Callable[[Any], Any]:
        return lambda _a: aw.target(position=place, token="cat")

    first = agree(target_at(2))
    np.testing.assert_array_equal(agree(target_at(2)).mean, first.mean)
    with pytest.raises(InputError, match="not of this run: it was made with target"):
        agree(target_at(3))
    with pytest.raises(InputError, match="not of this run: it was made with target"):
        agree(lambda _a: aw.target(position=2, token="cat"))
    with (
        Path(__file__).open() as file,
        pytest.raises(InputError, match="target uses a TextIOWrapper"),
    ):
        agree(lambda _a: aw.target(position=2, token=file.name))


def test_a_tagger_with_another_body_is_another_tagger(tmp_path: Path) -> None:
    def tagger(tag: str) -> Any:
        return lambda text: [(0, len(text), tag)]

    model = tiny_models.build("bert")
    for name, resumed in (
        ("profile", partial(aw.profile, folder=tmp_path / "profile")),
        ("agreement", partial(aw.corpus.agreement, target=aw.target(position=2, token="cat"), methods=["weights", "norms"], resume=tmp_path / "agreement")),
    ):  # fmt: skip
        resumed(TEXTS, model=model, tagger=tagger("NOUN"), progress=False)
        with pytest.raises(InputError, match="tagger_content"):
            resumed(TEXTS, model=model, tagger=tagger("VERB"), progress=False)
        assert (tmp_path / name).is_dir()


def test_a_classifier_saved_again_is_read_again(tmp_path: Path) -> None:
    pair = tiny_models.build("bert")
    place = tmp_path / "c"
    results: list[Any] = []
    for labels in ([0, 1] * 4, [1, 0] * 4):
        made = tasks.fit_classifier(
            pair, TEXTS * 4, labels, epochs=3, lr_head=0.05, progress=False, seed=3
        )
        made.save(place)
        read = aw.analyze(TEXTS[0], model=place, tagger=None, progress=False)
        wanted = made.probabilities(TEXTS[:1])[0]
        assert read.model.classification is not None
        assert_close(read.model.classification.probabilities, wanted, **tiny_models.SUMS)
        results.append(wanted)
        assert aw.load(place) is aw.load(str(place))
    assert abs(results[0] - results[1]).max() > 0.01  # far above rounding

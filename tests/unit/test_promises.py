"""What must not happen: NaN shown as a figure, "no" taken for yes, memory asked for what no model has."""

from __future__ import annotations

import copy
import json
import pickle
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import traitlets

import attn_widget as aw
from attn_widget.errors import (
    MAX_CHARACTERS,
    InputError,
    InputTypeError,
    ModelLoadError,
    NotAvailableError,
    NotFiniteError,
)
from attn_widget.features import tasks
from attn_widget.model.encoder import HeadMeans
from tests.unit.tiny_models import build

TEXT = "the cat sat on the mat"
ROOT = Path(__file__).resolve().parent.parent.parent


@pytest.fixture(scope="module")
def analysis() -> aw.Analysis:
    return aw.analyze(TEXT, tagger=None, progress=False)


def broken(family: str, weight: str, value: float) -> tuple[Any, Any]:
    """A tiny model with one number of one weight replaced."""
    model, tokenizer = build(family)
    model = copy.deepcopy(model)
    with torch.no_grad():
        model.get_parameter(weight).view(-1)[0] = value
    return model, tokenizer


QUERY = "bert.encoder.layer.1.attention.self.query.weight"


@pytest.mark.parametrize(("value", "number"), [(torch.nan, "NaN"), (torch.inf, "")])
def test_numbers_that_are_none_are_named_by_layer_and_weight(value: float, number: str) -> None:
    with pytest.raises(NotFiniteError, match=rf"ayer 1 \(of 0 to .\) of .* gave {number}") as told:
        aw.analyze(TEXT, model=broken("bert", QUERY, value), progress=False)
    assert f"The weight {QUERY!r} of layer 1 holds such numbers" in told.value.hint


def test_scores_beyond_float32_are_named_though_queries_and_keys_are_finite() -> None:
    model, tokenizer = build("bert")
    model = copy.deepcopy(model)
    with torch.no_grad():
        for part in ("query", "key"):
            model.get_parameter(QUERY.replace("query", part)).mul_(1e22)
    with pytest.raises(NotFiniteError, match=r"ayer 1 .* gave") as told:
        aw.analyze(TEXT, model=(model, tokenizer), progress=False)
    assert "Its weights are finite, so they overflow on this text" in told.value.hint


def test_numbers_that_heads_switched_off_make_are_blamed_on_these() -> None:
    model, tokenizer = build("bert")
    analysis = aw.analyze(TEXT, model=(model, tokenizer), progress=False)
    means = HeadMeans(np.full((3, 4, 8), 1e30, dtype=np.float32), 1, analysis.trace.n_tokens)
    with pytest.raises(NotFiniteError) as told:
        analysis.ablate([(1, 0)], means)
    assert told.value.hint.endswith("the heads that are off are to blame: switch them on again.")


def test_nan_in_the_embeddings_is_theirs() -> None:
    name = "bert.embeddings.LayerNorm.weight"
    with pytest.raises(
        NotFiniteError, match=r"The embeddings of .* gave NaN, first for token 0"
    ) as told:
        aw.analyze(TEXT, model=broken("bert", name, torch.nan), progress=False)
    assert name in told.value.hint


def test_nan_in_a_family_that_computes_attention_on_its_own_is_named_too() -> None:
    name = "deberta.encoder.layer.0.output.dense.weight"
    with pytest.raises(NotFiniteError, match="Layer 0 ") as told:
        aw.analyze(TEXT, model=broken("deberta-v2", name, torch.nan), progress=False)
    assert name in told.value.hint


def test_a_widget_says_it_and_keeps_what_it_shows() -> None:
    model, tokenizer = broken("bert", QUERY, 1.0)
    widget = aw.show(TEXT, model=(model, tokenizer), tagger=None, progress=False)
    before = widget.first_paint
    with torch.no_grad():
        model.get_parameter(QUERY)[0] = torch.nan
    with pytest.raises(NotFiniteError):
        widget.run("it slept")
    assert "ayer 1 " in widget.error["message"]
    assert (widget.status, widget.first_paint) == ("error", before)
    widget.close()


def test_nan_in_the_head_leaves_attention_and_takes_predictions() -> None:
    model, tokenizer = broken("bert", "cls.predictions.bias", torch.nan)
    found = aw.analyze(TEXT, model=(model, tokenizer), tagger=None, progress=False)
    assert np.isfinite(found.attention(0, 0)).all()
    for ask in (
        found.predictions,
        lambda: found.predictions(mode="masked"),
        lambda: found.model.softmax(1),
    ):
        with pytest.raises(NotAvailableError, match="not finite at position"):
            ask()
    widget = aw.AttentionWidget(found)
    assert b"NaN%" not in widget.first_paint
    with pytest.raises(NotAvailableError, match="not finite"):
        widget.to_dataframe("predictions")
    widget.close()


def test_a_profile_of_such_a_model_names_text_and_layer() -> None:
    with pytest.raises(InputError, match=r"Text 0, .* stopped the profile: .*ayer 1 "):
        aw.profile([TEXT], model=broken("bert", QUERY, torch.nan), progress=False)


@pytest.mark.parametrize(
    ("error", "said", "ask"),
    [
        (InputTypeError, "analysis is 5, expected an Analysis", lambda _: aw.AttentionWidget(5)),
        (InputTypeError, "no option 'layre'. Did you mean 'layer'",
         lambda a: aw.AttentionWidget(a, layre=3)),
        (InputTypeError, "rows is 5, expected a slice", lambda a: a.attention(0, 0, rows=5)),
        (InputTypeError, "cols is 'a', expected a slice", lambda a: a.attention(0, 0, cols="a")),
        (InputTypeError, "rows is .*, expected a slice", lambda a: a.scores(0, 0, rows=[1, 2])),
        (InputTypeError, "cols is slice", lambda a: a.scores(0, 0, cols=slice(None, None, -1))),
        (InputError, "rows is .* holds none of the 8 positions",
         lambda a: a.attention(0, 0, rows=slice(8, 9))),
        (InputError, "head is .*, expected an int", lambda a: a.attention(0, np.array([1, 2]))),
        (InputTypeError, "text is 5, expected the name of a column",
         lambda _: tasks.from_dataset({}, text=5)),
        (InputTypeError, "label is .*, expected the name of a column",
         lambda _: tasks.from_dataset({"text": []}, label=["a"])),
        (InputTypeError, "group is 1, expected the name", lambda _: tasks.from_dataset({}, group=1)),
        (InputError, "text and label are both", lambda _: tasks.from_dataset({}, label="text")),
        (InputError, "classes is ., expected 5 or 3", lambda _: tasks.stars([1], classes=4)),
        (InputError, "classes is .5., expected 5 or 3", lambda _: tasks.stars([1], classes=[5])),
        (InputTypeError, "name is", lambda _: tasks.rated_sentences(["films"])),
        (InputError, "'flims'.*Did you mean 'films'", lambda _: tasks.rated_sentences("flims")),
        (InputError, "epochs is 1000000000.*, expected 1 to 1,000,000",
         lambda _: tasks.fit_classifier(None, ["a", "b"], [0, 1], epochs=10**30)),
        (InputTypeError, "progress is 'no', expected a function or None",
         lambda a: a.predictions(mode="masked", progress="no")),
        (InputTypeError, "progress is .*, expected a function or None",
         lambda a: a.mask([1], progress=[1])),
        (InputError, "correct is an int of", lambda _: tasks.Metrics(1.0, 0.5, 10**5000, None)),
        (InputError, "height is 10000000.*, expected 1 to 100,000", lambda a: aw.as_html(aw.AttentionWidget(a), height=10**30)),
    ],
)  # fmt: skip
def test_each_kind_of_argument_is_checked(
    analysis: aw.Analysis, error: type[Exception], said: str, ask: Callable[[Any], Any]
) -> None:
    with pytest.raises(error, match=said):
        ask(analysis)


@pytest.mark.parametrize(
    "ask",
    [
        lambda a, no: aw.analyze(TEXT, progress=no),
        lambda a, no: aw.analyze(TEXT, truncation=no, progress=False),
        lambda a, no: aw.load(progress=no),
        lambda a, no: aw.profile([TEXT], progress=no),
        lambda a, no: aw.report([TEXT], "x.html", progress=no),
        lambda a, no: aw.report([TEXT], "x.html", truncation=no, progress=False),
        lambda a, no: a.view(words=no),
        lambda a, no: a.view(special=no),
        lambda a, no: a.view(renormalize=no),
        lambda a, no: a.heads.metrics_at(mean_head=no),
        lambda a, no: a.heads.tree(1, layer=0, head=0, special=no),
        lambda a, no: a.model.first_token(words=no),
        lambda a, no: tasks.fit_classifier(None, ["a", "b"], [0, 1], progress=no),
        lambda a, no: tasks.fit_classifier(None, ["a", "b"], [0, 1], resume=no),
    ],
)
@pytest.mark.parametrize("no", ["no", 1, None, np.array([True, False])])
def test_yes_or_no_is_a_bool(analysis: aw.Analysis, ask: Callable[..., Any], no: Any) -> None:
    with pytest.raises(InputTypeError, match="expected True or False"):
        ask(analysis, no)


@pytest.mark.parametrize("name", ["special", "words", "chrome"])
def test_a_trait_of_yes_or_no_is_a_bool(analysis: aw.Analysis, name: str) -> None:
    with pytest.raises(traitlets.TraitError, match="boolean"):
        aw.AttentionWidget(analysis, **{name: "no"})


def nested(depth: int) -> list[Any]:
    found: list[Any] = []
    for _ in range(depth):
        found = [found]
    return found


@pytest.mark.parametrize(
    "given",
    [
        torch.tensor(1.0),
        torch.ones(1, 1, 2, 2, device="meta"),
        nested(3000),
        [nested(3000)],
        np.array(None),
        [torch.ones(2, 2, device="meta")],
    ],
    ids=["0-d", "meta", "nested", "layer nested", "object", "layer meta"],
)
def test_what_is_no_attention_is_refused(given: Any) -> None:
    with pytest.raises((InputError, InputTypeError), match="attentions"):
        aw.from_attentions(given, ["a", "b"])


def test_a_sparse_tensor_is_as_good_as_a_dense_one() -> None:
    eye = torch.eye(3)[None, None]
    for given in (eye.to_sparse(), [torch.eye(3)[None].to_sparse()], eye.clone().requires_grad_()):
        found = aw.from_attentions(given, ["a", "b", "c"], tagger=None)
        assert (found.attention(0, 0) == np.eye(3)).all()


def test_labels_and_probabilities_come_as_tensors_too() -> None:
    rows = torch.tensor([[0.8, 0.2], [0.4, 0.6]], requires_grad=True)
    labels = torch.tensor([0, 1]).to_sparse()
    assert tasks.score(labels, rows).correct == 100
    assert tasks.stars(torch.tensor([-3.1, 4.0], dtype=torch.bfloat16)).tolist() == [0, 4]
    with pytest.raises(InputTypeError, match="meta"):
        tasks.score(torch.zeros(2, device="meta"), rows)


@pytest.mark.parametrize(
    "given",
    ["a" * 100_000, [nested(3000)], 10**5000, ["a" * 100_000]],
    ids=["long", "nested", "large", "list"],
)
def test_messages_are_short_whatever_was_given(analysis: aw.Analysis, given: Any) -> None:
    asks: list[Callable[[], Any]] = [
        lambda: analysis.attention(given, 0),
        lambda: analysis.heads.flow(given),
        lambda: analysis.predictions(mode=given),
        lambda: aw.show(TEXT, **{"theme": given}, progress=False),
        lambda: aw.to_html(given, "x.html"),
        lambda: aw.load(given),
        lambda: tasks.from_dataset({"text": [], "label": []}, text=given),
    ]
    for ask in asks:
        with pytest.raises((aw.AttnWidgetError, traitlets.TraitError)) as told:
            ask()
        assert len(str(told.value)) <= 2 * MAX_CHARACTERS


def claims(folder: Path, **sizes: int) -> Path:
    """A folder whose configuration claims other sizes than its weights have."""
    model, tokenizer = build("bert")
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, **sizes}))
    return folder


@pytest.mark.parametrize(
    ("sizes", "said"),
    [
        ({"num_hidden_layers": 1_000_000}, "num_hidden_layers 1000000, expected 1 to 1,000"),
        ({"num_hidden_layers": 0}, "num_hidden_layers 0, expected 1 to 1,000"),
        ({"vocab_size": 10**12}, "vocab_size 1000000000000, expected 1 to"),
        ({"hidden_size": 90_000, "num_hidden_layers": 900}, "claims some .* weights"),
    ],
)
def test_a_folder_that_claims_too_much_is_refused_before_it_is_built(
    tmp_path: Path, sizes: dict[str, int], said: str
) -> None:
    with pytest.raises(ModelLoadError, match=said):
        aw.load(claims(tmp_path, **sizes), progress=False)


FULL = """
import resource, signal, sys
import attn_widget as aw
from attn_widget.errors import InputError
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
profile = aw.Profile.load(sys.argv[1])
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
try:
    profile.save(sys.argv[2])
except InputError as error:
    print(error)
"""


def test_a_profile_that_does_not_fit_on_the_disk_leaves_the_old_one(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    old, new = tmp_path / "old.parquet", tmp_path / "new.parquet"
    found = aw.profile([TEXT], tagger=None, progress=False)
    found.save(old)
    new.write_text("what was there")
    done = subprocess.run(
        [sys.executable, "-c", FULL, str(old), str(new)],
        capture_output=True, text=True, cwd=ROOT, check=True,
    )  # fmt: skip
    assert "new.parquet' cannot be written: File too large" in done.stdout
    assert new.read_text() == "what was there"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["new.parquet", "old.parquet"]
    with pytest.raises(InputTypeError, match="path is a int"):
        found.save(5)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="does not exist"):
        found.save(tmp_path / "nowhere" / "p.parquet")


def test_pickling_says_why_not_and_what_instead(analysis: aw.Analysis) -> None:
    widget = aw.AttentionWidget(analysis)
    profile = aw.profile([TEXT], tagger=None, progress=False)
    assert analysis.run is not None
    for held in (analysis, widget, analysis.run.encoder, analysis.sentences, aw.show(profile)):
        for how in (pickle.dumps, copy.copy, copy.deepcopy):
            with pytest.raises(InputTypeError, match="can be neither pickled nor copied: ") as told:
                how(held)
            assert told.value.hint
    widget.close()
    again = pickle.loads(pickle.dumps(profile))
    assert (again.mean["self"] == profile.mean["self"]).all()


def test_errors_can_be_pickled() -> None:
    error = pickle.loads(pickle.dumps(InputError("what was given", "what to do")))
    assert (error.message, error.hint) == ("what was given", "what to do")


WITHOUT_TORCH = """
import sys
class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("torch", "transformers", "tokenizers"):
            raise ImportError(name)
sys.meta_path.insert(0, Missing())
import numpy as np
import attn_widget as aw
given = aw.from_attentions(np.full((2, 2, 4, 4), 0.25), ["[CLS]", "hello", "world", "[SEP]"])
widget = aw.AttentionWidget(given)
widget.to_html(sys.argv[1])
assert len(widget.as_html()) > 10_000 and len(widget.to_dataframe()) == 16
widget._repr_mimebundle_()
aw.to_html([widget, widget], sys.argv[1])
"""


def test_tensors_from_outside_are_shown_and_saved_without_torch(tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    subprocess.run([sys.executable, "-c", WITHOUT_TORCH, str(page)], check=True, cwd=ROOT)
    assert page.stat().st_size > 100_000

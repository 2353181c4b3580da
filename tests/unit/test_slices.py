"""Slices say what the analysis says, for every kind of model; what one lacks is refused in words."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import cache
from typing import Any

import numpy as np
import pytest
import transformers as tf

import attn_widget as aw
from attn_widget.analysis import Analysis
from attn_widget.errors import SliceError
from attn_widget.figures.hidden import residual_bars, sinusoidal_positions
from attn_widget.model.tokens import Token
from attn_widget.protocol import answer as protocol
from attn_widget.protocol.paint import token_columns
from attn_widget.protocol.request import integer, optional, span
from attn_widget.protocol.selection import MIXINGS
from attn_widget.protocol.slices import attention as slices
from attn_widget.protocol.slices.inside import EMBEDDINGS, HEAD, LAYER, TENSORS
from tests.unit import tiny_models

TEXT = "The cat sat on the mat. It didn't rain, so Dr. Smith's dog slept!"
MODELS = ("embedded", "albert", "modernbert", "distilbert")


def given_tensors() -> Analysis:
    rng = np.random.default_rng(0)
    weights = rng.dirichlet(np.ones(8), size=(3, 2, 8)).astype(np.float32)
    tokens = ["[CLS]", "the", "cat", "sat", ".", "it", "purred", "[SEP]"]
    return aw.from_attentions(list(weights), tokens, text="The cat sat. It purred")


@cache
def made(kind: str) -> Analysis:
    if kind == "tensors":
        return given_tensors()
    model = None if kind == "embedded" else tiny_models.build(kind)
    return aw.analyze(TEXT, model=model, progress=False)


@pytest.fixture(params=[*MODELS, "tensors"])
def analysis(request: pytest.FixtureRequest) -> Analysis:
    return made(request.param)


@pytest.fixture(params=MODELS)
def of_model(request: pytest.FixtureRequest) -> Analysis:
    return made(request.param)


def reply_to(analysis: Analysis, **request: Any) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """The reply, and its arrays as the page reads them."""
    reply, buffers = protocol.answer(analysis, request)
    assert "bug" not in reply.get("hint", ""), reply
    arrays = {
        entry["name"]: np.frombuffer(buffer, dtype=entry["dtype"]).reshape(entry["shape"])
        for entry, buffer in zip(reply.get("arrays", []), buffers, strict=True)
    }
    return reply, arrays


def ask(analysis: Analysis, **request: Any) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    reply, arrays = reply_to(analysis, **request)
    assert reply["ok"], reply
    return reply["data"], arrays


Passes = Callable[[Analysis], list[int]]


@pytest.fixture
def passes_of() -> Iterator[Passes]:
    """Counts forward passes from now on: a list that gets the batch size of each."""
    with ExitStack() as stack:

        def count(analysis: Analysis) -> list[int]:
            assert analysis.run is not None
            passes: list[int] = []

            def note(_module: Any, args: Any, kwargs: Any) -> None:
                passes.append(len(args[0] if args else kwargs["input_ids"]))

            base = analysis.run.encoder.model.base_model
            stack.callback(base.register_forward_pre_hook(note, with_kwargs=True).remove)
            return passes

        yield count


def equal(found: np.ndarray, expected: Any) -> None:
    np.testing.assert_array_equal(found, np.asarray(expected))


def test_what_attention_carries_is_that_of_the_analysis(of_model: Analysis) -> None:
    for kind in MIXINGS:
        matrix = ask(of_model, kind="mixing", quantity=kind, layer=1)[1]["weights"]
        equal(matrix, of_model.mixing(kind, 1))
        rolled = ask(of_model, kind="mixing_rollout", quantity=kind, layer=1, rows=[1, 3])
        equal(rolled[1]["weights"], of_model.mixing_rollout(kind, 1)[1:3])
    _, arrays = ask(of_model, kind="mixing", quantity="norms", layer=1, head=2, rows=[0, 2])
    equal(arrays["weights"], of_model.mixing("norms", 1, 2)[:2])
    lengths = ask(of_model, kind="value_lengths", layer=1)[1]["lengths"]
    np.testing.assert_allclose(
        of_model.attention(1, 2)[:2] * lengths[2], arrays["weights"], rtol=1e-6
    )
    ratio = ask(of_model, kind="mixing", quantity="mixing", layer=1)[1]["ratio"]
    equal(ratio, of_model.mixing_ratio(1))


def test_a_pair_closes_its_sum(of_model: Analysis) -> None:
    data, arrays = ask(of_model, kind="mixing_pair", layer=1, query=2, key=1)
    whole = data["key"] + data["others"] + data["bias"] + data["shift"]
    assert whole == pytest.approx(data["output"], rel=1e-4)
    assert data["length"] == pytest.approx(of_model.mixing("mixing", 1)[2, 1], rel=1e-4)
    assert np.linalg.norm(arrays["vector"]) == pytest.approx(data["length"], rel=1e-5)


def test_mixing_of_the_wrong_kind_is_refused(of_model: Analysis) -> None:
    said, _ = protocol.answer(
        of_model, {"kind": "mixing", "quantity": "alti", "layer": 1, "head": 0}
    )
    assert not said["ok"] and "quantity of a layer" in said["error"]
    said, _ = protocol.answer(of_model, {"kind": "mixing", "quantity": "weights", "layer": 1})
    assert not said["ok"] and "norms" in said["hint"]


def test_rollout_flow_and_layer_change_are_those_of_the_analysis(analysis: Analysis) -> None:
    last = analysis.n_layers - 1
    equal(ask(analysis, kind="rollout", layer=last)[1]["weights"], analysis.rollout())
    _, arrays = ask(analysis, kind="rollout", layer=0, rows=[1, 3])
    equal(arrays["weights"], analysis.rollout(0)[1:3])
    equal(ask(analysis, kind="flow", token=2)[1]["flow"], analysis.flow(2))
    equal(ask(analysis, kind="layer_change")[1]["change"], analysis.layer_change)


def test_a_number_is_taken_from_the_first_to_the_last_and_no_further() -> None:
    for value in (2, 3, 4):
        assert integer({"layer": value}, "layer", 2, 5) == value
    for value in (1, 5):
        with pytest.raises(SliceError, match=f"layer {value} is out of range") as caught:
            integer({"layer": value}, "layer", 2, 5)
        assert caught.value.hint == "Allowed: 2 to 4."
    assert optional({"head": 0}, "head", 3) == 0
    assert optional({}, "head", 3) is None


def test_rows_are_a_span_that_is_not_empty() -> None:
    assert span({}, "rows", 8) == slice(0, 8)
    assert span({"rows": [0, 8]}, "rows", 8) == slice(0, 8)
    assert span({"rows": (7, 8)}, "rows", 8) == slice(7, 8)
    for given, allowed in (([3, 3], "4 to 8"), ([3, 9], "4 to 8"), ([8, 9], "0 to 7")):
        with pytest.raises(SliceError) as caught:
            span({"rows": given}, "rows", 8)
        assert caught.value.hint == f"Allowed: {allowed}."
    for given in ("01", [1], [1, 2, 3], {"start": 1}):
        with pytest.raises(SliceError, match="must be"):
            span({"rows": given}, "rows", 8)


def test_the_first_of_everything_can_be_asked_for_and_nothing_before_it() -> None:
    analysis = made("embedded")
    ask(analysis, kind="predictions", top_k=1)
    ask(analysis, kind="predictions", top_k=slices.MAX_TOP_K)
    ask(analysis, kind="drill", a=0, b=0, aggregation="mass")
    ask(analysis, kind="tensor", name="hidden", layer=0)
    for request in (
        {"kind": "predictions", "top_k": slices.MAX_TOP_K + 1},
        {"kind": "drill", "a": -1, "b": 0, "aggregation": "mass"},
        {"kind": "tensor", "name": "hidden", "layer": -1},
        {"kind": "tensor", "name": "hidden", "layer": analysis.n_layers + 1},
    ):
        assert "out of range" in reply_to(analysis, **request)[0]["error"], request


def test_a_list_of_ids_may_be_as_long_as_it_says_and_no_longer() -> None:
    analysis = made("embedded")
    most = [1] * slices.MAX_TOKEN_IDS
    ask(analysis, kind="softmax", position=1, token_ids=most)
    for ids in ([*most, 1], "12", 3):
        reply, _ = reply_to(analysis, kind="softmax", position=1, token_ids=ids)
        assert reply["error"] == "token_ids must be a list of at most 1000 ids."


def test_before_each_token_stands_the_text_since_the_token_before() -> None:
    tokens = (
        Token("[CLS]", 0, 0, 0, special=True),
        Token("a", 1, 1, 2),
        Token("cat", 2, 4, 7),
        Token("at", 3, 5, 7),  # lies inside the token before
        Token("[SEP]", 4, 0, 0, special=True),
        Token("it", 5, 2, 4, segment=1),
    )
    columns = token_columns(tokens, " a  cat", "..it")
    assert columns["before"] == ["", " ", "  ", "", "", ".."]


def test_flow_that_would_take_minutes_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    analysis = given_tensors()
    monkeypatch.setattr(slices, "MAX_FLOW_EDGES", 3 * 8 * 8 - 1)
    reply, _ = reply_to(analysis, kind="flow", token=1)
    assert "3 layers of 8 tokens" in reply["error"]
    assert "Rollout answers" in reply["hint"]


def test_specializations_come_raw_scaled_and_as_z_scores(analysis: Analysis) -> None:
    data, arrays = ask(analysis, kind="specialization")
    found = analysis.specialization
    assert data["keys"] == list(found.raw)
    assert data["reasons"] == found.reasons
    for key in data["keys"]:
        equal(arrays[f"raw:{key}"], found.raw[key])
        equal(arrays[f"scaled:{key}"], found.scaled()[key])
        equal(arrays[f"z:{key}"], found.zscores()[key])
        chance = data["chance"][key]
        assert chance is None or chance == pytest.approx(found.chance[key])
        assert (chance is None) == bool(np.isnan(found.chance[key]))
        assert key in data["reasons"] or np.isfinite(arrays[f"raw:{key}"]).any()


def test_roles_are_those_of_the_analysis(analysis: Analysis) -> None:
    data, arrays = ask(analysis, kind="roles", seed=1)
    found = analysis.roles(1)
    equal(arrays["labels"], found.labels)
    equal(arrays["layout"], found.layout)
    equal(arrays["centroids"], found.centroids)
    assert (data["names"], data["axes"]) == (list(found.names), list(found.axes))
    assert data["silhouettes"].keys() == {str(k) for k in found.silhouettes}
    assert data["seed"] == 1


@pytest.mark.parametrize("aggregation", ["mass", "max"])
@pytest.mark.parametrize("of", [{}, {"layer": 1}, {"head": 0}, {"layer": 1, "head": 0}])
def test_sentences_and_their_drill_down_are_those_of_the_analysis(
    analysis: Analysis, aggregation: Any, of: dict[str, int]
) -> None:
    data, arrays = ask(analysis, kind="sentences", aggregation=aggregation, **of)
    found = analysis.sentences
    size = len(found)
    assert data["texts"] == list(found.texts) and size > 1
    assert data["tokens"] == [list(tokens) for tokens in found.tokens]
    equal(arrays["matrix"], found.matrix(aggregation, **of))
    if aggregation == "mass":
        np.testing.assert_allclose(arrays["matrix"].sum(axis=1) + arrays["elsewhere"], 1, atol=1e-5)
    else:
        for a in range(size):
            for b in range(size):
                one = found.witness(a, b, **of)
                seen = tuple(
                    int(arrays[f"witness_{name}"][a, b])
                    for name in ("layer", "head", "query", "key")
                )
                assert seen == (one.layer, one.head, one.query, one.key)
    _, opened = ask(analysis, kind="drill", aggregation=aggregation, a=0, b=1, **of)
    expected = found.drill(0, 1, aggregation, **of)
    equal(opened["weights"], expected.weights)
    equal(opened["queries"], expected.queries)
    equal(opened["keys"], expected.keys)
    cell = opened["weights"].sum(axis=1).mean()
    if aggregation == "max":
        cell = opened["weights"].max()
    assert arrays["matrix"][0, 1] == pytest.approx(cell, rel=1e-5)


def test_the_first_token_of_the_last_six_layers(analysis: Analysis) -> None:
    for head in (0, "mean"):
        data, arrays = ask(analysis, kind="first_token", head=head)
        layers = list(range(analysis.n_layers))[-6:]
        assert data["layers"] == layers
        equal(arrays["weights"], [analysis.attention(layer, head)[0] for layer in layers])


def test_every_tensor_is_the_one_of_the_analysis_or_is_refused_with_the_reason_that_architecture_gives(
    of_model: Analysis,
) -> None:
    data, _ = ask(of_model, kind="architecture")
    assert data["tensors"].keys() == set(TENSORS)
    for name in TENSORS:
        reply, arrays = reply_to(of_model, kind="tensor", name=name, layer=1, head=2)
        why = data["tensors"][name]
        assert reply["ok"] is (why is None)
        if why is not None:
            assert reply["error"] == why
            continue
        expected = tensor_of(of_model, name)
        equal(arrays["tensor"], expected)
        assert reply["data"]["shape"] == list(expected.shape)
        part, cut = ask(
            of_model, kind="tensor", name=name, layer=1, head=2, rows=[1, 3], cols=[0, 2]
        )
        equal(cut["tensor"], expected[1:3, 0:2])
        assert part["shape"] == list(expected.shape)


def tensor_of(analysis: Analysis, name: str) -> Any:
    if name in EMBEDDINGS:
        return getattr(analysis.embeddings, name)
    if name in LAYER:
        return getattr(analysis.inside(1), name)
    if name in HEAD:
        ask_for = {"query": analysis.queries, "key": analysis.keys, "value": analysis.values}
        return {**ask_for, "head_output": analysis.trace.head_output}[name](1, 2)
    if name == "hidden":
        return analysis.hidden_states[1]
    table = analysis.positions
    return table if name == "position_table" else sinusoidal_positions(*table.shape)


def test_paths_and_residuals_are_those_of_the_analysis(of_model: Analysis) -> None:
    _, arrays = ask(of_model, kind="hidden_path")
    for name in ("norms", "cosines", "points", "explained"):
        equal(arrays[name], getattr(of_model.hidden_path, name))
    _, arrays = ask(of_model, kind="residuals")
    equal(arrays["attention"], of_model.residuals.attention)
    equal(arrays["ffn"], of_model.residuals.ffn)


@pytest.mark.parametrize(
    "kind", ["hidden_path", "residuals", "architecture", "predictions", "next_sentence"]
)
def test_what_needs_the_model_is_refused_for_tensors_with_what_to_do(kind: str) -> None:
    reply, _ = reply_to(made("tensors"), kind=kind)
    assert reply["ok"] is False
    assert reply["hint"] == "Use analyze(text, model=...)."


def test_the_sizes_of_the_model_are_its_own(of_model: Analysis) -> None:
    data, _ = ask(of_model, kind="architecture")
    encoder = of_model.run.encoder
    total = sum(parameter.numel() for parameter in encoder.model.parameters())
    assert data["parameters"]["total"] == total
    part, _ = ask(of_model, kind="tensor", name="ffn_activation", layer=0, rows=[0, 1])
    assert data["sizes"] == {
        "hidden": of_model.hidden_states.shape[-1],
        "intermediate": part["shape"][1],
        "head_dim": of_model.queries(0, 0).shape[1],
        "vocabulary": of_model.vocab_size,
        "max_length": encoder.max_length,
    }
    assert data["pre_norm"] is (encoder.family.name == "modernbert")
    assert data["activation"].startswith("gelu")


def test_architecture_does_not_run_the_model(passes_of: Passes) -> None:
    analysis = aw.analyze(TEXT, model=tiny_models.build("bert"), tagger=None, progress=False)
    passes = passes_of(analysis)
    ask(analysis, kind="architecture")
    assert passes == []


@pytest.mark.parametrize("family", tiny_models.FAMILIES)
def test_residuals_take_one_pass_and_are_those_of_every_layer(
    family: str, passes_of: Passes
) -> None:
    analysis = aw.analyze(TEXT, model=tiny_models.build(family), tagger=None, progress=False)
    passes = passes_of(analysis)
    found = analysis.residuals
    assert passes == [1]
    for layer in range(analysis.n_layers):
        attention, ffn = residual_bars(analysis.inside(layer))
        equal(found.attention[layer], attention)
        equal(found.ffn[layer], ffn)


def test_the_parts_of_a_few_layers_are_kept() -> None:
    analysis = aw.analyze("the cat sat", tagger=None, progress=False)
    first = analysis.inside(0)
    assert analysis.inside(0) is first
    for layer in range(analysis.n_layers):
        analysis.inside(layer)
    assert len(analysis._layers) < analysis.n_layers
    np.testing.assert_array_equal(analysis.inside(0).ffn_norm, first.ffn_norm)


def test_masked_predictions_by_rows_are_those_of_all_at_once_and_are_not_computed_again(
    monkeypatch: pytest.MonkeyPatch, passes_of: Passes
) -> None:
    monkeypatch.setattr("attn_widget.trace.run.MASKED_TOKENS_AT_ONCE", 60)
    whole = aw.analyze(TEXT, progress=False).predictions(top_k=5, mode="masked")
    analysis = aw.analyze(TEXT, progress=False)
    n = analysis.n_tokens
    passes = passes_of(analysis)
    parts: dict[str, list[np.ndarray]] = {}
    for start in range(0, n, 5):
        rows = [start, min(start + 5, n)]
        data, arrays = ask(analysis, kind="predictions", mode="masked", rows=rows)
        assert len(arrays["prediction_ids"]) == rows[1] - rows[0]
        assert {str(i) for i in arrays["prediction_ids"].ravel()} == data["vocabulary"].keys()
        for name, array in arrays.items():
            parts.setdefault(name, []).append(array)
    assert sum(passes) == n
    joined = {name: np.concatenate(arrays) for name, arrays in parts.items()}
    _, arrays = ask(analysis, kind="predictions", mode="masked")
    assert sum(passes) == n
    for name, array in arrays.items():
        equal(joined[name], array)
    equal(arrays["prediction_ids"], whole.ids)
    np.testing.assert_allclose(arrays["prediction_logits"], whole.logits, atol=1e-4)
    np.testing.assert_allclose(arrays["log_sum_exp"], whole.log_sum_exp, atol=1e-4)
    equal(arrays["original_rank"], whole.original_rank)
    _, fewer = ask(analysis, kind="predictions", mode="masked", top_k=2)
    _, more = ask(analysis, kind="predictions", mode="masked", top_k=20)
    assert sum(passes) == n
    equal(fewer["prediction_ids"], more["prediction_ids"][:, :2])


def test_masked_predictions_can_be_canceled_and_go_on_where_they_were(
    monkeypatch: pytest.MonkeyPatch, passes_of: Passes
) -> None:
    monkeypatch.setattr("attn_widget.trace.run.MASKED_TOKENS_AT_ONCE", 60)
    analysis = aw.analyze(TEXT, progress=False)
    passes = passes_of(analysis)

    def stop(done: int, n: int) -> None:
        assert n == analysis.n_tokens
        if done >= 4:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        analysis.predictions(mode="masked", progress=stop)
    assert 0 < sum(passes) < analysis.n_tokens
    analysis.predictions(mode="masked")
    assert sum(passes) == analysis.n_tokens


def test_predictions_as_is_come_by_rows_too(of_model: Analysis) -> None:
    _, arrays = ask(of_model, kind="predictions", rows=[2, 4], top_k=3)
    whole = of_model.predictions(top_k=3)
    equal(arrays["prediction_ids"], whole.ids[2:4])
    np.testing.assert_allclose(
        arrays["original_probability"], whole.original_probability[2:4], rtol=1e-6
    )  # a batch of another size


@pytest.mark.parametrize(
    ("head", "task", "columns"),
    [
        ("ForSequenceClassification", "sequence", 3),
        ("ForTokenClassification", "token", 3),
        ("ForQuestionAnswering", "question_answering", 2),
    ],
)
def test_classes_come_with_their_softmax_opened_up(head: str, task: str, columns: int) -> None:
    model, tokenizer = tiny_models.build("distilbert", head, num_labels=columns)
    analysis = aw.analyze(TEXT, model=(model, tokenizer), tagger=None, progress=False)
    data, arrays = ask(analysis, kind="classification")
    assert data["task"] == task
    assert len(data["labels"]) == columns
    axis = 0 if task == "question_answering" else 1
    rows = 1 if task == "sequence" else analysis.n_tokens
    assert arrays["logits"].shape == arrays["exp"].shape == (rows, columns)
    equal(arrays["logits"], np.asarray(analysis.trace.classifier_logits).reshape(rows, columns))
    np.testing.assert_allclose(arrays["exp"].sum(axis=axis), arrays["sum"], rtol=1e-5)
    np.testing.assert_allclose(
        arrays["exp"] / np.expand_dims(arrays["sum"], axis), arrays["probabilities"], rtol=1e-5
    )
    reply, _ = reply_to(analysis, kind="predictions")
    assert "no masked-LM head" in reply["error"]


def test_a_model_without_a_classifier_or_next_sentence_head_says_so(analysis: Analysis) -> None:
    for kind in ("classification", "next_sentence"):
        reply, _ = reply_to(analysis, kind=kind)
        assert reply["ok"] is False and reply["error"]


def test_the_next_sentence_is_opened_up() -> None:
    model = tiny_models.build("bert", "ForPreTraining")
    analysis = aw.analyze("It rains.", "Take a coat.", model=model, tagger=None, progress=False)
    data, arrays = ask(analysis, kind="next_sentence")
    assert data["labels"] == ["is next", "is not next"]
    np.testing.assert_allclose(arrays["probabilities"].sum(), 1, rtol=1e-6)
    equal(arrays["logits"][0], analysis.trace.nsp_logits)


def test_an_unknown_family_says_why_its_inside_is_not_shown() -> None:
    model = tf.RoFormerModel(tf.RoFormerConfig(**tiny_models.SMALL)).eval()
    pair = (model, tiny_models.tokenizer("wordpiece"))
    analysis = aw.analyze("the cat sat", model=pair, tagger=None, progress=False)
    for request in ({"kind": "architecture"}, {"kind": "residuals"},
                    {"kind": "tensor", "name": "token"},
                    {"kind": "tensor", "name": "ffn_norm", "layer": 0}):  # fmt: skip
        reply, _ = reply_to(analysis, **request)
        assert "roformer keeps its layers is not known" in reply["error"]
    equal(ask(analysis, kind="hidden_path")[1]["norms"], analysis.hidden_path.norms)


def test_one_sentence_or_none_is_a_matrix_with_a_note() -> None:
    one = aw.analyze("the cat", tagger=None, progress=False)
    data, arrays = ask(one, kind="sentences", aggregation="max")
    assert arrays["matrix"].shape == arrays["witness_query"].shape == (1, 1)
    assert "one sentence" in data["note"]
    none = aw.from_attentions(np.ones((1, 1, 1, 1)), ["[CLS]"], tagger=None)
    for aggregation in ("mass", "max"):
        data, arrays = ask(none, kind="sentences", aggregation=aggregation)
        assert arrays["matrix"].shape == (0, 0)
        assert data["note"] == "No sentence was found in the text."


def test_one_layer_has_no_change() -> None:
    given = aw.from_attentions(np.full((1, 1, 3, 3), 1 / 3), ["a", "b", "c"], tagger=None)
    assert ask(given, kind="layer_change")[1]["change"].shape == (0,)


def test_errors_stay_short_whatever_they_repeat() -> None:
    given = given_tensors()
    for request in ({"kind": "metrics", "tau": "x" * 10**6}, {"kind": "x" * 10**6},
                    {"kind": "sentences", "aggregation": ["x"] * 10**5},
                    {"kind": "tensor", "name": "y" * 10**6}):  # fmt: skip
        reply, _ = reply_to(given, **request)
        assert reply["ok"] is False
        assert len(reply["error"]) + len(reply["hint"]) < 1100

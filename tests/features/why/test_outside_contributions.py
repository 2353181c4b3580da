"""Contributions from elsewhere: a row of Why, tested like ours, and our rows in the form of other libraries."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
import traitlets

import attn_widget as aw
from attn_widget.analysis import Analysis
from attn_widget.errors import InputError, InputTypeError, NotAvailableError
from attn_widget.features.why.methods import METHODS
from attn_widget.page.saved_run import saved_run
from attn_widget.page.spec import PageSpec
from attn_widget.protocol.answer import answer
from attn_widget.protocol.pack import unpack
from attn_widget.protocol.run_source import RunSource
from tests.close import assert_close
from tests.unit import tiny_models
from tests.unit.test_decoders import analysis as decoder_run

captum_attr = pytest.importorskip("captum.attr")
captum_visualization = captum_attr.visualization

TEXT = "The keys to the cabinet are here."
N = 10
TARGET = aw.target(position=6, token="are", against="is", masked=True)
OTHER = aw.target(position=6, token="are", masked=True)
PLAIN: dict[str, Any] = {"position": 6, "token": 2024, "against": 2003, "masked": True}


@pytest.fixture(scope="module")
def analysis() -> Analysis:
    return aw.analyze(TEXT, progress=False)


@pytest.fixture(scope="module")
def own(analysis: Analysis) -> np.ndarray:
    return analysis.why.contributions(TARGET, "occlusion").values


def test_captums_gradient_x_input_is_our_row_and_passes_the_same_test() -> None:
    model, tokenizer = tiny_models.build("bert", "ForSequenceClassification", num_labels=2)
    a = aw.analyze("the cat sat on the mat", model=(model, tokenizer), tagger=None, progress=False)
    number = aw.target(label=1, against=0)
    assert a.run is not None
    inputs = a.run.encoding.inputs

    def difference(ids: torch.Tensor) -> torch.Tensor:
        others = {name: tensor for name, tensor in inputs.items() if name != "input_ids"}
        logits = model(input_ids=ids, **others).logits
        return logits[:, 1] - logits[:, 0]

    captum = captum_attr.LayerGradientXActivation(difference, model.bert.embeddings)
    by_token = captum.attribute(inputs["input_ids"]).sum(-1)[0]  # pyright: ignore[reportAttributeAccessIssue]
    b = a.why.with_contributions({"captum": by_token}, number)
    ours, theirs = (b.why.contributions(number, name) for name in ("gradient_x_input", "captum"))
    assert_close(theirs.values, ours.values, **tiny_models.SUMS, size=ours.values)
    assert theirs.signed and (theirs.value, theirs.probability) == (ours.value, ours.probability)
    tested = b.why.faithfulness(number, ["gradient_x_input", "captum"])
    assert tested.tests["captum"] == tested.tests["gradient_x_input"]
    assert np.isfinite(tested.tests["captum"].percentile)
    assert tested.curves["captum"].comprehensiveness == tested.curves["gradient_x_input"].comprehensiveness  # fmt: skip
    assert b.why.agreement(number, ["gradient_x_input", "captum"]).rho[0, 1] == pytest.approx(1)


def test_a_decoders_run_takes_them_too() -> None:
    a = decoder_run("gpt2")
    number = aw.target(position=a.trace.n_tokens - 1, token=17)
    ours = a.why.contributions(number, "occlusion").values
    b = a.why.with_contributions({"elsewhere": ours}, number)
    tested = b.why.faithfulness(number, ["occlusion", "elsewhere"])
    assert tested.tests["elsewhere"] == tested.tests["occlusion"]


def test_they_are_methods_of_this_run_alone(analysis: Analysis, own: np.ndarray) -> None:
    b = analysis.why.with_contributions({"shap": own.tolist()}, TARGET)
    assert b.why.methods == (*METHODS, "shap") and analysis.why.methods == METHODS
    np.testing.assert_array_equal(b.why.contributions(TARGET, "shap").values, own)
    by_ids = aw.target(**PLAIN)
    assert b.why.contributions(by_ids, "shap").target == by_ids
    assert list(b.why.faithfulness(TARGET).curves)[-1] == "shap"
    more = b.why.with_contributions({"captum": own, "third": own}, TARGET)
    assert more.why.methods == (*METHODS, "shap", "captum", "third")
    with pytest.raises(NotAvailableError, match="another target: are rather than is"):
        b.why.contributions(OTHER, "shap")
    assert "shap" not in b.why.faithfulness(OTHER).curves
    assert (
        "shap" not in b.mask([2]).why.methods and b.mask([2]).mask([]).why.methods == b.why.methods
    )
    with pytest.raises(InputError, match="expected one of"):
        analysis.why.contributions(TARGET, "shap")


def test_numbers_without_a_sign_are_compared_by_size(analysis: Analysis) -> None:
    sizes = np.abs(analysis.why.contributions(TARGET, "gradient_x_input").values)
    b = analysis.why.with_contributions({"sizes": sizes}, TARGET)
    assert not b.why.contributions(TARGET, "sizes").signed
    assert b.why.agreement(TARGET, ["gradient_x_input", "sizes"]).rho[0, 1] == pytest.approx(1)


class Explanation:
    """The fields of ``shap.Explanation`` that count."""

    def __init__(self, **fields: Any) -> None:
        self.__dict__.update(fields)


def test_every_row_goes_out_as_an_explanation_of_shap_and_comes_back(analysis: Analysis) -> None:
    for method in ("decomposition", "occlusion", "alti"):
        row = analysis.why.contributions(TARGET, method)
        out = row.to_shap()
        assert out["values"].shape == out["data"].shape == (10,)
        assert np.isfinite(out["values"]).all()
        assert out["base_values"] + out["values"].sum() == pytest.approx(row.value)
        assert "".join(out["data"][1:-1]) == f"{TEXT} "
        if row.bias is not None:
            assert out["base_values"] == pytest.approx(row.bias, abs=1e-3)
        back = analysis.why.with_contributions({"shap": Explanation(**out)}, TARGET)
        values = back.why.contributions(TARGET, "shap").values
        np.testing.assert_array_equal(values, np.nan_to_num(row.values))
        hidden = np.where(np.arange(N) == 6, "[MASK]", out["data"])  # as the model reads it
        assert analysis.why.with_contributions(
            {"shap": Explanation(**{**out, "data": hidden})}, TARGET
        )


def test_every_row_goes_out_as_a_record_of_captum_and_comes_back(analysis: Analysis) -> None:
    rows = {
        name: analysis.why.contributions(TARGET, name) for name in ("decomposition", "occlusion")
    }
    records = {
        name: captum_visualization.VisualizationDataRecord(**row.to_captum())
        for name, row in rows.items()
    }
    page = str(captum_visualization.visualize_text([*records.values()]).data)
    assert page.count("cabinet") == 2 and f"({rows['occlusion'].probability:.2f})" in page
    for name, record in records.items():
        values = np.nan_to_num(rows[name].values)
        assert np.abs(record.word_attributions).max() == 1
        assert record.attr_score == pytest.approx(values.sum(dtype=np.float64))
        back = analysis.why.with_contributions({"captum": record}, TARGET)
        assert_close(
            back.why.contributions(TARGET, "captum").values * np.abs(values).max(), values, terms=2
        )
    assert np.isnan(records["occlusion"].convergence_score)
    assert abs(records["decomposition"].convergence_score) < 1e-3


@pytest.mark.parametrize("method", METHODS)
def test_the_probability_of_a_row_is_that_of_the_masking_test(
    analysis: Analysis, method: str
) -> None:
    tested = analysis.why.faithfulness(TARGET, ["weights"])
    assert analysis.why.contributions(TARGET, method).probability == pytest.approx(
        tested.probability, rel=1e-5
    )


# -- what cannot be ---------------------------------------------------------------------------

GOOD = np.zeros(N)
HOLE = np.array([np.nan, *np.ones(4), np.nan, *np.ones(4)])


@pytest.mark.parametrize(
    ("contributions", "said"),
    [
        ({"shap": np.ones(8)}, "(8,), expected (10,)"),
        ({"shap": np.ones(8)}, "Put NaN at the tokens that the tokenizer added"),
        ({"shap": np.ones(7)}, "analysis.tokens] lists them"),
        ({"shap": np.ones((1, N))}, "values[0]"),
        ({"shap": np.ones((1, N, 384))}, "values[0]"),
        ({"shap": np.ones((N, 2))}, "Choose one output"),
        ({"shap": 3.0}, "the shape (), expected (10,)"),
        ({"shap": HOLE}, "holds nan at token 5 (cabinet)"),
        ({"shap": np.full(N, 1e300)}, "holds inf at token 0 ([CLS])"),
        ({"shap": [*GOOD[:-1], -np.inf]}, "holds -inf at token 9 ([SEP])"),
        ({"": GOOD}, "1 to 30 printable characters"),
        ({" shap": GOOD}, "without spaces around them"),
        ({"a\nb": GOOD}, "printable"),
        ({"\u202eshap": GOOD}, "printable"),
        ({"\ud800": GOOD}, "printable"),
        ({"x" * 31: GOOD}, "1 to 30"),
        ({"weights": GOOD}, "name of a row that is there already"),
        ({"Occlusion": GOOD}, "name of a row that is there already"),
        ({"random": GOOD}, "name of a row that is there already"),
        ({"shap": GOOD, "SHAP": GOOD}, "name of a row that is there already"),
        ({}, "0 entries, expected 1 to 10"),
        ({str(k): GOOD for k in range(11)}, "11 entries, expected 1 to 10"),
        ({"shap": Explanation(values=GOOD, data=["a"] * 9)}, "names 9 tokens, expected 10"),
        (
            {"shap": Explanation(values=GOOD, data=["", "The", "dogs", *[""] * 7])},
            "has 'dogs' as token 2, and this run has 'keys' there",
        ),
    ],
)
def test_values_that_are_not_of_this_run_are_refused_in_words(
    analysis: Analysis, contributions: Any, said: str
) -> None:
    with pytest.raises(InputError) as raised:
        analysis.why.with_contributions(contributions, TARGET)
    assert said in str(raised.value)


@pytest.mark.parametrize(
    ("contributions", "said"),
    [
        (GOOD, "expected a dict of names and values"),
        ([("shap", GOOD)], "expected a dict"),
        ({3: GOOD}, "is 3, expected a str"),
        ({"shap": ["a"] * N}, "expected numbers"),
        ({"shap": np.ones(N, bool)}, "holds bool, expected numbers"),
        ({"shap": np.ones(N, complex)}, "holds complex128, expected numbers"),
        ({"shap": None}, "holds object, expected numbers"),
        ({"shap": [[1], [1, 2]]}, "cannot be read as an array"),
    ],
)
def test_what_is_no_row_of_numbers_is_refused_in_words(
    analysis: Analysis, contributions: Any, said: str
) -> None:
    with pytest.raises(InputTypeError) as raised:
        analysis.why.with_contributions(contributions, TARGET)
    assert said in str(raised.value)


def test_without_a_target_or_a_model_there_is_nothing_that_they_are_about() -> None:
    weights = np.full((1, 1, 3, 3), 1 / 3)
    external = aw.from_attentions(weights, ["a", "b", "c"], tagger=None)
    with pytest.raises(NotAvailableError, match="no model"):
        aw.show(external, contributions={"shap": np.zeros(3)})
    a = aw.analyze("the cat", model=tiny_models.build("bert", "Model"), tagger=None, progress=False)
    with pytest.raises(aw.AttnWidgetError, match="proposes nothing"):
        aw.show(a, contributions={"shap": np.zeros(30)})
    with pytest.raises(InputTypeError, match="target"):
        a.why.with_contributions({"shap": np.zeros(3)}, None)  # pyright: ignore[reportArgumentType]


# -- the widget and its pages -----------------------------------------------------------------


def test_show_puts_them_into_why(analysis: Analysis, own: np.ndarray) -> None:
    w = aw.show(analysis, contributions={"shap": own}, target=TARGET, method="shap")
    assert (w.view, w.target, w.method) == ("why", PLAIN, "shap")
    meta, _ = unpack(w.first_paint)
    assert meta["outside"] == ["shap"]
    np.testing.assert_array_equal(w.to_dataframe()["contribution"].astype("float32"), own)
    reply, buffers = answer(w.analysis, {"kind": "contributions", "target": PLAIN, "method": "shap"})  # fmt: skip
    assert reply["data"]["names"] == ["are", "is"] and reply["data"]["gap"] is None
    np.testing.assert_array_equal(np.frombuffer(buffers[0], np.float32), own)
    asked = {"kind": "trust", "target": PLAIN, "methods": ["occlusion", "shap"]}
    first, second = answer(w.analysis, asked)[0]["data"]["tests"]
    assert first == second
    with pytest.raises(traitlets.TraitError, match="expected one of"):
        w.method = "magic"
    w.method = "weights"
    w.method = "shap"
    w.run("Another text stands here.")  # whose tokens have no such numbers
    assert w.method == "decomposition" and "outside" not in unpack(w.first_paint)[0]
    w.close()


def test_without_a_target_they_are_about_what_why_opens_on(own: np.ndarray) -> None:
    w = aw.show(TEXT, progress=False, view="tree", contributions={"shap": own})
    assert w.view == "tree"
    assert w.target is not None
    assert w.analysis.why.contributions(aw.target(**w.target), "shap").method == "shap"
    w.close()


def test_a_page_keeps_the_row_and_says_what_it_is_about(
    analysis: Analysis, own: np.ndarray
) -> None:
    b = analysis.why.with_contributions({"shap": own}, TARGET)
    saved = saved_run(RunSource(b), spec=PageSpec(why=[TARGET, OTHER])).snapshot
    meta, arrays = unpack(saved.chunks["paint"])
    assert meta["outside"] == ["shap"]
    rows = {
        str(one["request"]["target"]): one
        for one in meta["recorded"]
        if one["request"].get("method") == "shap"
    }
    kept = rows.pop(str(PLAIN))
    np.testing.assert_array_equal(arrays[kept["arrays"]["values"]], own)
    (other,) = rows.values()
    assert "another target: are rather than is" in other["data"]["refused"]["error"]
    tested = [one["request"]["methods"] for one in meta["recorded"] if one["request"]["kind"] == "trust"]  # fmt: skip
    assert tested == [[*METHODS, "shap"], [*METHODS]]

"""What the view Why asks: slices, work aside, the trait `target`, saved pages, the command line."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import traitlets

import attn_widget as aw
from attn_widget.__main__ import main
from attn_widget.analysis import Analysis
from attn_widget.analysis.influence.proposals import proposals
from attn_widget.errors import InputError, NotAvailableError
from attn_widget.influence.methods import METHODS
from attn_widget.page.saved_run import ExportOptions, saved_run
from attn_widget.protocol import aside as aside_room
from attn_widget.protocol.answer import answer
from attn_widget.protocol.aside import Aside
from attn_widget.protocol.handlers import SLOW
from attn_widget.protocol.pack import unpack
from attn_widget.protocol.run_source import RunSource
from attn_widget.protocol.selection import Selection
from tests.unit import tiny_models

TEXT = "The keys to the cabinet are here."
TARGET = aw.target(position=6, token="are", against="is", masked=True)
PLAIN: dict[str, Any] = {"position": 6, "token": 2024, "against": 2003, "masked": True}


@pytest.fixture(scope="module")
def analysis() -> Analysis:
    return aw.analyze(TEXT, progress=False)


def ask(analysis: Analysis, **request: Any) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    reply, buffers = answer(analysis, request)
    assert reply["ok"], reply
    arrays = {
        head["name"]: np.frombuffer(data, head["dtype"]).reshape(head["shape"])
        for head, data in zip(reply["arrays"], buffers, strict=True)
    }
    return reply["data"], arrays


def test_contributions_are_those_of_python(analysis: Analysis) -> None:
    for method in ("decomposition", "occlusion", "alti"):
        data, arrays = ask(analysis, kind="contributions", target=PLAIN, method=method)
        found = analysis.contributions(TARGET, method)
        np.testing.assert_array_equal(arrays["values"], found.values)
        assert data["value"] == found.value and data["bias"] == found.bias
        assert data["signed"] is found.signed
        assert data["names"] == ["are", "is"] and data["target"] == PLAIN


def test_words_and_ids_name_the_same_target(analysis: Analysis) -> None:
    by_id = aw.target(**PLAIN)
    assert analysis.contributions(TARGET).values is analysis.contributions(by_id).values
    assert analysis.contributions(TARGET).target == TARGET


def test_the_first_class_is_a_class_like_any_other() -> None:
    model = tiny_models.build("bert", "ForSequenceClassification", num_labels=2)
    a = aw.analyze("the cat", model=model, tagger=None, progress=False)
    for target in ({"label": 0}, {"against": 0, "label": 1}):
        data, _ = ask(a, kind="contributions", target=target, method="decomposition")
        assert data["target"] == target


def test_the_tests_of_methods_are_those_of_python(analysis: Analysis) -> None:
    methods = ["decomposition", "weights"]
    data, arrays = ask(analysis, kind="trust", target=PLAIN, methods=methods)
    found = analysis.faithfulness(TARGET, methods)
    for i, method in enumerate(methods):
        curve = found.curves[method]
        np.testing.assert_allclose(arrays["deleted"][i], curve.deleted, atol=1e-6)
        assert data["comprehensiveness"][i] == pytest.approx(curve.comprehensiveness)
    mean, low, high = found.band()
    assert data["random"] == pytest.approx(
        {"mean": mean, "low": low, "high": high, "orders": 5040, "drawn": False, "words": 7}
    )
    np.testing.assert_allclose(
        arrays["random"], [found.random.mean, found.random.low, found.random.high], atol=1e-6
    )
    for sent, test in zip(data["tests"], found.tests.values(), strict=True):
        assert sent["percentile"] == test.percentile and sent["better"] is test.better
    assert data["untestable"] is None
    rho = analysis.agreement(TARGET, methods).rho
    np.testing.assert_allclose(arrays["rho"], rho, atol=1e-6)


def test_a_single_method_has_nobody_to_agree_with(analysis: Analysis) -> None:
    _, arrays = ask(analysis, kind="trust", target=PLAIN, methods=["decomposition"])
    assert "rho" not in arrays and arrays["random"].shape == (3, len(arrays["shares"]))


def test_effects_of_heads_are_those_of_python(analysis: Analysis) -> None:
    data, arrays = ask(analysis, kind="head_effects", target=PLAIN)
    found = analysis.head_effects(TARGET)
    np.testing.assert_array_equal(arrays["effects"], found.effects)
    assert data["correlation"] == pytest.approx(found.correlation)


@pytest.mark.parametrize(
    ("request_", "said"),
    [
        ({"target": None}, "must be an object"),
        ({"target": {"where": 3}}, "no 'where'"),
        ({"target": {"position": 6}}, "no number of the model is named"),
        ({"target": {"position": 0, "token": 3}}, "which the tokenizer added"),
        ({"target": {"position": 99, "token": 3}}, "99"),
        ({"target": {"position": 6, "token": "xyzzyx"}}, "not one entry"),
        ({"target": {"label": 0}}, "no classifier"),
        ({"target": PLAIN, "method": "magic"}, "Known"),
    ],
)
def test_a_target_that_cannot_be_is_refused_in_words(
    analysis: Analysis, request_: dict[str, Any], said: str
) -> None:
    reply, _ = answer(analysis, {"kind": "contributions", "method": "decomposition", **request_})
    assert not reply["ok"] and said in f"{reply['error']} {reply['hint']}"


@pytest.mark.parametrize("methods", [None, [], ["magic"], "weights", ["weights"] * 11])
def test_methods_that_cannot_be_tested_are_refused(analysis: Analysis, methods: Any) -> None:
    reply, _ = answer(analysis, {"kind": "trust", "target": PLAIN, "methods": methods})
    assert not reply["ok"] and "Known" in reply["hint"]


# -- the logit lens ---------------------------------------------------------------------------


@pytest.mark.parametrize("family", ["bert", "roberta", "modernbert", "distilbert", "albert"])
def test_the_last_entry_of_the_lens_is_what_the_model_says(family: str) -> None:
    model = tiny_models.build(family, "ForMaskedLM")
    a = aw.analyze("the cat sat on the mat", model=model, tagger=None, progress=False)
    target = aw.target(position=2, token=17)
    lens = a.logit_lens(target)
    assert lens.values.shape == (a.n_layers + 1,)
    opened = a.softmax(2, token_ids=[17]).entries[0]
    assert lens.values[-1] == pytest.approx(opened["logit"], abs=1e-4)
    assert lens.probabilities[-1] == pytest.approx(opened["probability"], abs=1e-5)
    assert lens.ranks[-1] == opened["rank"]
    assert [record["layer"] for record in lens.to_records()] == list(range(a.n_layers + 1))
    assert len(lens.to_dataframe()) == a.n_layers + 1 and "LogitLens" in repr(lens)


def test_a_class_has_no_lens() -> None:
    model = tiny_models.build("bert", "ForSequenceClassification")
    a = aw.analyze("the cat", model=model, tagger=None, progress=False)
    with pytest.raises(NotAvailableError, match="not a word piece"):
        a.logit_lens(aw.target(label=0))


# -- proposals --------------------------------------------------------------------------------


def test_a_mask_is_what_one_asks_about_first() -> None:
    a = aw.analyze("The keys to the cabinet [MASK] here.", tagger=None, progress=False)
    (first,) = proposals(a)
    ids = a.predictions(top_k=2).ids[6].tolist()
    assert (first.position, first.token, first.against, first.masked) == (6, *ids, False)


def test_without_a_mask_it_is_the_last_word_of_the_first_sentence() -> None:
    a = aw.analyze("The cat sat on the mat. Then it slept", tagger=None, progress=False)
    (first,) = proposals(a)
    assert first.position == 6 and first.masked
    own = a.tokens[6].id
    likeliest = int(a.predictions(top_k=1, mode="masked").ids[6, 0])
    assert first.token == likeliest and (likeliest == own or first.against == own)


def test_a_classifier_proposes_its_two_likeliest_classes_and_a_pair_the_next_sentence() -> None:
    model = tiny_models.build("bert", "ForSequenceClassification", num_labels=3)
    a = aw.analyze("the cat", model=model, tagger=None, progress=False)
    (first,) = proposals(a)
    assert a.classification is not None
    order = np.argsort(-a.classification.logits).ravel().tolist()
    assert (first.label, first.against) == tuple(order[:2])
    pair = aw.analyze("the cat", "it sat", model=tiny_models.build("bert", "ForPreTraining"), tagger=None, progress=False)  # fmt: skip
    assert proposals(pair)[-1] == aw.target(next_sentence=True)


@pytest.mark.parametrize("text", ["[CLS]", ".", "a"])
def test_a_text_with_nothing_to_explain_has_few_proposals(text: str) -> None:
    a = aw.analyze(text, tagger=None, progress=False)
    for one in proposals(a):
        a.contributions(one)
    assert len(proposals(a)) <= 1


# -- aside ------------------------------------------------------------------------------------


def slowly(monkeypatch: pytest.MonkeyPatch, steps: int = 1000) -> threading.Event:
    """A kind ``tortoise`` that takes until it is dropped or has gone through its steps."""
    ended = threading.Event()

    def tortoise(_analysis: Any, _request: Any, progress: Any) -> Any:
        try:
            for step in range(steps):
                progress(step, steps)
                time.sleep(0.005)
        finally:
            ended.set()
        return {"steps": steps}, {}

    monkeypatch.setitem(SLOW, "tortoise", tortoise)
    monkeypatch.setattr(aside_room, "SOON_S", 0.05)
    return ended


def test_work_aside_tells_how_far_it_is_and_answers_once(
    analysis: Analysis, monkeypatch: pytest.MonkeyPatch
) -> None:
    slowly(monkeypatch, steps=40)
    aside, seen = Aside(), []
    while True:
        reply, _ = aside.answer(analysis, {"kind": "tortoise"})
        if reply["ok"]:
            break
        assert reply["later"] > 0
        seen.append(reply["progress"])
    assert reply["data"] == {"steps": 40}
    assert seen and seen[-1][1] == 40 and seen == sorted(seen)


def test_what_is_dropped_ends_and_the_kernel_answers_others_meanwhile(
    analysis: Analysis, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended = slowly(monkeypatch)
    aside = Aside()
    request = {"kind": "tortoise", "a": 1, "b": 2}
    assert "later" in aside.answer(analysis, request)[0]
    assert aside.answer(analysis, {"kind": "weights", "layer": 0, "head": 0})[0]["ok"]
    # The same question, with its words in another order.
    assert aside.answer(analysis, {"kind": "drop", "of": {"b": 2, "a": 1, "kind": "tortoise"}})[0]["ok"]  # fmt: skip
    assert ended.wait(10)


def test_a_closed_widget_and_too_many_questions_end_the_work(
    analysis: Analysis, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended = slowly(monkeypatch)
    aside = Aside()
    for number in range(aside_room.MOST + 1):
        aside.answer(analysis, {"kind": "tortoise", "number": number})
    assert ended.wait(10)  # the first one
    aside.close()
    assert all(not t.name.startswith("attn_widget aside") or not t.is_alive() or t.join(10) is None for t in threading.enumerate())  # fmt: skip
    assert not aside.answer(None, {"kind": "tortoise"})[0]["ok"]


def test_attention_can_be_asked_for_while_heads_are_switched_off() -> None:
    """The analysis is not locked by work that takes seconds."""
    a = aw.analyze(TEXT, tagger=None, progress=False)
    inside, leave = threading.Event(), threading.Event()

    def progress(_done: int, _total: int) -> None:
        inside.set()
        assert leave.wait(30)

    work = threading.Thread(target=a.head_effects, args=(TARGET,), kwargs={"progress": progress})
    work.start()
    assert inside.wait(30)
    assert a.attention(1, 1).shape == (10, 10)  # here, on another thread
    assert a.predictions(top_k=1).ids.shape == (10, 1)
    leave.set()
    work.join()


# -- the widget -------------------------------------------------------------------------------


def test_the_trait_takes_a_target_and_keeps_it_by_ids(analysis: Analysis) -> None:
    widget = aw.AttentionWidget(analysis, target=TARGET, view="why", method="occlusion")
    assert widget.target == PLAIN and aw.target(**PLAIN).token == 2024
    with pytest.raises(traitlets.TraitError, match="not one entry"):
        widget.target = aw.target(position=6, token="xyzzyx")
    with pytest.raises(traitlets.TraitError, match="which the tokenizer added"):
        widget.target = {"position": 0, "token": 3}
    with pytest.raises(traitlets.TraitError, match="no 'where'"):
        widget.target = {"where": 0}
    with pytest.raises(traitlets.TraitError):
        widget.method = "magic"
    assert widget.target == PLAIN  # the last good one
    rows = widget.to_dataframe()
    values = analysis.contributions(TARGET, "occlusion").values
    np.testing.assert_array_equal(rows["contribution"].astype("float32"), values)
    assert "position 6 token 2024 against 2003 masked" in str(widget.to_json())
    widget.close()


def test_another_text_has_its_own_target() -> None:
    widget = aw.show(TEXT, progress=False, target=TARGET)
    widget.masked = [2]
    assert widget.target == PLAIN  # the same text
    widget.run("Another text stands here.")
    assert widget.target is None
    widget.close()


# -- saved pages ------------------------------------------------------------------------------


def recorded(analysis: Analysis, **options: Any) -> list[dict[str, Any]]:
    saved = saved_run(RunSource(analysis), **options).snapshot
    meta, _ = unpack(saved.chunks["paint"])
    return [entry["request"] for entry in meta["recorded"]]


def test_a_page_keeps_what_was_asked_for_in_full(analysis: Analysis) -> None:
    asked = recorded(analysis, kept=ExportOptions(why=[TARGET]))
    methods = [one["method"] for one in asked if one["kind"] == "contributions"]
    assert methods == list(METHODS)
    assert {"kind": "trust", "target": PLAIN, "methods": methods} in asked
    assert {"kind": "head_effects", "target": PLAIN} in asked
    assert {"kind": "logit_lens", "target": PLAIN} in asked


def test_a_page_keeps_quick_answers_about_the_proposal_by_default(analysis: Analysis) -> None:
    asked = recorded(analysis)
    assert {"kind": "targets"} in asked and not any(one["kind"] == "trust" for one in asked)
    (proposal,) = proposals(analysis)
    targets = [one["target"] for one in asked if one["kind"] == "contributions"]
    assert targets and all(one["token"] == proposal.token for one in targets)
    chosen = recorded(analysis, selection=Selection(target=PLAIN))
    assert {"kind": "head_effects", "target": PLAIN} in chosen


def test_a_page_of_its_own_has_more_of_a_short_text_than_a_report(analysis: Analysis) -> None:
    own, reported = recorded(analysis), recorded(analysis, masked=False)
    more = [one for one in own if one not in reported]
    assert [one.get("method", one["kind"]) for one in more if "target" in one] == [
        "occlusion", "value_zeroing", "head_effects"
    ]  # fmt: skip


def test_a_page_without_anything_to_explain_has_no_such_tab() -> None:
    model = tiny_models.build("bert", "Model")
    a = aw.analyze("the cat", model=model, tagger=None, progress=False)
    saved = saved_run(RunSource(a)).snapshot
    assert "why" not in unpack(saved.chunks["paint"])[0]["snapshot"]["views"]


def test_what_cannot_be_explained_is_said_before_a_page_is_made(
    analysis: Analysis, tmp_path: Path
) -> None:
    widget = aw.AttentionWidget(analysis)
    with pytest.raises(InputError, match="which the tokenizer added"):
        widget.to_html(tmp_path / "a.html", why=[aw.target(position=0, token="are")])
    with pytest.raises(aw.AttnWidgetError, match="target"):
        widget.to_html(tmp_path / "a.html", why=["are"])  # pyright: ignore[reportArgumentType]
    assert not (tmp_path / "a.html").exists()
    widget.close()


# -- the command line -------------------------------------------------------------------------


def test_the_command_line_explains(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "why.html"
    text = "The keys to the cabinet [MASK] here."
    assert main([text, "--why", "[MASK]=are,is", "-o", str(path)]) == 0
    assert path.exists() and "wrote" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ("[MASK]", "is not a target"),
        ("moon=sun", "not a token of the text"),
        ("[MASK]=xyzzyx", "not one entry"),
        ("[MASK]=are,is,was", "is not a target"),
        ("class=good", "no classifier"),
        ("next", "next"),
    ],
)
def test_what_it_cannot_explain_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], written: str, said: str
) -> None:
    path = tmp_path / "why.html"
    assert main(["The keys [MASK] here.", "--why", written, "-o", str(path)]) == 2
    assert said in capsys.readouterr().err and not path.exists()


def test_it_goes_with_one_text_and_a_page(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["the cat", "--why", "cat=dog"])
    assert "--why goes with one text" in capsys.readouterr().err

"""What the view Why asks: slices, tasks, the trait `target`, saved pages, the command line."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import traitlets

import attn_widget as aw
from attn_widget.__main__ import main
from attn_widget.analysis import Analysis
from attn_widget.errors import InputError, NotAvailableError
from attn_widget.features.why.methods import METHODS
from attn_widget.features.why.proposals import proposals, telling_word
from attn_widget.features.why.recorded import targets_of
from attn_widget.language.function_words import FUNCTION_WORDS
from attn_widget.page.saved_run import saved_run
from attn_widget.page.spec import PageSpec
from attn_widget.protocol import tasks as tasks_room
from attn_widget.protocol.answer import answer
from attn_widget.protocol.handlers import HANDLERS, Handler
from attn_widget.protocol.pack import unpack
from attn_widget.protocol.run_source import RunSource
from attn_widget.protocol.selection import Selection
from attn_widget.protocol.tasks import Tasks
from tests.answers import ask
from tests.close import assert_close
from tests.unit import tiny_models
from tests.unit.test_levels_of_detail import modern

TEXT = "The keys to the cabinet are here."
TARGET = aw.target(position=6, token="are", against="is", masked=True)
PLAIN: dict[str, Any] = {"position": 6, "token": 2024, "against": 2003, "masked": True}


@pytest.fixture(scope="module")
def analysis() -> Analysis:
    return aw.analyze(TEXT, progress=False)


def test_contributions_are_those_of_python(analysis: Analysis) -> None:
    for method in ("decomposition", "occlusion", "alti"):
        data, arrays = ask(analysis, kind="contributions", target=PLAIN, method=method)
        found = analysis.why.contributions(TARGET, method)
        np.testing.assert_array_equal(arrays["values"], found.values)
        assert data["value"] == found.value and data["bias"] == found.bias
        assert data["signed"] is found.signed
        assert data["names"] == ["are", "is"] and data["target"] == PLAIN


def test_words_and_ids_name_the_same_target(analysis: Analysis) -> None:
    by_id = aw.target(**PLAIN)
    assert analysis.why.contributions(TARGET).values is analysis.why.contributions(by_id).values
    assert analysis.why.contributions(TARGET).target == TARGET


def test_the_first_class_is_a_class_like_any_other() -> None:
    model = tiny_models.build("bert", "ForSequenceClassification", num_labels=2)
    a = aw.analyze("the cat", model=model, tagger=None, progress=False)
    for target in ({"label": 0}, {"against": 0, "label": 1}):
        data, _ = ask(a, kind="contributions", target=target, method="decomposition")
        assert data["target"] == target


def test_the_tests_of_methods_are_those_of_python(analysis: Analysis) -> None:
    methods = ["decomposition", "weights"]
    data, arrays = ask(analysis, kind="trust", target=PLAIN, methods=methods)
    found = analysis.why.faithfulness(TARGET, methods)
    for i, method in enumerate(methods):
        curve = found.curves[method]
        assert_close(arrays["deleted"][i], curve.deleted, terms=1)
        assert data["comprehensiveness"][i] == pytest.approx(curve.comprehensiveness)
    mean, low, high = found.band()
    assert data["random"] == pytest.approx(
        {"mean": mean, "low": low, "high": high, "orders": 5040, "drawn": False, "words": 7}
    )
    assert_close(
        arrays["random"], [found.random.mean, found.random.low, found.random.high], terms=1
    )
    for sent, test in zip(data["tests"], found.tests.values(), strict=True):
        assert sent["percentile"] == test.percentile and sent["better"] is test.better
    assert data["untestable"] is None
    rho = analysis.why.agreement(TARGET, methods).rho
    assert_close(arrays["rho"], rho, terms=1)


def test_a_single_method_has_nobody_to_agree_with(analysis: Analysis) -> None:
    _, arrays = ask(analysis, kind="trust", target=PLAIN, methods=["decomposition"])
    assert "rho" not in arrays and arrays["random"].shape == (3, len(arrays["shares"]))


def test_effects_of_heads_are_those_of_python(analysis: Analysis) -> None:
    data, arrays = ask(analysis, kind="head_effects", target=PLAIN)
    found = analysis.why.head_effects(TARGET)
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
    lens = a.why.logit_lens(target)
    assert lens.values.shape == (a.trace.n_layers + 1,)
    opened = a.model.softmax(2, token_ids=[17]).entries[0]
    assert_close(lens.values[-1], opened["logit"], **tiny_models.RUN, size=a.trace.logits)
    assert_close(
        lens.probabilities[-1], opened["probability"], **tiny_models.SUMS, size=lens.values
    )
    assert lens.ranks[-1] == opened["rank"]
    assert [record["layer"] for record in lens.to_records()] == list(range(a.trace.n_layers + 1))
    assert len(lens.to_dataframe()) == a.trace.n_layers + 1 and "LogitLens" in repr(lens)


def test_a_class_has_no_lens() -> None:
    model = tiny_models.build("bert", "ForSequenceClassification")
    a = aw.analyze("the cat", model=model, tagger=None, progress=False)
    with pytest.raises(NotAvailableError, match="not a word piece"):
        a.why.logit_lens(aw.target(label=0))


# -- proposals --------------------------------------------------------------------------------


def test_a_mask_is_what_one_asks_about_first() -> None:
    a = aw.analyze("The keys to the cabinet [MASK] here.", tagger=None, progress=False)
    (first,) = proposals(a)
    ids = a.predictions(top_k=2).ids[6].tolist()
    assert (first.position, first.token, first.against, first.masked) == (6, *ids, False)


@pytest.mark.parametrize(
    ("text", "word", "names"),
    [
        # Content words both: never "are rather than is", nor "to rather than not".
        ("The cat sat on the mat.", "sat", ["sat", "fell"]),
        ("Paris is the capital of France.", "capital", ["capital", "centre"]),
        # The model expects another word: that one rather than the text's own.
        ("I never said she stole my money.", "said", ["knew", "said"]),
    ],
)
def test_without_a_mask_it_is_the_word_that_gains_most_from_the_text(
    text: str, word: str, names: list[str]
) -> None:
    a = aw.analyze(text, tagger=None, progress=False)
    (first,) = proposals(a)
    assert a.run is not None and first.masked
    assert first.position == [token.surface for token in a.tokens].index(word)
    assert a.run.encoder.token_texts([first.token, first.against]) == names  # type: ignore[list-item]


@pytest.mark.parametrize(
    "text", ["Meine Schwester liest jeden Abend ein altes Buch.", "Dog [MASK]s"]
)
def test_no_piece_is_proposed_where_the_model_expects_words_as_well(text: str) -> None:
    a = aw.analyze(text, tagger=None, progress=False)
    (first,) = proposals(a)
    assert a.run is not None and first.token is not None and first.against is not None
    for name in a.run.encoder.token_texts([first.token, first.against]):
        assert name.isalnum(), name


def test_the_most_telling_word_is_the_largest_gain_over_a_text_that_is_one_mask() -> None:
    a = aw.analyze("Paris is the capital of France.", tagger=None, progress=False)
    assert a.run is not None
    alone = aw.analyze("[MASK]", tagger=None, progress=False)
    masked = a.predictions(top_k=2, mode="masked")
    ids = [token.id for token in a.tokens]
    gains: dict[int, float] = {}
    for i, own in enumerate(ids):
        # Words that stand once, and that the model has among its first two, content words both and neither all but certain.
        texts = a.run.encoder.token_texts(masked.ids[i].tolist())
        content = all(text.isalnum() and text not in FUNCTION_WORDS for text in texts)
        if (
            ids.count(own) == 1
            and own in masked.ids[i]
            and content
            and masked.probabilities[i, 0] < 0.99
        ):
            (entry,) = alone.model.softmax(1, token_ids=[int(masked.ids[i, 0])]).entries
            p = float(masked.probabilities[i, 0])
            gains[i] = p * np.log(p / entry["probability"])
    assert gains
    assert telling_word(a.run) == max(gains, key=lambda i: gains[i])


def test_a_long_text_is_asked_about_a_few_of_its_words_wherever_they_stand() -> None:
    a = aw.analyze("a bird and a cat " * 60, tagger=None, progress=False)
    assert a.run is not None
    steps: list[tuple[int, int]] = []
    found = telling_word(a.run, lambda done, words: steps.append((done, words)))
    assert found is not None and steps[-1] == (6, 6)
    assert telling_word(a.run) == found


def test_a_classifier_proposes_its_two_likeliest_classes_and_a_pair_the_next_sentence() -> None:
    model = tiny_models.build("bert", "ForSequenceClassification", num_labels=3)
    a = aw.analyze("the cat", model=model, tagger=None, progress=False)
    (first,) = proposals(a)
    assert a.model.classification is not None
    order = np.argsort(-a.model.classification.logits).ravel().tolist()
    assert (first.label, first.against) == tuple(order[:2])
    pair = aw.analyze("the cat", "it sat", model=tiny_models.build("bert", "ForPreTraining"), tagger=None, progress=False)  # fmt: skip
    assert proposals(pair)[-1] == aw.target(next_sentence=True)


def test_a_token_classifier_proposes_the_clearest_label_that_is_not_the_usual_one() -> None:
    model = tiny_models.build("bert", "ForTokenClassification", seed=7, num_labels=4)
    a = aw.analyze(
        "the cat sat on the mat, and the dog looked at the bird",
        model=model,
        tagger=None,
        progress=False,
    )
    (first,) = proposals(a)
    assert a.model.classification is not None and first.position is not None
    z = a.model.classification.logits
    order = np.argsort(-z, axis=-1)
    assert [first.label, first.against] == order[first.position, :2].tolist()
    words = [i for i, token in enumerate(a.tokens) if not token.special]
    labels = [int(order[i, 0]) for i in words]
    usual = max(labels, key=labels.count)
    leads = {i: z[i, order[i, 0]] - z[i, order[i, 1]] for i in words if order[i, 0] != usual}
    assert len(leads) > 1 and first.position == max(leads, key=lambda i: leads[i])
    usual_only = aw.analyze("mat", model=model, tagger=None, progress=False)
    assert proposals(usual_only)[0].position == 1


def test_the_label_of_a_token_is_explained_like_the_class_of_a_text() -> None:
    model, tokenizer = tiny_models.build("bert", "ForTokenClassification", num_labels=3)
    a = aw.analyze("the cat sat on it", model=(model, tokenizer), tagger=None, progress=False)
    position, target = 2, {"position": 2, "against": 0, "label": 1}
    data, arrays = ask(a, kind="contributions", target=target, method="occlusion")
    assert (data["of"], data["names"]) == ("class", ["LABEL_1", "LABEL_0"])
    assert data["target"] == target

    def plain(masked: int | None) -> float:
        inputs = tokenizer(a.text, return_tensors="pt")
        if masked is not None:
            inputs["input_ids"][0, masked] = tokenizer.mask_token_id
        with torch.no_grad():
            logits = model(**inputs).logits[0, position]
        return float(logits[1] - logits[0])

    words = [i for i, token in enumerate(a.tokens) if not token.special]
    falls = [plain(None) - plain(i) for i in words]
    assert_close(arrays["values"][words], falls, **tiny_models.RUN, size=a.trace.classifier_logits)  # fmt: skip
    assert a.why.contributions(aw.target(**target)).gap <= 1e-5
    tested = a.why.faithfulness(aw.target(**target), ["occlusion"])
    logits = torch.tensor([[0.0, plain(None)]])
    assert tested.probability == pytest.approx(float(logits.softmax(-1)[0, 1]), rel=1e-4)
    with pytest.raises(InputError, match="position is missing"):
        a.why.contributions(aw.target(label=1))


@pytest.mark.parametrize("text", ["[CLS]", ".", "a"])
def test_a_text_with_nothing_to_explain_has_few_proposals(text: str) -> None:
    a = aw.analyze(text, tagger=None, progress=False)
    for one in proposals(a):
        a.why.contributions(one)
    assert len(proposals(a)) <= 1


# -- tasks ------------------------------------------------------------------------------------


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

    monkeypatch.setitem(HANDLERS, "tortoise", Handler(tortoise, slow=True))
    monkeypatch.setattr(tasks_room, "SOON_S", 0.05)
    return ended


def test_a_task_reports_its_progress_and_answers_once(
    analysis: Analysis, monkeypatch: pytest.MonkeyPatch
) -> None:
    slowly(monkeypatch, steps=40)
    tasks, seen = Tasks(lambda: analysis), []
    while True:
        reply, _ = tasks.answer({"kind": "tortoise"})
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
    tasks = Tasks(lambda: analysis)
    request = {"kind": "tortoise", "a": 1, "b": 2}
    assert "later" in tasks.answer(request)[0]
    assert tasks.answer({"kind": "weights", "layer": 0, "head": 0})[0]["ok"]
    # The same question, with its words in another order.
    assert tasks.answer({"kind": "drop", "of": {"b": 2, "a": 1, "kind": "tortoise"}})[0]["ok"]  # fmt: skip
    assert ended.wait(10)


def test_a_closed_widget_and_too_many_questions_end_the_work(
    analysis: Analysis, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended = slowly(monkeypatch, steps=100_000)
    tasks = Tasks(lambda: analysis)
    for number in range(tasks_room.MAX_TASKS):
        tasks.answer({"kind": "tortoise", "number": number})
        assert not ended.is_set()
    tasks.answer({"kind": "tortoise", "number": tasks_room.MAX_TASKS})
    assert ended.wait(10)  # the first one
    tasks.close()
    assert all(not t.name.startswith("attn_widget task") or not t.is_alive() or t.join(10) is None for t in threading.enumerate())  # fmt: skip
    assert not Tasks(lambda: None).answer({"kind": "tortoise"})[0]["ok"]


def test_attention_can_be_asked_for_while_heads_are_switched_off() -> None:
    """The analysis is not locked by work that takes seconds."""
    a = aw.analyze(TEXT, tagger=None, progress=False)
    inside, leave = threading.Event(), threading.Event()

    def progress(_done: int, _total: int) -> None:
        inside.set()
        assert leave.wait(30)

    work = threading.Thread(
        target=a.why.head_effects, args=(TARGET,), kwargs={"progress": progress}
    )
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
    values = analysis.why.contributions(TARGET, "occlusion").values
    np.testing.assert_array_equal(rows["contribution"].astype("float32"), values)
    widget.close()


def test_another_text_has_its_own_target() -> None:
    widget = aw.show(TEXT, progress=False, target=TARGET)
    widget.masked = [2]
    assert widget.target == PLAIN  # the same text
    widget.run("Another text stands here.")
    assert widget.target is None
    widget.close()


# -- saved pages ------------------------------------------------------------------------------


def recorded(
    analysis: Analysis, selection: Selection | None = None, **options: Any
) -> list[dict[str, Any]]:
    saved = saved_run(RunSource(analysis), selection, PageSpec(**options)).snapshot
    meta, _ = unpack(saved.chunks["paint"])
    return [entry["request"] for entry in meta["recorded"]]


def test_a_word_that_the_model_does_not_know_is_no_question() -> None:
    a = aw.analyze("我 喜欢 猫", tagger=None, progress=False)
    assert [token.text for token in a.tokens[1:-1]].count("[UNK]") == 3
    (proposal, *_) = proposals(a)
    assert proposal.position is not None and a.tokens[proposal.position].text == "我"


def test_a_page_keeps_what_was_asked_for_in_full(analysis: Analysis) -> None:
    asked = recorded(analysis, why=[TARGET])
    methods = [one["method"] for one in asked if one["kind"] == "contributions"]
    assert methods == list(METHODS)
    assert {"kind": "trust", "target": PLAIN, "methods": methods} in asked
    assert {"kind": "head_effects", "target": PLAIN} in asked
    assert {"kind": "logit_lens", "target": PLAIN} in asked


def test_a_page_keeps_quick_answers_about_the_proposal_by_default(analysis: Analysis) -> None:
    asked = recorded(analysis)
    assert {"kind": "targets"} in asked
    # The test of all methods is in pages of up to ten tokens, and in no report.
    assert analysis.trace.n_tokens <= 10 and any(one["kind"] == "trust" for one in asked)
    assert not any(one["kind"] == "trust" for one in recorded(analysis, masked=False))
    (proposal,) = proposals(analysis)
    targets = [one["target"] for one in asked if one["kind"] == "contributions"]
    assert targets and all(one["token"] == proposal.token for one in targets)
    chosen = recorded(analysis, selection=Selection(target=PLAIN))
    assert {"kind": "head_effects", "target": PLAIN} in chosen


def test_a_page_of_its_own_has_more_of_a_short_text_than_a_report(analysis: Analysis) -> None:
    own, reported = recorded(analysis), recorded(analysis, masked=False)
    more = [one for one in own if one not in reported]
    assert sorted(one.get("method", one["kind"]) for one in more if "target" in one) == [
        "head_effects", "integrated_gradients", "occlusion", "trust", "value_zeroing"
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


def test_a_page_without_why_computes_nothing_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    a = aw.analyze("The keys are here.", tagger=None, progress=False)

    def refuse(*_: Any, **__: Any) -> Any:
        raise AssertionError("a target was explained")

    monkeypatch.setattr(type(a.why), "contributions", refuse)
    meta, _ = unpack(saved_run(RunSource(a), None, PageSpec(why=False)).snapshot.chunks["paint"])
    assert "why" not in meta["snapshot"]["views"]


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
    assert "--why needs -o PAGE" in capsys.readouterr().err


def test_nothing_is_proposed_to_explain_where_no_rollout_is_possible(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("attn_widget.features.why.recorded.ROLLOUT_TOKENS", 1200)
    chosen = {"layer": 0, "head": 0, "token": 5, "quantity": "weights", "target": None}
    assert targets_of(modern(), chosen, light=False) == []

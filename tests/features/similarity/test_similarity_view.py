"""The view of a similarity: what the page is told, the widget's texts and heads, and what is saved."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import traitlets as t

import attn_widget as aw
from attn_widget.__main__ import main
from attn_widget.errors import InputError, InputTypeError, NotAvailableError
from attn_widget.features.engine.embedder import embedder_facts
from attn_widget.features.similarity.source import SimilaritySource
from attn_widget.features.similarity.widget import SimilarityWidget
from attn_widget.page.recorded import replied
from attn_widget.page.snapshot import exact_snapshot
from attn_widget.protocol.pack import unpack
from tests.features.similarity.embedders import MEAN, folder_of
from tests.unit import tiny_models
from tests.unit.test_actions import until

A, B = "The unbelievably big cat sat on the mat.", "A dog sleeps on the sofa, and nobody minds."
PASSAGES = ["The dog sleeps.", "It didn't rain.", "The cat sat on the mat."]


@pytest.fixture(scope="module")
def bert() -> Any:
    return tiny_models.build("bert", "Model")


def compare(a: str, b: Any, model: Any, **options: Any) -> Any:
    return aw.similarity(a, b, model=model, tagger=None, progress=False, **options)


@pytest.fixture(scope="module")
def similar(bert: Any) -> aw.Similarity:
    return compare(A, B, bert, pooling="mean")


@pytest.fixture(scope="module")
def ranked(bert: Any) -> aw.Ranking:
    return compare(A, PASSAGES, bert, pooling="mean")


@pytest.fixture
def widget(similar: aw.Similarity) -> Iterator[SimilarityWidget]:
    made = similar.show()
    yield made
    made.close()


def asked(source: SimilaritySource, **request: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    [(_, data, arrays)] = replied(request, source.answer(request))
    return data, arrays


def test_the_page_is_told_both_texts_and_numbers_that_close(similar: aw.Similarity) -> None:
    source = SimilaritySource(similar)
    data, arrays = asked(source, kind="similar")
    for side, analysis in (("a", similar.a), ("b", similar.b)):
        np.testing.assert_allclose(arrays[side], similar.contributions(side).values)  # pyright: ignore[reportArgumentType]
        assert arrays[side].sum() + data[side]["bias"] == pytest.approx(similar.score, abs=1e-5)
        assert data[side]["text"] == [token.text for token in analysis.trace.tokens]
    words = data["a"]["word"]
    pieces = [i for i, word in enumerate(words) if words.count(word) > 1]
    assert pieces and data["a"]["names"][words[pieces[0]]] in A
    for kind in ("input", "output"):
        told, matrix = asked(source, kind="similar_matrix", of=kind)
        np.testing.assert_allclose(matrix["pairs"], similar.matrix(kind), atol=1e-7)
        whole = sum(float(array.sum()) for array in matrix.values()) + told["both"]
        assert whole == pytest.approx(similar.score, abs=1e-5)


def test_a_reranker_tells_the_tokens_of_each_text_and_one_bias() -> None:
    model = tiny_models.build("bert", "ForSequenceClassification", num_labels=1)
    s = compare(A, B, model)
    data, arrays = asked(SimilaritySource(s), kind="similar")
    assert data["matrices"] == [] and data["probability"] == pytest.approx(s.probability)
    assert sorted(data["a"]["position"] + data["b"]["position"]) == [*range(s.a.trace.n_tokens)]
    whole = float(arrays["a"].sum() + arrays["b"].sum()) + data["a"]["bias"]
    assert whole == pytest.approx(s.score, abs=1e-5)
    reply, _ = SimilaritySource(s).answer({"kind": "similar_matrix", "of": "input"})
    assert not reply["ok"] and "input" in reply["error"]


def test_a_family_without_known_layers_tells_its_sum_by_hidden_states(bert: Any) -> None:
    encoder = aw.load(bert).with_pooling("mean")
    encoder.family = replace(encoder.family, layers=None, block=None)
    s = compare(A, B, encoder)
    data, arrays = asked(SimilaritySource(s), kind="similar")
    assert (data["by"], data["matrices"], data["a"]["bias"]) == ("output", ["output"], 0)
    np.testing.assert_allclose(arrays["b"], s.matrix("output").sum(axis=0), atol=1e-7)
    reply, _ = SimilaritySource(s).answer({"kind": "similar_test", "side": "a"})
    assert not reply["ok"] and "order" in reply["error"]


def test_late_interaction_without_known_layers_tells_the_sum_of_its_best_answers(bert: Any) -> None:
    encoder = aw.load(bert).with_pooling("tokens")
    encoder.family = replace(encoder.family, layers=None, block=None)
    s = compare(A, B, encoder)
    data, arrays = asked(SimilaritySource(s), kind="similar")
    assert (data["matrices"], data["a"]["bias"]) == (["maxsim"], 0)
    np.testing.assert_allclose(arrays["b"], s.matrix("maxsim").sum(axis=0), atol=1e-7)


def test_a_score_without_a_word_is_that_of_the_text_without_it(bert: Any) -> None:
    encoder = aw.load(bert).with_pooling("mean")
    a, b = "the dog saw", "a cat ran"
    s = compare(a, b, encoder)
    data, arrays = asked(SimilaritySource(s), kind="similar_deletions")
    names = asked(SimilaritySource(s), kind="similar")[0]
    assert data["score"] == s.score
    for of in ("a", "b"):
        assert len(arrays[of]) == len(names[of]["names"])
    for word, rest in (("dog", "the saw"), ("the", "dog saw"), ("saw", "the dog")):
        found = arrays["a"][names["a"]["names"].index(word)]
        assert found == pytest.approx(compare(rest, b, encoder).score, abs=1e-6)
    found = arrays["b"][names["b"]["names"].index("cat")]
    assert found == pytest.approx(compare(a, "a ran", encoder).score, abs=1e-6)
    assert np.isnan(arrays["a"][0])  # [CLS]
    long = compare(" ".join(["dog"] * 30), b, encoder)
    reply, _ = SimilaritySource(long).answer({"kind": "similar_deletions"})
    assert not reply["ok"] and "24 words" in reply["error"]


def test_a_masking_test_and_the_effects_of_heads_are_those_of_python(
    similar: aw.Similarity,
) -> None:
    source = SimilaritySource(similar)
    data, _ = asked(source, kind="similar_test", side="b")
    wanted = similar.faithfulness("b").tests["decomposition"]
    assert data["tests"][0]["percentile"] == pytest.approx(wanted.percentile)
    _, arrays = asked(source, kind="similar_effects")
    layer, head = np.unravel_index(np.abs(arrays["effects"]).argmax(), arrays["effects"].shape)
    # Switched off while the first text alone is read.
    off = similar.a.ablate([(int(layer), int(head))])
    alone = off.why.contributions(similar.target("a"), "gradient_x_input").value
    assert similar.score - alone == pytest.approx(float(arrays["effects"][layer, head]), abs=1e-5)


@pytest.mark.parametrize(
    "request_",
    [
        {"kind": "similar_matrix"},
        {"kind": "similar_matrix", "of": "maxsim"},
        {"kind": "similar_matrix", "of": ["input"]},
        {"kind": "similar_test", "side": "c"},
        {"kind": "weights", "layer": 0, "head": 0},
        {"kind": None},
        [],
        "similar",
    ],
)
def test_hostile_requests_are_refused_with_a_reason(
    similar: aw.Similarity, request_: object
) -> None:
    reply, buffers = SimilaritySource(similar).answer(request_)
    assert not reply["ok"] and reply["error"] and "bug" not in reply["hint"] and not buffers


def test_a_similarity_has_no_passages(similar: aw.Similarity) -> None:
    request = {"kind": "similar_test", "side": "a", "passage": [1]}
    assert SimilaritySource(similar).answer(request)[0]["ok"]


@pytest.mark.parametrize("passage", [None, -1, 3, True, "0", 1.0])
def test_a_ranking_has_no_passage_but_its_own(ranked: aw.Ranking, passage: object) -> None:
    reply, _ = SimilaritySource(ranked).answer({"kind": "similar", "passage": passage})
    assert not reply["ok"] and "passage" in reply["error"]


def test_other_texts_take_the_place_of_those_shown_and_bad_ones_do_not(
    widget: SimilarityWidget, bert: Any
) -> None:
    before = widget.first_paint
    with pytest.raises(InputError, match="b is empty"):
        widget.run(b="")
    assert widget.first_paint == before and widget.status == "error"
    assert "b is empty" in widget.error["message"] and widget.text_pair == B
    widget.run(b=A)
    assert (widget.text, widget.text_pair, widget.error) == (A, A, {})
    assert widget.result.score == pytest.approx(1, abs=1e-6)  # pyright: ignore[reportAttributeAccessIssue]
    assert unpack(widget.first_paint)[0]["text_pair"] == A
    with pytest.raises(t.TraitError, match="set by a run"):
        widget.text = "hello"


def test_the_page_edits_a_text_and_a_failure_is_told_there(widget: SimilarityWidget) -> None:
    def act(**request: Any) -> Any:
        return widget._act(request, [])[0]

    assert "white space" in act(kind="run", text="   ", text_pair=B)["error"]
    assert "Edit the text" in act(kind="mask", tokens=[1])["hint"]
    assert not act(kind="switch_off", heads=[[9, 9]])["ok"]
    assert act(kind="run", text=PASSAGES[0], text_pair=B)["ok"]
    until(lambda: widget.status == "ready")
    assert (widget.text, widget.text_pair) == (PASSAGES[0], B)
    assert act(kind="switch_off", heads=[[1, 2]])["ok"]
    until(lambda: widget.status == "ready")
    assert unpack(widget.first_paint)[0]["heads_off"] == [[1, 2]]
    too_long = " ".join(["cat"] * 5000)
    assert act(kind="run", text=too_long, text_pair=B)["ok"]
    until(lambda: widget.status == "error")
    assert "Text a is too long" in widget.error["message"] and widget.text == PASSAGES[0]


def test_heads_that_are_off_change_the_score_and_come_back(similar: aw.Similarity) -> None:
    off = similar.ablate([(0, 0), (1, 1)])
    assert off.score != similar.score and off.unablated is similar
    assert off.ablate([]).unablated.score == similar.score
    meta, _ = unpack(off.show().first_paint)
    assert meta["heads_off"] == [[0, 0], [1, 1]]
    assert meta["similarity"]["intact"] == similar.score
    with pytest.raises(InputError):
        similar.ablate([(9, 0)])


def test_a_ranking_of_which_nothing_can_be_read_is_an_error(bert: Any) -> None:
    with pytest.raises(InputError, match=r"No passage could be read\. Passage 0: .*white space"):
        compare(A, [" ", None], bert, pooling="mean")


def test_a_ranking_is_shown_and_saved_but_not_edited(ranked: aw.Ranking, tmp_path: Path) -> None:
    widget = ranked.show(words=False)
    meta, _ = unpack(widget.first_paint)
    passages = meta["similarity"]["ranking"]["passages"]
    assert [one["index"] for one in passages] == ranked.order
    with pytest.raises(NotAvailableError, match="fixed"):
        widget.run("hello")
    table = widget.to_dataframe()
    assert [*table.columns] == ["rank", "index", "score", "passage"] and len(table) == len(PASSAGES)
    recorded, _ = unpack(exact_snapshot(widget._shown_source, widget.selection).chunks["paint"])
    kinds = [(one["request"]["kind"], one["request"]["passage"]) for one in recorded["recorded"]]
    assert {passage for kind, passage in kinds if kind == "similar"} == {0, 1, 2}
    assert ("similar_test", ranked.order[0]) in kinds
    widget.close()
    with pytest.raises(InputError, match="closed"):
        widget.to_dataframe()


def test_the_table_is_that_of_the_similarity(widget: SimilarityWidget) -> None:
    s = widget.result
    assert isinstance(s, aw.Similarity)
    frame = widget.to_dataframe()
    assert frame["value"].sum() == pytest.approx(s.score, abs=1e-5)
    records = s.to_records("input", words=True)
    assert frame["value"].tolist() == [record["value"] for record in records]
    widget.words = False
    assert len(widget.to_dataframe()) == (s.a.trace.n_tokens + 1) * (s.b.trace.n_tokens + 1)


def test_what_a_similarity_does_not_have_is_refused(
    similar: aw.Similarity, widget: SimilarityWidget, tmp_path: Path
) -> None:
    with pytest.raises(InputTypeError, match="layer"):
        similar.show(layer=3)
    with pytest.raises(InputTypeError, match="text_pair"):
        aw.show(similar, "hello")  # pyright: ignore[reportArgumentType]
    with pytest.raises(InputError, match="similarity has no weights"):
        widget.to_html(tmp_path / "page.html", layers=[0])
    with pytest.raises(InputError, match="only the view 'similarity'"):
        widget.to_html(tmp_path / "page.html", views=["attention"])
    with pytest.raises(InputError, match="only the view 'similarity'"):
        widget.to_html(tmp_path / "page.html", engine=True, views=["attention"])
    with pytest.raises(InputError, match="view"):
        widget.to_dataframe("attention")
    assert not (tmp_path / "page.html").exists()


def test_the_command_line_writes_a_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = tmp_path / "page.html"
    command = ["similarity", "the cat sat", "a dog", "--model", "attn_widget/mini"]
    assert main([*command, "-o", str(page), "--title", "Why"]) == 0
    out = capsys.readouterr().out
    assert f"wrote {page}" in out and "say little" in out  # the note of a model not made for it
    assert "<title>Why</title>" in page.read_text()
    with pytest.raises(SystemExit):
        main([*command, "-o", str(page), "--top-k", "3"])
    assert "--top-k cannot" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main([*command, "--engine"])
    assert "--engine needs -o PAGE" in capsys.readouterr().err
    page.unlink()
    ranking = [*command[:3], "a cat", *command[3:], "--engine", "-o", str(page)]
    assert main(ranking) == 2 and not page.exists()
    assert "texts are fixed" in capsys.readouterr().err


def test_an_engine_is_refused_where_it_cannot_compare_texts(
    similar: aw.Similarity, ranked: aw.Ranking, bert: Any, tmp_path: Path
) -> None:
    page = tmp_path / "page.html"
    reranker = tiny_models.build("bert", "ForSequenceClassification", num_labels=1)
    refused: list[tuple[Any, str]] = [
        (ranked, "texts are fixed"),
        (compare(A, B, reranker), "this score is a relevance"),
        (compare(A, B, bert, pooling="tokens"), "this score is a maxsim"),
        (compare(A, B, bert, pooling="max"), "no head like <EmbeddingHead max>"),
        (compare(A, B, folder_of(tmp_path, pooling=MEAN, dense=8)), "mean > Dense"),
        (similar.ablate([(0, 0)]), "all heads on"),
        (compare(A, B, tiny_models.build("roberta", "Model"), pooling="mean"), "roberta"),
    ]
    for result, reason in refused:
        with pytest.raises(NotAvailableError, match=reason):
            result.to_html(page, engine=True)
    with pytest.raises(InputError, match="one similarity alone"):
        aw.to_html([similar.show(), similar.show()], page, engine=True)
    assert not page.exists()


def test_a_page_with_an_engine_says_how_its_model_is_given_texts() -> None:
    s = compare("a cat", "a dog", "attn_widget/mini", prompt=("query: ", ""))
    facts = embedder_facts(s)
    assert (facts["kind"], facts["pooling"], facts["unit"]) == ("cosine", "mean", True)
    assert (facts["prompts"], facts["longest"]) == (["query: ", ""], 512)
    assert facts["rounding"] == {"score": 0, "entry": 0}  # its matrices are float16

"""CLIP's score of a picture and a text, as an exact sum over patches and words."""

from __future__ import annotations

import io
from functools import cache
from typing import Any

import numpy as np
import pytest
import torch
import transformers as tf
from PIL import Image
from tokenizers import Tokenizer, models, pre_tokenizers, processors

import attn_widget as aw
from attn_widget.errors import InputError, InputTypeError, NotAvailableError
from attn_widget.features.similarity.source import (
    SimilaritySource,
    requests_of,
    similarity_paint,
)
from attn_widget.page.recorded import replied
from attn_widget.protocol.answer import answer
from attn_widget.protocol.pack import unpack
from tests.features.images.image_models import build, drawn, large, processor
from tests.unit.test_actions import until

TEXT = "the cat sat on the mat"


def words() -> Any:
    """A tokenizer of words between a first and a last token, which has the largest id."""
    known = ["[UNK]", "the", "cat", "sat", "on", "mat", "a", "flag", "<start>", "<end>"]
    backend = Tokenizer(models.WordLevel({word: i for i, word in enumerate(known)}, "[UNK]"))
    backend.pre_tokenizer = pre_tokenizers.Whitespace()
    ends = [("<start>", 8), ("<end>", 9)]
    backend.post_processor = processors.TemplateProcessing(
        single="<start> $A <end>", special_tokens=ends
    )
    names = {
        "unk_token": "[UNK]",
        "bos_token": "<start>",
        "eos_token": "<end>",
        "pad_token": "<end>",
    }
    return tf.PreTrainedTokenizerFast(tokenizer_object=backend, model_max_length=32, **names)


class Both:
    """Stands for a `CLIPProcessor`: a processor of pictures and a tokenizer."""

    def __init__(self) -> None:
        self.image_processor, self.tokenizer = processor(), words()


@cache
def clip() -> tuple[Any, Any]:
    model, _ = build("clip")
    both = Both()
    model.config.text_config.eos_token_id = both.tokenizer.eos_token_id
    model.text_model.eos_token_id = both.tokenizer.eos_token_id
    return model, both


def expected(text: str = TEXT) -> float:
    """The logit of `transformers`."""
    model, both = clip()
    pixels = both.image_processor(images=drawn(), return_tensors="pt")["pixel_values"]
    given = both.tokenizer(text, return_tensors="pt")
    with torch.no_grad():
        found = model(
            pixel_values=pixels,
            input_ids=given["input_ids"],
            attention_mask=given["attention_mask"],
        )
    return float(found.logits_per_image[0, 0])


def test_the_score_is_a_sum_over_patches_and_words() -> None:
    s = aw.similarity(drawn(), TEXT, model=clip(), progress=False)
    scale = float(clip()[0].logit_scale.detach().exp())
    assert s.score * scale == pytest.approx(expected(), abs=1e-5 * scale)
    matrix = s.matrix()
    assert matrix.shape == (17, s.b.trace.n_tokens)
    assert matrix.sum() + s.biases.sum() == pytest.approx(s.score, abs=1e-5)
    assert any(f"{scale:.4g}" in note for note in s.notes)
    assert s.texts == ("60 × 44 px", TEXT)
    # Rows of the matrix are contributions of patches, the text held.
    found = s.contributions("a")
    np.testing.assert_allclose(found.values, matrix.sum(axis=1) + s.biases[:17], atol=1e-5)
    assert found.gap is not None and found.gap < 1e-5
    words = s.contributions("b")
    assert words.gap is not None and words.gap < 1e-5
    assert len(s.pairs(5)) == 5 and s.pairs(1)[0].a.startswith(("r", "[CLS]"))
    assert len(s.matrix(words=True)[0]) <= matrix.shape[1]


def test_a_text_s_encoder_is_that_of_transformers() -> None:
    s = aw.similarity(drawn(), TEXT, model=clip(), progress=False)
    model, both = clip()
    given = both.tokenizer(TEXT, return_tensors="pt")
    tower = model.text_model
    before = tower.config._attn_implementation
    tower.set_attn_implementation("eager")
    with torch.no_grad():
        found = tower(
            **{name: given[name] for name in ("input_ids", "attention_mask")},
            output_attentions=True,
        )
    tower.set_attn_implementation(before)
    for layer, weights in enumerate(found.attentions):
        np.testing.assert_allclose(s.b.trace.layer_weights(layer), weights[0].numpy(), atol=1e-6)
    assert s.b.mixing.decompose_output(1, 3).gap < 1e-5


def test_a_text_is_a_target_of_a_picture() -> None:
    a = aw.analyze(drawn(), model=clip(), progress=False)
    number = aw.target(similar_to=TEXT)
    found = a.why.contributions(number)
    scale = float(clip()[0].logit_scale.detach().exp())
    assert found.value * scale == pytest.approx(expected(), abs=1e-5 * scale)
    assert found.gap is not None and found.gap < 1e-5
    s = aw.similarity(drawn(), TEXT, model=clip(), progress=False)
    np.testing.assert_allclose(found.values, s.contributions("a").values, atol=1e-6)
    assert np.isfinite(a.why.head_effects(number).effects).all()
    fallen = aw.similarity(drawn(), TEXT, model=clip(), progress=False).a.ablate([(1, 2)])
    assert np.isfinite(fallen.why.contributions(number).values).all()


def test_its_view_shows_patches_by_name() -> None:
    s = aw.similarity(drawn(), TEXT, model=clip(), progress=False)
    widget = aw.show(s)
    source = SimilaritySource(s)
    header, buffers = source.answer({"kind": "similar"})
    assert header["ok"], header
    assert header["data"]["a"]["names"][:3] == ["[CLS]", "r1 c1", "r1 c2"]
    for kind in ("similar_matrix", "similar_effects"):
        header, buffers = source.answer({"kind": kind, "of": "input"})
        assert header["ok"] and buffers
    assert header["ok"]
    assert source.title.startswith("60 × 44 px · the cat")
    with pytest.raises(NotAvailableError, match="a is an image, and is not replaced by a text"):
        s.with_texts(a="/etc/hostname")
    widget.close()


def asked(s: aw.Similarity, **request: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    [(_, data, arrays)] = replied(request, SimilaritySource(s).answer(request))
    return data, arrays


def test_the_page_is_told_of_the_picture_and_draws_it() -> None:
    s = aw.similarity(drawn(), TEXT, model=clip(), progress=False)
    data, _ = asked(s, kind="similar")
    assert data["a"]["meta"] == {"wordless": True, "image": {"rows": 4, "columns": 4, "width": 60, "height": 44, "first": 1}}  # fmt: skip
    assert data["a"]["title"] == "60 × 44 px" and "meta" not in data["b"]
    # No mask token, so no button for a masking test; both matrices take a moment.
    assert data["testable"] == [] and data["slow"] == []
    drawing, arrays = asked(s, kind="similar_drawing", side="a", of="image")
    own, bytes_ = answer(s.a, {"kind": "image"})
    assert drawing == own["data"] and arrays["bytes"].tobytes() == bytes_[0]
    source = SimilaritySource(s)
    for request in (
        {"side": "b", "of": "image"},
        {"side": "a", "of": "weights"},
        {"side": "a", "of": {"kind": "image"}},
        {"side": "c", "of": "image"},
    ):
        header, _ = source.answer({"kind": "similar_drawing", **request})
        assert not header["ok"] and "bug" not in header["hint"]


@pytest.mark.parametrize("two", [False, True])
def test_a_row_alone_is_that_of_the_matrix(two: bool) -> None:
    other, model = (drawn(50, 70), build("dinov2")) if two else (TEXT, clip())
    whole = aw.similarity(drawn(), other, model=model, progress=False)
    matrix, biases = whole.matrix(), whole.biases
    n = len(matrix)
    alone = aw.similarity(drawn(), other, model=model, progress=False)
    for s in (alone, whole):
        for of, token in (("a", 0), ("a", 9), ("b", 2)):
            values, bias = s.row(token, of)  # pyright: ignore[reportArgumentType]
            np.testing.assert_allclose(values, matrix[token] if of == "a" else matrix[:, token], atol=1e-6)  # fmt: skip
            assert bias == pytest.approx(biases[token if of == "a" else n + token], abs=1e-6)
            # With its bias it is the contribution of the token, the other input held.
            contribution = s.contributions(of).values[token]  # pyright: ignore[reportArgumentType]
            assert values.sum() + bias == pytest.approx(contribution, abs=1e-5)
    data, arrays = asked(alone, kind="similar_row", side="a", token=9)
    np.testing.assert_allclose(arrays["row"], matrix[9], atol=1e-6)
    assert data["bias"] == pytest.approx(biases[9], abs=1e-6)
    for token in (-1, n, True, "1", None):
        header, _ = SimilaritySource(alone).answer({"kind": "similar_row", "side": "a", "token": token})  # fmt: skip
        assert not header["ok"] and "token" in header["error"]
    with pytest.raises(InputError, match="token"):
        alone.row(n)


def test_the_text_beside_a_picture_is_replaced_and_its_words_left_out() -> None:
    s = aw.similarity(drawn(), TEXT, model=clip(), progress=False)
    for text in ("a flag", "the mat"):
        again = s.with_texts(b=text)
        alone = aw.similarity(drawn(), text, model=clip(), progress=False)
        assert again.a is s.a and again.texts == ("60 × 44 px", text)
        assert again.score == pytest.approx(alone.score, abs=1e-6)
    assert s.ablate([(0, 1)]).with_texts().score == pytest.approx(s.score, abs=1e-6)
    for name in ("/etc/passwd.png", "nowhere.jpg"):
        with pytest.raises(InputError, match="names an image file, and this run is of a text"):
            s.with_texts(b=name)
    _, arrays = asked(s, kind="similar_deletions")
    assert np.isnan(arrays["a"]).all()
    expected = aw.similarity(drawn(), "the cat on the mat", model=clip(), progress=False).score
    assert arrays["b"][3] == pytest.approx(expected, abs=1e-6)
    widget = s.show()
    assert widget._act({"kind": "run", "text": "60 × 44 px", "text_pair": "a flag"}, [])[0]["ok"]
    until(lambda: widget.status == "ready")
    assert (widget.text, widget.text_pair) == ("60 × 44 px", "a flag")
    widget.close()


def test_a_saved_ranking_has_the_picture_of_its_query_once() -> None:
    for query, passages in ((drawn(), [TEXT, "a flag"]), (TEXT, [drawn(), drawn(80, 44)])):
        ranking = aw.similarity(query, passages, model=clip(), progress=False)
        source = SimilaritySource(ranking)
        recorded = [r for r in requests_of(source, light=False) if r["kind"] == "similar_drawing"]
        assert len(recorded) == (1 if query is not TEXT else 2)
        meta, arrays = unpack(similarity_paint(source))
        pictures = meta["similarity"]["ranking"]["thumbnails"]
        assert [*pictures] == (["-1"] if query is not TEXT else [str(i) for i in ranking.order])
        for index in pictures:
            assert Image.open(io.BytesIO(arrays[f"thumbnail:{index}"].tobytes())).size[0] <= 128


def test_a_saved_ranking_of_large_pictures_has_the_pairs_of_the_best_alone() -> None:
    images = [drawn(224, 224), drawn(300, 224)]
    ranking = aw.similarity(drawn(240, 224), images, model=large(), progress=False)
    kinds = [r["passage"] for r in requests_of(SimilaritySource(ranking), light=False) if r["kind"] == "similar_matrix"]  # fmt: skip
    assert kinds == ranking.order[:1]


def test_a_saved_page_of_it(tmp_path: Any) -> None:
    s = aw.similarity(drawn(), TEXT, model=clip(), progress=False)
    path = tmp_path / "page.html"
    s.to_html(path)
    assert 10_000 < path.stat().st_size < 1_000_000


def test_what_cannot_be_compared_is_named() -> None:
    model, _ = build("clip")
    with pytest.raises(
        (InputError, NotAvailableError), match="tokenizer of CLIPModel is not known"
    ):
        aw.similarity(drawn(), TEXT, model=(model, processor()), progress=False)
    with pytest.raises((InputError, NotAvailableError), match="no tower that reads texts"):
        aw.similarity(drawn(), TEXT, model=build("dinov2"), progress=False)
    siglip, _ = build("siglip")
    both = Both()
    with pytest.raises((InputError, NotAvailableError), match="filled up to one length"):
        aw.similarity(drawn(), TEXT, model=(siglip, both), progress=False)
    with pytest.raises((InputError, InputTypeError)):
        aw.similarity(drawn(), TEXT, model="attn_widget/mini", progress=False)
    with pytest.raises((InputError, InputTypeError)):
        aw.similarity([TEXT], [TEXT], model=clip(), progress=False)
    with pytest.raises(InputError, match="not its last one"):
        aw.similarity(drawn(), "the <end> cat", model=clip(), progress=False)


def test_two_pictures_are_compared() -> None:
    s = aw.similarity(drawn(), drawn(50, 70), model=build("dinov2"), progress=False)
    assert s.matrix().shape == (17, 17)
    assert s.matrix().sum() + s.biases.sum() == pytest.approx(s.score, abs=1e-5)


def test_a_folder_has_its_tokenizer(tmp_path: Any) -> None:
    model, both = clip()
    model.save_pretrained(tmp_path)
    both.image_processor.save_pretrained(tmp_path)
    both.tokenizer.save_pretrained(tmp_path)
    s = aw.similarity(drawn(), TEXT, model=tmp_path, progress=False)
    again = aw.similarity(drawn(), TEXT, model=clip(), progress=False)
    assert s.score == pytest.approx(again.score, abs=1e-6)
    assert isinstance(tf.CLIPModel.from_pretrained(tmp_path), tf.CLIPModel)

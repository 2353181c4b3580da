"""CLIP's score of a picture and a text, as an exact sum over patches and words."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
import torch
import transformers as tf
from tokenizers import Tokenizer, models, pre_tokenizers, processors

import attn_widget as aw
from attn_widget.errors import InputError, InputTypeError, NotAvailableError
from tests.features.images.image_models import build, drawn, processor

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
    from attn_widget.features.similarity.source import SimilaritySource

    source = SimilaritySource(s)
    header, buffers = source.answer({"kind": "similar"})
    assert header["ok"], header
    assert header["data"]["a"]["names"][:3] == ["[CLS]", "r1 c1", "r1 c2"]
    for kind in ("similar_matrix", "similar_effects"):
        header, buffers = source.answer({"kind": kind, "of": "input"})
        assert header["ok"] and buffers
    header, _ = source.answer({"kind": "similar_deletions"})
    assert not header["ok"]
    assert source.title.startswith("60 × 44 px · the cat")
    with pytest.raises(NotAvailableError, match="One of the two is an image"):
        s.with_texts(a="/etc/hostname")
    widget.close()


def test_a_saved_page_of_it(tmp_path: Any) -> None:
    s = aw.similarity(drawn(), TEXT, model=clip(), progress=False)
    path = tmp_path / "page.html"
    s.to_html(path)
    assert path.stat().st_size > 10_000


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

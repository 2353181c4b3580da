"""Where pictures and texts meet: what each is taken for, and what runs without either."""

from __future__ import annotations

import io
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import attn_widget as aw
from attn_widget.api import runner
from attn_widget.errors import InputError, InputTypeError, NotAvailableError
from attn_widget.protocol.run_source import title_of
from tests.features.images.image_models import build, classifier, drawn, processor
from tests.features.images.test_image_text import TEXT, clip
from tests.unit.tiny_models import build as build_text


def analyzed(given: Any = None, **options: Any) -> aw.Analysis:
    given = drawn() if given is None else given
    return aw.analyze(given, **{"model": build("dinov2"), "progress": False, **options})


# Of no text, and of an empty one


def test_a_text_without_a_token_is_a_text() -> None:
    model, tokenizer = build_text("t5")
    ends = model.generation_config.eos_token_id or model.config.eos_token_id

    def end_at_once(_module: Any, _args: Any, logits: torch.Tensor) -> torch.Tensor:
        return torch.zeros_like(logits).index_fill(-1, torch.tensor([ends]), 5.0)

    hook = model.lm_head.register_forward_hook(end_at_once)
    try:
        with pytest.warns(UserWarning, match="wrote nothing"):
            a = aw.analyze("the cat", model=(model, tokenizer), generate=4, progress=False)
        assert a.text == "" and a.run is not None and not a.run.encoding.wordless
        assert runner(a, {}) is not None
        assert "the cat" in title_of(a)
    finally:
        hook.remove()


def test_a_run_of_a_picture_is_of_no_text() -> None:
    a = analyzed()
    assert a.text is None and a.run is not None and a.run.encoding.wordless
    assert runner(a, {}) is None
    assert title_of(a) == "60 × 44 px"


# A str: a text, or the path of an image


def test_a_name_of_an_image_is_no_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    drawn().save(tmp_path / "photo.png")
    drawn().save(tmp_path / "cat", "PNG")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match=r"no image file 'othr.JPG'"):
        aw.similarity("photo.png", "othr.JPG", model=clip(), progress=False)
    a = analyzed("photo.png", model=clip())
    with pytest.raises(InputError, match="no image file"):
        a.why.contributions(aw.target(similar_to="othr.png"))
    whole = aw.similarity("photo.png", "cat", model=clip(), progress=False)
    assert whole.a.run is not None and whole.a.run.encoding.wordless
    assert whole.b.text == "cat"  # also where a file has this name
    assert aw.similarity(Path("cat"), "photo.png", model=clip(), progress=False).b.text is None
    with pytest.raises(InputError, match="run is of a text"):
        whole.b.why.contributions(aw.target(similar_to="photo.png"))
    with pytest.raises(NotAvailableError, match="no tower that reads texts"):
        aw.similarity("photo.png", "cat", model=build("dinov2"), progress=False)


def test_options_of_texts_are_of_the_text_alone(tmp_path: Path) -> None:
    drawn().save(tmp_path / "photo.png")
    path = str(tmp_path / "photo.png")
    plain = aw.similarity(path, "the cat " * 20, model=clip(), truncation=True, progress=False)
    assert any("was cut" in note for note in plain.notes)
    prompted = aw.similarity(path, "cat", model=clip(), prompt="the ", progress=False)
    assert prompted.b.text == "the cat"
    same = aw.similarity(drawn(), "the cat", model=clip(), progress=False)
    assert prompted.score == pytest.approx(same.score, abs=1e-6)
    with pytest.raises(InputError, match="pooling of CLIPModel was changed"):
        aw.similarity(path, "cat", model=clip(), pooling="mean", progress=False)
    two = aw.similarity(drawn(), drawn(80, 60), model=clip(), pooling="mean", progress=False)
    assert two.matrix().shape == (17, 17)


def test_the_scale_of_the_logit_is_of_a_score_with_a_text() -> None:
    of_text = aw.similarity(drawn(), TEXT, model=clip(), progress=False)
    assert sum("logit_scale" in note for note in of_text.notes) == 1
    of_images = aw.similarity(drawn(), drawn(80, 60), model=clip(), progress=False)
    assert not any("logit_scale" in note for note in of_images.notes)


# Rankings and late interaction


def test_an_image_ranks_texts_and_no_images(tmp_path: Path) -> None:
    names = []
    for side in (60, 80):
        names.append(str(tmp_path / f"{side}.png"))
        drawn(side, 44).save(names[-1])
    texts = ["the cat sat", "a flag", "the mat on the mat"]
    for query in (drawn(), np.asarray(drawn()), names[0]):
        ranking = aw.similarity(query, texts, model=clip(), progress=False)
        for i, text in enumerate(texts):
            alone = aw.similarity(query, text, model=clip(), progress=False)
            assert ranking.scores[i] == pytest.approx(alone.score, abs=1e-5)
            assert ranking.explain(i).score == pytest.approx(alone.score, abs=1e-5)
        assert ranking.query.endswith("60 × 44 px") or ranking.query == names[0]
        difference = ranking.difference(0, 1)
        assert difference.values.sum() + difference.bias == pytest.approx(
            difference.value, abs=1e-5
        )
        assert str(aw.show(ranking)) and aw.to_html(aw.show(ranking), tmp_path / "ranked.html")


def test_images_are_ranked_one_by_one_and_next_to_texts(tmp_path: Path) -> None:
    name = str(tmp_path / "a.png")
    drawn(80, 44).save(name)
    images = [drawn(), name, np.asarray(drawn(50, 70))]
    for query, model in (("the cat", clip()), (drawn(), clip()), (name, build("dinov2"))):
        ranking = aw.similarity(query, images, model=model, progress=False)
        for i, image in enumerate(images):
            alone = aw.similarity(query, image, model=model, progress=False)
            assert ranking.scores[i] == pytest.approx(alone.score, abs=1e-5)
            assert ranking.explain(i).score == pytest.approx(alone.score, abs=1e-5)
        assert ranking.passages == ["60 × 44 px", "a.png, 80 × 44 px", "50 × 70 px"]
        assert [*ranking.thumbnails] == [*([] if query == "the cat" else [-1]), 0, 1, 2]
        kind, content = ranking.thumbnails[1]
        assert kind.startswith("image/") and len(content) < 8_000
    given = [drawn(), "a flag", "no.png", None, np.zeros((4, 4, 9))]
    mixed = aw.similarity("the cat", given, model=clip(), progress=False)
    assert [*mixed.failed] == [2, 3, 4] and np.isfinite(mixed.scores[:2]).all()
    alone = aw.similarity("the cat", "a flag", model=clip(), progress=False)
    assert mixed.scores[1] == pytest.approx(alone.score, abs=1e-5)
    with pytest.raises(InputError, match="text is a Image, expected a str"):
        aw.similarity("the cat", [drawn()], model="attn_widget/mini", progress=False)


def test_images_of_other_sizes_are_ranked_in_batches_of_their_own() -> None:
    model, _ = build("dinov2")
    plain = processor(do_resize=False)
    images = [drawn(48, 48), drawn(60, 48), drawn(60, 48), drawn(48, 60)]
    ranking = aw.similarity(drawn(48, 48), images, model=(model, plain), progress=False)
    assert ranking.scores[0] == pytest.approx(1, abs=1e-6)
    assert ranking.scores[1] == pytest.approx(ranking.scores[2], abs=1e-6)
    for i in (1, 3):
        assert ranking.explain(i).score == pytest.approx(ranking.scores[i], abs=1e-5)


def test_late_interaction_of_images_is_refused() -> None:
    for options in ({"model": build("dinov2")}, {"model": clip()}):
        with pytest.raises(NotAvailableError, match="late interaction"):
            aw.similarity(drawn(), drawn(80, 60), pooling="tokens", progress=False, **options)


# Two runs


def test_two_images_of_one_grid_are_compared_by_place(tmp_path: Path) -> None:
    a, b = analyzed(), analyzed(drawn(80, 60))
    c = aw.compare(a, b)
    assert [*c.alignment.tokens] == [(i, i) for i in range(17)]
    assert c.notes == ("Patches are matched by their place if both images have one grid.",)
    assert aw.compare(a, a.ablate([(0, 1)])).notes == ("The two images are identical.",)
    assert "every difference is 0" in aw.compare(a, analyzed()).notes[1]
    assert c.proposals() == []
    with pytest.raises(NotAvailableError, match="no vocabulary"):
        c.predictions()
    other = analyzed(model=build("vit"))
    for found in (c, aw.compare(a, a.ablate([(0, 1)])), aw.compare(a, other)):
        assert aw.to_html(aw.show(found), tmp_path / "compared.html")


def test_images_of_other_grids_share_special_tokens(tmp_path: Path) -> None:
    model, _ = build("dinov2")
    wide = analyzed(drawn(96, 48), model=(model, processor(do_resize=False)))
    c = aw.compare(analyzed(), wide)
    assert [*c.alignment.tokens] == [(0, 0)]
    assert aw.to_html(aw.show(c), tmp_path / "compared.html")


def test_parts_of_an_image_are_put_into_another_one(tmp_path: Path) -> None:
    model = classifier("vit")
    c = aw.compare(analyzed(model=model), analyzed(drawn(80, 60), model=model))
    target = aw.target(label="cat", against="dog")
    assert c.recovery(target, "heads").values.shape == (3, 4)
    assert aw.to_html(aw.show(c), tmp_path / "compared.html")


# Figures of tokens in a row


def test_figures_of_an_order_of_tokens_are_not_of_patches() -> None:
    a = analyzed()
    with pytest.raises(NotAvailableError, match="in the order of a text"):
        a.heads.roles()
    with pytest.raises(NotAvailableError, match="in the order of a text"):
        a.heads.patterns  # noqa: B018
    found = a.heads.specialization
    assert np.isnan(found.long_range).all() and "order of a text" in found.reasons["long_range"]
    assert np.isfinite(found.self).all()
    assert "long_range" in a.to_dataframe() and a.to_dataframe()["long_range"].isna().all()
    text = aw.analyze("the cat sat on the mat", progress=False)
    assert np.isfinite(text.heads.specialization.long_range).all()


# What an error and a name say


def test_arrays_of_ids_are_ids_of_a_model_of_texts() -> None:
    ids = [101, 7592, 102]
    for kind in (np.uint16, np.uint32, np.int64):
        given = np.array([ids], kind)
        assert aw.analyze(given, progress=False).trace.n_tokens == 3
    for given in (np.array([[ids]]), np.ones((2, 3, 4), int)):
        with pytest.raises(InputError, match="input_ids has shape"):
            aw.analyze(given, progress=False)
    for given in (np.ones((20, 30, 3), np.uint8), np.ones((20, 30)), drawn()):
        with pytest.raises(InputTypeError, match="text is an image"):
            aw.analyze(given, progress=False)


def test_messages_name_what_to_give() -> None:
    with pytest.raises(InputTypeError, match=r"PIL.Image.open\(file\)"):
        analyzed(io.BytesIO(b"x"))
    with pytest.raises(InputTypeError, match=r"image.numpy\(\)"):
        aw.similarity(torch.rand(3, 48, 48), TEXT, model=clip(), progress=False)
    with pytest.raises(InputError, match="sorts into 3 classes"):
        aw.similarity(drawn(), drawn(80, 60), model=classifier("vit"), progress=False)
    with pytest.raises(InputTypeError, match=r"similar_to=analyze\(image\)"):
        aw.target(similar_to=drawn())


def test_a_picture_is_called_by_what_was_read_of_it() -> None:
    a = analyzed()
    assert str(aw.target(similar_to=a)) == "similarity with '60 × 44 px'"
    assert repr(aw.show(a)).startswith("<AttentionWidget '60 × 44 px', 17 tokens")


def test_pictures_multiplied_by_alpha_are_read() -> None:
    for mode in ("La", "RGBa"):
        image = drawn().convert("RGBA" if mode == "RGBa" else "LA").convert(mode)
        assert analyzed(image).trace.n_tokens == 17


def test_a_text_imports_no_figures_of_pictures() -> None:
    names = "figures", "patterns", "pictures", "encoder", "loading"
    code = f"import sys, attn_widget as aw\naw.show('the cat', progress=False)\nassert not [n for n in {names} if 'attn_widget.features.images.' + n in sys.modules]"
    subprocess.run([sys.executable, "-c", code], check=True)

"""Models as people have them: wrapped, in folders of other programs, with odd files."""

from __future__ import annotations

import copy
import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers as tf

import attn_widget as aw
from attn_widget.errors import InputError, InputTypeError, ModelLoadError
from tests.unit import tiny_models

TEXT = "The cat sat on the mat."


@pytest.fixture(scope="module")
def pair() -> Any:
    return tiny_models.build("bert")


def weights(model: Any) -> Any:
    return aw.analyze(TEXT, model=model, tagger=None, progress=False).attention(1, 2)


class Adapted(torch.nn.Module):
    """The interface of PEFT's `PeftModel`, which is not installed: a wrapper that gives its base model."""

    def __init__(self, model: Any, *, prompts: bool = False) -> None:
        super().__init__()
        self.base_model = torch.nn.Module()
        self.base_model.model = model
        self.active_peft_config = type("Config", (), {"is_prompt_learning": prompts})()

    def get_base_model(self) -> Any:
        return self.base_model.model


class FirstModule(torch.nn.Module):
    """The interface of `sentence_transformers.models.Transformer`, which is not installed."""

    def __init__(self, model: Any) -> None:
        super().__init__()
        self.auto_model = model


class Sentences(torch.nn.Sequential):
    """The interface of a `SentenceTransformer`: modules in a row, and the tokenizer of the first."""

    def __init__(self, model: Any, tokenizer: Any) -> None:
        super().__init__(FirstModule(model), torch.nn.Identity())
        self.tokenizer = tokenizer


def test_wrappers_are_taken_off(pair: Any) -> None:
    model, tokenizer = pair
    wanted = weights(pair)
    compiled = torch.compile(model)
    for wrapped in (
        compiled,
        torch.nn.DataParallel(model),
        Adapted(model),
        torch.nn.DataParallel(Adapted(model)),
    ):
        encoder = aw.load((wrapped, tokenizer))
        assert encoder.model is model
        np.testing.assert_array_equal(weights((wrapped, tokenizer)), wanted)
        with pytest.raises(InputTypeError, match=r"Pass both: model=\(model, tokenizer\)"):
            aw.load(wrapped)


def test_objects_with_model_and_tokenizer_are_taken(pair: Any, tmp_path: Path) -> None:
    model, tokenizer = pair
    wanted = weights(pair)
    trainer = tf.Trainer(
        model=model,
        args=tf.TrainingArguments(output_dir=str(tmp_path), report_to=[], use_cpu=True),
        processing_class=tokenizer,
    )
    sentences = Sentences(model.base_model, tokenizer)
    pipeline = tf.pipeline("fill-mask", model=model, tokenizer=tokenizer)
    for given in (trainer, sentences, pipeline):
        np.testing.assert_array_equal(weights(given), wanted)


def test_prompts_that_are_learnt_are_refused(pair: Any) -> None:
    with pytest.raises(InputError, match="adds virtual tokens"):
        aw.load((Adapted(pair[0], prompts=True), pair[1]))


def test_weights_without_numbers_are_refused(pair: Any) -> None:
    with pytest.raises(ModelLoadError, match="weights on the device 'meta'"):
        aw.load((copy.deepcopy(pair[0]).to("meta"), pair[1]))


def test_of_a_folder_of_trainer_the_newest_checkpoint_is_read(pair: Any, tmp_path: Path) -> None:
    model, tokenizer = copy.deepcopy(pair[0]), pair[1]
    ids = tokenizer([TEXT], return_tensors="pt")["input_ids"][0]
    trainer = tf.Trainer(
        model=model,
        args=tf.TrainingArguments(
            output_dir=str(tmp_path / "out"), report_to=[], use_cpu=True, max_steps=10, save_steps=1,
            save_total_limit=2, disable_tqdm=True, learning_rate=1e-2,
        ),
        train_dataset=[{"input_ids": ids, "labels": ids}] * 2,
        processing_class=tokenizer,
    )  # fmt: skip
    trainer.train()
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [
        "checkpoint-10",
        "checkpoint-9",
    ]
    encoder = aw.load(str(tmp_path / "out"), progress=False)
    assert encoder.name == "out/checkpoint-10"
    np.testing.assert_array_equal(weights(encoder), weights((model, tokenizer)))


@pytest.mark.parametrize("below", ["", "checkpoint-500"])
def test_an_adapter_without_its_model_names_the_way_out(below: str, tmp_path: Path) -> None:
    (tmp_path / below).mkdir(exist_ok=True)
    (tmp_path / below / "adapter_config.json").write_text(
        '{"base_model_name_or_path": "bert-base-uncased"}'
    )
    (tmp_path / below / "adapter_model.safetensors").write_bytes(b"")
    with pytest.raises(
        ModelLoadError,
        match=r"adapter of PEFT without its model \('bert-base-uncased'\)\. Load both",
    ):
        aw.load(tmp_path)


@pytest.fixture
def folder(pair: Any, tmp_path: Path) -> Path:
    for part in pair:
        part.save_pretrained(tmp_path / "m")
    return tmp_path / "m"


@pytest.mark.parametrize("name", ["config.json", "tokenizer.json", "tokenizer_config.json"])
def test_a_byte_order_mark_is_named(name: str, folder: Path) -> None:
    file = folder / name
    file.write_bytes(b"\xef\xbb\xbf" + file.read_bytes())
    with pytest.raises(ModelLoadError, match=rf"{name}' begins with a byte-order mark"):
        aw.load(folder, progress=False)


@pytest.mark.parametrize("family", ["bert", "roberta", "distilbert"])
def test_a_head_that_the_config_does_not_name_is_found_in_the_weights(
    family: str, tmp_path: Path
) -> None:
    model, tokenizer = tiny_models.build(family)
    for part in (model, tokenizer):
        part.save_pretrained(tmp_path)
    config = json.loads((tmp_path / "config.json").read_text())
    del config["architectures"]
    (tmp_path / "config.json").write_text(json.dumps(config))
    encoder = aw.load(tmp_path, progress=False)
    assert encoder.has_lm
    found = aw.analyze(TEXT, model=encoder, tagger=None, progress=False).trace.logits
    wanted = aw.analyze(TEXT, model=(model, tokenizer), tagger=None, progress=False).trace.logits
    np.testing.assert_array_equal(found, wanted)
    shutil.rmtree(tmp_path)
    for part in (model.base_model, tokenizer):
        part.save_pretrained(tmp_path)
    (tmp_path / "config.json").write_text(json.dumps(config))
    assert not aw.load(tmp_path, progress=False).has_lm


def test_models_that_fail_or_that_no_matrix_shows_are_named() -> None:
    small = {
        "vocab_size": 512,
        "hidden_size": 32,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "intermediate_size": 48,
    }
    tokenizer = tiny_models.tokenizer("wordpiece")
    torch.manual_seed(0)
    for model in (
        tf.TapasModel(tf.TapasConfig(**small)),
        tf.NystromformerModel(
            tf.NystromformerConfig(**small, max_position_embeddings=130, num_landmarks=16)
        ),
    ):
        with pytest.raises(aw.AttnWidgetError) as told:
            aw.analyze("the cat " * 40, model=(model, tokenizer), tagger=None, progress=False)
        assert type(model).__name__ in str(told.value) and "from_attentions" in str(told.value)

"""Encoders: what loads, and what is refused and how."""

from __future__ import annotations

import gc
import shutil
import socket
import time
import warnings
import weakref
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers as tf

import attn_widget as aw
from attn_widget.errors import (
    InputError,
    InputTypeError,
    ModelLoadError,
)
from attn_widget.model.checkpoint import embedded_checkpoint
from attn_widget.model.encoder import Encoder
from attn_widget.model.places import MINI, locate
from tests.unit import tiny_models


@pytest.fixture(scope="module")
def mini() -> Encoder:
    return aw.load(progress=False)


@pytest.fixture
def no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any, **__: Any) -> Any:
        raise OSError("Network is unreachable")

    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    monkeypatch.setattr(socket, "create_connection", refuse)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)


def save(folder: Path, family: str = "bert", head: str = "ForMaskedLM", **changes: Any) -> Path:
    model, tokenizer = tiny_models.build(family, head, **changes)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def test_the_embedded_model_loads_to_float32_and_is_cached(mini: Encoder) -> None:
    assert mini.name == "attn_widget/mini"
    assert (mini.n_layers, mini.n_heads, mini.head_dim, mini.hidden_size) == (6, 12, 32, 384)
    assert (mini.vocab_size, mini.max_length) == (30522, 512)
    assert mini.has_lm and mini.classifier is None and mini.id2label == {}
    assert mini.dtype == torch.float32 and not mini.model.training
    assert aw.load(progress=False) is mini
    assert aw.load(mini) is mini


def test_a_folder_loads_and_other_arguments_give_another_encoder(tmp_path: Path) -> None:
    folder = save(tmp_path / "tiny")
    encoder = aw.load(str(folder), progress=False)
    assert encoder.name == "tiny" and encoder.has_lm
    assert aw.load(folder, progress=False) is encoder
    half = aw.load(folder, dtype="bfloat16", progress=False)
    assert half is not encoder and half.dtype == torch.bfloat16


def test_unloading_frees_the_model(tmp_path: Path) -> None:
    folder = save(tmp_path / "tiny")
    encoder = aw.load(folder, progress=False)
    other = aw.load(folder, dtype="float16", progress=False)
    model = weakref.ref(encoder.model)
    aw.unload(encoder)
    del encoder
    gc.collect()
    assert model() is None
    assert aw.load(folder, dtype="float16", progress=False) is other
    aw.unload(other)
    with pytest.raises(InputTypeError, match=r"unload\(load\(name\)\)"):
        aw.unload("tiny")  # pyright: ignore[reportArgumentType]: that is the test


def test_a_model_that_is_loaded_in_inference_mode_can_have_gradients(tmp_path: Path) -> None:
    for part in tiny_models.build("bert"):
        part.save_pretrained(tmp_path)
    with torch.inference_mode():
        small = aw.load(tmp_path, progress=False).model
        embedded = Encoder(embedded_checkpoint(locate(None, None), in_torch=True))
        networks = [small, embedded.network, embedded.model]
    for network in networks:
        tensors = [*network.parameters(), *network.buffers()]
        assert tensors and not any(tensor.is_inference() for tensor in tensors)


def test_a_pair_is_cached_while_it_is_used_and_not_kept_alive() -> None:
    model, tokenizer = tiny_models.build("bert")
    encoder = aw.load((model, tokenizer))
    assert aw.load((model, tokenizer)) is encoder
    assert aw.load([model, tokenizer]).model is model
    gone = weakref.ref(model)
    del model, encoder
    gc.collect()
    assert gone() is None


def test_encoders_of_one_model_share_its_lock() -> None:
    model, tokenizer = tiny_models.build("bert")
    first = aw.load((model, tokenizer))
    second = aw.load((model.bert, tokenizer))
    third = aw.load((model, tiny_models.tokenizer("unigram")))
    assert first is not third and first.lock is second.lock is third.lock


@pytest.mark.parametrize(
    ("family", "head", "mlm", "nsp", "classifier"),
    [("bert", "ForPreTraining", True, True, None), ("bert", "ForMaskedLM", True, False, None),
     ("bert", "Model", False, False, None), ("bert", "LMHeadModel", True, False, None),
     ("bert", "ForNextSentencePrediction", False, True, None),
     ("distilbert", "ForSequenceClassification", False, False, "sequence"),
     ("electra", "ForTokenClassification", False, False, "token"),
     ("electra", "ForPreTraining", False, False, None),
     ("albert", "ForPreTraining", True, False, None),
     ("mobilebert", "ForPreTraining", True, True, None),
     ("roberta", "ForQuestionAnswering", False, False, "question_answering")],
)  # fmt: skip
def test_the_heads_are_those_of_the_checkpoint(
    tmp_path: Path, family: str, head: str, mlm: bool, nsp: bool, classifier: str | None
) -> None:
    changes = {"is_decoder": True} if head == "LMHeadModel" else {}
    encoder = aw.load(save(tmp_path / "tiny", family, head, **changes), progress=False)
    assert (encoder.has_lm, encoder.has_nsp, encoder.classifier) == (mlm, nsp, classifier)


def test_a_next_sentence_head_is_found_behind_a_config_that_names_a_masked_lm(
    tmp_path: Path,
) -> None:
    """bert-base-uncased is such a checkpoint."""
    folder = save(tmp_path / "tiny", "bert", "ForPreTraining")
    config = (folder / "config.json").read_text()
    (folder / "config.json").write_text(config.replace("BertForPreTraining", "BertForMaskedLM"))
    encoder = aw.load(folder, progress=False)
    assert encoder.has_lm and encoder.has_nsp


def test_a_head_without_trained_weights_is_left_out(tmp_path: Path) -> None:
    folder = save(tmp_path / "tiny", "bert", "Model")
    config = (folder / "config.json").read_text()
    for head in ("BertForMaskedLM", "BertForSequenceClassification", "BertForPreTraining"):
        (folder / "config.json").write_text(config.replace('"BertModel"', f'"{head}"'))
        encoder = aw.load(folder, progress=False)
        assert not encoder.has_lm and not encoder.has_nsp and encoder.classifier is None
        assert type(encoder.model).__name__ == "BertModel"
        aw.unload(encoder)


@pytest.mark.parametrize(
    ("family", "limit"),
    [("bert", 128), ("roberta", 128), ("mpnet", 128), ("distilbert", 128), ("modernbert", 128),
     ("deberta-v2", 128), ("xlm-roberta", 128)],
)  # fmt: skip
def test_the_longest_input_that_is_allowed_runs(family: str, limit: int) -> None:
    """RoBERTa's config says 130 positions here, as 514 for 512: two are reserved."""
    from attn_widget.trace.capture import capture

    encoder = aw.load(tiny_models.build(family))
    assert encoder.max_length == limit
    encoding = encoder.encode("cat " * 400, truncation=True)
    assert encoding.n_tokens == limit
    assert capture(encoder, encoding).n_tokens == limit


def test_nothing_is_printed_or_warned_while_loading(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = save(tmp_path / "tiny", "bert", "ForPreTraining", bos_token_id=9999)
    capsys.readouterr()
    verbosity = tf.logging.get_verbosity()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        aw.load(folder, progress=False)
    assert capsys.readouterr() == ("", "")
    assert tf.logging.get_verbosity() == verbosity
    aw.unload()
    aw.load(folder)
    said = capsys.readouterr()
    assert "Loading tiny" in said.err and said.out == ""


@pytest.mark.usefixtures("no_network")
def test_without_a_network_a_hub_name_fails_at_once_and_says_what_works() -> None:
    start = time.monotonic()
    with pytest.raises(ModelLoadError, match=r"cannot be reached.*embedded model needs no network"):
        aw.load("some-team/some-model", progress=False)
    assert time.monotonic() - start < 10


def test_an_offline_setting_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    with pytest.raises(ModelLoadError, match="HF_HUB_OFFLINE forbids"):
        aw.load("some-team/some-model", progress=False)


@pytest.mark.usefixtures("no_network")
def test_a_cached_hub_name_needs_no_network(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit = "0" * 40
    repository = tmp_path / "models--team--tiny"
    save(repository / "snapshots" / commit)
    (repository / "refs").mkdir()
    (repository / "refs" / "main").write_text(commit)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    monkeypatch.setattr("transformers.utils.hub.constants.HF_HUB_CACHE", str(tmp_path))
    encoder = aw.load("team/tiny", progress=False)
    assert (encoder.name, encoder.revision, encoder.has_lm) == ("team/tiny", commit, True)


@pytest.mark.parametrize(
    ("model", "words"),
    [("./no/such/folder", "does not exist"), (Path("nowhere"), "does not exist"),
     ("two words", "neither a folder nor a hub name"), ("", "neither a folder nor a hub name"),
     ("~nobody-of-this-name/x", "home folder"), ("a/b/c", "neither a folder nor a hub name"), (__file__, "is a file"),
     ("a" * 300, "'a{199}…' is neither a folder nor a hub name"), ("a--b", "nor a hub name"),
     ("./" + "a" * 300, "does not exist"), (Path("a" * 300), "does not exist")],
)  # fmt: skip
def test_what_is_no_model_is_refused_in_words(model: Any, words: str) -> None:
    with pytest.raises(ModelLoadError, match=words):
        aw.load(model, progress=False)


def test_wrong_types_are_refused_in_words() -> None:
    model, tokenizer = tiny_models.build("bert")
    for given, words in [
        (3, "model is a int"),
        (model, r"Pass both: model=\(model, tokenizer\)"),
        ((model,), r"expected \(model, tokenizer\)"),
        ((tokenizer, model), r"\(tokenizer, model\)"),
        ((torch.nn.Linear(2, 2), tokenizer), "PreTrainedModel"),
        ((model, "bert"), "The tokenizer is a str"),
    ]:
        with pytest.raises((InputTypeError, ModelLoadError), match=words):
            aw.load(given)
    with pytest.raises(InputError, match="device cannot be set for a model that is already loaded"):
        aw.load((model, tokenizer), device="cpu")
    with pytest.raises(InputError, match="dtype is 'int8'"):
        aw.load(dtype="int8")
    with pytest.raises(ModelLoadError, match="device 'nowhere'"):
        aw.load(device="nowhere")


def test_parts_of_encoder_decoders_and_recurrent_models_are_refused(tmp_path: Path) -> None:
    bart, tokenizer = tiny_models.build("bart")
    tf.MvpConfig(vocab_size=512, d_model=16).save_pretrained(tmp_path / "unknown")
    tf.MarianConfig(share_encoder_decoder_embeddings=False).save_pretrained(tmp_path / "two")
    # Refused before any weights are looked for.
    tf.MambaConfig(vocab_size=512, hidden_size=16).save_pretrained(tmp_path / "mamba")
    tf.Qwen3NextConfig(vocab_size=512, hidden_size=16).save_pretrained(tmp_path / "hybrid")
    for given, words in [
        ((bart.get_encoder(), tokenizer), "BartEncoder, which is not a whole encoder-decoder"),
        ((tf.BartForSequenceClassification(bart.config), tokenizer), "not a whole encoder-decoder"),
        (tmp_path / "unknown", "encoder-decoder model of a family that is not known"),
        (tmp_path / "two", "one vocabulary for what it reads and another for what it writes"),
        (tmp_path / "mamba", "has recurrent layers"),
        (tmp_path / "hybrid", "has layers of the kind 'linear_attention'"),
    ]:
        with pytest.raises(ModelLoadError, match=words):
            aw.load(given, progress=False)


def test_a_slow_tokenizer_is_refused(tmp_path: Path) -> None:
    model, _ = tiny_models.build("bert")
    vocabulary = tmp_path / "vocab.txt"
    vocabulary.write_text("\n".join(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "cat"]))
    slow = tf.CanineTokenizer()
    assert not slow.is_fast
    with pytest.raises(ModelLoadError, match="no fast tokenizer"):
        aw.load((model, slow))


def test_broken_folders_are_refused_in_words(tmp_path: Path) -> None:
    folder = save(tmp_path / "tiny")
    for name, words in [
        ("model.safetensors", "its weights failed"),
        ("tokenizer.json", "tokenizer"),
        ("config.json", "its config.json failed"),
    ]:
        broken = tmp_path / f"without-{name}"
        shutil.copytree(folder, broken)
        (broken / name).unlink()
        with pytest.raises(ModelLoadError, match=words):
            aw.load(broken, progress=False)
    config = (folder / "config.json").read_text()
    (folder / "config.json").write_text(
        config.replace('"num_hidden_layers": 3', '"num_hidden_layers": 5')
    )
    with pytest.raises(ModelLoadError, match="lacks weights of its layers"):
        aw.load(folder, progress=False)


def test_code_from_a_repository_is_never_run(tmp_path: Path) -> None:
    ran = tmp_path / "ran"
    (tmp_path / "modeling.py").write_text(f"open({str(ran)!r}, 'w')\n")
    (tmp_path / "config.json").write_text(
        '{"model_type": "mine", "auto_map": {"AutoConfig": "modeling.Config"}}'
    )
    with pytest.raises(ModelLoadError, match="never runs"):
        aw.load(tmp_path, progress=False)
    assert not ran.exists()


def test_another_tokenizer_can_be_given(tmp_path: Path) -> None:
    folder = save(tmp_path / "tiny")
    words = tiny_models.tokenizer("wordpiece")
    assert aw.load(folder, tokenizer=words, progress=False).tokenizer is words
    assert aw.load(folder, tokenizer=str(MINI), progress=False).tokenizer.vocab_size == 30522


# Tokenizers that do not belong to the model


def test_a_tokenizer_without_a_word_is_refused() -> None:
    model, tokenizer = tiny_models.build("bert")
    empty = tf.BertTokenizer(
        vocab={token: i for i, token in enumerate(tokenizer.all_special_tokens)}
    )
    with pytest.raises(ModelLoadError, match=r"knows 5 special tokens and no word.*512 embeddings"):
        aw.load((model, empty))


def test_an_albert_folder_with_the_vocabulary_of_a_bert_is_refused(tmp_path: Path) -> None:
    folder = save(tmp_path, "albert")
    for path in (*folder.glob("tokenizer*"), *folder.glob("spiece*")):
        path.unlink()
    (folder / "vocab.txt").write_text("[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nthe\ncat\n")
    with pytest.raises(ModelLoadError):
        aw.load(folder, progress=False)


def test_a_tokenizer_far_smaller_than_the_model_is_warned_of() -> None:
    model, tokenizer = tiny_models.build("bert")
    words = [*tokenizer.all_special_tokens, "the", "cat"]
    small = tf.BertTokenizer(vocab={token: i for i, token in enumerate(words)})
    with pytest.warns(UserWarning, match=r"has 7 entries, the model 512 embeddings"):
        aw.load((model, small))


def test_an_unknown_piece_is_named_as_what_the_model_reads() -> None:
    encoder = aw.load(tiny_models.build("xlm-roberta"))
    tokens = encoder.encode("a cat \u2603").tokens
    (unknown,) = [token for token in tokens if token.id == encoder.tokenizer.unk_token_id]
    assert (unknown.text, unknown.surface) == ("<unk>", "\u2603")

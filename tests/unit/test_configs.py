"""Settings of a model's own files: each is obeyed, replaced, refused or noted, as docs/configs.md says."""

from __future__ import annotations

import inspect
import json
import re
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers as tf

import attn_widget as aw
from attn_widget.errors import ModelLoadError, NotAvailableError
from attn_widget.model import embedder_settings
from attn_widget.trace.generation import CHOOSING, REFUSED, REPLACED
from tests.close import assert_close
from tests.features.similarity.embedders import MEAN, PAIR_SUMS, TEXT_SUMS, folder_of, size_of_sum
from tests.features.similarity.test_embedding_heads import (
    Normalize,
    Pooling,
    Sentences,
    change,
    embedded,
    plain,
)
from tests.unit import tiny_models

PAGE = (Path(__file__).parents[2] / "docs/configs.md").read_text(encoding="utf-8")
PROMPT = "The cat sat on"
COUNT = 24
GREEDY = {"do_sample": False, "num_beams": 1, "max_new_tokens": COUNT}


def table(of: str) -> dict[str, str]:
    """What becomes of each setting of a file, by its section of the page."""
    section = PAGE.split(f"`{of}`\n", 1)[1].split("\n## ")[0]
    rows = [line.strip("| ").split(" | ", 1) for line in section.splitlines() if line[:3] == "| `"]
    return {name: fate for names, fate in rows for name in re.findall(r"`(\w+)`", names)}


def test_the_page_has_every_setting_of_generation() -> None:
    found, known = table("generation_config.json"), vars(tf.GenerationConfig())
    assert {name for name in known if not name.startswith("_")} <= set(found)
    fates = {name: fate.split()[0].strip(",;:") for name, fate in found.items()}
    assert {name for name, fate in fates.items() if fate == "refused"} == set(REFUSED)
    replaced = {name for name, fate in fates.items() if fate == "replaced"}
    assert replaced == {*REPLACED, "max_new_tokens"}
    assert {name for name, fate in found.items() if "with a warning" in fate} == set(CHOOSING)


def test_the_page_has_every_setting_of_tokenizers_and_embedders() -> None:
    found = table("tokenizer_config.json")
    classes = (
        tf.BertTokenizer,
        tf.LlamaTokenizer,
        tf.GPT2Tokenizer,
        tf.T5Tokenizer,
        tf.XLMRobertaTokenizer,
        tf.NllbTokenizer,
    )
    known = {name for one in classes for name in inspect.signature(one.__init__).parameters}
    known |= {
        *tf.PreTrainedTokenizerBase.SPECIAL_TOKENS_ATTRIBUTES,
        "model_max_length",
        "truncation_side",
        "padding_side",
    }
    known -= {"self", "kwargs", "vocab", "merges", "_spm_precompiled_charsmap"}
    assert known <= set(found)
    for file, keys in (
        ("modules.json", embedder_settings.MODULES_KEYS),
        ("sentence_bert_config.json", embedder_settings.TRANSFORMER_KEYS),
        ("config_sentence_transformers.json", embedder_settings.EMBEDDER_KEYS),
    ):
        assert set(keys) <= set(table(file))


# Generation


def written(family: str, settings: dict[str, Any]) -> tuple[list[int], list[int], Any]:
    """Ids that `analyze` and plain `generate` write with these settings, and the analysis."""
    model, tokenizer = tiny_models.build(family)
    for name, value in settings.items():
        setattr(model.generation_config, name, value)
    a = aw.analyze(PROMPT, generate=COUNT, model=(model, tokenizer), tagger=None, progress=False)
    first = a.of("encoder") if a.model.parts != ("self",) else a
    ids = [token.id for token in first.tokens][: first.trace.n_tokens - len(first.model.generated)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        out = model.generate(
            torch.tensor([ids]), attention_mask=torch.ones(1, len(ids), dtype=torch.long), pad_token_id=1,
            **GREEDY, tokenizer=tokenizer,
        )[0]  # fmt: skip
    plainly = out[1 if a.model.parts != ("self",) else len(ids) :].tolist()
    ends = model.generation_config.eos_token_id
    stops = ends if isinstance(ends, list) else [ends]
    return (
        [token.id for token in a.model.generated],
        plainly[:-1] if plainly[-1] in stops else plainly,
        a,
    )


@pytest.fixture(scope="module", params=["llama", "gpt2", "marian"])
def free(request: pytest.FixtureRequest) -> tuple[str, list[int]]:
    mine, plainly, _ = written(request.param, {})
    assert mine == plainly and len(mine) > 3
    return request.param, mine


@pytest.mark.parametrize(
    ("settings", "warns"),
    [
        ({"repetition_penalty": 5.0}, True),
        ({"no_repeat_ngram_size": 1}, True),
        ({"suppress_tokens": 1}, False),
        ({"begin_suppress_tokens": 1}, False),
        ({"bad_words_ids": 2}, False),
        ({"sequence_bias": 1}, True),
        ({"eos_token_id": 3, "min_new_tokens": 6}, False),
        ({"eos_token_id": 3, "min_length": 40}, False),
        ({"forced_eos_token_id": 7, "eos_token_id": 7}, False),
        ({"exponential_decay_length_penalty": (1, 1.5)}, True),
    ],
    ids=lambda given: "+".join(given) if isinstance(given, dict) else "",
)
def test_what_is_written_is_what_generate_writes(
    free: tuple[str, list[int]], settings: dict[str, Any], warns: bool
) -> None:
    family, likeliest = free
    given = {  # of the ids that are written without any setting
        **settings,
        **{name: likeliest[:1] for name in ("suppress_tokens", "begin_suppress_tokens") if name in settings},
        **({"bad_words_ids": [likeliest[:2]]} if "bad_words_ids" in settings else {}),
        **({"sequence_bias": [[likeliest[:2], -1e3]]} if "sequence_bias" in settings else {}),
        **({"eos_token_id": likeliest[3]} if settings.get("eos_token_id") == 3 else {}),
    }  # fmt: skip
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        mine, plainly, a = written(family, given)
    assert mine == plainly and mine != likeliest
    said = [str(warning.message) for warning in caught if "generate obeys" in str(warning.message)]
    assert bool(said) == (warns and bool(mine))
    assert all(next(iter(settings)) in message for message in said)
    assert a.run is not None and a.run.encoder.network.generation_config.do_sample is not True


def test_a_stop_string_ends_the_text() -> None:
    _, _, free = written("llama", {})
    stop = free.written[2].surface
    mine, plainly, a = written("llama", {"stop_strings": [stop]})
    assert mine == plainly and a.text.endswith(stop) and len(mine) <= 3


@pytest.mark.parametrize(
    "settings",
    [
        {"do_sample": True, "temperature": 0.1, "top_k": 3, "top_p": 0.5, "min_p": 0.1, "typical_p": 0.5},
        {"num_beams": 4, "num_return_sequences": 2, "early_stopping": True, "length_penalty": 2.0},
        {"max_length": 3, "max_time": 1e-9, "penalty_alpha": 0.6, "top_k": 4},
        {"cache_implementation": "static", "prompt_lookup_num_tokens": 3, "output_attentions": True},
        {"return_dict_in_generate": True, "output_scores": True, "use_cache": False, "dola_layers": "low"},
    ],
)  # fmt: skip
@pytest.mark.parametrize("family", ["llama", "t5"])
def test_greedy_text_takes_the_place_of_beams_samples_and_limits(
    family: str, settings: dict[str, Any]
) -> None:
    def ids(given: dict[str, Any]) -> list[int]:
        model, tokenizer = tiny_models.build(family)
        for name, value in given.items():
            setattr(model.generation_config, name, value)
        before = model.generation_config.to_dict()
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            a = aw.analyze(
                PROMPT, generate=COUNT, model=(model, tokenizer), tagger=None, progress=False
            )
        assert model.generation_config.to_dict() == before
        return [token.id for token in a.model.generated]

    assert ids(settings) == ids({})


@pytest.mark.parametrize(
    ("name", "value"), [("guidance_scale", 1.5), ("token_healing", True), ("force_words_ids", [[5]])]
)  # fmt: skip
def test_settings_that_change_more_than_the_next_token_are_refused(name: str, value: Any) -> None:
    model, tokenizer = tiny_models.build("llama")
    setattr(model.generation_config, name, value)
    with pytest.raises(
        NotAvailableError, match=rf"generation config .* has {name}=.*model\.generate"
    ):
        aw.analyze(PROMPT, generate=3, model=(model, tokenizer), progress=False)


def test_numbers_that_are_not_finite_end_it_with_their_reason() -> None:
    model, tokenizer = tiny_models.build("llama")
    with torch.no_grad():
        model.lm_head.weight[7] = torch.nan
    with pytest.raises(aw.errors.NotFiniteError, match="not finite after 0 tokens"):
        aw.analyze(PROMPT, generate=3, model=(model, tokenizer), progress=False)


# Embedders


def compared(model: Any, **options: Any) -> Any:
    return aw.similarity("the cat", "a dog", model=model, tagger=None, progress=False, **options)


@pytest.mark.parametrize("normalize", [False, True])
def test_embeddings_are_cut_to_the_dimensions_that_the_model_names(
    tmp_path: Path, normalize: bool
) -> None:
    """As `SentenceTransformer.encode`: after all modules, and the cosine is of what is left."""
    folder = folder_of(tmp_path, pooling=MEAN, normalize=normalize, settings={"truncate_dim": 5})
    h = [plain(folder, text).mean(axis=0) for text in ("the cat", "a dog")]
    e = [(one / np.linalg.norm(one) if normalize else one)[:5] for one in h]
    lengths = [np.linalg.norm(one) for one in h]
    found = embedded(folder, "the cat")
    assert found.shape == (5,)
    assert_close(found, e[0], **TEXT_SUMS, size=h[0] / (lengths[0] if normalize else 1))
    s = compared(folder)
    cosine = e[0] @ e[1] / np.linalg.norm(e[0]) / np.linalg.norm(e[1])
    assert_close(s.score, cosine, **PAIR_SUMS, size=max(lengths) / min(map(np.linalg.norm, e)))
    assert_close(s.matrix().sum() + s.biases.sum(), s.score, **PAIR_SUMS, size=size_of_sum(s))
    with pytest.raises(NotAvailableError, match=r"Truncate"):
        s.matrix("output")
    dot = compared(folder, similarity="dot")
    assert_close(
        dot.matrix().sum() + dot.biases.sum(), dot.score, **PAIR_SUMS, size=size_of_sum(dot)
    )
    others = ["a dog", "the old tree", "She sells sea shells"]
    ranking = aw.similarity("the cat", others, model=folder, tagger=None, progress=False)
    one_by_one = [compared_score(folder, other) for other in others]
    assert np.allclose(ranking.scores, one_by_one, atol=1e-5)


def compared_score(folder: Path, other: str) -> float:
    return aw.similarity("the cat", other, model=folder, tagger=None, progress=False).score


def test_an_object_is_cut_like_its_folder(tmp_path: Path) -> None:
    model, tokenizer = tiny_models.build("bert", "Model")
    given = Sentences(model, tokenizer, Pooling("mean"), Normalize())
    given.prompts = {}
    whole = embedded(given, "the cat")
    cut = Sentences(model, tokenizer, Pooling("mean"), Normalize())
    cut.prompts, cut.truncate_dim = {}, 4  # pyright: ignore[reportAttributeAccessIssue]
    np.testing.assert_array_equal(embedded(cut, "the cat"), whole[:4])


@pytest.mark.parametrize("name", ["euclidean", "manhattan"])
def test_a_similarity_that_is_no_sum_over_pairs_is_noted(tmp_path: Path, name: str) -> None:
    folder = folder_of(tmp_path, pooling=MEAN, settings={"similarity_fn_name": name})
    s = compared(folder)
    assert s.kind == "cosine" and any(f"{name!r}, which is no sum" in note for note in s.notes)
    assert not any(name in note for note in compared(folder, similarity="dot").notes)


def test_settings_that_are_not_read_are_noted(tmp_path: Path) -> None:
    folder = folder_of(tmp_path, pooling=MEAN, settings={"new_setting": 3, "prompts": {}})
    own = {
        "max_seq_length": 64,
        "processing_kwargs": {"text": {"padding": True}},
        "unpad_inputs": True,
    }
    change(folder, "sentence_bert_config.json", own)
    notes = " ".join(compared(folder).notes)
    assert "config_sentence_transformers.json: new_setting." in notes
    assert "sentence_bert_config.json: processing_kwargs." in notes and "unpad" not in notes


@pytest.mark.parametrize(
    ("file", "content", "message"),
    [
        ("config_sentence_transformers.json", {"truncate_dim": "5"}, "truncate_dim '5', expected a positive"),
        ("sentence_bert_config.json", {"transformer_task": "fill-mask"}, "'fill-mask' as transformer_task"),
        (
            "sentence_bert_config.json",
            {"modality_config": {"text": {"method": "forward", "method_output_name": "pooler_output"}}},
            "'pooler_output' as the method_output_name",
        ),
        ("1_Pooling/config.json", {**MEAN, "module_output_name": "other"}, "'other' as the module_output_name"),
        ("modules.json", [{"idx": 0, "path": "", "type": "custom_st.Transformer"}], "'custom_st.Transformer', whose code"),
    ],
)  # fmt: skip
def test_settings_that_would_give_other_embeddings_are_refused(
    tmp_path: Path, file: str, content: Any, message: str
) -> None:
    folder = change(folder_of(tmp_path, pooling=MEAN), file, content)
    with pytest.raises(ModelLoadError, match=message):
        compared(folder)


def test_late_interaction_obeys_lengths_and_expansion(tmp_path: Path) -> None:
    folder = folder_of(tmp_path, settings={"query_length": 6, "document_length": 5})
    long = "The cat sat on the mat, and the dog looked."
    cut: Any = aw.similarity(long, long, model=folder, truncation=True, tagger=None, progress=False)
    assert (cut.a.trace.n_tokens, cut.b.trace.n_tokens) == (6, 5) and len(cut.notes) == 2
    own = {"query_expansion": {"strategy": "fixed", "attend": True, "length": 9}}
    change(folder, "sentence_bert_config.json", own)
    change(folder, "config_sentence_transformers.json", {})
    padded: Any = compared(folder)
    mask = padded.a.run.encoding.inputs["attention_mask"]
    assert padded.a.trace.n_tokens == 9 and bool(mask.all())
    for key, value in (("token", "[PAD]"), ("strategy", "min")):
        settings = {"query_expansion": {**own["query_expansion"], key: value}}
        change(folder, "sentence_bert_config.json", settings)
        with pytest.raises(ModelLoadError, match=rf"as the {key} of its query_expansion"):
            compared(folder)


# Tokenizers


def test_the_tokenizers_own_limit_is_an_embedders_and_noted_elsewhere(tmp_path: Path) -> None:
    folder = folder_of(tmp_path, pooling=MEAN)
    config = json.loads((folder / "tokenizer_config.json").read_text())
    change(folder, "tokenizer_config.json", {**config, "model_max_length": 8})
    long = "the cat sat on the mat, and the dog looked at the bird"
    with pytest.raises(aw.errors.TooLongError, match="reads at most 8"):
        aw.similarity(long, "a dog", model=folder, tagger=None, progress=False)
    cut: Any = aw.similarity(long, "a", model=folder, truncation=True, tagger=None, progress=False)
    assert cut.a.trace.n_tokens == 8
    with pytest.warns(UserWarning, match=r"names 8 as the most .* 128 positions") as warned:
        a = aw.analyze(long, model=folder, tagger=None, progress=False)
    assert a.trace.n_tokens > 8 and warned[0].filename == __file__

"""Encoder-decoders: what they read and write, which of them are read, and what is refused in words."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers as tf

import attn_widget as aw
from attn_widget.analysis import Analysis
from attn_widget.errors import (
    InputError,
    InputTypeError,
    ModelLoadError,
    NotAvailableError,
    TooLongError,
)
from attn_widget.model.config import WRONG_BELOW, check_config
from tests.close import assert_close
from tests.unit import tiny_models
from tests.unit.test_encoder_decoders import OUTPUT, SOURCE, analysis


def test_what_an_encoder_decoder_cannot_read_or_write_is_refused_in_words() -> None:
    model = tiny_models.build("bart")

    def run(text: str = SOURCE, **options: Any) -> Analysis:
        return aw.analyze(text, model=model, progress=False, **options)

    for options, words in (
        ({}, r"no target is given\. output='\.\.\.' forces"),
        ({"output": OUTPUT, "generate": 3}, "output and generate are given"),
        ({"output": ""}, "output is empty"),
        ({"output": " \n"}, "output holds only white space"),
        ({"generate": 64}, r"generate is 64, and the decoder's start has 1 token; .* at most 64\. Use generate=63"),
    ):  # fmt: skip
        with pytest.raises(InputError, match=words):
            run(**options)
    with pytest.raises(InputTypeError, match="output is a list of 1"):
        run(output=[OUTPUT])
    with pytest.raises(
        TooLongError, match=r"output has \d+ tokens; .* writes at most 64\. Shorten it"
    ):
        run(output=OUTPUT * 20)
    with pytest.raises(TooLongError, match=r"text has \d+ tokens; .* reads at most 64\."):
        run(SOURCE * 20, output=OUTPUT)
    cut = run(SOURCE * 20, output=OUTPUT, truncation=True)
    assert cut.of("encoder").trace.n_tokens == 64 and cut.of("encoder").model.truncated is not None
    for name, given in (
        ("text_pair", "b"),
        ("windows", True),
        ("masked", [1]),
        ("compare_with", ["b"]),
    ):
        with pytest.raises(
            NotAvailableError, match=f"{name} is given, and .* is an encoder-decoder"
        ):
            run(output=OUTPUT, **{name: given})
    with pytest.raises(InputError, match="no target is given"):
        aw.load(model).encode(SOURCE)
    with pytest.raises(
        InputError, match=r"heads holds .*, and .* has the parts encoder, decoder, cross"
    ):
        run(output=OUTPUT).ablate([("middle", 0, 0)])
    with pytest.raises(InputError, match="head"):
        run(output=OUTPUT).ablate([("cross", 0, 2)])  # the encoder has four
    means = aw.corpus.head_means([SOURCE], progress=False)
    with pytest.raises(NotAvailableError, match="means over many texts"):
        run(output=OUTPUT).ablate([(0, 0)], means)


def test_a_source_and_a_target_in_each_others_place_are_noticed_by_the_prompt() -> None:
    model, tokenizer = tiny_models.build("t5")
    prefix = "translate English to German: "
    model.config.task_specific_params = {"translation_en_to_de": {"prefix": prefix}}
    with pytest.raises(
        InputError, match=r"output begins with 'translate English to German:'.*Swap the two"
    ):
        aw.analyze(OUTPUT, output=prefix + SOURCE, model=(model, tokenizer), progress=False)


def test_output_is_refused_of_models_that_read_one_text() -> None:
    for kind, words in (
        ("gpt2", r"is a decoder.*analyze\(text \+ output\)"),
        ("bert", "is an encoder"),
    ):
        with pytest.raises(NotAvailableError, match=words):
            aw.analyze(SOURCE, output=OUTPUT, model=tiny_models.build(kind), progress=False)
    a = aw.analyze("the cat", progress=False, tagger=None)
    assert (a.part, a.model.parts) == ("self", ("self",)) and a.of("self") is a
    with pytest.raises(InputError, match="part is 'cross'"):
        a.of("cross")


def test_a_model_that_names_no_start_token_says_so_and_a_bare_one_writes_nothing() -> None:
    model, tokenizer = tiny_models.build("bart")
    bare = aw.analyze(
        SOURCE, output=OUTPUT, model=(model.model, tokenizer), tagger=None, progress=False
    )
    np.testing.assert_array_equal(bare.attention(1, 1), analysis("bart").attention(1, 1))
    with pytest.raises(NotAvailableError, match="no language-model head"):
        bare.predictions()
    with pytest.raises(NotAvailableError, match="no language-model head"):
        aw.analyze(SOURCE, generate=3, model=(model.model, tokenizer), progress=False)


def test_a_model_that_reads_sound_is_refused_by_name_and_its_weights_are_shown() -> None:
    _, tokenizer = tiny_models.build("bart")
    config = tf.WhisperConfig(
        vocab_size=len(tokenizer), d_model=48, encoder_layers=2, decoder_layers=2, encoder_attention_heads=4,
        decoder_attention_heads=2, encoder_ffn_dim=64, decoder_ffn_dim=64, max_source_positions=50,
        max_target_positions=64, pad_token_id=1, bos_token_id=0, eos_token_id=2, decoder_start_token_id=2,
    )  # fmt: skip
    torch.manual_seed(0)
    model = tf.WhisperForConditionalGeneration(config).eval()
    with pytest.raises(ModelLoadError, match=r"\(whisper\) reads sound: .* from_attentions\("):
        aw.load((model, tokenizer))
    model.set_attn_implementation("eager")
    heard: Any = {"input_features": torch.randn(1, 80, 100)}
    with torch.no_grad():
        out: Any = model(
            **heard, decoder_input_ids=torch.tensor([[2, 5, 6]]), output_attentions=True
        )
    a = aw.from_attentions(
        encoder_attentions=out.encoder_attentions,
        decoder_attentions=out.decoder_attentions,
        cross_attentions=out.cross_attentions,
        encoder_tokens=[f"{20 * frame} ms" for frame in range(50)],
        decoder_tokens=["<start>", "a", "b"],
        tagger=None,
    )
    assert a.of("cross").heads.monotony.expected.shape == (2, 2, 3)
    np.testing.assert_array_equal(a.of("cross").attention(1, 1), out.cross_attentions[1][0, 1])


@pytest.mark.parametrize("kind", ["ending", "text"])
def test_the_target_is_read_without_its_end_token_and_whole_where_there_is_none(kind: str) -> None:
    model, _ = tiny_models.build("bart")
    tokenizer = tiny_models.tokenizer(kind)
    a = aw.analyze(SOURCE, output=OUTPUT, model=(model, tokenizer), tagger=None, progress=False)
    first, *others = a.tokens
    assert (first.id, first.special) == (2, True) and not any(token.special for token in others)
    spelled = "".join(token.surface for token in others)
    assert spelled.replace(" ", "") == OUTPUT.replace(" ", "")
    assert a.of("encoder").tokens[-1].special == (kind == "ending")


@pytest.mark.parametrize("name", ["marian", "m2m_100", "encoder-decoder"])
def test_a_saved_model_is_loaded_with_its_head(tmp_path: Path, name: str) -> None:
    model, tokenizer = tiny_models.build(name)
    del model.config.architectures
    model.save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    a = aw.analyze(SOURCE, output=OUTPUT, model=tmp_path, tagger=None, progress=False)
    assert a.predictions().ids.shape == (a.trace.n_tokens, 5)
    assert_close(a.trace.logits, analysis(name).trace.logits, terms=48, steps=14)


@pytest.mark.parametrize(
    ("kind", "french", "setting"),
    [
        ("nllb", "fra_Latn", "forced_bos_token_id"),
        ("mbart50", "fr_XX", "forced_bos_token_id"),
        ("mbart", "fr_XX", "decoder_start_token_id"),
    ],
)
def test_a_model_of_many_languages_writes_in_the_one_of_its_generation_config(
    kind: str, french: str, setting: str
) -> None:
    model, tokenizer = tiny_models.build("m2m_100")[0], tiny_models.languages(kind)
    german = {"fra_Latn": "deu_Latn"}.get(french, "de_DE")

    def read(**options: Any) -> Analysis:
        return aw.analyze(
            "the cat", model=(model, tokenizer), tagger=None, progress=False, **options
        )

    def ids(name: str) -> int:
        return tokenizer.convert_tokens_to_ids(name)

    # By itself the tokenizer would mark what is written with the language of the source.
    with pytest.raises(InputError, match=r"marks each text with its language.*tgt_lang = "):
        read(output="a fox")
    setattr(model.generation_config, setting, ids(french))
    tokenizer.tgt_lang = german
    a = read(output="a fox")
    labels = tokenizer(text_target="a fox").input_ids
    assert ids(german) in labels and tokenizer.tgt_lang == german
    first = [french] if kind == "mbart" else ["</s>", french]
    assert [token.text for token in a.tokens] == [*first, "▁a", "▁f", "o", "x"]
    b = read(generate=3)
    with torch.no_grad():
        written: Any = model.generate(
            **tokenizer("the cat", return_tensors="pt"),
            max_new_tokens=3,
            do_sample=False,
            num_beams=1,
        )
    assert [token.id for token in b.tokens] == written[0, : len(b.tokens)].tolist()
    assert [token.text for token in b.tokens[: len(first)]] == first
    source = [token.id for token in b.of("encoder").tokens]
    assert source == tokenizer("the cat").input_ids  # the source's mode is back
    setattr(model.generation_config, setting, None)
    if kind != "mbart":  # the tokenizer alone
        for one in (read(output="a fox"), read(generate=3)):
            assert one.tokens[1].text == german


def test_a_family_that_transformers_runs_wrongly_needs_a_later_version(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    config = tf.UMT5Config(**tiny_models.T5)
    monkeypatch.setitem(WRONG_BELOW, "umt5", (tf.__version__, "does what is told here"))
    check_config(config, "a model")
    monkeypatch.setitem(WRONG_BELOW, "umt5", ("999.1", "does what is told here"))
    with pytest.raises(
        ModelLoadError,
        match=rf"\(umt5\) needs transformers 999\.1: version {tf.__version__}, which is installed, does what",
    ):
        check_config(config, "a model")


def test_encoder_decoders_that_cannot_be_read_say_why() -> None:
    small = {
        "d_model": 32,
        "d_ff": 48,
        "d_kv": 8,
        "num_layers": 1,
        "num_heads": 2,
        "vocab_size": 512,
    }
    stacks = {
        key: value for key, value in tiny_models.STACKS.items() if key != "max_position_embeddings"
    }
    bert = tf.BertConfig(**tiny_models.SMALL)
    other = tf.BertConfig(
        **{**tiny_models.SMALL, "vocab_size": 600, "is_decoder": True, "add_cross_attention": True}
    )
    gpt2 = tf.GPT2Config(**tiny_models.GPT, add_cross_attention=True)
    for config, words in (
        (tf.LongT5Config(**small), r"\(longt5\) cannot be read: its encoder attends within blocks"),
        (tf.LEDConfig(**{**stacks, "attention_window": 8}), r"\(led\) .*: its encoder attends within windows"),
        (tf.NllbMoeConfig(**stacks, num_experts=2), r"\(nllb-moe\) .*: its experts read the mask"),
        (tf.ProphetNetConfig(hidden_size=32, num_encoder_layers=1, num_decoder_layers=1), "several tokens ahead"),
        (
            tf.EncoderDecoderConfig(encoder=bert.to_dict(), decoder=gpt2.to_dict()),
            r"made of bert and gpt2, and attention of gpt2 .* is not known\. Both may be one of bert,",
        ),
        (
            tf.EncoderDecoderConfig(encoder=bert.to_dict(), decoder=other.to_dict()),
            "one vocabulary for what it reads, of 512 entries, and another for what it writes, of 600",
        ),
    ):  # fmt: skip
        with pytest.raises(ModelLoadError, match=words):
            check_config(config, "a model")

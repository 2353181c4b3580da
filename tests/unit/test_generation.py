"""Text that a decoder writes: the likeliest token at each step, and one pass over the finished text."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import attn_widget as aw
from attn_widget.analysis.texts import run_text
from attn_widget.errors import InputError, InputTypeError, NotAvailableError, TooLongError
from attn_widget.model.encoder import Encoder
from attn_widget.protocol import answer as protocol
from attn_widget.protocol.initial_payload import first_paint
from attn_widget.protocol.pack import unpack
from tests.close import assert_close
from tests.unit import tiny_models
from tests.unit.tiny_models import DECODERS

PROMPT = "The cat sat on"
COUNT = 12  # more than the windows of the tiny models


@pytest.fixture(scope="module", params=DECODERS)
def encoder(request: pytest.FixtureRequest) -> Encoder:
    return aw.load(tiny_models.build(request.param))


def analysis(encoder: Encoder, **options: Any) -> Any:
    return aw.analyze(PROMPT, model=encoder, tagger=None, progress=False, **options)


def test_each_token_written_is_the_likeliest_after_those_before_it(encoder: Encoder) -> None:
    a = analysis(encoder, generate=COUNT)
    plain = analysis(encoder)
    n, first = a.trace.n_tokens, plain.trace.n_tokens
    assert a.tokens[:first] == plain.tokens and plain.model.generated == ()
    assert len(a.model.generated) == n - first and 0 < n - first <= COUNT
    # By one pass over the finished text, without a cache.
    best = a.predictions(top_k=1).ids[:, 0]
    assert [token.id for token in a.model.generated] == best[first - 1 : n - 1].tolist()
    assert a.text.startswith(PROMPT)
    for token in a.model.generated:
        assert token.surface == a.text[token.start : token.end] and not token.special


def test_writing_reports_each_token_and_ends_where_it_is_canceled(encoder: Encoder) -> None:
    told: list[tuple[int, int]] = []
    options: dict[str, Any] = {"generate": 3, "truncation": False, "tagger": None}
    a = run_text(encoder, PROMPT, None, progress=lambda *step: told.append(step), **options)
    written = len(a.model.generated)
    assert told[:written] == [(i + 1, 3) for i in range(written)] and len(told) > written

    def cancel(done: int, total: int) -> None:
        raise InterruptedError(f"{done} of {total}")

    with pytest.raises(InterruptedError, match="1 of 3"):
        run_text(encoder, PROMPT, None, progress=cancel, **options)


def test_each_step_of_generate_is_a_row_of_the_pass_over_the_finished_text(
    encoder: Encoder,
) -> None:
    a = analysis(encoder, generate=COUNT)
    model = encoder.model
    before = model.config._attn_implementation
    model.config._attn_implementation = "eager"
    try:
        prompt = torch.tensor([[token.id for token in a.tokens[: -len(a.model.generated)]]])
        steps = model.generate(
            prompt, attention_mask=torch.ones_like(prompt), max_new_tokens=len(a.model.generated),
            do_sample=False, output_attentions=True, return_dict_in_generate=True, pad_token_id=1,
            eos_token_id=511, use_cache=True,
        )  # fmt: skip
    finally:
        model.config._attn_implementation = before
    assert steps.sequences[0].tolist() == [token.id for token in a.tokens]
    for k, step in enumerate(steps.attentions[1:], prompt.shape[1]):
        for layer, weights in enumerate(step):
            row, scores = weights[0, :, -1].float().numpy(), a.trace.layer_scores(layer)[:, : k + 1]
            size = scores[np.isfinite(scores)]
            mine = a.trace.layer_weights(layer)[:, k]
            # A sliding cache has the latest keys alone.
            assert_close(mine[:, k + 1 - row.shape[-1] : k + 1], row, **tiny_models.SUMS, size=size)
            assert not mine[:, : k + 1 - row.shape[-1]].any()


def test_a_model_may_end_the_text_at_once() -> None:
    model, tokenizer = tiny_models.build("gpt2", seed=3)
    first = analysis(aw.load((model, tokenizer)), generate=1).model.generated[0]
    model.generation_config.eos_token_id = [7, first.id]
    with pytest.warns(UserWarning, match=r"generate is 5, and .* ended the text at once") as warned:
        a = analysis(aw.load((model, tokenizer)), generate=5)
    assert [warning.filename for warning in warned] == [__file__]
    assert a.model.generated == () and a.text == PROMPT
    plain = analysis(aw.load((model, tokenizer)))
    metas = [unpack(first_paint(run, 0, 0))[0] for run in (a, plain)]
    assert [meta.get("wrote_nothing") for meta in metas] == [True, None]


@pytest.mark.parametrize("family", ["marian", "llama"])
def test_a_token_that_the_generation_config_rules_out_is_not_written(family: str) -> None:
    model, tokenizer = tiny_models.build(family)
    first = analysis(aw.load((model, tokenizer)), generate=3).model.generated[0].id
    model.generation_config.bad_words_ids = [[first], [1, 2]]
    a = analysis(aw.load((model, tokenizer)), generate=3)
    source = a.of("encoder") if a.model.parts != ("self",) else a
    ids = [token.id for token in source.tokens][: None if source is not a else -3]
    wanted = model.generate(
        torch.tensor([ids]), max_new_tokens=3, do_sample=False, num_beams=1, pad_token_id=1
    )[0, -3:]
    assert [token.id for token in a.model.generated] == wanted.tolist() and first not in wanted


def test_bytes_of_one_character_are_the_last_tokens_own() -> None:
    from attn_widget.trace import generation

    encoder = aw.load(tiny_models.build("gpt2"))
    prompt = encoder.encode("A caf")
    ids = encoder.tokenizer(" naïve é!").input_ids
    text, tokens = generation._tokens(encoder, prompt, ids)  # pyright: ignore[reportPrivateUsage]
    assert text == " naïve é!"
    # A character of two tokens is the second one's, and a space that is a token of its own keeps its place.
    assert "".join(token.surface for token in tokens) == text.replace(" n", "n")
    assert all(("A caf" + text)[t.start : t.end] == t.surface for t in tokens)


@pytest.mark.parametrize(
    ("given", "error", "words"),
    [
        ({"generate": -1}, InputError, "generate is -1, expected 0"),
        ({"generate": 10_000}, InputError, "generate is 10,000, and the prompt has"),
        ({"generate": "20"}, TypeError, "generate"),
        (
            {"generate": 5, "windows": (16, 4)},
            InputError,
            "windows= and generate= exclude each other",
        ),
    ],
)
def test_bad_numbers_are_refused(given: dict[str, Any], error: Any, words: str) -> None:
    with pytest.raises(error, match=words):
        analysis(aw.load(tiny_models.build("gpt2")), **given)


def test_prompts_that_are_empty_or_too_long_and_encoders_are_refused() -> None:
    model = tiny_models.build("gpt2")
    with pytest.raises(InputError, match="text is empty"):
        aw.analyze("", model=model, generate=3)
    with pytest.raises(
        TooLongError, match=r"reads at most 128\. Shorten it: what is written follows"
    ):
        aw.analyze("cat " * 300, model=model, generate=3)
    with pytest.raises(InputError, match="Shorten the prompt"):
        aw.analyze("cat " * 300, model=model, generate=3, truncation=True)
    with pytest.raises(NotAvailableError, match="is an encoder"):
        aw.analyze(PROMPT, generate=3, progress=False)
    with pytest.raises(InputError, match="a decoder, which reads one text"):
        aw.analyze(PROMPT, "A dog.", model=model)


def test_a_prompt_of_one_token_without_a_beginning_token_before_it() -> None:
    a = aw.analyze("T", model=tiny_models.build("gpt2"), tagger=None, progress=False)
    assert (
        a.trace.n_tokens == 1 and a.run is not None and a.run.encoder.tokenizer.bos_token_id is None
    )
    best = a.predictions()
    assert best.original_rank.tolist() == [0] and best.probabilities[0].sum() > 0
    assert np.isnan(best.mean_surprisal) and np.isnan(best.perplexity)  # nothing follows
    assert (a.attention(0, 0) == 1).all() and np.isnan(a.heads.patterns.previous).all()
    target = aw.target(position=0, token=int(best.ids[0, 0]), against=int(best.ids[0, 1]))
    c = a.why.contributions(target)
    assert c.gap is not None and max(c.gap, a.why.components(target).gap) <= 1e-5
    assert a.why.contributions(target, "occlusion").values.tolist() == pytest.approx([0], abs=1e-5)
    on = aw.analyze("T", model=a.run.encoder, generate=3, tagger=None, progress=False)
    assert on.trace.n_tokens == 4 and on.model.generated[0].id == best.ids[0, 0]


def test_what_is_written_stays_written_with_a_head_switched_off_and_in_words() -> None:
    a = analysis(aw.load(tiny_models.build("llama")), generate=6)
    off = a.ablate([(0, 1)])
    assert off.model.generated == a.model.generated and off.tokens == a.tokens
    assert a.view(words=True).model.generated == a.model.generated


def test_a_guess_continues_the_text() -> None:
    a = analysis(aw.load(tiny_models.build("llama")), generate=6)
    token = a.tokens[2].id
    assert a.text is not None
    end, own = a.tokens[4].end, a.text[a.tokens[1].end : a.tokens[2].end]
    assert a.model.text_before(4, token) == a.text[:end] + own
    with pytest.raises(InputError, match="position is 99"):
        a.model.text_before(99, token)
    with pytest.raises(NotAvailableError, match="no text is continued"):
        aw.analyze("the cat", progress=False, tagger=None).model.text_before(1, 5)


def test_an_opened_softmax_has_its_sums_at_other_temperatures() -> None:
    a = analysis(aw.load(tiny_models.build("llama")))
    reply, _ = protocol.answer(a, {"kind": "softmax", "position": 3})
    logits = np.asarray(a.trace.logits)[3].astype(np.float64)
    opened = reply["data"]
    assert opened["sum_exp"] == pytest.approx(dict(opened["temperatures"])[1.0])
    for temperature, total in opened["temperatures"]:
        expected = np.exp((logits - logits.max()) / temperature).sum()
        assert total == pytest.approx(expected)


SAMPLED = {"max_new_tokens": 10, "do_sample": True, "temperature": 0.7, "seed": 1}
WAYS = {
    "sampled": SAMPLED,
    "top p": {**SAMPLED, "top_p": 0.8, "seed": 2},
    "beams": {"max_new_tokens": 6, "num_beams": 3},
    "greedy": {"max_new_tokens": 6},
    "another end": {"max_new_tokens": 10, "eos_token_id": 40, "repetition_penalty": 1.5},
}


def of_generate(model: Any, inputs: dict[str, Any], options: dict[str, Any]) -> list[int]:
    """What `generate` writes with the caller's own random numbers."""
    if (seed := options.get("seed")) is not None:
        torch.manual_seed(seed)
    rest = {name: value for name, value in options.items() if name != "seed"}
    given = {"pad_token_id": 0, **rest}
    return model.generate(**inputs, **given)[0].tolist()


def until_end(encoder: Encoder, ids: list[int], options: dict[str, Any]) -> list[int]:
    end = options.get("eos_token_id", encoder.model.generation_config.eos_token_id)
    return ids[: ids.index(end)] if end in ids else ids


@pytest.mark.parametrize("way", WAYS)
def test_options_of_generate_write_what_it_writes(way: str) -> None:
    encoder, options = aw.load(tiny_models.build("llama")), WAYS[way]
    prompt = [token.id for token in analysis(encoder).tokens]
    inputs = {"input_ids": torch.tensor([prompt])}
    inputs["attention_mask"] = torch.ones_like(inputs["input_ids"])
    plain = of_generate(encoder.model, inputs, options)[len(prompt) :]
    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    a = analysis(encoder, generate=options)
    assert [token.id for token in a.model.generated] == until_end(encoder, plain, options)
    if "seed" in options:  # the caller's own random numbers go on as they were
        assert torch.equal(torch.rand(3), expected)


def test_options_of_generate_are_those_of_an_encoder_decoder_too() -> None:
    encoder = aw.load(tiny_models.build("t5"))
    options = {**SAMPLED, "use_cache": False}  # its own cache lacks layers
    a = analysis(encoder, generate=options)
    source = a.of("encoder").run.encoding
    inputs = {
        name: torch.from_numpy(source.arrays[name]) for name in ("input_ids", "attention_mask")
    }
    plain = of_generate(encoder.model, inputs, options)[1:]
    assert [token.id for token in a.model.generated] == until_end(encoder, plain, options)


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ({}, InputError, "no 'max_new_tokens'"),
        ({"do_sample": True}, InputError, "no 'max_new_tokens'"),
        ({"max_new_tokens": 0}, InputError, "max_new_tokens is 0"),
        ({"max_new_tokens": "4"}, InputTypeError, "max_new_tokens is a str"),
        ({"max_new_tokens": 4, "seed": -1}, InputError, "seed is -1"),
        ({"max_new_tokens": 4, "temprature": 1}, InputTypeError, "Did you mean 'temperature'"),
        ({"max_new_tokens": 4, "custom_generate": "a/b"}, InputError, "is not taken"),
        ({"max_new_tokens": 4, "validate": 1}, InputTypeError, "no such option"),
        ({"max_new_tokens": 4, 5: 1}, InputTypeError, "generate holds 5"),
        ({"max_new_tokens": 4, "num_return_sequences": 2}, InputError, "is not taken"),
        ({"max_new_tokens": 4, "input_ids": [1]}, InputError, "is not taken"),
        ({"max_new_tokens": 4, "do_sample": True, "temperature": -1.0}, InputError, "refuses"),
        ({"max_new_tokens": 4000}, InputError, "reads at most"),
        ("8", InputTypeError, "generate is a str"),
    ],
)
def test_options_that_generate_does_not_take(given: Any, error: Any, message: str) -> None:
    with pytest.raises(error, match=message):
        analysis(aw.load(tiny_models.build("llama")), generate=given)

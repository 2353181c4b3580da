"""Chats: ids of the tokenizer's own template, turns, attention between them and their contributions to a reply."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
import torch

import attn_widget as aw
from attn_widget.analysis.opening import opening
from attn_widget.errors import NotAvailableError
from attn_widget.protocol.initial_payload import token_columns
from tests.features.chat import chat_models
from tests.unit.needs import needs_smollm2

SYSTEM = {"role": "system", "content": "Be short."}
USER = {"role": "user", "content": "The cat sat on the mat"}
REPLY = {"role": "assistant", "content": "It sat on the dog."}
AGAIN = {"role": "user", "content": "And the dog looked at the bird?"}
CHATS = {
    "one": [USER],
    "answered": [USER, REPLY],
    "long": [USER, REPLY, AGAIN],
    "system": [SYSTEM, USER, REPLY, AGAIN],
}
DEFAULT = ("chatml",)  # templates that add a system turn of their own
FAMILIES = tuple(chat_models.FAMILIES)
EXACT = {"rtol": 0, "atol": 1e-6}


def analysis(family: str, messages: Any, **options: Any) -> Any:
    given = {"model": chat_models.build(family), "tagger": None, "progress": False}
    return aw.analyze(messages, **{**given, **options})


def ids_of(a: Any) -> list[int]:
    return [token.id for token in a.tokens]


def template_ids(tokenizer: Any, messages: Any, **options: Any) -> list[int]:
    options = {"add_generation_prompt": messages[-1]["role"] == "user", **options}
    return tokenizer.apply_chat_template(messages, tokenize=True, return_dict=True, **options)["input_ids"]  # fmt: skip


@pytest.mark.parametrize("family", FAMILIES)
def test_a_prompt_that_the_template_adds_is_boilerplate_and_no_message_is(family: str) -> None:
    def added(given: Any) -> str:
        tokens = analysis(family, given).tokens
        return "".join(token.surface for token in tokens if token.boilerplate)

    a = analysis(family, [USER, REPLY])
    own = "Youareahelpfulassistant" if family in DEFAULT else ""
    assert re.sub(r"\W", "", added([USER, REPLY])) == own
    # The same of the text and of the ids; a system prompt of these very words is somebody's.
    assert added(a.text) == added(ids_of(a)) == added([USER, REPLY])
    said = {"role": "system", "content": "You are a helpful assistant"}
    assert family == "mistral" or added([said, USER, REPLY]) == ""  # which wants it elsewhere


def test_a_chat_opens_on_words_of_its_messages() -> None:
    a = analysis("chatml", [USER, REPLY])
    found = opening(a)
    assert found.token is not None and found.key is not None
    assert not any(a.tokens[i].boilerplate for i in (found.token, found.key))
    columns = token_columns(tuple(a.tokens), a.text, None)
    assert columns["boilerplate"] == [token.boilerplate for token in a.tokens]
    said = analysis("chatml", [SYSTEM, USER])
    assert "boilerplate" not in token_columns(tuple(said.tokens), said.text, None)


@pytest.mark.parametrize("chat", CHATS)
@pytest.mark.parametrize("family", FAMILIES)
def test_ids_are_those_of_the_template(family: str, chat: str) -> None:
    messages = CHATS[chat]
    tokenizer = chat_models.tokenizer(family)
    a = analysis(family, messages)
    assert ids_of(a) == template_ids(tokenizer, messages)
    assert ids_of(a).count(1) == ids_of(a)[:1].count(1) or family in ("chatml", "llama2")
    special = {i for i in tokenizer.all_special_ids if i != tokenizer.unk_token_id}
    assert all(token.special for token in a.tokens if token.id in special)
    headers = [token for token in a.tokens if token.special and token.id not in special]
    # The names of roles that the template writes between them are no words that anybody said.
    spelled = "".join(token.surface for token in headers)
    assert re.sub(r"system|user|assistant|model|\s", "", spelled) == ""
    assert headers or family not in ("chatml", "llama3", "gemma")


@pytest.mark.parametrize("chat", CHATS)
@pytest.mark.parametrize("family", FAMILIES)
def test_turns_cover_the_text_and_hold_their_contents(family: str, chat: str) -> None:
    messages = CHATS[chat]
    a = analysis(family, messages)
    turns = a.chat.turns
    assert turns[0].start == 0 and turns[-1].stop == a.trace.n_tokens
    assert [turn.stop for turn in turns[:-1]] == [turn.start for turn in turns[1:]]
    assert all(turn.start < turn.stop for turn in turns)
    expected = [*messages]
    if family == "mistral" and chat == "system":  # it moves the system's text
        expected = [USER, REPLY, SYSTEM, AGAIN]
    if family in DEFAULT and chat != "system":
        expected.insert(0, {"role": "system", "content": "You are a helpful assistant"})
    # Where the template has no prompt for a reply, there is nothing of it yet.
    prompted = messages[-1]["role"] == "user" and family not in ("llama2", "mistral")
    roles = [message["role"] for message in expected] + ["assistant"] * prompted
    assert [turn.role for turn in turns] == roles
    for turn, message in zip(turns, expected, strict=False):
        tokens = a.tokens[turn.start : turn.stop]
        text = a.text[tokens[0].start : max(token.end for token in tokens)]
        assert message["content"] in text
        others = {other["content"] for other in expected} - {message["content"]}
        assert not any(other in text for other in others)
    if prompted:
        tokens = a.tokens[turns[-1].start :]
        assert a.text[tokens[0].start :] == a.text[len(a.text) - len(prompt_of(family)) :]


def prompt_of(family: str) -> str:
    tokenizer = chat_models.tokenizer(family)
    without, whole = (
        tokenizer.apply_chat_template([USER], tokenize=False, add_generation_prompt=flag)
        for flag in (False, True)
    )
    return whole.removeprefix(without.removesuffix(tokenizer.eos_token if family == "phi3" else ""))


@pytest.mark.parametrize("family", FAMILIES)
def test_what_is_written_is_what_generate_writes(family: str) -> None:
    model, tokenizer = chat_models.build(family)
    a = analysis(family, CHATS["long"], generate=8)
    prompt = template_ids(tokenizer, CHATS["long"])
    plain = model.generate(
        torch.tensor([prompt]), attention_mask=torch.ones(1, len(prompt), dtype=torch.long), max_new_tokens=8,
        do_sample=False, pad_token_id=2,
    )[0].tolist()  # fmt: skip
    assert ids_of(a) == [i for k, i in enumerate(plain) if k < len(prompt) or i != 2]
    last = a.chat.turns[-1]
    assert last.role == "assistant" and last.start <= len(prompt) < last.stop == a.trace.n_tokens
    assert len(a.model.generated) == a.trace.n_tokens - len(prompt)


@pytest.mark.parametrize("family", FAMILIES)
def test_shares_of_turns_are_means_of_their_queries_and_sum_to_1(family: str) -> None:
    a = analysis(family, CHATS["system"], generate=4)
    for layer, head in ((0, 1), (1, "mean")):
        shares = a.chat.attention_by_turn(layer, head)
        weights = a.attention(layer, head).astype(np.float64)
        spans = [(turn.start, turn.stop) for turn in a.chat.turns]
        plain = [[weights[a0:a1, b0:b1].sum(1).mean() for b0, b1 in spans] for a0, a1 in spans]
        np.testing.assert_allclose(shares, plain, **EXACT)
        np.testing.assert_allclose(shares.sum(1), 1, **EXACT)


@pytest.mark.parametrize("family", FAMILIES)
def test_contributions_of_turns_close_and_are_sums_over_tokens(family: str) -> None:
    a = analysis(family, CHATS["system"], generate=4)
    c = a.chat.contributions()
    model, _ = chat_models.build(family)
    with torch.no_grad():
        logits = model(torch.tensor([ids_of(a)])).logits[0].numpy()
    at = [*c.positions]
    assert at == [*range(a.trace.n_tokens - len(a.model.generated), a.trace.n_tokens)]
    np.testing.assert_allclose(c.logits, [logits[p - 1, ids_of(a)[p]] for p in at], atol=1e-4)
    np.testing.assert_allclose(c.values.sum(1) + c.bias, c.logits, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(c.shares.sum(1), 1, **EXACT)
    # The contributions of tokens to the same number, one by one.
    for w, position in enumerate(at):
        number = aw.target(position=position - 1, token=ids_of(a)[position])
        by_token = a.why.contributions(number).values
        by_turn = [by_token[turn.start : turn.stop].sum() for turn in a.chat.turns]
        np.testing.assert_allclose(c.values[w], by_turn, rtol=1e-4, atol=1e-4)
        np.testing.assert_allclose(c.first[w], by_token[0], rtol=1e-4, atol=1e-4)
    system = [turn.role for turn in a.chat.turns].index("system")
    np.testing.assert_array_equal(c.system, c.shares[:, system])
    assert len(c.to_dataframe()) == len(at) * len(c.turns)


def test_without_a_reply_the_contributions_are_to_the_next_token() -> None:
    a = analysis("chatml", [USER])
    c = a.chat.contributions()
    assert c.positions == (a.trace.n_tokens,)
    assert c.ids[0] == a.predictions(top_k=1).ids[-1, 0]
    np.testing.assert_allclose(c.values.sum(1) + c.bias, c.logits, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("family", FAMILIES)
def test_a_reply_that_was_sampled_elsewhere_counts_as_written(family: str) -> None:
    _, tokenizer = chat_models.build(family)
    a = analysis(family, [USER], output=REPLY["content"])
    whole = template_ids(tokenizer, [USER, REPLY])
    assert ids_of(a) == whole[: a.trace.n_tokens]
    written = "".join(a.text[t.start : t.end] for t in a.model.generated).replace(" ", "")
    assert written == REPLY["content"].replace(" ", "")
    assert a.chat.turns[-1].role == "assistant"
    assert a.chat.contributions().values.shape == (len(a.model.generated), len(a.chat.turns))


@pytest.mark.parametrize("chat", ["long", "system"])
@pytest.mark.parametrize("family", FAMILIES)
def test_rendered_texts_and_ids_are_read_as_their_messages_are(family: str, chat: str) -> None:
    a = analysis(family, CHATS[chat])
    tokenizer = chat_models.tokenizer(family)
    text = tokenizer.apply_chat_template(CHATS[chat], tokenize=False, add_generation_prompt=True)
    encoded = tokenizer.apply_chat_template(CHATS[chat], return_dict=True, add_generation_prompt=True)  # fmt: skip
    turns = [(turn.role, turn.start) for turn in a.chat.turns]
    if chat == "system" and family in ("gemma", "mistral"):  # its text has no mark of its own
        turns = [turn for turn in turns if turn[0] != "system"]
    for given in (text, encoded, encoded["input_ids"], torch.tensor([encoded["input_ids"]])):
        b = analysis(family, given)
        assert ids_of(b) == ids_of(a)
        found = [(turn.role, turn.start) for turn in b.chat.turns]
        if chat == "system" and family in ("gemma", "mistral"):
            assert [role for role, _ in found] == [role for role, _ in turns]
        else:
            assert found == turns


def test_a_plain_text_has_no_turns_and_stays_as_it_was() -> None:
    a = analysis("llama3", "The cat sat on the mat")
    assert a.sentences.texts == ("The cat sat on the mat",)
    with pytest.raises(NotAvailableError, match="not of a chat"):
        _ = a.chat.turns
    # A control token within a text makes no chat of it.
    b = analysis("llama3", "It ends with <|eot_id|> as a rule.")
    with pytest.raises(NotAvailableError, match="not of a chat"):
        _ = b.chat.turns


def test_turns_take_the_place_of_sentences() -> None:
    a = analysis("llama3", CHATS["system"])
    names = ("system", "user 1", "assistant 1", "user 2", "assistant 2")
    assert a.sentences.texts == names
    for tokens, turn in zip(a.sentences.tokens, a.chat.turns, strict=True):
        plain = [i for i in range(turn.start, turn.stop) if not a.tokens[i].special]
        assert [*tokens] == plain


def test_masks_heads_and_views_keep_the_turns() -> None:
    a = analysis("chatml", CHATS["long"], generate=3)
    assert a.ablate([(0, 1)]).chat.turns == a.chat.turns
    words = a.view(special=False)
    np.testing.assert_allclose(words.chat.attention_by_turn(1, 0).sum(1), 1, **EXACT)
    kept = [t for t in a.tokens if not t.special]
    assert words.chat.turns[-1].stop == len(kept)
    starts = [sum(not t.special for t in a.tokens[: turn.start]) for turn in a.chat.turns]
    assert [turn.start for turn in words.chat.turns] == starts


@needs_smollm2
def test_smollm2_reads_a_chat_as_transformers_does() -> None:
    encoder = aw.load("smollm2", progress=False)
    messages = [{"role": "user", "content": "What is the capital of France?"}]
    a = aw.analyze(messages, model="smollm2", generate=6, tagger=None, progress=False)
    prompt = template_ids(encoder.reader, messages)
    assert ids_of(a)[: len(prompt)] == prompt
    assert [turn.role for turn in a.chat.turns] == ["system", "user", "assistant"]
    c = a.chat.contributions()
    assert c.gap < 1e-5
    np.testing.assert_allclose(c.values.sum(1) + c.bias, c.logits, rtol=1e-5)
    np.testing.assert_allclose(c.shares.sum(1), 1, **EXACT)

"""Input that was tokenized elsewhere, and texts that bring their control tokens along."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from tokenizers import AddedToken

import attn_widget as aw
from attn_widget.errors import InputError, InputTypeError, TooLongError
from attn_widget.model.embedded import FastTokenizer
from attn_widget.model.places import MINI
from attn_widget.model.wordpiece import WordPiece
from attn_widget.protocol.initial_payload import first_paint
from attn_widget.protocol.pack import unpack
from tests.close import assert_close
from tests.unit import tiny_models

TEXT = "The cat's naïve café sat on the mat. It slept."
OPTIONS: dict[str, Any] = {"tagger": None, "progress": False}
CONTAINERS: dict[str, Any] = {
    "list": lambda t, s: t(s)["input_ids"],
    "tuple": lambda t, s: tuple(t(s)["input_ids"]),
    "array": lambda t, s: np.array(t(s)["input_ids"]),
    "row of an array": lambda t, s: np.array([t(s)["input_ids"]], np.int32),
    "tensor": lambda t, s: torch.tensor(t(s)["input_ids"]),
    "encoding": lambda t, s: t(s),
    "encoding of tensors": lambda t, s: t(s, return_tensors="pt"),
    "dict": lambda t, s: dict(t(s)),
}


def run(text: Any, model: Any, **options: Any) -> Any:
    return aw.analyze(text, model=model, **OPTIONS, **options)


@pytest.mark.parametrize("given", CONTAINERS)
def test_ids_are_read_as_they_are_whatever_holds_them(given: str) -> None:
    model, tokenizer = tiny_models.build("llama")
    a = run(CONTAINERS[given](tokenizer, TEXT), (model, tokenizer))
    assert [token.id for token in a.tokens] == tokenizer(TEXT)["input_ids"]
    assert a.text == TEXT and a.tokens == run(TEXT, (model, tokenizer)).tokens


@pytest.mark.parametrize("family", ["bert", "roberta", "modernbert", "gpt2", "llama", "albert"])
def test_attention_of_ids_is_that_of_the_model(family: str) -> None:
    model, tokenizer = tiny_models.build(family)
    ids = tokenizer(TEXT)["input_ids"][1:-2]  # begins and ends where no tokenizer would
    model.set_attn_implementation("eager")
    with torch.no_grad():
        plain = model(torch.tensor([ids]), output_attentions=True).attentions
    a = run(ids, (model, tokenizer))
    assert a.trace.n_tokens == len(ids)
    for layer, weights in enumerate(plain):
        assert_close(
            a.trace.layer_weights(layer), weights[0].numpy(), terms=64, steps=layer + 2, size=16.0
        )
    # Every character of the text is that of a token, and no two tokens share one that they do not spell together.
    spelled = "".join(token.surface for token in a.tokens if not token.special)
    assert spelled.replace(" ", "")[:6] in a.text.replace(" ", "")


def test_an_encoding_of_two_texts_has_two_segments() -> None:
    model, tokenizer = tiny_models.build("bert")
    given, plain = run(tokenizer("a cat", "the dog"), (model, tokenizer)), None
    plain = run("a cat", (model, tokenizer), text_pair="the dog")
    assert (given.text, given.text_pair) == ("a cat", "the dog")
    assert given.tokens == plain.tokens
    np.testing.assert_array_equal(given.trace.layer_weights(1), plain.trace.layer_weights(1))


def test_ids_of_a_source_are_read_by_an_encoder_decoder() -> None:
    model, tokenizer = tiny_models.build("t5")
    a = run(tokenizer(TEXT), (model, tokenizer), output="a dog")
    plain = run(TEXT, (model, tokenizer), output="a dog")
    assert a.of("encoder").tokens == plain.of("encoder").tokens
    np.testing.assert_array_equal(a.attention(0, 0), plain.attention(0, 0))


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ([[1, 2], [3, 4]], r"expected one str"),
        (torch.ones(2, 3, dtype=torch.long), r"holds 2 texts, expected one"),
        ({"input_ids": [5, 6], "attention_mask": [1, 0]}, r"it was padded"),
        ({"input_ids": [5, 6], "attention_mask": [1]}, r"1 entries, and input_ids has 2"),
        ([5, -1], r"holds -1"),
        ([5, 10**30], r"read as an array|token ids"),
        ([5, 100_000], r"embeddings for ids 0 to"),
        (np.zeros((0,), np.int64), r"shape \[0\]"),
        (np.array([0.5]), r"is a ndarray, expected a str"),
        ([2, 3], r"no word"),
        ([5] * 1000, r"1,000 token ids"),
    ],
)
def test_ids_that_cannot_be_read_are_refused(given: Any, reason: str) -> None:
    with pytest.raises((InputError, InputTypeError, TooLongError), match=reason):
        run(given, tiny_models.build("bert"))


def test_elsewhere_ids_are_refused_by_name() -> None:
    ids, model = [5, 6, 7], tiny_models.build("bert")
    tools: list[Any] = [
        lambda: aw.corpus.head_means([ids], model=model, progress=False),
        lambda: aw.similarity(ids, "a", model, pooling="mean", progress=False),
        lambda: run("a cat", model, text_pair=ids),
    ]
    for tool in tools:
        with pytest.raises(InputTypeError, match="token ids"):
            tool()
    with pytest.raises(InputError, match="Give both as one"):
        run(ids, model, text_pair="a cat")
    assert aw.compare(ids, "a cat", model=model, **OPTIONS).a.trace.n_tokens == 3


@pytest.mark.parametrize("family", ["bert", "gpt2", "llama", "roberta"])
def test_no_special_tokens_are_added_where_none_are_wanted(family: str) -> None:
    model, tokenizer = tiny_models.build(family)
    a = run(TEXT, (model, tokenizer), add_special_tokens=False)
    plain = tokenizer(TEXT, add_special_tokens=False)["input_ids"]
    assert [token.id for token in a.tokens] == plain
    assert not any(token.special for token in a.tokens)
    with pytest.raises(InputTypeError, match="add_special_tokens"):
        run(TEXT, (model, tokenizer), add_special_tokens="no")


def test_the_embedded_model_and_its_own_tokenizer_take_the_option() -> None:
    a = aw.analyze("a cat", add_special_tokens=False, **OPTIONS)
    assert [token.text for token in a.tokens] == ["a", "cat"]
    theirs, ours = FastTokenizer(MINI), WordPiece(MINI / "tokenizer.json")
    for limit in (None, 3):
        ours.no_truncation() if limit is None else ours.enable_truncation(
            limit, strategy="longest_first"
        )
        for pair in (None, "the dog ran"):
            texts = (["a cat sat down"], None if pair is None else [pair])
            batch = theirs(*texts, max_length=limit, add_special_tokens=False)
            own = ours.encode("a cat sat down", pair, add_special_tokens=False)
            assert batch["input_ids"] == [own.ids]


def chat_model() -> tuple[Any, Any]:
    """A tiny Llama whose tokenizer has control tokens and a beginning token, as those of chats have."""
    import copy

    model, tokenizer = tiny_models.build("llama")
    tokenizer = copy.deepcopy(tokenizer)
    controls = [AddedToken(f"<|{name}|>", special=True) for name in ("im_start", "im_end")]
    tokenizer.add_tokens(controls, special_tokens=True)
    tokenizer.chat_template = "{{ bos_token }}{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
    return model, tokenizer


CHAT = [{"role": "user", "content": "the cat sat"}, {"role": "bot", "content": "a dog"}]


def test_a_chat_has_one_beginning_token_and_says_so() -> None:
    model, tokenizer = chat_model()
    text = tokenizer.apply_chat_template(CHAT, tokenize=False)
    ids = tokenizer.apply_chat_template(CHAT, return_dict=True)["input_ids"]
    a = run(text, (model, tokenizer))
    assert [token.id for token in a.tokens] == ids and a.text == text
    assert [token.id for token in a.tokens].count(tokenizer.bos_token_id) == 1
    assert "itself" in unpack(first_paint(a, 0, 0))[0]["note"]
    plain = run("the cat sat", (model, tokenizer))
    assert "note" not in unpack(first_paint(plain, 0, 0))[0]
    assert run(ids, (model, tokenizer)).trace.n_tokens == len(ids)
    # The tokenizer's own limit counts the tokens that are read.
    limited = run(text + "the cat sat " * 60, (model, tokenizer), truncation=True)
    assert limited.trace.n_tokens == limited.model.truncated["limit"] == 128


def test_control_tokens_of_a_chat_are_special_and_in_no_word() -> None:
    model, tokenizer = chat_model()
    a = run(tokenizer.apply_chat_template(CHAT, tokenize=False), (model, tokenizer))
    special = [token.text for token in a.tokens if token.special]
    # With the name of the role that the template writes after one, where it is that of the message.
    header = ["<|im_start|>", "use", "r", "Ċ"]
    assert special == ["<s>", *header, "<|im_end|>", "<|im_start|>", "<|im_end|>"]
    words = [word.text for word in a.language.words]
    assert words == ["the", "cat", "sat", "bot", "a", "dog"]
    for token in a.tokens:
        assert token.surface == a.text[token.start : token.end] or token.start == token.end
    columns = unpack(first_paint(a, 0, 0))[0]["tokens"]
    pairs = zip(columns["before"], columns["surface"], strict=True)
    assert "".join(part for pair in pairs for part in pair).strip() == a.text.strip()
    # A token after a control token can be a target; a text of control tokens alone has no word.
    assert a.why.contributions(aw.target(position=4, token=17)).gap <= 1e-3
    with pytest.raises(InputError, match="control"):
        run("<|im_start|>", (model, tokenizer))
    # What an encoder's text spells stands for text, as before.
    bert = run("a [MASK] sat [SEP] there", tiny_models.build("bert"))
    assert [token.special for token in bert.tokens].count(True) == 2

"""Attention tensors from anywhere: what is taken, what is refused, and in which words."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pytest
import torch

import attn_widget as aw
from attn_widget.analysis.external import from_attentions
from attn_widget.analysis.locate_tokens import locate_tokens
from attn_widget.errors import InputError, InputTypeError, NotAvailableError
from attn_widget.language.token_spelling import spell
from attn_widget.model.tokens import Token
from tests.close import assert_close
from tests.reference.samples import attention, layers
from tests.unit import tiny_models

TOKENS = ["[CLS]", "the", "cat", "##s", "sat", "[SEP]"]
WEIGHTS = layers(6)  # float32 [3, 2, 6, 6]


class Duck:
    """A tensor of some other library."""

    def __init__(self, array: np.ndarray) -> None:
        self.array = array

    def __len__(self) -> int:
        return len(self.array)

    def __getitem__(self, index: Any) -> Any:
        return Duck(self.array[index])

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return self.array if dtype is None else self.array.astype(dtype)


@pytest.mark.parametrize(
    "given",
    [
        WEIGHTS,
        WEIGHTS.astype(np.float64),
        list(WEIGHTS),
        tuple(WEIGHTS[:, None]),
        WEIGHTS[:, None],
        WEIGHTS.tolist(),
        torch.tensor(WEIGHTS, requires_grad=True),
        tuple(torch.tensor(WEIGHTS)[:, None]),
        Duck(WEIGHTS),
        [Duck(layer) for layer in WEIGHTS],
    ],
    ids=["array", "float64", "list", "batch of one", "5-D", "numbers", "tensor", "tensors",
         "other", "others"],
)  # fmt: skip
def test_every_form_gives_the_same_attention(given: Any) -> None:
    a = from_attentions(given, TOKENS)
    assert (a.trace.n_layers, a.trace.n_heads, a.trace.n_tokens) == (3, 2, 6)
    np.testing.assert_array_equal(a.attention(2, 1), WEIGHTS[2, 1])
    assert_close(a.attention(1, "mean"), WEIGHTS[1].mean(axis=0), terms=2)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_is_taken_with_its_rounding(dtype: torch.dtype) -> None:
    given = tuple(torch.tensor(WEIGHTS)[:, None].to(dtype))
    found = from_attentions(given, TOKENS).attention(0, 0)
    np.testing.assert_array_equal(found, given[0][0, 0].float().numpy())


def broken(value: float) -> np.ndarray:
    weights = WEIGHTS.copy()
    weights[1, 0, 2, 3] = value
    return weights


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (np.stack([WEIGHTS, WEIGHTS], axis=1), "a batch of 2 texts.*one text at a time"),
        (WEIGHTS[:, :, :, :4], "6 queries and 4 keys: cross-attention"),
        (WEIGHTS[0], r"shape \[6, 6\].*Wrap a single layer in a list"),
        ([WEIGHTS[0], WEIGHTS[1, :, :5, :5]], r"Layer 1 has shape \[2, 5, 5\], layer 0 has"),
        (WEIGHTS[:, :, :5, :5], r"\[3, 2, 5, 5\], and there are 6 tokens"),
        (broken(np.nan), "nan at layer 1, head 0, query 2, key 3"),
        (broken(np.inf), "inf at layer 1, head 0, query 2, key 3"),
        (broken(-0.5), "negative numbers in layer 1, down to -0.5.*not scores"),
        (WEIGHTS * 2, "sums to 2, expected 1"),
        (broken(1), "Row 2 of layer 1, head 0 sums to"),
        (WEIGHTS.swapaxes(2, 3), "Rows are queries"),
        ((), "holds no tensors.*attn_implementation='eager'"),
        ((None, None), "holds no tensors"),
        (np.zeros((0, 2, 6, 6)), "holds no tensors"),
        (np.zeros((2, 0, 6, 6)), r"shape \[0, 6, 6\]"),
    ],
)
def test_what_is_no_attention_over_the_tokens_is_refused(given: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        from_attentions(given, TOKENS)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (None, "None, expected tensors"),
        ("weights", "str, expected tensors"),
        (np.float32(1), "expected tensors"),
        (torch.tensor(1.0), "expected tensors"),
        ({"attentions": WEIGHTS}, "Pass outputs.attentions"),
        ([[["a"]]], "cannot be read as an array"),
        ([object()], "cannot be read as an array"),
    ],
)
def test_what_holds_no_tensors_is_refused(given: Any, message: str) -> None:
    with pytest.raises(InputTypeError, match=message):
        from_attentions(given, TOKENS)


@pytest.mark.parametrize("tokens", ["the cat", 6, [1, 2, 3, 4, 5, 6], ["a", Token("b", 1, 0, 0)]])
def test_tokens_of_another_type_are_refused(tokens: Any) -> None:
    with pytest.raises(InputTypeError, match="expected"):
        from_attentions(WEIGHTS, tokens)


def padded() -> np.ndarray:
    weights = np.zeros((3, 2, 9, 9), dtype=np.float32)
    weights[..., :6, :6] = WEIGHTS
    weights[..., 6:, :6] = 1 / 6
    return weights


@pytest.mark.parametrize("what", ["text", "text_pair"])
def test_a_text_of_another_type_is_refused(what: str) -> None:
    options: dict[str, Any] = {what: b"the cats sat"}
    with pytest.raises(InputTypeError, match=f"{what} is a bytes, expected a str"):
        from_attentions(WEIGHTS, TOKENS, **options)


def test_padding_is_cropped() -> None:
    a = from_attentions(padded(), [*TOKENS, *["[PAD]"] * 3])
    assert [token.text for token in a.tokens] == TOKENS
    np.testing.assert_array_equal(a.attention(1, 1), WEIGHTS[1, 1])


def test_attention_on_padding_is_refused() -> None:
    weights = attention("random", 9)[0][None]
    with pytest.raises(InputError, match=r"not padding.*attention_mask"):
        from_attentions(weights, [*TOKENS, *["[PAD]"] * 3])


def test_only_padding_is_refused() -> None:
    with pytest.raises(InputError, match="All tokens are padding"):
        from_attentions(WEIGHTS, ["<pad>"] * 6)


def test_a_mask_tells_impossible_cells_from_zeros() -> None:
    weights, allowed = attention("causal uniform", 6)
    a = from_attentions(weights[None], TOKENS, allowed=allowed)
    np.testing.assert_array_equal(a.trace.allowed(0), allowed)
    assert_close(a.metrics.focus_normalized[0, 0], 1, terms=6, steps=2)
    with pytest.raises(InputError, match="weight in cells that allowed forbids"):
        from_attentions(WEIGHTS, TOKENS, allowed=allowed)
    with pytest.raises(InputError, match="allowed is float64"):
        from_attentions(WEIGHTS, TOKENS, allowed=np.ones((6, 6)))


def test_queries_and_keys_that_explain_the_weights_give_scores() -> None:
    rng = np.random.default_rng(0)
    q, k = rng.normal(size=(2, 1, 2, 6, 4)).astype(np.float32)
    scores = q @ k.swapaxes(-1, -2) / 2
    exps = np.exp(scores)
    weights = exps / exps.sum(axis=-1, keepdims=True)
    a = from_attentions(weights, TOKENS, queries=q, keys=k)
    assert_close(a.scores(0, 1), scores[0, 1], terms=4)
    np.testing.assert_array_equal(a.model.queries(0, 1), q[0, 1])
    assert a.trace.scaling(0) == 0.5
    with pytest.raises(InputError, match="off its weights"):
        from_attentions(weights, TOKENS, queries=q, keys=k + q)
    with pytest.raises(InputError, match="go together"):
        from_attentions(weights, TOKENS, queries=q)
    with pytest.raises(InputError, match="do not fit"):
        from_attentions(weights, TOKENS, queries=q[:, :, :5], keys=k[:, :, :5])
    with pytest.raises(InputError, match="do not fit"):
        from_attentions(weights, TOKENS, queries=q, keys=k[..., :3])
    with pytest.raises(InputError, match="2 layers of queries"):
        from_attentions(weights, TOKENS, queries=[q[0], q[0]], keys=[k[0], k[0]])


def test_scores_are_minus_infinity_where_the_mask_forbids_and_nowhere_else() -> None:
    rng = np.random.default_rng(0)
    q, k = rng.normal(size=(2, 1, 2, 6, 4)).astype(np.float32)
    allowed = np.tril(np.ones((6, 6), dtype=bool))
    scores = np.where(allowed, q @ k.swapaxes(-1, -2) / 2, -np.inf)
    exps = np.exp(scores)
    weights = exps / exps.sum(axis=-1, keepdims=True)
    a = from_attentions(weights, TOKENS, queries=q, keys=k, allowed=allowed)
    np.testing.assert_array_equal(np.isneginf(a.scores(0, 1)), ~allowed)


def test_what_needs_a_model_is_na() -> None:
    a = from_attentions(WEIGHTS, TOKENS)
    for ask in (
        a.predictions,
        lambda: a.model.softmax(1),
        lambda: a.scores(0, 0),
        lambda: a.model.queries(0, 0),
        lambda: a.model.hidden_states,
        lambda: a.model.next_sentence,
        lambda: a.model.vocab_size,
    ):
        with pytest.raises(NotAvailableError):
            ask()
    assert a.model.classification is None
    assert a.model.truncated is None


def test_tokens_spell_a_text_of_two_segments() -> None:
    tokens, text, pair = locate_tokens(["[CLS]", "the", "cat", "##s", "[SEP]", "sat", "!", "[SEP]"])
    assert (text, pair) == ("the cats", "sat !")
    assert [token.segment for token in tokens] == [0, 0, 0, 0, 0, 1, 1, 1]
    assert [(t.start, t.end) for t in tokens if not t.special] == [
        (0, 3), (4, 7), (7, 8), (0, 3), (4, 5),
    ]  # fmt: skip


def test_marked_spaces_are_read() -> None:
    tokens, text, _ = locate_tokens(["<s>", "The", "Ġcat", "s", ".", "</s>"])
    assert text == "The cats."
    assert [token.surface for token in tokens] == ["<s>", "The", "cat", "s", ".", "</s>"]
    assert locate_tokens(["▁The", "▁ca", "ts"])[1] == "The cats"


def test_tokens_are_found_in_the_text_they_came_from() -> None:
    text = "The  UNFORTUNATE cat, Søren!"
    names = ["[CLS]", "the", "unfortunate", "cat", ",", "[UNK]", "!", "[SEP]"]
    tokens, _, _ = locate_tokens(names, text)
    assert [token.surface for token in tokens[1:-1]] == [
        "The",
        "UNFORTUNATE",
        "cat",
        ",",
        "Søren",
        "!",
    ]
    with pytest.raises(InputError, match="'dog', was not found after character 3"):
        locate_tokens(["the", "dog"], text)


def test_what_stands_for_unread_text_gets_it_alone_and_without_the_space_behind() -> None:
    def spans(tokens: list[str], text: str) -> list[tuple[int, int]]:
        return [(token.start, token.end) for token in locate_tokens(tokens, text)[0]]

    assert spans(["[UNK]", "cat"], "☃  cat") == [(0, 1), (3, 6)]
    # Nobody knows where the first of two ends.
    assert spans(["[UNK]", "[UNK]", "cat"], "☃☃ cat") == [(0, 0), (0, 0), (3, 6)]


def test_two_number_signs_alone_continue_nothing() -> None:
    assert [(piece.surface, piece.spaced) for piece in spell(["##", "##s"])] == [
        ("##", True),
        ("s", False),
    ]


def test_tokens_with_offsets_need_their_text() -> None:
    tokens = [Token("a", 1, 0, 1, "a"), Token("b", 2, 2, 3, "b")]
    weights = attention("random", 2)[0][None]
    assert from_attentions(weights, tokens, text="a b").tokens == tuple(tokens)
    with pytest.raises(InputError, match="Pass text="):
        from_attentions(weights, tokens)


def test_torch_is_not_imported() -> None:
    code = (
        "import sys, numpy as np, attn_widget as aw\n"
        "a = aw.from_attentions(np.full((1, 2, 7, 7), 1 / 7), list('abcdefg'), tagger=None)\n"
        "a.metrics, a.heads.specialization, a.rollout(), a.heads.layer_change\n"
        "assert 'torch' not in sys.modules and 'transformers' not in sys.modules\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


NORMALIZED = {
    "wordpiece": "The CAFÉ “naïve” cafe\u0301 mat.",
    "bytes": "the café “quoted” — ﬁne 日本 🙂🙂 a",
    "unigram": "The ﬁne café ½ ＡＢＣ “q” cat",
}


@pytest.mark.parametrize("kind", NORMALIZED)
def test_normalized_tokens_are_placed_where_the_tokenizer_places_them(kind: str) -> None:
    text = NORMALIZED[kind]
    encoder = aw.load(
        tiny_models.build({"wordpiece": "bert", "bytes": "roberta", "unigram": "xlm-roberta"}[kind])
    )
    wanted = encoder.encode(text).tokens
    names = [encoder.tokenizer.convert_ids_to_tokens(token.id) for token in wanted]
    n = len(names)
    placed = aw.from_attentions(np.full((1, 1, n, n), 1 / n), names, text=text, tagger=None).tokens
    unknown = encoder.tokenizer.unk_token
    known = [i for i in range(n) if names[i] != unknown and wanted[i].surface.strip()]
    assert len(known) > n / 2
    strip = str.maketrans(
        "", "", "\u0301"
    )  # an accent that is dropped may belong to its letter or to none
    assert [placed[i].surface.translate(strip) for i in known] == [
        wanted[i].surface.translate(strip) for i in known
    ]
    assert [placed[i].start for i in known] == [wanted[i].start for i in known]


def test_byte_level_tokens_without_a_text_are_decoded() -> None:
    tokenizer = tiny_models.tokenizer("bytes")
    for text in ("the café “quoted” 日本 🙂", "Ünïcode"):
        names = tokenizer.convert_ids_to_tokens(tokenizer(text)["input_ids"])
        n = len(names)
        a = aw.from_attentions(np.full((1, 1, n, n), 1 / n), names, tagger=None)
        assert a.text == text
    cut = locate_tokens(["Ġcaf", "Ã"])[0]  # a text that was cut within a character
    assert [token.surface for token in cut] == ["caf", "\ufffd"]
    assert locate_tokens(["ca", "fÃ©", "Ã"])[1] == "ca fÃ© Ã"  # not UTF-8: these are letters


@pytest.mark.parametrize("family", ["bert", "roberta", "xlm-roberta", "modernbert"])
def test_special_tokens_have_the_segment_that_they_have_in_a_run(family: str) -> None:
    encoder = aw.load(tiny_models.build(family))
    wanted = encoder.encode("the cat", "a dog").tokens
    placed, _, _ = locate_tokens([token.text for token in wanted], "the cat", "a dog")
    assert [token.segment for token in placed] == [token.segment for token in wanted]


@pytest.mark.parametrize("given", [None, (None, None), []])
def test_attentions_that_the_model_did_not_give_are_explained(given: Any) -> None:
    with pytest.raises(aw.AttnWidgetError, match="output_attentions=True"):
        aw.from_attentions(given, ["a", "b"])


@pytest.mark.parametrize("family", ["gpt2", "llama"])
def test_tokens_that_carry_their_spaces_spell_the_text(family: str) -> None:
    model, tokenizer = tiny_models.build(family)
    text = "The cat sat on the mat, and the dogs looked."
    run = aw.analyze(text, model=(model, tokenizer), tagger=None, progress=False)
    weights = np.stack([run.trace.layer_weights(k) for k in range(run.trace.n_layers)])
    read_one_by_one = [tokenizer.decode([token.id]) for token in run.tokens]
    assert " cat" in read_one_by_one
    for given in (None, text):
        a = from_attentions(weights, read_one_by_one, text=given, tagger=None)
        assert a.text == text
        assert [word.text for word in a.language.words] == [w.text for w in run.language.words]
        assert [t.surface for t in a.tokens] == [t.surface for t in run.tokens]
    words = from_attentions(weights[:, :, :2, :2] * 0 + 0.5, ["hello ", "world"], tagger=None)
    assert words.text == "hello world"


CHATS = [
    ["<|im_start|>", "user", "Ċ", "Hello", "Ġthere", "<|im_end|>", "<|im_start|>", "bot", "ĊĊ", "Hi"],
    ["<|begin_of_text|>", "<|start_header_id|>", "user", "<|end_header_id|>", "ĊĊ", "Hi", "<|eot_id|>"],
    ["<bos>", "<start_of_turn>", "user", "\n", "Hi", "<end_of_turn>"],
    ["<｜begin▁of▁sentence｜>", "<｜User｜>", "Hi", "Ġthere", "<｜Assistant｜>"],
]  # fmt: skip


@pytest.mark.parametrize("tokens", CHATS)
def test_control_tokens_of_a_chat_are_no_words(tokens: list[str]) -> None:
    n = len(tokens)
    weights = np.full((1, 1, n, n), 1 / n)
    a = from_attentions(weights, tokens, tagger=None)
    marks = [token for token in tokens if token.startswith("<")]
    assert [token.text for token in a.tokens if token.special] == marks
    assert all(word.text.isalpha() for word in a.language.words)
    assert not any(mark in (a.text or "") for mark in marks)
    # Where the text is given with them, they have their places in it.
    text = "".join(token.replace("Ġ", " ").replace("Ċ", "\n") for token in tokens)
    b = from_attentions(weights, tokens, text=text, tagger=None)
    assert [word.text for word in b.language.words] == [word.text for word in a.language.words]
    assert [t.surface for t in b.tokens if t.special and t.end] == [m for m in marks if m in text]
    assert locate_tokens(["a", "<|mask|>", "b"])[0][1].special is False

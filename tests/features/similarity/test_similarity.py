"""Similarities: sums that close, against the plain model and a propagation of our own; and input that is refused."""

from __future__ import annotations

import math
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import attn_widget as aw
from attn_widget.checks.rounding import rounding
from attn_widget.errors import (
    InputError,
    InputTypeError,
    NotAvailableError,
    NotFiniteError,
    TooLongError,
)
from attn_widget.features.similarity.linear_text import LinearText
from attn_widget.features.why.methods import METHODS
from tests.close import assert_close
from tests.features.similarity.embedders import (
    MEAN,
    PAIR_SUMS,
    TEXT_SUMS,
    WIDTH,
    folder_of,
    size_of_score,
    size_of_sum,
)
from tests.features.similarity.test_embedding_heads import plain, states
from tests.unit import tiny_models
from tests.unit.needs import needs_minilm

A = "The cat sat on the mat, and naïve Dr. Smith's dog ran."
B = "She sells sea shells, and he buys them for a dollar each."
MINILM_SUMS = {"terms": 384, "steps": 2 * 4 * 6}
FAMILIES = ("bert", "roberta", "distilbert", "mpnet", "modernbert", "albert", "electra", "deberta")
# similarity.md, section 2: score, largest entries, biases; by a prototype.
TABLE = [
    (
        "A man is playing a guitar on the stage.",
        "Someone plays an instrument in front of people.",
        0.498,
        {"guitar-instrument": 0.152, "playing-plays": 0.060, "stage-instrument": 0.058},
        -0.381,
    ),
    (
        "How do I reset my password?",
        "Steps to recover access to your account when the login fails.",
        0.524,
        {"reset-recover": 0.072, "password-log": 0.064, "password-account": 0.051},
        -0.056,
    ),
    (
        "He did not like the film at all.",
        "He liked the film very much.",
        0.711,
        {"he-he": 0.193, "film-film": 0.193, "like-liked": 0.140},
        -0.328,
    ),
    (
        "The bank raised interest rates again this year.",
        "The river bank was covered in flowers.",
        0.283,
        {"bank-bank": 0.111, "bank-river": 0.044},
        -0.064,
    ),
]


def compare(a: str, b: Any, model: Any, **options: Any) -> Any:
    return aw.similarity(a, b, model=model, tagger=None, progress=False, **options)


def tiny(family: str, a: str = A, b: str = B, pooling: str = "mean", **options: Any) -> Any:
    return compare(a, b, tiny_models.build(family, "Model"), pooling=pooling, **options)


def cosine(e: Any, f: Any) -> float:
    return float(e @ f / (np.linalg.norm(e) * np.linalg.norm(f)))


def assert_closed(s: Any, **sums: int) -> None:
    """``matrix("input")`` and the biases add up to the score."""
    total = float(s.matrix("input").sum() + s.biases.sum())
    assert_close(total, s.score, **(sums or PAIR_SUMS), size=size_of_sum(s))


GAP = rounding(1, **PAIR_SUMS)  # of contributions, which is relative to what is summed


def assert_pooled(s: Any, total: float | None = None) -> None:
    """``matrix("output")`` adds up to the score: only the pooling rounds."""
    total = float(s.matrix("output").sum()) if total is None else total
    assert_close(
        total, s.score, terms=max(s.a.trace.n_tokens, s.b.trace.n_tokens), size=size_of_score(s)
    )


@pytest.fixture(scope="module")
def guitar() -> Any:
    return compare(*TABLE[0][:2], None)


# Sums


@pytest.mark.parametrize("family", FAMILIES)
def test_the_sum_of_input_is_the_models_own_score(family: str) -> None:
    s = tiny(family)
    model, tokenizer = tiny_models.build(family, "Model")
    e, f = (states(model, tokenizer, text).mean(axis=0) for text in (A, B))
    assert_close(s.score, cosine(e, f), **PAIR_SUMS, size=size_of_score(s))
    assert_closed(s)
    assert_pooled(s)
    assert s.matrix().shape == (s.a.trace.n_tokens, s.b.trace.n_tokens)
    assert s.biases.shape == (s.a.trace.n_tokens + s.b.trace.n_tokens + 1,)


@pytest.mark.parametrize("family", ["bert", "mpnet", "modernbert"])
@pytest.mark.parametrize("words", [3, 200])
def test_short_and_long_texts_close(family: str, words: int) -> None:
    positions = 1026 if family == "mpnet" else 1024
    model = tiny_models.build(family, "Model", max_position_embeddings=positions)
    a, b = (" ".join((text + " ").split() * 20) for text in tiny_models.TEXTS[2:])
    a, b = (" ".join(text.split()[:words]) for text in (a, b))
    tokenizer = model[1]
    longest = tokenizer.model_max_length
    tokenizer.model_max_length = 1024
    try:
        assert_closed(compare(a, b, model, pooling="mean"))
    finally:
        tokenizer.model_max_length = longest


@pytest.mark.parametrize("pooling", ["cls", "last", "weighted", "max", "mean_sqrt"])
def test_every_pooling_closes(pooling: str) -> None:
    s = tiny("bert", pooling=pooling)
    assert_closed(s)
    if pooling == "max":
        with pytest.raises(NotAvailableError, match="not a weighted sum of its hidden states"):
            s.matrix("output")
    else:
        assert_pooled(s)


def test_layers_after_the_pooling_are_part_of_the_sum(tmp_path: Path) -> None:
    folder = folder_of(tmp_path, pooling=MEAN, dense=20, norm=True, normalize=True)
    s = compare(A, B, folder)
    assert_closed(s)
    assert s.contributions().gap <= GAP
    with pytest.raises(NotAvailableError, match="not a weighted sum"):
        s.matrix("output")


@pytest.mark.parametrize("family", ["mixtral", "gpt_oss"])
def test_a_mixture_of_experts_has_no_sum_over_its_inputs(family: str) -> None:
    s = tiny(family)
    assert s.kinds == ("output",) and tiny(family, pooling="tokens").kinds == ("maxsim",)
    with pytest.raises(NotAvailableError, match="mixtures of experts"):
        s.matrix("input")


def test_a_dot_product_is_the_cosine_times_the_lengths() -> None:
    s, dot = tiny("bert"), tiny("bert", similarity="dot")
    model, tokenizer = tiny_models.build("bert", "Model")
    e, f = (states(model, tokenizer, text).mean(axis=0) for text in (A, B))
    lengths = np.linalg.norm(e) * np.linalg.norm(f)
    assert dot.kind == "dot"
    assert_close(dot.score, float(e @ f), **PAIR_SUMS, size=size_of_score(dot))
    assert_close(dot.matrix(), s.matrix() * lengths, **PAIR_SUMS)
    assert_pooled(dot)
    assert_close(dot.contributions().values, row_sums(dot), **PAIR_SUMS, size=size_of_row(dot))


def row_sums(s: Any) -> Any:
    n = s.a.trace.n_tokens
    return s.matrix("input").sum(axis=1) + s.biases[:n]


def column_sums(s: Any) -> Any:
    n = s.a.trace.n_tokens
    return s.matrix("input").sum(axis=0) + s.biases[n:-1]


def size_of_row(s: Any) -> float:
    """The largest sum of absolute values of a row or column of ``matrix("input")`` with its bias."""
    m, biases, n = np.abs(s.matrix("input")), np.abs(s.biases), s.a.trace.n_tokens
    return float(max((m.sum(axis=1) + biases[:n]).max(), (m.sum(axis=0) + biases[n:-1]).max()))


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("longer", ["a", "b"])
def test_the_decomposition_of_the_target_is_the_sums_of_rows(family: str, longer: str) -> None:
    texts = (A, "A dog.") if longer == "a" else ("A dog.", A)
    s = tiny(family, *texts)
    a, b, size = s.contributions("a"), s.contributions("b"), size_of_row(s)
    assert_close(a.values, row_sums(s), **PAIR_SUMS, size=size)
    assert_close(b.values, column_sums(s), **PAIR_SUMS, size=size)
    rest = s.biases[s.a.trace.n_tokens :]
    assert_close(a.bias, rest.sum(), **PAIR_SUMS, size=np.abs(rest).sum())


def test_the_vectors_are_those_of_one_token_at_a_time() -> None:
    """Forward by backward twice, against finite differences of the frozen network: a single backward pass each."""
    s = tiny("bert")
    text = LinearText(s.a.run)
    directions = np.eye(len(text.embedding))
    by_rows = text.contributions(directions).T  # <u_i, unit vector k>
    vectors = text.vectors()
    assert_close(vectors, by_rows, **TEXT_SUMS)
    size = np.abs(vectors).sum(axis=0) + np.abs(text.bias)
    assert_close(vectors.sum(axis=0) + text.bias, text.embedding, **TEXT_SUMS, size=size)


def test_blocks_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    from attn_widget.features.similarity import linear_text

    whole = tiny("bert").matrix()
    monkeypatch.setattr(linear_text, "BYTES_AT_ONCE", 1)
    seen: list[tuple[int, int]] = []
    s = tiny("bert")
    assert_close(s.matrix(progress=lambda *at: seen.append(at)), whole, **PAIR_SUMS)
    n = min(s.a.trace.n_tokens, s.b.trace.n_tokens)
    assert seen[-1] == (2 * n + 1, 2 * n + 1) and len(seen) == 2 * n + 1


def test_a_matrix_can_be_canceled_and_asked_for_again() -> None:
    def stop(done: int, _all: int) -> None:
        raise KeyboardInterrupt

    s = tiny("bert")
    with pytest.raises(KeyboardInterrupt):
        s.matrix(progress=stop)
    assert_closed(s)


def test_heads_that_are_off_and_means_in_their_place_stay_exact() -> None:
    model = tiny_models.build("bert", "Model")
    encoder = aw.load(model, progress=False).with_pooling("mean")
    means = aw.corpus.head_means([A, B], model=model, progress=False)
    for ablation in ("zero", "mean", means):
        s = compare(A, B, encoder.without([(0, 1), (2, 3)], ablation))
        assert_closed(s)
        assert s.contributions().gap <= GAP


def test_the_network_is_left_as_it_was() -> None:
    model, tokenizer = tiny_models.build("bert", "Model")
    model.train()
    model.embeddings.word_embeddings.weight.requires_grad_(True)
    before = {name: (p.clone(), p.requires_grad) for name, p in model.named_parameters()}
    s = compare(A, B, (model, tokenizer), pooling="mean")
    s.matrix()
    assert model.training
    for name, parameter in model.named_parameters():
        assert torch.equal(parameter, before[name][0]) and parameter.grad is None
        assert parameter.requires_grad == before[name][1]


@needs_minilm
@pytest.mark.parametrize(("a", "b", "score", "largest", "biases"), TABLE)
def test_the_pairs_of_the_definitions(
    a: str, b: str, score: float, largest: dict[str, float], biases: float
) -> None:
    s = compare(a, b, None)
    assert s.score == pytest.approx(score, abs=1e-3)  # its printed digits
    assert_closed(s, **MINILM_SUMS)
    assert s.biases.sum() == pytest.approx(biases, abs=5e-4)
    matrix = s.matrix()
    for entry, value in largest.items():
        i, j = (
            next(k for k, token in enumerate(run.trace.tokens) if token.text == word)
            for run, word in zip((s.a.run, s.b.run), entry.split("-"), strict=True)
        )
        assert matrix[i, j] == pytest.approx(value, abs=5e-4)


@needs_minilm
def test_a_negation_takes_no_part() -> None:
    s = compare(*TABLE[2][:2], None)
    negation = [token.text for token in s.a.trace.tokens].index("not")
    leading = [(pair.a, pair.b) for pair in s.pairs(3)]
    assert sorted(leading) == [("He", "He"), ("film", "film"), ("like", "liked")]
    assert np.abs(s.matrix()[negation]).max() < s.pairs(3)[2].value / 5


@needs_minilm
def test_pairs_of_words_are_named_and_sorted(guitar: Any) -> None:
    first = guitar.pairs(3)
    assert (first[0].a, first[0].b) == ("guitar", "instrument")
    assert [abs(pair.value) for pair in first] == sorted(
        (abs(p.value) for p in first), reverse=True
    )


# Words, tables


def test_words_add_up_the_pieces_of_a_word() -> None:
    s = tiny("bert")
    tokens, words = s.matrix(), s.matrix(words=True)
    language = s.a.language.tokens
    pieces = [i for i, token in enumerate(language) if token.word == language[-3].word]
    assert len(pieces) > 1
    assert len(words) == len({token.word for token in language if not token.special}) + 2
    assert words.sum() == pytest.approx(tokens.sum(), abs=1e-9)
    merged = tokens[pieces].sum(axis=0).sum()
    assert any(row.sum() == pytest.approx(merged, abs=1e-9) for row in words)


@pytest.mark.parametrize("words", [False, True])
def test_a_table_adds_up_to_the_score(words: bool) -> None:
    s = tiny("bert")
    frame = s.to_dataframe(words=words)
    assert_close(frame["value"].sum(), s.score, **PAIR_SUMS, size=size_of_sum(s))
    rest = frame[frame.position_a.isna() | frame.position_b.isna()]
    assert rest["value"].sum() == pytest.approx(s.biases.sum(), abs=1e-9)
    assert set(frame.token_a) >= {"(bias)", "cat"}
    plain_sum = s.to_dataframe("output", words=words)
    assert_pooled(s, plain_sum["value"].sum())
    assert "(bias)" not in set(plain_sum.token_a)


# The target: everything in Why


def test_every_method_explains_a_similarity() -> None:
    encoder = aw.load(tiny_models.build("bert", "Model"), progress=False).with_pooling("mean")
    a: Any = aw.analyze(A, model=encoder, tagger=None, progress=False)
    target, s = aw.target(similar_to=B), tiny("bert")
    for method in METHODS:
        c = a.why.contributions(target, method)
        assert_close(c.value, s.score, **PAIR_SUMS, size=size_of_score(s))
        assert np.isfinite(c.values[1:-1]).all()
        if method == "integrated_gradients":
            assert c.gap < 0.01
    assert a.why.agreement(target, ["decomposition", "occlusion", "weights"]).rho.shape == (3, 3)
    assert "similarity with" in str(target)


def test_occlusion_is_the_fall_of_the_models_own_cosine() -> None:
    s = tiny("bert")
    model, tokenizer = tiny_models.build("bert", "Model")
    ids = tokenizer(A, return_tensors="pt")
    masked = {name: tensor.clone() for name, tensor in ids.items()}
    masked["input_ids"][0, 2] = tokenizer.mask_token_id
    with torch.no_grad():
        e = model(**masked).last_hidden_state[0].mean(dim=0).double().numpy()
    f = states(model, tokenizer, B).mean(axis=0)
    fall = s.score - cosine(e, f)
    found = s.contributions("a", "occlusion").values[2]
    assert_close(found, fall, **PAIR_SUMS, size=2 * size_of_score(s))  # of two scores


def test_gradients_are_those_of_the_whole_cosine() -> None:
    """Not linearized: the length of the embedding moves too."""
    s = tiny("bert")
    target = s.target("a")
    _where, run, bound = s.a.why._bound(target)
    from attn_widget.features.why.passes import entering, first_vectors

    vectors = first_vectors(run)
    step = torch.zeros_like(vectors)
    step[0, 3] = 1e-2 * vectors[0, 3]
    values = []
    for sign in (1, -1):
        with torch.no_grad(), entering(run, vectors + sign * step):
            values.append(float(bound.value(run.encoder, run.encoding.inputs)[0]))
    slope = (values[0] - values[1]) / 2e-2
    assert s.contributions("a", "gradient_x_input").values[3] == pytest.approx(
        slope, rel=0.02, abs=1e-4
    )


def test_head_effects_are_the_fall_of_the_score() -> None:
    s = tiny("bert")
    effects = s.a.why.head_effects(s.target("a"))
    without = s.a.ablate([(1, 2)])
    left = without.why.contributions(aw.target(similar_to=s.b)).value
    assert_close(effects.effects[1, 2], s.score - left, **PAIR_SUMS, size=2 * size_of_score(s))
    assert np.isnan(effects.divergence).all()  # a similarity is of no distribution


def test_faithfulness_watches_the_score() -> None:
    s = tiny("bert", "the cat sat on the mat", B)
    f = s.faithfulness(methods=["decomposition", "occlusion"])
    size = size_of_score(s)
    assert_close(f.probability, s.score, **PAIR_SUMS, size=size)
    assert f.untestable is None and f.random.orders == 720
    order = np.argsort(-s.contributions("a", "occlusion").values[1:-1])
    masked = s.a.mask([int(order[0]) + 1])
    fallen = masked.why.contributions(aw.target(similar_to=s.b)).value
    assert_close(f.curves["occlusion"].deleted[1], fallen, **PAIR_SUMS, size=size)


def test_parts_of_one_run_are_patched_into_another() -> None:
    encoder = aw.load(tiny_models.build("bert", "Model"), progress=False).with_pooling("mean")
    c = aw.compare("the cat sat on the mat", "the dog sat on the mat", model=encoder)
    recovery = c.recovery(aw.target(similar_to=B), "states")
    assert recovery.values.shape[1] == c.b.trace.n_tokens
    last = recovery.patched[-1]
    assert np.isfinite(last[1:-1]).any()


def test_a_target_names_its_text_and_refuses_what_does_not_fit() -> None:
    assert str(aw.target(similar_to=B, similarity="cosine")).startswith("cosine with 'She sells")
    refused: list[tuple[dict[str, Any], str]] = [
        ({"similar_to": B, "label": 1}, "several are given"),
        ({"similar_to": B, "position": 2}, "similar_to takes no position"),
        ({"similar_to": " "}, "holds no text"),
        ({"label": 1, "similarity": "dot"}, "go with similar_to"),
        ({"similar_to": B, "similarity": "angle"}, "expected one of 'cosine', 'dot', 'maxsim'"),
    ]
    for given, message in refused:
        with pytest.raises(InputError, match=message):
            aw.target(**given)
    with pytest.raises(InputTypeError, match="expected a text or an Analysis"):
        aw.target(similar_to=3)
    a = aw.analyze("the cat", tagger=None, progress=False)
    with pytest.raises(NotAvailableError, match="names no pooling"):
        a.why.contributions(aw.target(similar_to=B))


# Planted truth


def planted(folder: Path, word: str) -> Path:
    """An embedder whose layers pass every token on, and whose embedding is 0 but for one word.

    All tokens are alike but that one, which is orthogonal to them; a Dense layer of one output looks in its direction.
    """
    from safetensors.torch import save_file

    folder = folder_of(folder, pooling=MEAN, dense=1, activation="torch.nn.Identity")
    model, tokenizer = tiny_models.build("bert", "Model")
    alternating = torch.tensor([1.0, -1.0]).repeat(16)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            parameter.fill_(1) if name.endswith("LayerNorm.weight") else parameter.zero_()
        table = model.embeddings.word_embeddings.weight
        table[:] = torch.cat([torch.ones(16), -torch.ones(16)])
        table[tokenizer.convert_tokens_to_ids(word)] = alternating
    model.save_pretrained(folder)
    weights = {"linear.weight": alternating[None].clone(), "linear.bias": torch.zeros(1)}
    save_file(weights, folder / "2_Dense" / "model.safetensors")
    return folder


def test_the_word_that_decides_stands_first(tmp_path: Path) -> None:
    folder = planted(tmp_path, "cat")
    s = compare("the dog looked at the cat in the tree", "she buys the cat for a dollar", folder)
    (only,) = [pair for pair in s.pairs(100) if abs(pair.value) > 1e-6]
    assert (only.a, only.b) == ("cat", "cat")
    assert_close(only.value, s.score, **PAIR_SUMS)
    with pytest.raises(NotFiniteError, match="length 0"):  # without it there is nothing
        compare("the dog looked at the tree", "she buys the cat", folder)


# Bad input


def test_identical_texts_are_as_similar_as_can_be() -> None:
    s = tiny("bert", A, A)
    assert_close(s.score, 1, terms=WIDTH)
    assert_closed(s)
    assert_close(s.matrix(), s.matrix().T, **PAIR_SUMS)


@pytest.mark.parametrize("empty", ["", "  \n"])
def test_an_empty_text_is_named(empty: str) -> None:
    with pytest.raises(InputError, match=r"^b (is empty|holds only white space)"):
        tiny("bert", A, empty)
    with pytest.raises(InputError, match=r"^a (is empty|holds only white space)"):
        tiny("bert", empty, B)


def test_a_pair_beyond_the_models_length_is_never_cut_in_silence(tmp_path: Path) -> None:
    folder = folder_of(tmp_path, pooling=MEAN, max_length=16)
    with pytest.raises(
        TooLongError, match=r"Text b is too long.* reads at most 16.*truncation=True"
    ):
        compare("the cat", A * 2, folder)
    s = compare("the cat", A * 2, folder, truncation=True)
    assert s.b.trace.n_tokens == 16 and "Text b was cut: 16 of" in s.notes[0]
    assert_closed(s)


@pytest.mark.filterwarnings("ignore:.*:RuntimeWarning")
def test_a_model_with_nan_is_named(tmp_path: Path) -> None:
    model, tokenizer = tiny_models.build("bert", "Model", seed=3)
    with torch.no_grad():
        model.encoder.layer[1].output.dense.bias[0] = math.nan
    with pytest.raises(NotFiniteError, match=r"nan|NaN"):
        compare(A, B, (model, tokenizer), pooling="mean")
    folder = folder_of(tmp_path, pooling=MEAN, dense=4)
    from safetensors.torch import save_file

    weights = {"linear.weight": torch.full((4, 32), math.nan), "linear.bias": torch.zeros(4)}
    save_file(weights, folder / "2_Dense" / "model.safetensors")
    with pytest.raises(NotFiniteError, match=r"embedding of a text by .* holds nan"):
        compare(A, B, folder)


def test_an_embedding_of_length_zero_has_no_cosine(tmp_path: Path) -> None:
    folder = folder_of(tmp_path, pooling=MEAN, dense=4)
    from safetensors.torch import save_file

    weights = {"linear.weight": torch.zeros(4, 32), "linear.bias": torch.zeros(4)}
    save_file(weights, folder / "2_Dense" / "model.safetensors")
    with pytest.raises(NotFiniteError, match=r"length 0, so it has no direction.*similarity='dot'"):
        compare(A, B, folder)
    dot = compare(A, B, folder, similarity="dot")
    assert dot.score == 0 and not dot.matrix().any()


def test_texts_of_two_models_of_different_width_are_refused(tmp_path: Path) -> None:
    a = compare(A, B, folder_of(tmp_path / "a", pooling=MEAN, dense=8)).a
    b = compare(A, B, folder_of(tmp_path / "b", pooling=MEAN, dense=4)).a
    with pytest.raises(InputError, match=r"an embedding of 4 numbers, and .* gives 8"):
        a.why.contributions(aw.target(similar_to=b))


# Command line


@needs_minilm
def test_the_command_line_prints_the_score_and_the_strongest_pairs(capsys: Any) -> None:
    from attn_widget.__main__ import main

    assert main(["similarity", *TABLE[0][:2], "--top-k", "2"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "cosine 0.4979" and lines[1].endswith("guitar - instrument")
    total = sum(float(line.split()[0]) for line in lines[1:])
    assert total == pytest.approx(0.4979, abs=3e-4) and lines[-1].endswith("biases")
    assert main(["similarity", "cats purr", "dogs bark", "a cat", ""]) == 0
    ranked = capsys.readouterr().out.splitlines()
    assert ranked[0].endswith("2  a cat") and "text is empty" in ranked[-1]
    assert main(["similarity", "", "dogs"]) == 2


def test_the_first_use_needs_no_module_of_the_same_name() -> None:
    code = "import attn_widget as aw, attn_widget.features.similarity; print(callable(aw.similarity), aw.Ranking.__name__)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["True", "Ranking"]


def test_plain_is_what_the_folder_says(tmp_path: Path) -> None:
    folder = folder_of(tmp_path, pooling=MEAN)
    s = compare(A, B, folder)
    wanted = cosine(*(plain(folder, t).mean(axis=0) for t in (A, B)))
    assert_close(s.score, wanted, **PAIR_SUMS, size=size_of_score(s))

"""Analysis: figures on demand, kept, and the same over words."""

from __future__ import annotations

import numpy as np
import pytest

from attn_widget.analysis import Analysis
from attn_widget.errors import InputError, NotAvailableError
from attn_widget.figures.metrics import KEYS
from attn_widget.figures.specialization import KEYS as SPECIALIZATIONS
from attn_widget.language import annotate
from attn_widget.model.tokens import Token
from attn_widget.trace import WeightsTrace
from tests.close import assert_close
from tests.reference import naive_attention as naive
from tests.reference.samples import layers

TEXT = "The cats ran. Paris slept on!"
PIECES = [
    ("[CLS]", 0, 0), ("the", 0, 3), ("cat", 4, 7), ("##s", 7, 8), ("ran", 9, 12), (".", 12, 13),
    ("pa", 14, 16), ("##ris", 16, 19), ("slept", 20, 25), ("on", 26, 28), ("!", 28, 29),
    ("[SEP]", 0, 0),
]  # fmt: skip
TAGS = [
    (0, 3, "DET"), (4, 8, "NOUN"), (9, 12, "VERB"), (12, 13, "PUNCT"), (14, 19, "PROPN", "GPE"),
    (20, 25, "VERB"), (26, 28, "ADP"), (28, 29, "PUNCT"),
]  # fmt: skip
GROUPS = [[0], [1], [2, 3], [4], [5], [6, 7], [8], [9], [10], [11]]
WEIGHTS = layers(len(PIECES), layers=4, heads=3)


class CountingTrace(WeightsTrace):
    """Counts how often each layer was asked for."""

    def __init__(self, *args: object, **kwargs: object) -> None:
        super().__init__(*args, **kwargs)  # pyright: ignore
        self.asked: list[int] = []

    def layer_weights(self, layer: int) -> np.ndarray:
        self.asked.append(layer)
        return super().layer_weights(layer)


def made_trace() -> CountingTrace:
    tokens = [
        Token(text, i, start, end, TEXT[start:end] or text, special=end == 0)
        for i, (text, start, end) in enumerate(PIECES)
    ]
    return CountingTrace(tokens, list(WEIGHTS))


@pytest.fixture
def trace() -> CountingTrace:
    return made_trace()


@pytest.fixture
def analysis(trace: CountingTrace) -> Analysis:
    return Analysis(trace, text=TEXT, tagger=lambda text: TAGS)


def test_figures_are_those_of_the_definitions(analysis: Analysis) -> None:
    matrix = WEIGHTS[2, 1].tolist()
    expected = naive.metrics(matrix, float(np.float32(0.01)))
    for key in KEYS:
        assert_close(getattr(analysis.metrics, key)[2, 1], expected[key], terms=12, steps=2)
    found = analysis.heads.specialization
    for key, keys in {
        "syntax": [1, 9], "semantics": [2, 3, 4, 6, 7, 8], "punctuation": [5, 10],
        "entities": [6, 7],
    }.items():  # fmt: skip
        assert_close(found.raw[key][2, 1], naive.share(matrix, keys), terms=12, steps=2)
        assert found.chance[key] == len(keys) / 12
    assert found.reasons == {}


def test_figures_are_computed_once_and_in_one_walk(
    trace: CountingTrace, analysis: Analysis
) -> None:
    assert trace.asked == []
    for _ in range(2):
        _ = (
            analysis.metrics,
            analysis.heads.marginals,
            analysis.heads.specialization,
            analysis.heads.roles(),
        )
    assert trace.asked == [0, 1, 2, 3]
    assert analysis.metrics is analysis.metrics
    assert analysis.heads.metrics_at(0.01) is analysis.metrics


def test_the_tagger_is_asked_only_when_a_figure_needs_it(trace: CountingTrace) -> None:
    calls: list[str] = []

    def tagger(text: str) -> list[tuple[object, ...]]:
        calls.append(text)
        return TAGS  # pyright: ignore

    analysis = Analysis(trace, text=TEXT, tagger=tagger)
    _ = analysis.metrics, analysis.rollout(), analysis.view(special=False).metrics
    assert analysis.tokens[6].pos is None
    assert calls == []
    _ = analysis.heads.specialization, analysis.view(words=True).words
    assert calls == [TEXT]
    assert (analysis.tokens[6].pos, analysis.tokens[7].entity) == ("PROPN", "GPE")


def test_a_language_that_is_known_is_used(trace: CountingTrace) -> None:
    language = annotate(trace.tokens, TEXT, tagger=lambda text: TAGS)
    assert Analysis(trace, language=language).language is language


def test_another_tau_changes_sparsity_alone(analysis: Analysis) -> None:
    other = analysis.heads.metrics_at("uniform")
    assert other.tau == "uniform"
    for key in KEYS:
        same = np.array_equal(getattr(other, key), getattr(analysis.metrics, key))
        assert same == (key != "sparsity")


def test_the_mean_head_is_averaged_first(analysis: Analysis) -> None:
    found = analysis.heads.metrics_at(mean_head=True)
    mean = naive.mean_head(WEIGHTS[1].tolist())
    expected = naive.metrics(mean, float(np.float32(0.01)))
    assert found.focus_entropy.shape == (4, 1)
    assert_close(found.focus_entropy[1, 0], expected["focus_entropy"], terms=12, steps=2)
    average = analysis.metrics.summary()["focus_entropy"].mean[1]
    assert found.focus_entropy[1, 0] > average + 1


def test_words_have_the_figures_of_the_merged_matrices(analysis: Analysis) -> None:
    view = analysis.view(words=True)
    assert [token.text for token in view.tokens] == [
        "[CLS]", "The", "cats", "ran", ".", "Paris", "slept", "on", "!", "[SEP]",
    ]  # fmt: skip
    assert view.trace.n_tokens == 10
    matrix = naive.merge(WEIGHTS[3, 0].tolist(), GROUPS)
    assert_close(view.attention(3, 0), matrix, terms=12)
    expected = naive.metrics(matrix, float(np.float32(0.01)))
    for key in KEYS:
        assert_close(getattr(view.metrics, key)[3, 0], expected[key], terms=12, steps=2)
    assert_close(
        view.heads.specialization.raw["entities"][3, 0], naive.share(matrix, [5]), terms=12, steps=2
    )
    assert_close(
        view.heads.specialization.raw["long_range"][3, 0],
        naive.long_range(matrix),
        terms=12,
        steps=2,
    )
    means = [
        naive.mean_head([naive.merge(head, GROUPS) for head in layer]) for layer in WEIGHTS.tolist()
    ]
    assert_close(view.rollout(), naive.rollout(means)[-1], terms=12, steps=4)
    assert [word.tokens for word in view.words] == [(i, i + 1) for i in range(1, 9)]
    assert view.heads.flow(0).shape == (10,)
    assert view.heads.layer_change.shape == (3,)
    assert view.heads.roles().labels.shape == (4, 3)


def test_without_special_tokens_there_is_no_summary_token(analysis: Analysis) -> None:
    view = analysis.view(special=False)
    assert view.trace.n_tokens == 10
    assert "cls" in view.heads.specialization.reasons
    assert_close(view.attention(0, 0).sum(axis=1), 1, terms=12)
    plain = analysis.view(special=False, renormalize=False)
    np.testing.assert_array_equal(plain.attention(0, 0), WEIGHTS[0, 0, 1:11, 1:11])


def test_views_are_kept_and_lead_back(analysis: Analysis) -> None:
    view = analysis.view(words=True, special=False)
    assert analysis.view(words=True, special=False) is view
    assert view.base is analysis
    assert view.view() is analysis
    assert view.view(words=True, special=False) is view
    assert analysis.view() is analysis
    assert analysis.view(renormalize=False) is analysis


@pytest.mark.parametrize("index", [-1, 4, True, "last", 1.5])
def test_a_layer_that_is_not_there_is_refused(analysis: Analysis, index: object) -> None:
    for ask in (
        lambda: analysis.attention(index, 0),  # pyright: ignore
        lambda: analysis.rollout(index),  # pyright: ignore
    ):
        with pytest.raises(InputError, match="layer is"):
            ask()


@pytest.mark.parametrize("token", [-1, 12, None, "cat"])
def test_a_token_that_is_not_there_is_refused(analysis: Analysis, token: object) -> None:
    with pytest.raises(InputError, match="token is"):
        analysis.heads.flow(token)  # pyright: ignore


def test_without_a_text_there_are_no_words(trace: CountingTrace) -> None:
    with pytest.raises(NotAvailableError, match="Pass text="):
        _ = Analysis(trace).words


def test_a_table_has_every_metric_of_every_head(analysis: Analysis) -> None:
    table = analysis.to_dataframe()
    assert table.columns.tolist() == ["layer", "head", *KEYS, *SPECIALIZATIONS]
    assert len(table) == 12


@pytest.mark.parametrize("text", ["a", "!?", "supercalifragilistic " * 2])
def test_short_and_odd_texts_have_figures_or_reasons(text: str) -> None:
    pieces = [*text.split()]
    starts = np.cumsum([0, *[len(piece) + 1 for piece in pieces]])
    tokens = [
        Token(piece, i, int(start), int(start) + len(piece), piece)
        for i, (piece, start) in enumerate(zip(pieces, starts, strict=False))
    ]
    n = len(tokens)
    found = Analysis(WeightsTrace(tokens, list(layers(n))), text=text, tagger=None)
    assert set(found.heads.specialization.reasons) >= {"syntax", "cls", "long_range"}
    assert not np.isnan(found.metrics.confidence_max).any()
    assert found.rollout().shape == (n, n)
    assert found.view(words=True).attention(0, 0).shape == (n, n)

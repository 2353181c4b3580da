"""A long text read in overlapping windows: every row is a row of one window, and nothing is made up between them."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
import torch

import attn_widget as aw
from attn_widget.errors import InputError, InputTypeError, NotAvailableError
from attn_widget.figures.metrics import layer_metrics
from attn_widget.protocol.answer import answer
from attn_widget.protocol.initial_payload import first_paint
from attn_widget.protocol.pack import unpack
from attn_widget.trace.windows.plan import Windows, plan_windows
from tests.close import assert_close
from tests.unit import tiny_models

TEXT = "The cat sat on the mat, and the dog looked at the bird in the old tree near our house. " * 4
SIZE, OVERLAP = 32, 10
FAMILIES = ["bert", "roberta", "modernbert", "deberta-v2"]


@cache
def run(family: str = "bert") -> aw.Analysis:
    encoder = aw.load(tiny_models.build(family))
    return aw.analyze(TEXT, model=encoder, windows=(SIZE, OVERLAP), tagger=None, progress=False)


def windows_of(a: aw.Analysis) -> Windows:
    assert a.trace.windows is not None
    return a.trace.windows


def plain(a: aw.Analysis, number: int) -> tuple[np.ndarray, Any]:
    """Places of a window on the axis, and what the plain model gives for its ids."""
    windows, n = windows_of(a), a.trace.n_tokens
    before, after = windows.spans[0][0], n - windows.spans[-1][1]
    places = np.r_[0:before, slice(*windows.spans[number]), n - after : n]
    assert a.run is not None
    model = a.run.encoder.model
    before_it = model.config._attn_implementation
    model.set_attn_implementation("eager")
    ids = torch.tensor([[a.tokens[i].id for i in places]])
    with torch.no_grad():
        found = model(ids, output_attentions=True, output_hidden_states=True)
    model.set_attn_implementation(before_it)
    return places, found


@pytest.mark.parametrize("family", FAMILIES)
def test_each_row_is_a_row_of_its_own_window_and_forbidden_beyond_it(family: str) -> None:
    a = run(family)
    windows = windows_of(a)
    assert len(windows.spans) > 3 and a.trace.n_tokens > 2 * SIZE
    for number in (0, 2, len(windows.spans) - 1):
        places, found = plain(a, number)
        own = windows.of[places] == number
        outside = np.setdiff1d(np.arange(a.trace.n_tokens), places)
        for layer in (0, a.trace.n_layers - 1):
            expected = found.attentions[layer][0, 1].numpy()[own]
            rows = a.attention(layer, 1)[places[own]]
            # Of a score's error a weight takes at most half.
            size = np.nan_to_num(a.scores(layer, 1), neginf=0) / 2
            assert_close(rows[:, places], expected, **tiny_models.RUN, size=size)
            assert (rows[:, outside] == 0).all()
            allowed = a.trace.allowed(layer)
            assert allowed is not None and not allowed[np.ix_(places[own], outside)].any()
        states = a.trace.hidden_states
        assert states is not None
        last = found.hidden_states[-1][0].numpy()[own]
        assert_close(states[-1, places[own]], last, **tiny_models.RUN)
        logits = a.trace.logits
        assert logits is not None
        assert_close(logits[places[own]], found.logits[0].numpy()[own], **tiny_models.RUN)
    assert_close(a.attention(0, "mean").sum(axis=1), 1, terms=a.trace.n_tokens)


@pytest.mark.parametrize("family", FAMILIES)
def test_blocks_rows_and_scores_agree_with_the_whole_matrix(family: str) -> None:
    a = run(family)
    trace, layer = a.trace, a.trace.n_layers - 1
    whole = trace.layer_weights(layer)
    picked = np.array([0, 5, 40, a.trace.n_tokens - 1])
    assert_close(trace.picked_rows(layer, picked), whole[:, picked], terms=32)
    np.testing.assert_array_equal(
        a.attention(layer, 1, slice(9, 30), slice(5, 50)), whole[1, 9:30, 5:50]
    )
    for area, weights in trace.head_blocks(layer, 2, trace.row_blocks(layer)):
        assert_close(weights, whole[2][area], terms=32)
    scores = a.scores(layer, 2)
    exps = np.exp(scores - scores.max(axis=1, keepdims=True))
    assert_close(
        exps / exps.sum(axis=1, keepdims=True),
        whole[2],
        terms=32,
        size=np.nan_to_num(scores, neginf=0),
    )
    expected = layer_metrics(whole, trace.allowed(layer))
    assert_close(
        a.metrics.uniformity[layer], expected["uniformity"], terms=a.trace.n_tokens, steps=2
    )


def test_predictions_and_masks_are_those_of_the_own_window() -> None:
    a = run()
    windows = windows_of(a)
    middle = windows.spans[2][0] + SIZE // 2
    number = int(windows.of[middle])
    masked = a.predictions(top_k=3, mode="masked", rows=slice(middle, middle + 1))
    span = windows.spans[number]
    assert a.run is not None
    model = a.run.encoder.model
    ids = [a.tokens[0].id, *(t.id for t in a.tokens[slice(*span)]), a.tokens[-1].id]
    mask_id = a.run.encoder.mask_token_id
    assert mask_id is not None
    ids[1 + middle - span[0]] = mask_id
    with torch.no_grad():
        logits = model(torch.tensor([ids])).logits[0, 1 + middle - span[0]]
    assert masked.ids[0].tolist() == logits.topk(3).indices.tolist()
    hidden = a.mask([middle])
    assert [one.token for one in hidden.model.masked] == [middle]
    assert hidden.trace.windows is not None and len(hidden.trace.windows.spans) == len(
        windows.spans
    )
    changed = np.abs(hidden.attention(1, 0) - a.attention(1, 0)).max(axis=1) > 0
    reads = np.array([first <= middle < end for first, end in windows.spans])
    assert (reads[windows.of] >= changed).all() and changed[middle]
    off = a.ablate([(0, 1)])
    assert off.trace.windows is not None and off.model.heads_off == ((0, 1),)
    assert a.ablate([]) is a and hidden.mask([]) is a


@pytest.mark.parametrize("family", ["bert", "roberta"])
@pytest.mark.parametrize("longer", [0, 1])
def test_of_a_pair_the_longer_text_is_read_in_windows_with_all_of_the_other(
    family: str, longer: int
) -> None:
    short, long = "The dog looked at the bird", TEXT[:280]
    pair = (short, long) if longer else (long, short)
    encoder = aw.load(tiny_models.build(family))
    a = aw.analyze(*pair, model=encoder, windows=(40, 6), tagger=None, progress=False)
    windows = windows_of(a)
    assert len(windows.spans) > 2
    assert a.text_pair == pair[1]
    whole = encoder.tokenizer(*pair, return_tensors="pt")
    assert [token.id for token in a.tokens] == whole["input_ids"][0].tolist()
    other = [i for i, token in enumerate(a.tokens) if not token.special and token.segment != longer]
    n, model = a.trace.n_tokens, encoder.model
    before, after = windows.spans[0][0], n - windows.spans[-1][1]
    implementation = model.config._attn_implementation
    model.set_attn_implementation("eager")
    for number, span in enumerate(windows.spans):
        places = np.r_[0:before, slice(*span), n - after : n]
        assert set(other) <= set(places.tolist()) and len(places) <= 40
        with torch.no_grad():
            inputs = {name: tensor[:, places] for name, tensor in whole.items()}
            plain_weights = model(**inputs, output_attentions=True).attentions[1][0, 2].numpy()
        mine = np.flatnonzero(windows.of == number)
        rows = a.attention(1, 2)[mine]
        own = np.flatnonzero(np.isin(places, mine))
        size = np.nan_to_num(a.scores(1, 2), neginf=0) / 2
        assert_close(rows[:, places], plain_weights[own], **tiny_models.RUN, size=size)
        assert not np.delete(rows, places, axis=1).any()
    model.set_attn_implementation(implementation)
    hidden = a.mask([other[0], int(windows.spans[1][1]) - 1])
    assert [one.token for one in hidden.model.masked] == sorted(
        [other[0], int(windows.spans[1][1]) - 1]
    )


@pytest.mark.parametrize(
    "ask",
    [
        lambda a: a.rollout(),
        lambda a: a.heads.flow(3),
        lambda a: a.model.queries(0, 0),
        lambda a: a.model.keys(0, 0),
        lambda a: a.model.layer(0),
        lambda a: a.model.embeddings(),
        lambda a: a.mixing.matrix("alti", 1),
        lambda a: a.why.contributions(aw.target(position=4, token="cat")),
        lambda a: a.heads.tree(3, layer=1, head="rollout"),
    ],
)
def test_what_would_join_windows_is_not_available(ask: Any) -> None:
    with pytest.raises(NotAvailableError, match="windows"):
        ask(run())


def test_the_page_is_told_of_the_windows_and_answered() -> None:
    a = run()
    windows = windows_of(a)
    meta, _ = unpack(first_paint(a, 0, 0))
    assert meta["windows"]["of"] == windows.of.tolist()
    assert meta["windows"]["spans"][1] == [*windows.spans[1]]
    assert not meta["model"]["has"]["classifier"] and not meta["model"]["has"]["qkv"]
    for request in (
        {"kind": "scores", "layer": 1, "head": 0},
        {"kind": "patterns"},
        {"kind": "hidden_path"},
    ):
        assert answer(a, request)[0]["ok"], request
    refused, _ = answer(a, {"kind": "rollout", "layer": 1})
    assert not refused["ok"] and "windows" in refused["error"]
    words = a.view(words=True)
    assert words.trace.windows is not None
    assert len(words.trace.windows.of) == words.trace.n_tokens


def test_a_page_of_windows_is_saved(tmp_path: Any) -> None:
    widget = aw.AttentionWidget(run())
    path = tmp_path / "windows.html"
    widget.to_html(path)
    assert path.stat().st_size > 100_000
    widget.close()


def test_a_text_that_fits_is_read_at_once() -> None:
    encoder = aw.load(tiny_models.build("bert"))
    a = aw.analyze("the cat sat", model=encoder, windows=True, tagger=None, progress=False)
    assert a.trace.windows is None and a.rollout().shape == (5, 5)


def test_another_text_of_the_widget_is_read_in_windows_too() -> None:
    encoder = aw.load(tiny_models.build("bert"))
    widget = aw.show("the cat", model=encoder, windows=(SIZE, 5), tagger=None, progress=False)
    widget.run(TEXT)
    assert widget.analysis.trace.windows is not None
    widget.run("the cat", "the dog")
    assert widget.analysis.trace.windows is None
    widget.close()


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"windows": 3}, InputTypeError),
        ({"windows": "yes"}, InputTypeError),
        ({"windows": (32, 8, 1)}, InputTypeError),
        ({"windows": (32.5, 8)}, InputTypeError),
        ({"windows": (1000, 8)}, InputError),
        ({"windows": (32, 32)}, InputError),
        ({"windows": (32, 31)}, InputError),
        ({"windows": (2, 0)}, InputError),
        ({"windows": True, "truncation": True}, InputError),
    ],
)
def test_windows_that_cannot_be_read_are_refused(options: dict[str, Any], error: type) -> None:
    encoder = aw.load(tiny_models.build("bert"))
    with pytest.raises(error):
        aw.analyze(TEXT, model=encoder, progress=False, **options)


def test_too_many_windows_are_refused_before_anything_runs() -> None:
    with pytest.raises(InputError, match="windows, at most"):
        plan_windows(50_000, 1, 1, 20, 17)


@pytest.mark.parametrize(
    ("n", "size", "overlap"), [(12, 6, 2), (100, 10, 0), (101, 40, 37), (35, 34, 5)]
)
def test_every_token_is_most_central_in_its_window(n: int, size: int, overlap: int) -> None:
    found = plan_windows(n, 1, 1, size, overlap)
    assert all(end - first <= size - 2 for first, end in found.spans)
    assert found.spans[0][0] == 1 and found.spans[-1][1] == n - 1
    for (_, end), (first, _) in zip(found.spans, found.spans[1:], strict=False):
        assert end - first >= overlap
    for i in range(1, n - 1):
        depth = [min(i - a, b - 1 - i) if a <= i < b else -1 for a, b in found.spans]
        assert depth[found.of[i]] == max(depth) >= 0


def test_a_decoders_windows_score_what_the_strided_recipe_scores() -> None:
    """The recipe of transformers' documentation: each window scores the tokens that no earlier one has."""
    model, tokenizer = tiny_models.build("gpt2")
    size, overlap = 24, 8
    stride, count = size - overlap, 5
    ids = tokenizer("the cat sat on the mat and the dog looked at the bird " * 12)["input_ids"]
    text = tokenizer.decode(ids[: size + (count - 1) * stride])
    a = aw.analyze(
        text, model=(model, tokenizer), windows=(size, overlap), tagger=None, progress=False
    )
    ids = torch.tensor([[token.id for token in a.tokens]])
    n = ids.shape[1]
    assert windows_of(a).spans == tuple((k * stride, k * stride + size) for k in range(count))
    strided, whole_window = np.full(n, np.nan), np.zeros(n, bool)
    scored = 0
    for begin in range(0, n - overlap, stride):
        end = begin + size
        with torch.no_grad():
            logits = model(ids[:, begin:end], use_cache=False).logits[0].double()
        new = range(max(scored, begin + 1), end)
        nats = torch.nn.functional.cross_entropy(
            logits[:-1], ids[0, begin + 1 : end], reduction="none"
        )
        strided[list(new)] = nats.numpy()[[i - begin - 1 for i in new]]
        whole_window[scored] = (
            True  # the recipe predicts it with the overlap before it, we with a window
        )
        scored = end
    same = ~whole_window
    bits = a.predictions(top_k=1).earlier_surprisal
    assert bits is not None and same.sum() == n - count
    np.testing.assert_allclose(bits[same] * np.log(2), strided[same], atol=1e-4)
    assert (np.flatnonzero(whole_window)[1:] - stride * np.arange(1, count) == overlap).all()

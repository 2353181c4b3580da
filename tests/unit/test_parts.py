"""The parts of an encoder-decoder on the screen: packs, slices and the widget are the analyses' own numbers."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import traitlets

import attn_widget as aw
from attn_widget.__main__ import main
from attn_widget.analysis import Analysis
from attn_widget.analysis.opening import opening
from attn_widget.errors import InputError, NotAvailableError, TooLongError
from attn_widget.page.encodings.codec import MAX_LEVELS
from attn_widget.page.output import outputs
from attn_widget.page.picture import picture_of
from attn_widget.page.saved_run import saved_run
from attn_widget.page.shown import output_run
from attn_widget.page.spec import PageSpec
from attn_widget.protocol.answer import answer
from attn_widget.protocol.initial_payload import first_paint
from attn_widget.protocol.pack import unpack
from attn_widget.protocol.run_source import RunSource
from attn_widget.protocol.selection import Selection
from tests.unit import tiny_models

SOURCE = "The cat sat on the mat."
OUTPUT = "A quick brown fox."
PARTS = ("encoder", "decoder", "cross")


@cache
def analysis(name: str = "bart") -> Analysis:
    model = tiny_models.build(name)
    return aw.analyze(SOURCE, output=OUTPUT, model=model, tagger=None, progress=False)


# The pack


@pytest.mark.parametrize("part", PARTS)
def test_the_pack_of_a_part_has_its_tokens_shapes_and_weights(part: str) -> None:
    whole = analysis()
    a = whole.of(part)
    n, m = a.trace.n_tokens, a.trace.n_keys
    opened = opening(a)
    meta, arrays = unpack(first_paint(a, opened.layer, opened.head, live=True))
    assert (meta["parts"], meta["part"]) == ([*PARTS], part)
    assert (meta["model"]["n_layers"], meta["model"]["n_heads"]) == (
        a.trace.n_layers,
        a.trace.n_heads,
    )
    assert meta["text"] == (SOURCE if part == "encoder" else OUTPUT)
    assert meta["tokens"]["text"] == [token.text for token in a.tokens]
    source = [token.text for token in whole.of("encoder").tokens]
    assert (meta["keys"]["text"] == source) if part == "cross" else "keys" not in meta
    assert (meta.get("source_tokens") is not None) == (part == "decoder")
    assert meta.get("source_text") == (None if part == "encoder" else SOURCE)
    best = whole.predictions(top_k=1).tokens[-1][0]
    assert meta.get("next_token") == (None if part == "encoder" else best)
    assert ("source, which has no place" in meta.get("no_rollout", "")) == (part == "decoder")
    assert arrays["thumbs"].shape == (a.trace.n_layers, a.trace.n_heads, n, m)
    np.testing.assert_array_equal(arrays["weights"], a.attention(opened.layer, opened.head))
    for layer, head in np.ndindex(a.trace.n_layers, a.trace.n_heads):
        np.testing.assert_array_equal(arrays["heads"][layer, head], a.attention(layer, head))
        assert arrays["head_max"][layer, head] == a.attention(layer, head).max()
    words = [[not token.special for token in tokens] for tokens in (a.tokens, a.model.key_tokens)]
    if part == "cross":
        between = a.attention(1, 1)[np.ix_(*words)]
        assert arrays["word_max"][1, 1] == between.max()
        # Rows after which a word is written.
        queries = [i for i, token in enumerate(a.tokens[1:]) if token.text != "."]
        # The last word of the source is punctuation.
        first = a.attention(opened.layer, opened.head)[queries][:, words[1]][:, :-1]
        assert opened.token == queries[int(first.max(axis=1).argmax())]


def test_a_long_rectangle_has_small_thumbnails_whose_cells_are_the_largest_of_theirs() -> None:
    random = np.random.default_rng(0)
    weights = random.dirichlet(np.full(200, 0.1), (2, 2, 300)).astype(np.float32)
    target, source = [f"t{i}" for i in range(300)], [f"s{j}" for j in range(200)]
    a = aw.from_attentions(weights, target, keys=source, tagger=None)
    meta, arrays = unpack(first_paint(a, 0, 1))
    assert (meta["parts"], meta["part"]) == (["cross"], "cross")
    assert (meta["thumb"], meta["thumb_keys"]) == (24, 24) and "weights" not in arrays
    rows, cols = np.arange(25) * 300 // 24, np.arange(25) * 200 // 24
    block = weights[1, 0, rows[3] : rows[4], cols[5] : cols[6]].max()
    expected = np.ceil(np.sqrt(block / weights[1, 0].max()) * 255)
    assert arrays["thumbs"][1, 0, 3, 5] == expected


# The widget


@pytest.fixture
def widget() -> Iterator[aw.AttentionWidget]:
    model = tiny_models.build("bart")
    shown = aw.show(SOURCE, output=OUTPUT, model=model, tagger=None, progress=False)
    yield shown
    shown.close()


def test_an_encoder_decoder_opens_on_cross_attention_and_a_part_on_itself(
    widget: aw.AttentionWidget,
) -> None:
    a = analysis()
    assert (widget.part, widget.text, widget.analysis.text) == ("cross", SOURCE, OUTPUT)
    assert repr(widget) == (
        f"<AttentionWidget {SOURCE!r}, 7 by 9 tokens, cross L{widget.layer} H{widget.head}>"
    )
    np.testing.assert_array_equal(widget.analysis.attention(1, 1), a.of("cross").attention(1, 1))
    for part in PARTS:
        shown = aw.show(a.of(part))
        assert shown.part == part and shown.analysis is a.of(part)
        output = outputs(shown._shown, code=False)
        assert sorted(output) == ["image/png", "text/html"]
        others = [name for name in PARTS if name != part]
        assert [f'data-chunk="{name}:paint"' in output["text/html"] for name in PARTS] == [
            name in others for name in PARTS
        ]
        assert f"{part} L" in output["text/html"]
        shown.close()
    shown = aw.show(a, part="encoder", layer=1)
    assert (shown.part, shown.layer) == ("encoder", 1)
    shown.close()
    written = aw.show(SOURCE, generate=3, model=tiny_models.build("bart"), progress=False)
    assert written.part == "cross" and len(written.analysis.of("decoder").model.generated) <= 3
    before = written.analysis.trace.n_tokens
    written.run("Another source.")
    assert written.text == "Another source." and 0 < written.analysis.trace.n_tokens <= before
    written.close()


def test_the_output_of_a_cell_has_all_parts_of_short_texts_and_says_which_ones_it_lacks() -> None:
    source = RunSource(analysis().of("cross"))
    run = output_run(source, Selection(layer=1, head=1), full=False)
    for name in PARTS:
        meta, arrays = unpack(run.snapshot.chunks["paint" if name == "cross" else f"{name}:paint"])
        assert (meta["parts"], meta["part"]) == ([*PARTS], name)
        assert "left_out" not in meta["snapshot"] and "thumbs" in arrays
    words = aw.analyze(
        f"{SOURCE} " * 7, output=f"{OUTPUT} " * 10, model=tiny_models.build("bart"), tagger=None, progress=False
    ).of("cross")  # fmt: skip
    run = output_run(RunSource(words), Selection(layer=1, head=1), full=False)
    assert not any(":" in name for name in run.snapshot.chunks)
    meta = unpack(run.snapshot.chunks["paint"])[0]
    assert meta["parts"] == ["cross"] and meta["snapshot"]["layers"] == [0, 1, 2]
    assert meta["snapshot"]["left_out"] == "the parts encoder and decoder, which need a kernel"
    full = output_run(RunSource(words), Selection(layer=1, head=1), full=True)
    assert "encoder:paint" in full.snapshot.chunks
    assert "inside" in unpack(full.snapshot.chunks["encoder:paint"])[0]["snapshot"]["views"]


def test_a_view_of_what_is_written_comes_with_the_decoders_pack() -> None:
    for view, part in (("predictions", "cross"), ("why", "cross"), ("heads", "cross"), ("why", "decoder")):  # fmt: skip
        shown = aw.show(analysis(), part=part, view=view)
        arrays = unpack(shown.first_paint)[1]
        assert ("decoder" in arrays) == (part == "cross" and view != "heads")
        if "decoder" in arrays:
            meta, its = unpack(arrays["decoder"].tobytes())
            assert meta["part"] == "decoder" and meta["predictions"]["mode"] == "next"
            best = analysis().predictions(top_k=5)
            np.testing.assert_array_equal(its["prediction_ids"], best.ids)
        shown.close()


def test_a_part_is_shown_in_one_message_and_each_keeps_its_selection(
    widget: aw.AttentionWidget,
) -> None:
    sent: list[set[str]] = []
    send = widget.send_state
    widget.send_state = lambda key=None: (  # pyright: ignore[reportAttributeAccessIssue]
        sent.append(set(key or ())), send(key)
    )  # fmt: skip
    widget.layer, widget.head, widget.token, widget.pair = 2, 0, 3, [3, 8]
    widget.part = "decoder"
    assert (widget.token, widget.pair) == (3, None)
    meta, arrays = unpack(widget.first_paint)
    assert meta["part"] == "decoder" and meta["selected"] == {
        "layer": widget.layer, "head": widget.head
    }  # fmt: skip
    np.testing.assert_array_equal(
        arrays["weights"], analysis().attention(widget.layer, widget.head)
    )
    widget.token, widget.quantity = 4, "alti"
    widget.set_state({"part": "encoder"})
    assert widget.quantity == "weights" and widget.analysis.part == "encoder"
    widget.set_state({"part": "cross"})
    selected = (widget.layer, widget.head, widget.token, widget.pair)
    assert selected == (2, 0, 4, [3, 8])  # the target's parts share the focus token
    of_parts = [names for names in sent if "part" in names or "first_paint" in names]
    assert len(of_parts) == 3 and all({"part", "first_paint"} <= names for names in of_parts)
    assert widget.status == "ready" and len(widget.history) == 1
    widget.part = "decoder"
    assert (widget.token, widget.quantity) == (4, "alti")


def test_a_part_that_a_run_has_not_is_refused_with_those_it_has(
    widget: aw.AttentionWidget,
) -> None:
    known = "expected one of 'encoder', 'decoder', 'cross'"
    for bad in ("middle", None):
        with pytest.raises(traitlets.TraitError, match=f"part is {bad!r}, {known}"):
            widget.part = bad  # pyright: ignore[reportAttributeAccessIssue]
    widget.set_state({"part": "self"})
    assert known in widget.error["message"] and widget.part == "cross"
    for address, words in (({"part": "x"}, "has no part 'x'"), ({"part": 1}, "has no part 1")):
        reply: Any = widget._slice({"kind": "layer_change", "source": address}, [])[0]
        assert words in reply["error"] and reply["hint"] == "It has encoder, decoder, cross."
    only = aw.from_attentions(np.full((1, 1, 2, 3), 1 / 3), ["a", "b"], keys=["x", "y", "z"])
    shown = aw.show(only, part="cross")
    with pytest.raises(traitlets.TraitError, match="expected one of 'cross'"):
        shown.part = "decoder"
    shown.close()
    plain = aw.show("the cat", progress=False)
    with pytest.raises(traitlets.TraitError, match="reads one text"):
        plain.part = "cross"
    reply = plain._slice({"kind": "layer_change", "source": {"part": "cross"}}, [])[0]
    assert "reads one text" in reply["hint"]
    plain.close()
    with pytest.raises(NotAvailableError, match="reads one text"):
        aw.show("the cat", part="cross", progress=False)


def test_heads_of_any_part_are_switched_off_from_any_part(widget: aw.AttentionWidget) -> None:
    a = analysis()
    widget.heads_off = [("encoder", 1, 2), ("cross", 0, 1)]
    assert widget.heads_off == [["encoder", 1, 2], ["cross", 0, 1]] and widget.part == "cross"
    assert unpack(widget.first_paint)[0]["heads_off"] == widget.heads_off
    expected = a.ablate([("encoder", 1, 2), ("cross", 0, 1)]).of("cross")
    np.testing.assert_array_equal(widget.analysis.attention(2, 1), expected.attention(2, 1))
    widget.part = "encoder"
    assert widget.analysis.model.heads_off == ((1, 2),)
    widget.heads_off = [[0, 3]]  # of the part that is shown
    assert widget.heads_off == [["encoder", 0, 3]]
    for bad, words in (
        ([["middle", 0, 0]], "has the parts encoder, decoder, cross"),
        ([["cross", 9, 0]], "layer is 9"),
        ([["cross", 0]], "layer is 'cross'"),
    ):
        with pytest.raises(traitlets.TraitError, match=words):
            widget.heads_off = bad
    reply, _ = widget._act({"kind": "switch_off", "heads": [["cross", 0, 1]]}, [])
    assert reply == {"ok": True, "data": {}, "arrays": []}
    wait_until(widget, lambda: widget.heads_off == [["cross", 0, 1]])
    widget.heads_off = []
    assert widget.part == "encoder" and unpack(widget.first_paint)[0]["heads_off"] == []
    reply, _ = widget._act({"kind": "mask", "tokens": [1]}, [])
    assert "masked runs of one are not known" in str(reply)
    with pytest.raises(traitlets.TraitError, match="value_zeroing"):
        widget.masked = [1]


def wait_until(widget: aw.AttentionWidget, reached: Any) -> None:
    """Wait until a run that the page has started is shown."""
    while not reached():
        assert widget.status in ("ready", "running"), widget.error
        time.sleep(0.01)


def test_another_text_is_run_with_the_same_output_or_another_one(
    widget: aw.AttentionWidget,
) -> None:
    widget.run("The dog.")
    assert (widget.text, widget.analysis.text, widget.part) == ("The dog.", OUTPUT, "cross")
    widget.run("The dog.", output="Fox.")
    assert (widget.text, widget.analysis.text) == ("The dog.", "Fox.")
    widget._act({"kind": "run", "text": SOURCE, "output": OUTPUT}, [])
    wait_until(widget, lambda: widget.text == SOURCE)
    decoder = widget.analysis.of("decoder")
    token = int(decoder.predictions(top_k=1).ids[3, 0])
    expected = decoder.model.text_before(3, token)
    widget._act({"kind": "continue", "position": 3, "token": token}, [])
    wait_until(widget, lambda: widget.analysis.text == expected)
    assert [entry["text"] for entry in widget.history] == [SOURCE, "The dog."]
    with pytest.raises(NotAvailableError, match="text_pair is given"):
        widget.run("a", "b")
    with pytest.raises(InputError, match="output is empty"):
        widget.run("a", output="")
    with pytest.raises(TooLongError, match="writes at most 64"):
        widget.run("a", output=OUTPUT * 20)
    plain = aw.show("the cat", progress=False)
    with pytest.raises(NotAvailableError, match="is an encoder, which writes no text"):
        plain.run("the cat", output="b")
    plain.close()


def test_what_an_encoder_decoder_needs_is_refused_before_a_picture() -> None:
    bart = tiny_models.build("bart")
    with pytest.raises(InputError, match="no target is given"):
        aw.show(SOURCE, model=bart, progress=False)
    for kind, words in (("gpt2", "is a decoder"), ("bert", "is an encoder")):
        with pytest.raises(NotAvailableError, match=words):
            aw.show(SOURCE, output=OUTPUT, model=tiny_models.build(kind), progress=False)


# Slices


def arrays_of(run: Analysis, /, **request: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """Data and arrays of a reply, which must be one."""
    reply, buffers = answer(run, request)
    assert reply["ok"], reply
    return reply["data"], {
        entry["name"]: np.frombuffer(data, entry["dtype"]).reshape(entry["shape"])
        for entry, data in zip(reply["arrays"], buffers, strict=True)
    }


def test_slices_of_the_parts_are_the_analyses_own_numbers() -> None:
    a = analysis()
    cross, encoder = a.of("cross"), a.of("encoder")
    _, arrays = arrays_of(cross, kind="alignment")
    np.testing.assert_array_equal(arrays["places"], cross.heads.monotony.expected)
    np.testing.assert_array_equal(arrays["monotony"], cross.heads.monotony.monotony)
    target = {"position": 3, "token": 20}
    for part in PARTS:
        data, arrays = arrays_of(a.of(part), kind="written_shares")
        np.testing.assert_array_equal(arrays["shares"], a.why.written_shares.shares)
        sums = arrays["source"].sum(1) + arrays["prefix"].sum(1) + arrays["bias"]
        assert np.abs(sums - arrays["logits"]).max() <= 1e-5
        assert data["tokens"] == [*a.why.written_shares.tokens]
        _, effects = arrays_of(a.of(part), kind="head_effects", target=target)
        expected = a.of(part).why.head_effects(aw.target(position=3, token=20)).effects
        np.testing.assert_array_equal(effects["effects"], expected)
    data, arrays = arrays_of(a, kind="contributions", target=target, method="decomposition")
    total = sum(float(values.sum(dtype=np.float64)) for values in arrays.values()) + data["bias"]
    assert arrays["source"].shape == (9,) and abs(total - data["value"]) <= 1e-5
    mixing = {"kind": "mixing", "quantity": "value_zeroing", "layer": 1}
    _, arrays = arrays_of(cross, **mixing, rows=[2, 4])
    np.testing.assert_array_equal(arrays["weights"], cross.mixing.matrix("value_zeroing", 1)[2:4])
    data, _ = arrays_of(cross, kind="language")
    assert data["key_word"] == [token.word for token in encoder.language.tokens]
    assert len(data["token_word"]) == 7
    data, arrays = arrays_of(encoder, kind="part_paint", part="cross")
    meta, packed = unpack(arrays["paint"].tobytes())
    assert meta["part"] == "cross" and packed["weights"].shape == (7, 9)
    data, arrays = arrays_of(cross, kind="part_paint", part="encoder", layer=1, head="mean")
    assert unpack(arrays["paint"].tobytes())[0]["selected"] == {"layer": 1, "head": "mean"}
    links: dict[str, Any] = {
        "kind": "links",
        "layer": 1,
        "head": 0,
        "count": 5,
        "special": False,
        "itself": False,
    }
    data, arrays = arrays_of(cross, **links)
    words = [[not t.special for t in tokens] for tokens in (cross.tokens, cross.model.key_tokens)]
    allowed = np.outer(words[0], words[1])
    between = np.where(allowed, cross.attention(1, 0), -1)
    np.testing.assert_array_equal(arrays["weights"], np.sort(between.ravel())[::-1][:5])
    np.testing.assert_array_equal(between[arrays["queries"], arrays["keys"]], arrays["weights"])
    assert data["total"] == allowed.sum()
    plain = aw.analyze("the cat", tagger=None, progress=False)
    for run, request, words in (
        (cross, {"kind": "part_paint", "part": "middle"}, "Known: encoder, decoder, cross"),
        (cross, {"kind": "part_paint", "part": "encoder", "layer": 2, "head": 0}, "layer 2"),
        (cross, {"kind": "part_paint", "part": "encoder", "head": 0}, "layer must be"),
        (plain, {"kind": "part_paint", "part": "cross"}, "reads one text"),
        (plain, {"kind": "alignment"}, "two texts"),
        (plain, {"kind": "written_shares"}, "encoder-decoder"),
        (cross, {"kind": "pyramid", "layer": 0, "head": 0}, "needs one text"),
        (cross, {"kind": "tile", "layer": 0, "head": 0}, "needs one text"),
        (cross, {"kind": "first_token", "head": 0}, "needs one text"),
        (cross, mixing | {"quantity": "alti"}, "two texts"),
    ):
        assert words in str(answer(run, request)[0]), request


# Saved pages, exports, the command line


def test_a_saved_page_has_the_packs_and_the_matrices_of_all_parts(tmp_path: Path) -> None:
    a = analysis()
    run = saved_run(RunSource(a.of("cross")))
    chunks = run.snapshot.chunks
    assert run.title == f"{SOURCE} · {OUTPUT}"
    for part in PARTS:
        prefix = "" if part == "cross" else f"{part}:"
        meta, arrays = unpack(chunks[f"{prefix}paint"])
        one = a.of(part)
        assert (meta["parts"], meta["part"]) == ([*PARTS], part)
        assert meta["snapshot"]["selection"]["part"] == part
        assert meta["snapshot"]["code"] == ("weights" if part == "cross" else "qk")
        recorded = {entry["request"]["kind"]: entry for entry in meta["recorded"]}
        assert not any("source" in entry["request"] for entry in meta["recorded"])
        assert ("alignment" in recorded) == (part == "cross")
        assert ("written_shares" in recorded) == (part != "encoder")
        assert ("head_effects" in recorded) == (part != "encoder")
        explained = [
            entry["data"].get("refused") is None
            for entry in meta["recorded"]
            if entry["request"]["kind"] == "contributions"
        ]
        assert any(explained) == (part == "decoder")
        # What no encoder-decoder has says why, in the kernel's words.
        assert len(explained) == (len(one.why.methods) if part == "decoder" else 0)
        if part == "decoder":
            refusal = recorded["trust"]["data"]["refused"]["error"]
            assert "of which no word is masked or knocked out" in refusal
        carried = {
            entry["request"]["quantity"]
            for entry in meta["recorded"]
            if entry["request"]["kind"] == "mixing_code"
        }
        assert carried == {"norms", "value_zeroing"} | (
            set() if part == "cross" else {"mixing", "alti"}
        )
        assert ("inside" in meta["snapshot"]["views"]) == (part == "encoder")
        tensors = [entry for entry in meta["recorded"] if entry["request"]["kind"] == "tensor"]
        assert bool(tensors) == (part == "encoder")
        if part == "cross":
            name = recorded["alignment"]["arrays"]["monotony"]
            np.testing.assert_array_equal(arrays[name], one.heads.monotony.monotony)
        assert (
            len([key for key in chunks if key.startswith(f"{prefix}layer-")]) == one.trace.n_layers
        )
    _, arrays = unpack(chunks["layer-1"])
    planes = arrays["codes"].reshape(2, 7, 9) + (arrays["fine"].reshape(2, 7, 9) / 256.0)
    assert planes.shape == (2, 7, 9) and int(arrays["levels"][0]) == MAX_LEVELS
    assert run.snapshot.error < 1e-4 and run.snapshot.score_error is None
    w = aw.show(a.of("decoder"))
    whole = w.to_html(tmp_path / "all.html").read_text()
    assert all(
        f'data-chunk="{name}"' in whole for name in ("paint", "cross:paint", "encoder:paint")
    )
    w.close()
    both = aw.report([a, a.of("encoder")], tmp_path / "report.html", part="cross", progress=False)
    assert 'data-run="1" data-chunk="decoder:paint"' in both.read_text()
    source = saved_run(RunSource(a.of("encoder")), Selection(layer=0, head=0, token=8)).snapshot
    selected = unpack(source.chunks["decoder:paint"])[0]["snapshot"]["selection"]
    assert selected["token"] == opening(a).token  # not that of the source
    some = saved_run(RunSource(a.of("cross")), spec=PageSpec(layers=[2]))
    assert {key for key in some.snapshot.chunks if "layer-" in key} == {
        "layer-2", "decoder:layer-2", "encoder:layer-0", "encoder:layer-1"
    }  # fmt: skip


def shown_weights(widget: aw.AttentionWidget) -> Any:
    frame = widget.to_dataframe("attention")
    return frame.pivot(index="query", columns="key", values="weight").to_numpy()


def test_tables_of_a_rectangle_have_the_tokens_of_both_texts(widget: aw.AttentionWidget) -> None:
    a = analysis().of("cross")
    rows = widget.to_dataframe().to_dict("records")
    assert len(rows) == 7 * 9
    for row in rows:
        i, j = int(row["query"]), int(row["key"])
        assert (row["query_token"], row["key_token"]) == (
            a.tokens[i].text,
            a.model.key_tokens[j].text,
        )
        assert float(row["weight"]) == pytest.approx(
            a.attention(widget.layer, widget.head)[i, j], abs=1e-7
        )
    widget.words = True
    merged = shown_weights(widget)
    words = [part.language.words for part in (a, a.of("encoder"))]
    specials = [sum(t.special for t in tokens) for tokens in (a.tokens, a.model.key_tokens)]
    assert merged.shape == tuple(len(w) + s for w, s in zip(words, specials, strict=True))
    np.testing.assert_allclose(merged.sum(axis=1), 1, rtol=1e-5)
    widget.special = False
    assert shown_weights(widget).shape == (len(words[0]), len(words[1]))
    heads = widget.to_dataframe("heads").to_dict("records")
    assert float(heads[3]["monotony"]) == pytest.approx(float(a.heads.monotony.monotony[1, 1]))
    with pytest.raises(NotAvailableError, match="A tree of influence needs one text"):
        widget.to_dataframe("tree")
    for view in ("why", "predictions"):  # of the same tokens
        of_cross = widget.to_dataframe(view)
        widget.part = "decoder"
        assert widget.to_dataframe(view).equals(of_cross)
        widget.part = "cross"
    why = widget.to_dataframe("why").to_dict("records")
    assert [row["text"] for row in why] == ["source"] * 9 + ["target"] * 7


def test_tensors_from_outside_are_drawn_with_all_parts_that_were_given(tmp_path: Path) -> None:
    a = analysis()
    names = {part: [t.text for t in a.of(part).tokens] for part in ("encoder", "decoder")}
    layers: dict[str, Any] = {
        f"{part}_attentions": [
            a.of(part).trace.layer_weights(i) for i in range(a.of(part).trace.n_layers)
        ]
        for part in PARTS
    }
    given: dict[str, Any] = {"encoder_tokens": names["encoder"], "decoder_tokens": names["decoder"]}
    shown = aw.show(aw.from_attentions(**layers, **given, tagger=None), part="cross")
    for part in PARTS:
        shown.part = part
        meta, arrays = unpack(shown.first_paint)
        assert meta["parts"] == [*PARTS] and meta.get("next_token") is None
        assert meta.get("source_text") == (None if part == "encoder" else SOURCE)
        chosen = a.of(part).attention(shown.layer, shown.head)
        np.testing.assert_array_equal(arrays["weights"], chosen)
    assert 'data-chunk="decoder:paint"' in shown.to_html(tmp_path / "parts.html").read_text()
    with pytest.raises(traitlets.TraitError, match="no model to ask for another run"):
        shown.heads_off = [("cross", 0, 0)]
    shown.close()


def test_a_rectangle_of_300_by_200_tokens_is_shown_saved_and_exported(tmp_path: Path) -> None:
    weights = np.random.default_rng(0).dirichlet(np.full(200, 0.1), (2, 2, 300)).astype(np.float32)
    target, source = [f"t{i}" for i in range(300)], [f"s{j}" for j in range(200)]
    a = aw.from_attentions(weights, target, keys=source, tagger=None)
    shown = aw.show(a, layer=1, head=0, pair=[299, 199], group=[199])
    for wrong in ([299, 200], [300, 199]):
        with pytest.raises(traitlets.TraitError, match="pair"):
            shown.pair = wrong
    with pytest.raises(traitlets.TraitError, match="group"):
        shown.group = [200]
    reply: Any = shown._slice({"kind": "weights", "layer": 1, "head": 0, "rows": [290, 300]}, [])
    found = np.frombuffer(reply[1][0], np.float32).reshape(10, 200)
    np.testing.assert_array_equal(found, a.attention(1, 0)[290:])
    rows = shown.to_dataframe()
    assert len(rows) == 300 * 200
    assert rows.iloc[-1, :4].tolist() == [299, 199, "t299", "s199"]
    picture = picture_of(shown._shown_source, shown.selection)
    assert "L1 · H0, 300 by 200 tokens" in picture.caption
    assert (picture.png[16:24]) == (384).to_bytes(4, "big") * 2  # 128 cells a side, of 3 px
    assert shown.to_html(tmp_path / "long.html").stat().st_size < 2_000_000
    with pytest.raises(NotAvailableError, match="sentences of a text needs one text"):
        _ = a.sentences
    shown.words = True  # the words of the source are not known: its tokens stay
    assert shown_weights(shown).shape[1] == 200
    shown.close()


def test_the_command_line_forces_what_is_written_or_lets_the_model_write(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model, tokenizer = tiny_models.build("marian")
    model.save_pretrained(tmp_path / "model")
    tokenizer.save_pretrained(tmp_path / "model")
    of_model = ["--model", str(tmp_path / "model")]
    page = tmp_path / "page.html"
    assert main([SOURCE, *of_model, "--written", OUTPUT, "-o", str(page)]) == 0
    assert 'data-chunk="decoder:paint"' in page.read_text()
    assert main([SOURCE, *of_model, "--generate", "3"]) == 0
    assert main([SOURCE, *of_model, "--written", OUTPUT, "--json"]) == 0
    assert json.loads(capsys.readouterr().out.splitlines()[-1])
    assert main([SOURCE, *of_model]) == 2
    assert "no target is given" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main([SOURCE, *of_model, "--written", OUTPUT, "--against", "b", "-o", str(page)])
    assert "cannot be combined with" in capsys.readouterr().err

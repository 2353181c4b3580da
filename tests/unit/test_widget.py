"""The widget: traits, the first paint, running again, closing."""

from __future__ import annotations

import gc
import sys
import threading
import warnings
import weakref
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import traitlets

import attn_widget as aw
from attn_widget.errors import AttnWidgetError, InputError, InputTypeError
from attn_widget.host.threads import activity
from attn_widget.language import taggers
from attn_widget.protocol import answer as protocol
from attn_widget.protocol.pack import unpack
from attn_widget.widget import open_widgets
from scripts.probe import sentiment
from tests.unit.needs import needs_spacy

TEXT = "the cat sat on the mat"


@pytest.fixture
def widget() -> Iterator[aw.AttentionWidget]:
    shown = aw.show(TEXT, layer=3, head=5, progress=False)
    yield shown
    shown.close()


def test_show_returns_the_widget_with_the_selection_it_was_given(
    widget: aw.AttentionWidget,
) -> None:
    assert (widget.layer, widget.head, widget.token) == (3, 5, None)
    assert widget.text == TEXT
    assert widget.status == "ready"
    assert repr(widget) == "<AttentionWidget 'the cat sat on the mat', 8 tokens, L3 H5>"


def test_names_stay_functions_whatever_was_imported_before() -> None:

    assert callable(aw.show)
    assert callable(aw.analyze)
    assert all(hasattr(aw, name) for name in aw.__all__)


def test_the_repr_stays_short_for_a_long_text() -> None:
    shown = aw.show("word " * 300, progress=False)
    assert len(repr(shown)) < 120
    shown.close()


def test_an_unknown_keyword_is_refused_with_the_nearest_real_one() -> None:
    with pytest.raises(InputTypeError, match=r"no option 'layr'\. Did you mean 'layer'"):
        aw.show(TEXT, layr=3)


@pytest.mark.parametrize(
    ("name", "value"),
    [("layer", -1), ("layer", 6), ("head", 12), ("head", -1), ("head", "max"), ("token", 8),
     ("token", -1), ("pair", [0, 8]), ("pair", [1]), ("view", "tre"), ("theme", "blue"),
     ("metric", "confidence"), ("scale", "log"), ("layer", 1.5), ("height", 0), ("height", -5)],
)  # fmt: skip
def test_a_value_out_of_range_is_refused_and_the_state_stays(
    widget: aw.AttentionWidget, name: str, value: object
) -> None:
    before = getattr(widget, name)
    with pytest.raises(traitlets.TraitError):
        setattr(widget, name, value)
    assert getattr(widget, name) == before
    with pytest.raises(traitlets.TraitError):
        aw.show(TEXT, progress=False, **{name: value})


def test_python_hears_a_change_that_the_page_sends(widget: aw.AttentionWidget) -> None:
    heard: list[tuple[str, object]] = []
    widget.observe(lambda change: heard.append((change["name"], change["new"])), ["layer", "head"])
    widget.set_state({"layer": 1, "head": "mean"})
    assert heard == [("layer", 1), ("head", "mean")]


def test_a_change_from_the_page_that_is_not_allowed_is_said_and_undone(
    widget: aw.AttentionWidget,
) -> None:
    widget.set_state({"layer": 99})
    assert widget.layer == 3
    assert widget.error["message"] == "layer is 99, expected 0 to 5 (0-based)."


def test_the_first_paint_carries_the_numbers_of_the_analysis(widget: aw.AttentionWidget) -> None:
    meta, arrays = unpack(widget.first_paint)
    analysis = widget.analysis
    assert meta["tokens"]["text"] == [token.text for token in analysis.tokens]
    assert meta["selected"] == {"layer": 3, "head": 5}
    np.testing.assert_array_equal(arrays["weights"], analysis.attention(3, 5))
    np.testing.assert_array_equal(arrays["metric:confidence_max"], analysis.metrics.confidence_max)
    np.testing.assert_allclose(arrays["head_max"], analysis.metrics.confidence_max)
    predictions = analysis.predictions(top_k=5)
    np.testing.assert_array_equal(arrays["prediction_ids"], predictions.ids)
    best = meta["predictions"]["vocabulary"][str(predictions.ids[1, 0])]
    assert best == predictions.tokens[1][0]


def test_a_thumbnail_shows_the_largest_weight_of_each_tile_and_hides_none() -> None:
    shown = aw.show("a bird and a cat " * 15, progress=False)
    meta, arrays = unpack(shown.first_paint)
    n, side = shown.analysis.trace.n_tokens, meta["thumb"]
    assert side == min(n, 24)
    weights = shown.analysis.attention(2, 4)
    starts = [k * n // side for k in range(side)] + [n]
    for row in range(side):
        for column in range(side):
            tile = weights[starts[row] : starts[row + 1], starts[column] : starts[column + 1]]
            share = tile.max() / weights.max()
            assert arrays["thumbs"][2, 4, row, column] == np.ceil(np.sqrt(np.float32(share)) * 255)
    shown.close()


def test_running_another_text_replaces_the_picture_and_clears_the_tokens(
    widget: aw.AttentionWidget,
) -> None:
    widget.token, widget.pair = 2, [1, 2]
    widget.run("a much longer text about birds", "and a second one")
    meta, _ = unpack(widget.first_paint)
    assert (widget.token, widget.pair) == (None, None)
    assert (widget.layer, widget.head) == (3, 5)
    assert meta["text"] == widget.text == "a much longer text about birds"
    assert widget.text_pair == "and a second one"


def test_a_run_that_fails_says_why_and_leaves_the_last_picture(widget: aw.AttentionWidget) -> None:
    before = widget.first_paint
    with pytest.raises(InputError):
        widget.run("   ")
    assert widget.first_paint == before
    assert widget.text == TEXT
    assert widget.error["message"]
    assert widget.status == "error"
    widget.run("another text")
    assert widget.error == {}
    assert widget.status == "ready"


def test_closing_frees_the_run_and_is_said() -> None:
    shown = aw.show(TEXT, progress=False)
    analysis = weakref.ref(shown.analysis)
    shown.close()
    shown.close()
    gc.collect()
    assert analysis() is None
    assert shown.first_paint == b""
    assert shown.status == "closed"
    assert repr(shown) == "<AttentionWidget, closed>"
    reply, _ = shown._slice({"kind": "weights", "layer": 0, "head": 0}, [])
    assert reply == {
        "ok": False,
        "error": "This widget is closed.",
        "hint": "Run the cell again to make a new one.",
    }
    with pytest.raises(InputError, match="closed"):
        _ = shown.analysis


@needs_spacy
def test_a_tagger_that_is_not_loaded_keeps_no_cell_waiting(
    widget: aw.AttentionWidget, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(taggers, "_default", None)
    monkeypatch.setattr(taggers, "_loader", None)
    begun, held, load = threading.Event(), threading.Event(), taggers._load_default

    def hold() -> Any:
        begun.set()
        held.wait(60)
        return load()

    monkeypatch.setattr(taggers, "_load_default", hold)
    switch = sys.getswitchinterval()
    with activity.busy():
        for kind in ("language", "specialization", "language"):
            reply, buffers = widget._slice({"kind": kind}, [])
            assert (reply["ok"], buffers) == (False, []) and 50 <= reply["later"] <= 1000
        assert widget._slice({"kind": "weights", "layer": 0, "head": 0}, [])[0]["ok"]
        assert not begun.wait(2 * taggers.QUIET_S)
    assert begun.wait(60)
    assert sys.getswitchinterval() < switch
    held.set()
    assert taggers._loader is not None
    taggers._loader.join(60)
    reply, _ = widget._slice({"kind": "language"}, [])
    assert reply["ok"] and reply["data"]["token_pos"][2] is not None
    assert sys.getswitchinterval() == switch


def test_what_is_answered_at_once_needs_no_tagger(monkeypatch: pytest.MonkeyPatch) -> None:
    loaded: list[str] = []
    asked = {
        "layer": 0, "head": 0, "position": 1, "token": 1, "mode": "as_is", "top_k": 5, "tau": 0.01, "name": "value",
        "label": 0,
    }  # fmt: skip
    monkeypatch.setattr(taggers, "_default", None)
    model = sentiment()
    for kind in protocol.HANDLERS:
        monkeypatch.setattr(
            taggers, "_load_default", lambda kind=kind: (loaded.append(kind), (None, "none"))[1]
        )
        analysis = aw.analyze(TEXT, model=model, progress=False)
        protocol.answer(analysis, {"kind": kind, **asked})
    assert {"language", "specialization", "beside"} <= set(loaded)
    assert all(protocol.HANDLERS[kind].needs_tagger for kind in loaded)


def test_where_there_is_nothing_to_load_the_page_is_not_put_off(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(taggers, "_default", None)
    monkeypatch.setattr(taggers, "SPACY_PACKAGES", ("no_such_pipeline",))
    shown = aw.show(TEXT, progress=False)
    reply, _ = shown._slice({"kind": "language"}, [])
    assert reply["ok"] and "attn-widget[linguistics]" in reply["data"]["notes"][0]
    shown.close()


@pytest.mark.parametrize(
    ("name", "value"),
    [("text", "another sentence"), ("text_pair", "a second one"), ("first_paint", b""), ("history", [{}])],
)  # fmt: skip
def test_what_a_run_has_found_is_not_set_by_hand(
    widget: aw.AttentionWidget, name: str, value: Any
) -> None:
    before = getattr(widget, name)
    with pytest.raises(
        traitlets.TraitError, match=rf"{name} is set by .* w\.run\(text\) shows another"
    ):
        setattr(widget, name, value)
    with pytest.raises(traitlets.TraitError, match=r"w\.run"), widget.hold_trait_notifications():
        setattr(widget, name, value)
    widget.set_state({name: value})
    assert "w.run(text) shows another one" in widget.error["message"]
    assert getattr(widget, name) == before
    setattr(widget, name, before)
    with widget.hold_trait_notifications():
        widget.run("cats purr")
    assert (widget.text, len(widget.history)) == ("cats purr", 2)


def test_many_open_widgets_are_warned_of_once_as_python_comes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    aw.close_all()
    monkeypatch.setattr(open_widgets, "MANY_OPEN", 4)
    monkeypatch.setattr(open_widgets, "_warned", False)
    with warnings.catch_warnings(record=True) as heard:
        warnings.resetwarnings()
        for ignored in (DeprecationWarning, ImportWarning, ResourceWarning):  # Python's own filters
            warnings.simplefilter("ignore", ignored)

        def opened(count: int) -> list[aw.AttentionWidget]:
            return [aw.show(TEXT, progress=False) for _ in range(count)]

        told: list[int] = []
        shown = opened(3)
        told.append(len(heard))
        shown += opened(3)
        told.append(len(heard))
        for one in shown[:3]:  # three stay: a loop that closes the last one is not told each time
            one.close()
        shown = [*shown[3:], *opened(2)]
        told.append(len(heard))
        aw.close_all()
        # on a line of its own: Python tells each line once
        shown = [aw.show(TEXT, progress=False) for _ in range(4)]
        told.append(len(heard))
    aw.close_all()
    assert told == [0, 1, 1, 2]
    assert "4 attention widgets are open" in str(heard[0].message)
    assert heard[0].filename == __file__


def test_close_all_closes_what_is_open() -> None:
    shown = [aw.show(TEXT, progress=False) for _ in range(3)]
    aw.close_all()
    assert [w.status for w in shown] == ["closed"] * 3


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "text is empty"),
        (" \n\t ", "only white space"),
        ("word " * 20_000, "20,002 tokens"),
        ("broken \ud800 text", "lone surrogate"),
        (["a", "list"], "profile"),
        (None, "expected a str"),
        (3, "expected a str"),
    ],
    ids=["empty", "spaces", "100,000 characters", "surrogate", "list", "None", "int"],
)
def test_a_text_that_cannot_be_shown_is_a_clear_error(text: Any, said: str) -> None:
    with pytest.raises(AttnWidgetError, match=said):
        aw.show(text, progress=False)


def test_an_analysis_is_shown_without_another_run() -> None:
    analysis = aw.analyze(TEXT, progress=False)
    shown = aw.show(analysis, layer=3, head=5, progress=False)
    assert shown.analysis is analysis
    assert (shown.layer, shown.head) == (3, 5)
    shown.run("it rained")  # with the model of the analysis
    assert shown.analysis.text == "it rained"
    shown.close()
    outside = aw.show(aw.from_attentions(np.full((1, 1, 2, 2), 0.5), ["a", "b"]))
    assert [token.text for token in outside.analysis.tokens] == ["a", "b"]
    outside.close()


def test_a_text_typed_over_an_analysis_in_windows_is_read_in_windows_of_that_size() -> None:
    shown = aw.show(aw.analyze("a cat sat. " * 9, windows=(20, 5), tagger=None, progress=False))
    first = shown.analysis.trace.windows
    shown.run("the dog ran. " * 200)
    then = shown.analysis.trace.windows
    assert first is not None and then is not None
    assert (first.size, first.overlap) == (then.size, then.overlap) == (20, 5)
    assert len(then.spans) > len(first.spans)
    shown.close()


@pytest.mark.parametrize("option", [{"text_pair": "b"}, {"model": None}, {"windows": True}])
def test_an_analysis_takes_no_option_of_a_run(option: dict[str, Any]) -> None:
    analysis = aw.from_attentions(np.full((1, 1, 2, 2), 0.5), ["a", "b"])
    with pytest.raises(InputTypeError, match=f"takes no {next(iter(option))}: it has been run"):
        aw.show(analysis, **option)


def test_a_word_of_100_000_letters_is_one_unknown_token() -> None:
    shown = aw.show("x" * 100_000, progress=False)
    assert [token.text for token in shown.analysis.tokens] == ["[CLS]", "[UNK]", "[SEP]"]
    assert len(repr(shown)) < 120
    shown.close()


@pytest.mark.parametrize(
    "text",
    ["a\0b", "</script><img src=x onerror=alert(1)>", "🙂👩‍👩‍👧‍👦 café", "שלום עולם", "\u202eabc"],
)
def test_odd_text_is_shown_as_it_is(text: str) -> None:
    shown = aw.show(text, progress=False)
    meta, _ = unpack(shown.first_paint)
    assert meta["text"] == text
    shown.close()


def test_a_cut_text_is_marked() -> None:
    shown = aw.show("word " * 600, truncation=True, progress=False)
    meta, _ = unpack(shown.first_paint)
    assert meta["truncated"] == {"limit": 512, "length": 602}
    assert shown.analysis.trace.n_tokens == 512
    shown.close()


def test_where_shiny_shows_widgets_they_have_the_height_of_their_content(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """shinywidgets makes one without a height 400 px high; scripts/hosts.py shows it in Shiny itself."""
    plain = aw.show("a cat", progress=False)
    assert plain.layout.height is None
    monkeypatch.setitem(sys.modules, "shinywidgets", ModuleType("shinywidgets"))
    shown = aw.show("a cat", progress=False)
    chosen = aw.AttentionWidget(shown.analysis, layout={"height": "300px"})
    assert (shown.layout.height, chosen.layout.height) == ("max-content", "300px")
    for widget in (plain, shown, chosen):
        widget.close()

"""The page of a comparison: its chunk, its size, and texts that hardly compare."""

from __future__ import annotations

import html
import json
import re
from pathlib import Path
from typing import Any

import nbformat
import numpy as np
import pytest
from nbclient import NotebookClient

import attn_widget as aw
from attn_widget.__main__ import main
from attn_widget.errors import InputError, InputTypeError
from attn_widget.features.comparison.page import compared_parts, selections
from attn_widget.features.comparison.widget import ComparisonWidget
from attn_widget.page.compress import inflate
from attn_widget.page.spec import PageSpec
from attn_widget.protocol.pack import unpack
from scripts.probe import SENTENCES
from tests.close import assert_close

A, B = "The keys to the cabinet are here.", "The key to the cabinet are here."
EVERY = [sentence for some in SENTENCES.values() for sentence in some]


def compared(a: str | aw.Analysis, b: str) -> aw.Comparison:
    return aw.compare(a, b, progress=False)


@pytest.fixture(scope="module")
def keys_and_key() -> aw.Comparison:
    """The comparison of A and B, for what asks for no grid of recoveries."""
    return compared(A, B)


def test_it_opens_on_the_head_that_differs_most_at_the_row_that_differs_most(
    keys_and_key: aw.Comparison,
) -> None:
    c = keys_and_key
    distances = c.distances().distances
    of_a, of_b = selections(c)
    assert np.argwhere(distances == distances.max()).tolist() == [[of_a.layer, of_a.head]]
    assert (of_a.token, of_b.token) in c.alignment.tokens


def test_a_pinned_pair_is_saved_with_the_sums_of_both_runs() -> None:
    c = compared(A, "The key to the old cabinet are here.")
    widget = ComparisonWidget(c)
    assert all(recorded == [] for recorded in sums_of(widget))
    pairs = dict(c.alignment.tokens)
    widget.layer, widget.head, widget.pair = 1, 3, [6, 5]
    partner = c.distances().partner[1, 3].tolist()
    cells = [(1, 3, 6, 5), (*partner, pairs[6], pairs[5])]
    for run, of, cell in zip((c.a, c.b), sums_of(widget), cells, strict=True):
        found = run.qk_attribution(*cell)
        assert [each["contrast"] for each in of] == [found.contrast]
    widget.head = "mean"
    assert [opened.pair for opened in selections(c, widget.selection)] == [None, None]
    widget.close()


def sums_of(widget: ComparisonWidget) -> list[list[dict[str, Any]]]:
    """Of each run: the sums of its pinned pair that a page has."""
    found: list[list[dict[str, Any]]] = []
    for run in widget._shown.runs(PageSpec(views=["attention"])):  # pyright: ignore[reportPrivateUsage]
        meta, _ = unpack(run.snapshot.chunks["paint"])
        found.append([each["data"] for each in meta["recorded"] if each["request"]["kind"] == "qk"])
    return found


def test_the_chunk_holds_distances_and_predictions_of_python(
    keys_and_key: aw.Comparison,
) -> None:
    c = keys_and_key
    meta, arrays = compared_parts(c)
    assert_close(arrays["distances"], c.distances().distances, terms=1)
    records = c.predictions(5, "masked")
    assert meta["predictions"]["token"] == [one["token"] for one in records]
    assert_close(arrays["log_odds"], [one["log_odds"] for one in records], terms=1)
    assert_close(arrays["states"], c.states(), terms=1)
    assert meta["classes"] is None and "classifier" in meta["reasons"]["classes"]


def test_the_page_records_where_the_number_of_the_subject_comes_back() -> None:
    c = compared(A, B)
    number = aw.target(position=6, token="are", against="is", masked=True)
    proposed = c.proposals()[0]
    assert c.recovery(proposed).value == c.recovery(number).value
    meta, arrays = compared_parts(c)
    heads = c.recovery(proposed).values
    assert meta["recoveries"][0]["of"] == "heads"
    assert_close(arrays["recovery:0"], heads, terms=1)
    again = aw.compare(
        A, B, progress=False
    )  # without a grid, two of the first proposal are computed
    meta, arrays = compared_parts(again)
    assert [one["of"] for one in meta["recoveries"]] == ["heads", "states"]
    assert "recoveries" not in compared_parts(again, recorded=False)[0]


@pytest.mark.parametrize("sentences", [1, 8])
def test_a_page_of_two_runs_has_at_most_2_1_times_the_bytes_of_one(
    tmp_path: Path, sentences: int
) -> None:
    text = " ".join(EVERY[:sentences])
    analysis = aw.analyze(text, progress=False)
    widget = aw.AttentionWidget(analysis)
    one = widget.to_html(tmp_path / "one.html")
    widget.close()
    two = aw.to_html(compared(analysis, text.replace("the ", "a ")), tmp_path / "two.html")
    assert two.stat().st_size <= 2.1 * one.stat().st_size


def test_identical_texts_say_so_and_differ_by_nothing() -> None:
    meta, arrays = compared_parts(compared(A, A))
    assert "identical" in meta["notes"][0]
    assert not arrays["distances"].any()


def test_texts_without_a_common_word_say_so() -> None:
    meta, _ = compared_parts(compared("cats purr", "it rained"))
    assert "no word in common" in meta["notes"][0]


def test_runs_without_a_matched_token_give_the_reason() -> None:
    weights = np.full((1, 1, 2, 2), 0.5)
    a = aw.from_attentions(weights, ["one", "two"], tagger=None)
    b = aw.from_attentions(weights, ["three", "four"], tagger=None)
    c = aw.compare(a, b)
    meta, arrays = compared_parts(c)
    assert "no token in common" in meta["reasons"]["distances"] and "distances" not in arrays
    assert selections(c)[0].layer is None


def test_the_command_line_writes_a_page_of_both(tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    assert main([A, "--against", B, "-o", str(path)]) == 0
    assert 'data-chunk="compare"' in path.read_text(encoding="utf-8")


def test_the_command_line_refuses_an_empty_text_and_writes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    path.write_text("the last good page", encoding="utf-8")
    assert main([A, "--against", "", "-o", str(path)]) == 2
    assert path.read_text(encoding="utf-8") == "the last good page"


def test_a_report_holds_comparisons_among_texts_and_analyses(
    keys_and_key: aw.Comparison, tmp_path: Path
) -> None:
    c, analysis = keys_and_key, aw.analyze("it rained", progress=False)
    chosen = {"layers": [4], "layer": 4, "head": 2, "views": ["attention"]}
    path = aw.report(["it sat", c, analysis], tmp_path / "r.html", progress=False, **chosen)
    text = path.read_text(encoding="utf-8")
    (index,) = re.findall(r'id="aw-index">(.*?)</script>', text)
    runs = json.loads(index)["runs"]
    assert [(run["title"], run.get("second", False)) for run in runs] == [
        ("it sat", False),
        (A, False),
        (B, True),
        ("it rained", False),
    ]
    assert [run["tokens"] for run in runs] == [4, c.a.trace.n_tokens, c.b.trace.n_tokens, 4]
    assert re.findall(r'data-run="(\d)" data-chunk="compare"', text) == ["1"]
    for run in range(4):
        (chunk,) = re.findall(rf'data-run="{run}" data-chunk="paint">(.*?)</script>', text)
        meta, _ = unpack(inflate(chunk))
        opened = meta["snapshot"]["selection"]
        assert (opened["layer"], opened["head"]) == (4, 2)


def test_a_report_refuses_what_does_not_go_with_a_comparison(
    keys_and_key: aw.Comparison, tmp_path: Path
) -> None:
    c = keys_and_key
    path = tmp_path / "r.html"
    path.write_text("the last good page", encoding="utf-8")
    with pytest.raises(InputError, match=r"Text 0: an entry of layers is 6"):
        aw.report([c, c], path, layers=[6], progress=False)
    with pytest.raises(InputError, match=r"Entry 1 is .*an engine runs texts"):
        aw.report(["it rained", c], path, engine=True, progress=False)
    with pytest.raises(InputTypeError, match="texts is one Comparison"):
        aw.report(c, path)  # pyright: ignore[reportArgumentType]
    assert path.read_text(encoding="utf-8") == "the last good page"


def test_the_command_line_writes_a_report_of_pairs(tmp_path: Path) -> None:
    path, pairs = tmp_path / "r.html", tmp_path / "pairs.tsv"
    pairs.write_text("he sat\tshe sat\n\n", encoding="utf-8")
    assert main(["--pairs", str(pairs), "-o", str(path)]) == 0
    assert path.read_text(encoding="utf-8").count('data-chunk="compare"') == 1
    written = path.read_bytes()
    pairs.write_text("he sat\tshe sat\nhe sat\n", encoding="utf-8")
    assert main(["--pairs", str(pairs), "-o", str(path)]) == 2
    assert path.read_bytes() == written
    for wrong in (
        ["--pairs", "x"],
        ["--pairs", "x", "-o", "p", A],
        ["--pairs", "x", "-o", "p", "--engine"],
    ):
        with pytest.raises(SystemExit):
            main(wrong)


@pytest.mark.parametrize(
    "more", [["--file", "x"], ["--pair", "x", "-o", "p.html"], ["--why", "x", "-o", "p.html"], []]
)
def test_the_command_line_says_what_does_not_go_with_another_text(more: list[str]) -> None:
    with pytest.raises(SystemExit):
        main([*([] if "--file" in more else [A]), "--against", B, *more])


def test_a_comparison_is_shown_alone(
    keys_and_key: aw.Comparison,
) -> None:
    c = keys_and_key
    widget = aw.show(c)
    assert widget.analysis is c.a and repr(widget) == f"<ComparisonWidget of {c!r}>"
    page = html.unescape(widget.as_html())
    assert page.startswith('<iframe sandbox="allow-scripts')
    assert '"layout": "compare"' in page and 'data-run="1" data-chunk="paint"' in page
    widget.close()
    with pytest.raises(InputError, match="closed"):
        widget.as_html()
    with pytest.raises(InputTypeError, match="no other arguments"):
        aw.show(c, layer=3)  # pyright: ignore[reportCallIssue, reportArgumentType]


def test_a_notebook_keeps_the_page_in_the_output_of_the_cell() -> None:
    source = f"import attn_widget as aw\naw.show(aw.compare({A!r}, {B!r}, progress=False))"
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source)])
    NotebookClient(notebook, timeout=120).execute()
    (output,) = (one for one in notebook.cells[0].outputs if one.output_type == "display_data")
    page = output.data["text/html"]
    assert page.startswith('<div class="attn-widget-output"')
    assert [*map(int, re.findall(r'data-run="(\d)" data-chunk="paint"', page))] == [0, 1]
    assert 'data-run="0" data-chunk="compare"' in page and "the second run minus the first" in page
    assert output.data["text/plain"].startswith("<ComparisonWidget of")

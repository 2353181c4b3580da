"""CSV and JSON: quoting, formulas, digits; the same numbers as the page's (tests/e2e/test_save.py)."""

from __future__ import annotations

import csv
import io
import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attn_widget.features.exports.text import Table, to_csv, to_json

TEXTS = ["a,b", 'say "hi"', "a\nb", "a\rb", '"', "</script>", "שלום", "你好", "👩‍🚀", ""]
FORMULAS = ["=1+1", "+1", "-1", "@SUM(A1)", "\tx", "\rx", "=cmd|' /C calc'!A0"]


def field(cell: str | float | None) -> str:
    return to_csv(Table(("x",), [(cell,)])).removeprefix("x\r\n").removesuffix("\r\n")


@pytest.mark.parametrize("text", TEXTS)
def test_a_reader_of_csv_gets_the_text_back(text: str) -> None:
    (header, row) = csv.reader(io.StringIO(to_csv(Table(("x",), [(text,)])), newline=""))
    assert header == ["x"] and row == [text]


@pytest.mark.parametrize("text", FORMULAS)
def test_what_a_spreadsheet_would_run_gets_a_quote_in_front(text: str) -> None:
    _, row = csv.reader(io.StringIO(to_csv(Table(("x",), [(text,)])), newline=""))
    assert row == [f"'{text}"]


def test_an_empty_text_is_quoted_and_a_missing_figure_is_empty() -> None:
    assert field("") == '""'
    assert [field(value) for value in (None, math.nan, math.inf, -math.inf)] == [""] * 4


def test_rows_end_with_cr_lf_and_there_is_no_byte_order_mark() -> None:
    text = to_csv(Table(("a", "b"), [(1, "x"), (2, "y")]))
    assert text == "a,b\r\n1,x\r\n2,y\r\n"


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_every_double_is_read_back_exactly(value: float) -> None:
    assert float(field(value)) == value


@given(st.floats(width=32, allow_nan=False, allow_infinity=False))
def test_every_float32_is_read_back_exactly(value: float) -> None:
    assert np.float32(field(value)) == np.float32(value)


def test_json_is_valid_and_absent_figures_are_null() -> None:
    table = Table(("token", "weight"), [('"\n</script>\u0007', math.nan), ("x", 1e-7), ("y", True)])
    caption = {"text": "=1+1\u2028", "options": {"words": False, "depth": 3}, "masked": []}
    read = json.loads(to_json(caption, table))
    assert read["text"] == "=1+1\u2028" and read["options"] == {"words": False, "depth": 3}
    assert read["columns"] == ["token", "weight"]
    assert read["rows"] == [['"\n</script>\u0007', None], ["x", 1e-7], ["y", True]]


def test_json_without_rows_is_valid() -> None:
    assert json.loads(to_json({"view": "tree"}, Table(("a",), [])))["rows"] == []

"""Checks: what users give, one check for each kind of argument.

Indices, heads, slices, counts, seeds, yes or no, names, choices, functions, arrays, paths. Whatever a message
says of a value goes through `short_repr`: a value may be huge, nested without end, or unable to print.
"""

from __future__ import annotations

from attn_widget.checks.several import (
    are_ids,
    are_messages,
    as_array,
    check_entries,
    check_heads,
    check_several,
    indices_in,
    is_half,
    is_iterable,
    listed,
    refuse_container,
    refuse_table,
)
from attn_widget.checks.texts import check_characters, check_name, check_path, check_title
from attn_widget.checks.values import (
    LARGEST_COUNT,
    LARGEST_SEED,
    as_int,
    check_callable,
    check_choice,
    check_count,
    check_flag,
    check_keywords,
    check_kind,
    check_number,
    check_seed,
    index_in,
    is_mean,
    is_plain,
    known_keywords,
    slice_in,
)
from attn_widget.checks.words import (
    LONGEST_WORD,
    MAX_NAMED,
    MAX_SHOWN,
    first_line,
    nearest,
    short_repr,
    stands_at,
)

__all__ = [
    "LARGEST_COUNT",
    "LARGEST_SEED",
    "LONGEST_WORD",
    "MAX_NAMED",
    "MAX_SHOWN",
    "are_ids",
    "are_messages",
    "as_array",
    "as_int",
    "check_callable",
    "check_characters",
    "check_choice",
    "check_count",
    "check_entries",
    "check_flag",
    "check_heads",
    "check_keywords",
    "check_kind",
    "check_name",
    "check_number",
    "check_path",
    "check_seed",
    "check_several",
    "check_title",
    "first_line",
    "index_in",
    "indices_in",
    "is_half",
    "is_iterable",
    "is_mean",
    "is_plain",
    "known_keywords",
    "listed",
    "nearest",
    "refuse_container",
    "refuse_table",
    "short_repr",
    "slice_in",
    "stands_at",
]

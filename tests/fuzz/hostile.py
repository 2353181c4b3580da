"""Values that nobody means to pass."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import torch


class RefusedError(Exception):
    """Of a function that was given: it reaches the caller as it is."""


def refuse(*_given: object, **_named: object) -> None:
    raise RefusedError


class Anything:
    def __init__(self, *given: object, **named: object) -> None:
        self.given = (given, named)


class Unprintable:
    def __repr__(self) -> str:
        raise RuntimeError("this object cannot print itself")


class NoTruth:
    def __bool__(self) -> bool:
        raise RuntimeError("this object is neither true nor false")

    def __eq__(self, other: object) -> Any:
        return self

    __hash__ = None  # type: ignore[assignment]


class Rows:
    """As `datasets` has them: the names of columns, and rows by iteration."""

    column_names = ("text",)

    def __iter__(self) -> Any:
        return iter([{"text": "a cat"}, {"text": None}])


def nested(depth: int) -> Any:
    """A list in a list in a list."""
    found: Any = []
    for _ in range(depth):
        found = [found]
    return found


def meta() -> Any:
    return torch.ones(2, 2, device="meta")


# What nobody means to pass. Made anew for every call.
HOSTILE: dict[str, Callable[[], Any]] = {
    "None": lambda: None,
    "True": lambda: True,
    "0": lambda: 0,
    "-1": lambda: -1,
    "3": lambda: 3,
    "1.5": lambda: 1.5,
    "NaN": lambda: float("nan"),
    "inf": lambda: float("inf"),
    "10**30": lambda: 10**30,
    "-10**30": lambda: -(10**30),
    "10**5000": lambda: 10**5000,
    "empty str": lambda: "",
    "space": lambda: " \n",
    "no": lambda: "no",
    "word": lambda: "banana",
    "surrogate": lambda: "a\ud800",
    "NUL": lambda: "a\0b",
    "100,000 characters": lambda: "a" * 100_000,
    "emoji": lambda: "🙂" * 40,
    "bytes": lambda: b"bytes",
    "empty list": list,
    "list of lists": lambda: [[]],
    "3,000 nested lists": lambda: nested(3000),
    "list of None": lambda: [None],
    "list of all kinds": lambda: ["a", 5, None, 1.5],
    "list of a large int": lambda: [10**30],
    "list of a long str": lambda: ["a" * 100_000],
    "dict": lambda: {"a": 1},
    "set": lambda: {1, 2},
    "object": object,
    "unprintable": Unprintable,
    "neither true nor false": NoTruth,
    "function": lambda: refuse,
    "class": lambda: Anything,
    "Ellipsis": lambda: ...,
    "error": lambda: ValueError("given"),
    "complex": lambda: 1j,
    "Decimal": lambda: Decimal("1.5"),
    "date": lambda: date(2024, 1, 1),
    "range": lambda: range(3),
    "endless": itertools.count,
    "used up": lambda: iter(()),
    "slice": lambda: slice(None),
    "slice of nothing": lambda: slice(5, 2),
    "slice of str": lambda: slice("a", None),
    "slice backwards": lambda: slice(None, None, -1),
    "array": lambda: np.array([1, 2]),
    "array without axes": lambda: np.array(3),
    "array of nothing": lambda: np.zeros((0, 3)),
    "array of NaN": lambda: np.full((2, 2), np.nan),
    "array of objects": lambda: np.array([None, "a"], dtype=object),
    "array of str": lambda: np.array(["a", "b"]),
    "array of complex": lambda: np.ones((2, 2)) * 1j,
    "array of dates": lambda: np.array(["2024-01-01"], dtype="datetime64[D]"),
    "array of bool": lambda: np.array([True, False]),
    "int64": lambda: np.int64(1),
    "float32": lambda: np.float32(0.5),
    "tensor": lambda: torch.ones(2, 2),
    "tensor without axes": lambda: torch.tensor(1.0),
    "tensor of NaN": lambda: torch.full((1, 1, 2, 2), torch.nan),
    "sparse tensor": lambda: torch.eye(3).to_sparse(),
    "sparse rows": lambda: torch.eye(3).to_sparse_csr(),
    "meta tensor": meta,
    "tensor of a graph": lambda: torch.ones(2, 2, requires_grad=True),
    "bfloat16": lambda: torch.ones(2, 2, dtype=torch.bfloat16),
    "complex tensor": lambda: torch.ones(2, dtype=torch.complex64).conj(),
    "data frame": lambda: _pandas().DataFrame({"text": ["a", "b"], "label": [0, 1]}),
    "series": lambda: _pandas().Series([1, 2]),
    "series of texts, one missing": lambda: _pandas().Series(["a cat", None, "a dog"]),
    "frame without names": lambda: _pandas().DataFrame([["a cat", 1.0], ["a dog", 2.0]]),
    "frame of nothing": lambda: _pandas().DataFrame({"text": []}),
    "data set": Rows,
    "dicts": lambda: [{"text": "a cat"}, {"text": "a dog"}],
    "texts and scores": lambda: [("a cat", 0.5), ("a dog", 0.1)],
    "token ids": lambda: [5, 6, 7],
    "two rows of token ids": lambda: torch.tensor([[5, 6], [7, 8]]),
    "huge token ids": lambda: [10**9, 2**62],
    "padded encoding": lambda: {"input_ids": [[5, 0]], "attention_mask": [[1, 0]]},
    "encoding of nothing": lambda: {"input_ids": None},
    "encoding of three segments": lambda: {"input_ids": [5, 6], "token_type_ids": [0, 9]},
    "NA": lambda: _pandas().NA,
    "path": lambda: Path("nowhere") / "file",
    "root": lambda: Path("/"),
    "device file": lambda: "/dev/null",
    "long path": lambda: "b" * 300,
    "home of nobody": lambda: "~nobody-of-this-name/x",
}


def _pandas() -> Any:
    import pandas

    return pandas

"""Hostile calls over every public name, drawn by a seed: ``python -m tests.fuzz --calls 10000 --seed 0``.

A call begins as one that works: each argument is drawn from `GOOD` by its name. Then one or two
arguments become something of `HOSTILE`, or the call gets one argument too many. The names are found, not listed:
``dir(attn_widget)``, ``dir(attn_widget.tasks)``, and every public method, property and trait that the
package gives the objects which these return. A parameter that `GOOD` does not know fails the test of
this file, so that new ones are thought of.

The rule. A call may return, or raise

- an `AttnWidgetError`, or a `traitlets.TraitError` of a trait: in words of at most `LONGEST` characters;
- the `TypeError` that Python itself raises at a call which does not fit the signature.

Anything else is a bare traceback: a fault. So is a result that cannot print itself, a call that takes
more than `SECONDS`, and a reply to the page that is no reply.
"""

from __future__ import annotations

import argparse
import copy
import inspect
import itertools
import json
import os
import pickle
import random
import secrets
import shutil
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
import torch
import traitlets

import attn_widget as aw
from attn_widget import tasks
from attn_widget.corpus.words.word_index import connect
from attn_widget.errors import AttnWidgetError
from tests.unit import tiny_models

SECONDS = 10.0  # of a call
GIVE_UP = 60.0  # seconds after which a call is ended
LONGEST = 2100  # characters of a message with its hint
TEXT = "The cat sat on the mat. It slept because it was tired."
NOT_CALLED = {"AttnWidgetError", "__version__"}  # is raised; is a str
PLUMBING = {"notify_change", "set_state"}  # of traitlets and ipywidgets: nobody calls them
DRAWN = {"save_png", "save_svg", "save_pdf"}  # start a browser
SELDOM = 8  # of so many turns, one goes to a call that takes seconds: a browser, a training, pip
SLOW = DRAWN | {
    "fit_classifier",
    "load_amazon",
    "load_films",
    "load_tweets",
    "load_editorials",
    "rated_sentences",
}


class Unprintable:
    def __repr__(self) -> str:
        raise RuntimeError("this object cannot print itself")


class NoTruth:
    def __bool__(self) -> bool:
        raise RuntimeError("this object is neither true nor false")

    def __eq__(self, other: object) -> Any:
        return self

    __hash__ = None  # type: ignore[assignment]


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
    "function": lambda: len,
    "class": lambda: int,
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


class World:
    """The objects that calls are made on, and good arguments for them. Works in a folder of its own."""

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="aw-fuzz-"))
        self._live: dict[str, Any] = {}

    @cached_property
    def tiny(self) -> tuple[Any, Any]:
        return tiny_models.build("bert")

    @cached_property
    def means(self) -> Any:
        return aw.head_means(["Cats purr."], model=self.tiny, progress=False)

    @cached_property
    def broken(self) -> tuple[Any, Any]:
        """A model with NaN in its second layer."""
        model, tokenizer = tiny_models.build("bert")
        model = copy.deepcopy(model)
        with torch.no_grad():
            next(model.base_model.encoder.layer[1].parameters())[0] = torch.nan
        return model, tokenizer

    @cached_property
    def huge(self) -> str:
        """A folder whose configuration claims a million layers."""
        folder = self.folder / "huge"
        self.tiny[0].save_pretrained(folder)
        self.tiny[1].save_pretrained(folder)
        config = json.loads((folder / "config.json").read_text())
        (folder / "config.json").write_text(json.dumps({**config, "num_hidden_layers": 1_000_000}))
        return str(folder)

    @cached_property
    def encoder(self) -> Any:
        return aw.load(self.tiny)

    @cached_property
    def fitted(self) -> Any:
        return tasks.fit_classifier(
            self.tiny, ["a good cat", "a bad dog"] * 2, [0, 1] * 2, epochs=1, progress=False
        )

    @cached_property
    def saved_classifier(self) -> str:
        return str(self.fitted.save(self.folder / "classifier"))

    @cached_property
    def analysis(self) -> Any:
        return aw.analyze(TEXT, model=self.tiny, tagger=None, progress=False)

    @cached_property
    def classified(self) -> Any:
        return aw.analyze(TEXT, model=self.fitted, tagger=None, progress=False)

    @cached_property
    def outside(self) -> Any:
        return aw.from_attentions(self.weights, ["[CLS]", "hello", "world", "[SEP]"], tagger=None)

    @cached_property
    def weights(self) -> Any:
        weights = np.random.default_rng(0).random((2, 3, 4, 4))
        return weights / weights.sum(-1, keepdims=True)

    @cached_property
    def words(self) -> Any:
        return self.analysis.view(words=True)

    @cached_property
    def comparison(self) -> Any:
        return aw.compare(
            self.analysis, "The dog sat.", model=self.tiny, tagger=None, progress=False
        )

    @cached_property
    def profile(self) -> Any:
        return aw.profile(["Cats purr.", TEXT], model=self.tiny, tagger=None, progress=False)

    @cached_property
    def saved_profile(self) -> str:
        self.profile.save(self.folder / "profile.parquet")
        return str(self.folder / "profile.parquet")

    @cached_property
    def saved_index(self) -> str:
        place = str(self.folder / "words")
        aw.index(["The cat.", TEXT], place, layer=0, model=self.tiny, tagger=None, progress=False)
        return place

    @cached_property
    def index_database(self) -> Any:
        return connect(self.saved_index)

    @cached_property
    def index_encoder(self) -> Any:
        return aw.load(self.tiny, progress=False)

    @cached_property
    def index_settings(self) -> Any:
        return aw.WordIndex.open(self.saved_index, model=self.tiny).settings

    @cached_property
    def dataset(self) -> Any:
        return tasks.from_dataset(self.table, classes=("bad", "good"))

    @cached_property
    def table(self) -> dict[str, list[Any]]:
        words = ("bad", "good")
        return {
            "text": [f"{words[k % 2]} thing number {k}" for k in range(40)],
            "label": [k % 2 for k in range(40)],
            "group": [k // 4 for k in range(40)],
        }

    @cached_property
    def csv(self) -> str:
        rows = zip(*self.table.values(), strict=True)
        lines = [",".join(self.table), *(",".join(map(str, row)) for row in rows)]
        (self.folder / "things.csv").write_text("\n".join(lines))
        return str(self.folder / "things.csv")

    @cached_property
    def baseline(self) -> Any:
        return tasks.LexiconBaseline().fit(self.dataset.train)

    @property
    def widget(self) -> Any:
        return self._open("widget", lambda: aw.AttentionWidget(self.analysis))

    @property
    def task_widget(self) -> Any:
        return self._open("task_widget", lambda: aw.AttentionWidget(self.classified, view="task"))

    @property
    def shown(self) -> Any:
        return self._open(
            "shown", lambda: aw.show(TEXT, model=self.tiny, tagger=None, progress=False)
        )

    @property
    def outside_widget(self) -> Any:
        return self._open("outside_widget", lambda: aw.AttentionWidget(self.outside))

    @property
    def profile_widget(self) -> Any:
        return self._open("profile_widget", lambda: aw.show(self.profile))

    @property
    def closed(self) -> Any:
        found = aw.AttentionWidget(self.outside)
        found.close()
        return found

    def _open(self, name: str, make: Callable[[], Any]) -> Any:
        if name not in self._live or self._live[name].status == "closed":
            self._live[name] = make()
        return self._live[name]

    def close(self) -> None:
        aw.close_all()
        for widget in self._live.values():
            widget.close()
        shutil.rmtree(self.folder, ignore_errors=True)


# On what: attributes of `World`; the results of a call count too, such as predictions.
OBJECTS: dict[str, Callable[[World], Any]] = {
    "analysis": lambda w: w.analysis,
    "classified": lambda w: w.classified,
    "outside": lambda w: w.outside,
    "words": lambda w: w.words,
    "encoder": lambda w: w.encoder,
    "fitted": lambda w: w.fitted,
    "profile": lambda w: w.profile,
    "word_index": lambda w: aw.WordIndex.open(w.saved_index, model=w.tiny),
    "comparison": lambda w: w.comparison,
    "dataset": lambda w: w.dataset,
    "split": lambda w: w.dataset.train,
    "baseline": lambda w: w.baseline,
    "widget": lambda w: w.widget,
    "task_widget": lambda w: w.task_widget,
    "shown": lambda w: w.shown,
    "outside_widget": lambda w: w.outside_widget,
    "profile_widget": lambda w: w.profile_widget,
    "closed": lambda w: w.closed,
    "predictions": lambda w: w.analysis.predictions(),
    "softmax": lambda w: w.analysis.softmax(1),
    "influence": lambda w: w.analysis.influence(2, layer=0, head=0),
    "roles": lambda w: w.analysis.roles(),
    "sentences": lambda w: w.analysis.sentences,
    "specialization": lambda w: w.analysis.specialization,
    "metrics": lambda w: w.analysis.metrics,
    "first_token": lambda w: w.analysis.first_token(),
    "inside": lambda w: w.analysis.inside(0),
    "embeddings": lambda w: w.analysis.embeddings,
    "classification": lambda w: w.classified.classification,
    "language": lambda w: w.analysis.language,
}

FILES = itertools.count()


def file(world: World, suffix: str) -> str:
    return str(world.folder / f"{next(FILES) % 40}{suffix}")


def one_of(*values: Any) -> Callable[[World], list[Any]]:
    return lambda _: list(values)


# What works, by the name of a parameter; a name after a dot is that of one function alone.
GOOD: dict[str, Callable[[World], list[Any]]] = {
    "text": one_of(TEXT, "hello"),
    "text_pair": one_of(None, "It purrs."),
    "from_dataset.text": one_of("text"),
    "read_csv.text": one_of("text"),
    "texts": one_of(["Cats purr.", "It slept."]),
    "Split.texts": one_of(("a", "b")),
    "report.texts": one_of(["Cats purr.", ("a b", "c d")]),
    "model": lambda w: [w.tiny, w.encoder],
    "FittedClassifier.model": lambda w: [w.fitted.model],
    "FittedClassifier.moved": one_of(None, [[0.1, 0.2]]),
    "encoder": lambda w: [w.tiny, w.encoder],
    "unload.encoder": lambda w: [w.encoder],
    "tokenizer": lambda w: [None, w.tiny[1]],
    "device": one_of(None, "cpu"),
    "dtype": one_of(None, "float32"),
    "revision": one_of(None, "main"),
    "tagger": one_of(None),
    "truncation": one_of(True, False),
    "windows": one_of(True, False, (16, 4)),
    "masked": one_of((), [1]),
    "beside": one_of((), None),
    "progress": one_of(False),
    "Analysis.progress": one_of(None),
    "options": one_of({}),
    "traits": one_of({}),
    "layer": one_of(0, 1),
    "head": one_of(0, 1),
    "fit_classifier.head": one_of("linear", "cnn"),
    "rows": one_of(None, slice(0, 2)),
    "Profile.rows": lambda w: [_rows(w)],
    "cols": one_of(None, slice(0, 2)),
    "tau": one_of(0.01, "uniform"),
    "mean_head": one_of(True, False),
    "seed": one_of(0, 1),
    "by": one_of("previous", "sample"),
    "k": one_of(1, 3),
    "lowest": one_of(False, True),
    "read": one_of(None),
    "examples.texts": one_of(None, ["Cats purr.", TEXT]),
    "examples.model": lambda w: [w.tiny],
    "matrix": lambda w: [w.weights[0, 0]],
    "token": one_of(1, 2),
    "top_k": one_of(1, 3),
    "depth": one_of(1, 2),
    "target": one_of(aw.target(position=2, token=17), aw.target(label=1)),
    "why": one_of(None, [aw.target(position=2, token=17)]),
    "to_html.engine": one_of(False),  # with one: tests/unit/test_live_page.py
    "assets": one_of("inside"),
    "max_bytes": one_of(None, 10**7),
    "summary.top": one_of(1, 3),
    "written": one_of("2=the", "class=1", "next"),
    "target.position": one_of(None, 2),
    "Target.position": one_of(None, 2),
    "target.token": one_of("cat", 17),
    "Target.token": one_of("cat", 17),
    "target.masked": one_of(True, False),
    "Target.masked": one_of(True, False),
    "against": one_of(None, "is"),
    "next_sentence": one_of(False, True),
    "method": one_of("decomposition", "occlusion", "alti"),
    "mixing.kind": one_of("norms", "mixing", "alti", "value_zeroing"),
    "mixing_matrices.kind": one_of("norms", "mixing"),
    "mixing_rollout.kind": one_of("norms", "alti"),
    "mixing.head": one_of(None, 1),
    "methods": one_of(["weights", "decomposition"]),
    "n_random": one_of(2, 3),
    "ablate.heads": one_of([(0, 1)], []),
    "without.heads": one_of([(0, 1)], []),
    "ablation": lambda w: ["zero", "mean", w.means],
    "per_head": one_of(False, True),
    "query": one_of(0, 1),
    "special": one_of(True, False),
    "words": one_of(True, False),
    "renormalize": one_of(True, False),
    "keys": one_of(None, [1]),
    "from_attentions.keys": one_of(None),
    "queries": one_of(None),
    "tokens": one_of([1], []),
    "from_attentions.tokens": one_of(["[CLS]", "hello", "world", "[SEP]"]),
    "attentions": lambda w: [w.weights, torch.tensor(w.weights)],
    "allowed": one_of(None),
    "mode": one_of("as_is", "masked"),
    "position": one_of(0, 1),
    "token_ids": one_of(None, [5]),
    "label": one_of(0, "1"),
    "target.label": one_of(None, 1),
    "Target.label": one_of(None, 1),
    "from_dataset.label": one_of("label"),
    "read_csv.label": one_of("label"),
    "ids": one_of([5]),
    "kind": one_of("mass", "max"),
    "a": one_of(0),
    "b": one_of(0, 1),
    "compare.a": lambda w: [w.analysis, TEXT],
    "compare.b": lambda w: [w.analysis, "hello"],
    "compare.model": lambda w: [w.tiny],
    "models": lambda w: [None, [w.tiny, w.encoder]],
    "Comparison.a": lambda w: [w.analysis],
    "Comparison.b": lambda w: [w.analysis, w.outside],
    "Comparison.progress": one_of(None),
    "alignment": one_of(None),
    "align.pairs": one_of([(1, 1)], []),
    "pairs": one_of([("he sat", "she sat")]),
    "quantity": one_of("weights", "norms"),
    "difference.head": one_of(0, 1),
    "sites": one_of([("head", 0, 1)], [("state", 1, 2)], []),
    "recovery.target": one_of(aw.target(position=2, token=17)),
    "of": one_of("heads", "mlp"),
    "ManyComparisons.rows": lambda w: [_rows(w)],
    "name": one_of("things"),
    "part.name": one_of("token"),
    "rated_sentences.name": one_of("films"),
    "RatedSentences.name": one_of("films"),
    "encoding": one_of("utf-8-sig"),
    "group": one_of(None, "group"),
    "classes": one_of(None),
    "stars.classes": one_of(5, 3),
    "Dataset.classes": one_of(("bad", "good")),
    "load_data.classes": one_of(5, 3),
    "dataset": lambda w: [w.table, w.dataset and {"train": w.table}],
    "cache": one_of(None),
    "scores": one_of([1.0, -1.0]),
    "labels": one_of([0, 1]),
    "probabilities": one_of([[0.5, 0.5], [0.2, 0.8]]),
    "folder": lambda w: [str(w.folder / "out")],
    "load_classifier.folder": lambda w: [w.saved_classifier],
    "path": lambda w: [file(w, ".html")],
    "read_csv.path": lambda w: [w.csv],
    "to_csv.path": lambda w: [None, file(w, ".csv")],
    "to_json.path": lambda w: [None, file(w, ".json")],
    "save_png.path": lambda w: [file(w, ".png")],
    "save_svg.path": lambda w: [file(w, ".svg")],
    "save_pdf.path": lambda w: [file(w, ".pdf")],
    "paper": one_of("A4", "Letter"),
    "pooling": one_of("mean", "first"),
    "Profile.path": lambda w: [file(w, ".parquet")],
    "load.path": lambda w: [w.saved_profile],
    "view": one_of(None, "heads"),
    "views": one_of(None, ["attention"]),
    "layers": one_of(None, [0]),
    "heads": one_of(None, [0]),
    "title": one_of(None, "a title"),
    "width": one_of(400),
    "height": one_of(400),
    "scale": one_of(1),
    "theme": one_of(None, "dark"),
    "widgets": lambda w: [w.outside_widget, [w.outside_widget]],
    "widget": lambda w: [w.outside_widget],
    "analysis": lambda w: [w.outside, w.analysis],
    "analyze": one_of(None),
    "profile": lambda w: [w.profile],
    "engine": one_of("local"),
    "profile.column": one_of(None),
    "profile.folder": one_of(None),
    "failures": one_of(None, "raise", "list"),
    "address": one_of(None),
    "workers": one_of(None),
    "threads": one_of(1),
    "linked_examples.texts": one_of(None),
    "linked_examples.by": one_of("link", "self"),
    "examples.by": one_of("link", "self"),
    "index.texts": lambda w: [["The cat.", "A dog."]],
    "index.path": lambda w: [str(w.folder / "index" / secrets.token_hex(4))],
    "open.path": lambda w: [w.saved_index],
    "index.column": one_of(None),
    "WordIndex.database": lambda w: [w.index_database],
    "WordIndex.encoder": lambda w: [w.index_encoder],
    "WordIndex.settings": lambda w: [dict(w.index_settings)],
    "exact": one_of(False, True),
    "recall.queries": one_of(1),
    "analysis_of.index": one_of(0, 1),
    "resume": one_of(None),
    "fit_classifier.resume": one_of(True),
    "checkpoint": one_of(None),
    "Encoder.checkpoint": one_of(None),
    "fit_classifier.texts": one_of(["a good cat", "a bad dog"]),
    "fit_classifier.validation": one_of(None, (["a cat"], [0])),
    "lr_encoder": one_of(1e-4),
    "lr_head": one_of(1e-3),
    "weight_decay": one_of(0.01),
    "dropout": one_of(None, 0.1),
    "warmup": one_of(0.1),
    "step_size": one_of(2),
    "gamma": one_of(0.5),
    "epochs": one_of(1),
    "batch_size": one_of(2),
    "patience": one_of(2),
    "max_length": one_of(None, 20),
    "train": lambda w: [w.dataset.train],
    "validation": lambda w: [w.dataset.validation],
    "test": lambda w: [w.dataset.test],
    "left_out": one_of({}),
    "history": one_of(()),
    "settings": one_of(None, {}),
    "trace": lambda w: [w.outside.trace],
    "run": one_of(None),
    "language": one_of(None),
    "origin": one_of(None),
    "meta": lambda w: [w.profile.meta],
    "groups": one_of(("a", "b")),
    "RatedSentences.ids": one_of(("a", "b")),
    "request": lambda w: [{"kind": "weights", "layer": 0, "head": 0}],
    "_buffers": one_of([]),
    "cross_entropy": one_of(0.5),
    "auc_roc": one_of(0.5),
    "correct": one_of(50.0),
    "relaxed": one_of(None),
}
SLICES = (
    "weights", "scores", "qkv", "metrics", "predictions", "softmax", "language", "rollout", "flow",
    "mixing", "mixing_rollout", "mixing_pair", "value_lengths",
    "layer_change", "specialization", "patterns", "roles", "sentences", "drill", "tensor", "hidden_path",
    "residuals", "architecture", "classification", "next_sentence", "first_token", "class_gradient", "beside",
    "run", "mask", "cancel",
)  # fmt: skip
ASKED = (
    "layer", "head", "rows", "cols", "tau", "mode", "top_k", "position", "token_ids", "token", "seed",
    "aggregation", "a", "b", "name", "label", "text", "text_pair", "truncation", "tokens",
    "quantity", "query", "key",
)  # fmt: skip


def _rows(world: World) -> Any:
    from attn_widget.corpus.storage import Rows

    return Rows(world.profile.index, world.profile.n_tokens, world.profile.figures)


@dataclass(frozen=True)
class Target:
    """Something public that can be called, read, set or copied."""

    name: str
    kind: str  # "call", "read", "set", "copy"
    of: str  # an object of `OBJECTS`, or a module
    attribute: str


def public(found: Any) -> list[str]:
    """Public attributes that this package gives an object."""
    ours: set[str] = set()
    for cls in type(found).__mro__:
        if cls.__module__.startswith("attn_widget"):
            ours.update(name for name in vars(cls) if not name.startswith("_"))
            ours.update(getattr(cls, "__annotations__", {}))
    known = set(dir(found)) - PLUMBING
    return sorted(name for name in ours & known if not name.startswith("_"))


def unknown_parameters() -> list[str]:
    """Parameters of public names for which `GOOD` has no value."""
    world = World()
    missing: set[str] = set()
    try:
        for target in targets(world):
            if target.kind != "call":
                continue
            for parameter in parameters(getattr(owner_of(world, target), target.attribute)):
                if parameter.kind in (parameter.VAR_KEYWORD, parameter.VAR_POSITIONAL):
                    continue
                if not any(key in GOOD for key in keys_of(world, target, parameter.name)):
                    missing.add(f"{target.name}({parameter.name})")
    finally:
        world.close()
    return sorted(missing)


def keys_of(world: World, target: Target, parameter: str) -> tuple[str, ...]:
    """Where `GOOD` may have a value: of this function, of this class, of any."""
    owner = type(owner_of(world, target)).__name__ if target.of in OBJECTS else target.of
    name = target.attribute
    loads = name.startswith("load_") and name != "load_classifier"
    return (f"{'load_data' if loads else name}.{parameter}", f"{owner}.{parameter}", parameter)


def targets(world: World) -> list[Target]:
    """Every public name, found."""
    every: list[Target] = []
    for module in (aw, tasks):
        short = "aw" if module is aw else "tasks"
        for name in dir(module):
            if name not in NOT_CALLED:
                every.append(Target(f"{short}.{name}", "call", short, name))
    every.append(Target("aw.Profile.load", "call", "Profile", "load"))
    for label, make in OBJECTS.items():
        found = make(world)
        traits = found.trait_names() if isinstance(found, traitlets.HasTraits) else ()
        for name in public(found):
            whole = f"{label}.{name}"
            attribute = inspect.getattr_static(type(found), name, None)
            if name in traits:
                every.append(Target(whole, "set", label, name))
            elif isinstance(attribute, property) or not callable(attribute):
                every.append(Target(whole, "read", label, name))
            else:
                every.append(Target(whole, "call", label, name))
        every.append(Target(f"pickle {label}", "copy", label, "pickle"))
        every.append(Target(f"copy {label}", "copy", label, "copy"))
    return every


def owner_of(world: World, target: Target) -> Any:
    if target.of in OBJECTS:
        return OBJECTS[target.of](world)
    return {"aw": aw, "tasks": tasks, "Profile": aw.Profile}[target.of]


@dataclass
class Fault:
    number: int
    call: str
    why: str
    traceback: str


@dataclass
class Result:
    """What a run of the fuzzer found."""

    calls: int = 0
    returned: int = 0
    refused: Counter[str] = field(default_factory=Counter)
    faults: list[Fault] = field(default_factory=list)
    slowest: list[tuple[float, str]] = field(default_factory=list)
    by_target: Counter[str] = field(default_factory=Counter)


class TooSlowError(BaseException):
    """A call was ended after `GIVE_UP` seconds."""


def good(world: World, rng: random.Random, target: Target, parameter: str) -> Any:
    """A value that works for a parameter."""
    key = next(key for key in keys_of(world, target, parameter) if key in GOOD)
    return rng.choice(GOOD[key](world))


def hostile(world: World, rng: random.Random) -> tuple[str, Any]:
    """Something of `HOSTILE`, or an object of ours that belongs elsewhere."""
    ours = {
        "an analysis": lambda: world.analysis,
        "a widget": lambda: world.outside_widget,
        "a profile": lambda: world.profile,
        "an encoder": lambda: world.encoder,
        "a model with NaN": lambda: world.broken,
        "a folder of a million layers": lambda: world.huge,
    }
    name = rng.choice([*HOSTILE, *ours])
    return name, {**HOSTILE, **ours}[name]()


def parameters(call: Any) -> list[inspect.Parameter]:
    try:
        return list(inspect.signature(call).parameters.values())
    except ValueError:
        return []


def arguments(
    world: World, rng: random.Random, target: Target, call: Any
) -> tuple[list[Any], dict[str, Any], list[str]]:
    """Arguments of a call, and what is said of them."""
    given: dict[str, Any] = {}
    said: list[str] = []
    names = parameters(call)
    for parameter in names:
        if parameter.kind in (parameter.VAR_KEYWORD, parameter.VAR_POSITIONAL):
            if parameter.kind is parameter.VAR_KEYWORD and rng.random() < 0.5:
                option = rng.choice(
                    [
                        "layer",
                        "head",
                        "view",
                        "token",
                        "theme",
                        "special",
                        "layre",
                        "scale",
                        "group",
                        "pair",
                        "height",
                        "truncation",
                        "model",
                        "tagger",
                        "saved",
                        "metric",
                    ]
                )
                what, value = hostile(world, rng)
                given[option] = value
                said.append(f"{option}={what}")
            continue
        must = parameter.default is parameter.empty or parameter.name in (
            "progress",
            "tagger",
            "model",
        )
        if must or rng.random() < 0.3:
            value = good(world, rng, target, parameter.name)
            given[parameter.name] = value
    open_ = [p.name for p in names if p.kind not in (p.VAR_KEYWORD, p.VAR_POSITIONAL)]
    if open_ and rng.random() < 0.9:
        for name in rng.sample(open_, min(len(open_), rng.choice((1, 1, 2)))):
            what, value = hostile(world, rng)
            given[name] = value
            said.append(f"{name}={what}")
    positional: list[Any] = []
    for parameter in names:
        if parameter.kind is parameter.POSITIONAL_ONLY and parameter.name in given:
            positional.append(given.pop(parameter.name))
    if rng.random() < 0.03:
        given["layre"] = 3
        said.append("layre=3")
    if target.attribute in ("slice", "act") and rng.random() < 0.9:
        asked: dict[str, Any] = {"kind": rng.choice(SLICES)}
        for key in rng.sample(ASKED, 4):
            what, value = hostile(world, rng)
            if rng.random() < 0.4:
                what, value = "1", 1
            asked[key] = value
            said.append(f"{key}={what}")
        given["request"] = asked
    return positional, given, said


def perform(world: World, rng: random.Random, target: Target) -> tuple[str, Callable[[], Any]]:
    """A call, in words and ready."""
    owner = owner_of(world, target)
    if target.kind == "read":
        return target.name, lambda: getattr(owner, target.attribute)
    if target.kind == "set":
        what, value = hostile(world, rng)
        return f"{target.name} = {what}", lambda: setattr(owner, target.attribute, value)
    if target.kind == "copy":
        how = pickle.dumps if target.attribute == "pickle" else copy.deepcopy
        return target.name, lambda: how(owner)
    call = getattr(owner, target.attribute)
    positional, given, said = arguments(world, rng, target, call)
    return f"{target.name}({', '.join(said)})", lambda: call(*positional, **given)


def why_bare(error: BaseException, entered: TracebackType | None) -> str:
    """Why an exception is a fault; empty when it is one of ours, in words that can be read."""
    if isinstance(error, TooSlowError):
        return f"ended after {GIVE_UP:.0f} s"
    if isinstance(error, (AttnWidgetError, traitlets.TraitError)):
        return "" if len(str(error)) <= LONGEST else f"a message of {len(str(error)):,} characters"
    # Python's own word on a call that does not fit the signature: no frame of ours was entered.
    if isinstance(error, TypeError) and entered is None:
        return ""
    return f"bare {type(error).__name__}: {str(error)[:200]}"


def alarm(_signal: int, _frame: Any) -> None:
    raise TooSlowError


def run(
    calls: int, seed: int, *, slow: bool = True, tell: Callable[[str], None] | None = None
) -> Result:
    """Make ``calls`` hostile calls.

    Parameters
    ----------
    slow : bool
        Also what starts a browser, a training or pip.
    tell : callable, optional
        Is told of each fault at once.
    """
    rng = random.Random(seed)
    result = Result()
    world = World()
    before, environment = Path.cwd(), dict(os.environ)
    os.chdir(world.folder)  # a str that could be a file's name may become one
    os.environ.update(PIP_NO_INDEX="1", HF_HUB_OFFLINE="1", ATTN_WIDGET_CACHE=cache_of())
    previous = signal.signal(signal.SIGALRM, alarm)
    limit = sys.getrecursionlimit()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for number, target in zip(range(calls), turns(targets(world), rng, slow), strict=False):
                one(world, rng, target, number, result, tell)
                if number % 50 == 49:
                    aw.close_all()
    finally:
        sys.setrecursionlimit(limit)
        signal.signal(signal.SIGALRM, previous)
        os.chdir(before)
        os.environ.clear()
        os.environ.update(environment)
        world.close()
    result.slowest = sorted(result.slowest, reverse=True)[:10]
    return result


def cache_of() -> str:
    from attn_widget.tasks.data.archive import cache_folder

    return str(cache_folder(None))


def turns(every: Sequence[Target], rng: random.Random, slow: bool) -> Iterator[Target]:
    """Every target in each round, in another order; slow ones seldom."""
    for turn in itertools.count():
        order = list(every)
        rng.shuffle(order)
        for target in order:
            if target.attribute not in SLOW or (slow and turn % SELDOM == 0):
                yield target


def one(
    world: World,
    rng: random.Random,
    target: Target,
    number: int,
    result: Result,
    tell: Callable[[str], None] | None,
) -> None:
    said, call = perform(world, rng, target)
    why, trace = "", ""
    signal.setitimer(signal.ITIMER_REAL, GIVE_UP)
    begun = time.monotonic()
    try:
        found = call()
        took = time.monotonic() - begun
        if inspect.isgenerator(found):
            list(itertools.islice(found, 10_000))
        repr(found)
        if target.attribute in ("slice", "act") and not isinstance(found[0].get("ok"), bool):
            why = "no reply to the page"
        result.returned += 1
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:
        took = time.monotonic() - begun
        entered = (
            error.__traceback__.tb_next.tb_next
            if error.__traceback__ and error.__traceback__.tb_next
            else None
        )
        why = why_bare(error, entered)
        result.refused[type(error).__name__] += 1
        if why:
            trace = "".join(traceback.format_exception(error, limit=-6))[-3000:]
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
    if not why and took > SECONDS:
        why = f"took {took:.1f} s"
    result.calls += 1
    result.by_target[target.name] += 1
    result.slowest = sorted([*result.slowest, (took, said)], reverse=True)[:10]
    if why:
        result.faults.append(Fault(number, said, why, trace))
        if tell is not None:
            tell(f"#{number} {said}: {why}\n{trace}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--calls", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--fast", action="store_true", help="no browser, no training, no pip")
    options = parser.parse_args()
    begun = time.monotonic()
    result = run(
        options.calls,
        options.seed,
        slow=not options.fast,
        tell=lambda text: print(text, flush=True),
    )
    print(
        f"{result.calls:,} calls of {len(result.by_target)} public names in {time.monotonic() - begun:.0f} s"
    )
    print(f"{result.returned:,} returned; refused: {dict(result.refused.most_common())}")
    print("slowest:", *(f"\n  {took:.2f} s {said}" for took, said in result.slowest))
    print(f"{len(result.faults)} faults")
    sys.exit(1 if result.faults else 0)


if __name__ == "__main__":
    main()

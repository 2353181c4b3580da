"""The objects that calls are made on."""

from __future__ import annotations

import copy
import json
import shutil
import tempfile
from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import torch

import attn_widget as aw
from attn_widget.features import tasks
from attn_widget.features.corpus.words.word_index import connect
from attn_widget.features.similarity.reading import reading_of
from tests.unit import tiny_models

TEXT = "The cat sat on the mat. It slept because it was tired."


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
        return aw.corpus.head_means(["Cats purr."], model=self.tiny, progress=False)

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
    def reranker(self) -> Any:
        return tiny_models.build("bert", "ForSequenceClassification", num_labels=1)

    @cached_property
    def embedder(self) -> Any:
        return aw.load(self.tiny).with_pooling("mean")

    @cached_property
    def embedded(self) -> Any:
        return self.similarity.a

    @cached_property
    def similarity(self) -> Any:
        return self._similar("hello", model=self.embedder)

    @cached_property
    def late(self) -> Any:
        return self._similar("hello", model=self.tiny, pooling="tokens")

    @cached_property
    def relevance(self) -> Any:
        return self._similar("hello", model=self.reranker)

    @cached_property
    def ranking(self) -> Any:
        return self._similar(["hello", "", TEXT, "a cat"], model=self.embedder)

    @cached_property
    def reading(self) -> Any:
        return reading_of(self.tiny, "mean", None, None, False)

    def _similar(self, other: Any, **options: Any) -> Any:
        return aw.similarity(TEXT, other, tagger=None, progress=False, **options)

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
        aw.corpus.index(
            ["The cat.", TEXT], place, layer=0, model=self.tiny, tagger=None, progress=False
        )
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
    def parts_widget(self) -> Any:
        model = tiny_models.build("bart")
        options: dict[str, Any] = {"output": "A cat.", "tagger": None, "progress": False}
        return self._open("parts_widget", lambda: aw.show(TEXT, model=model, **options))

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
    "heads": lambda w: w.analysis.heads,
    "mixing": lambda w: w.analysis.mixing,
    "model": lambda w: w.analysis.model,
    "why": lambda w: w.analysis.why,
    "corpus": lambda w: aw.corpus,
    "compare": lambda w: aw.compare,
    "classified": lambda w: w.classified,
    "outside": lambda w: w.outside,
    "words": lambda w: w.words,
    "encoder": lambda w: w.encoder,
    "fitted": lambda w: w.fitted,
    "profile": lambda w: w.profile,
    "word_index": lambda w: aw.WordIndex.open(w.saved_index, model=w.tiny),
    "comparison": lambda w: w.comparison,
    "similarity": lambda w: w.similarity,
    "late": lambda w: w.late,
    "relevance": lambda w: w.relevance,
    "ranking": lambda w: w.ranking,
    "ranked": lambda w: w.ranking.difference(0, 2),
    "dataset": lambda w: w.dataset,
    "split": lambda w: w.dataset.train,
    "baseline": lambda w: w.baseline,
    "widget": lambda w: w.widget,
    "task_widget": lambda w: w.task_widget,
    "shown": lambda w: w.shown,
    "outside_widget": lambda w: w.outside_widget,
    "parts_widget": lambda w: w.parts_widget,
    "profile_widget": lambda w: w.profile_widget,
    "closed": lambda w: w.closed,
    "predictions": lambda w: w.analysis.predictions(),
    "softmax": lambda w: w.analysis.model.softmax(1),
    "influence": lambda w: w.analysis.heads.tree(2, layer=0, head=0),
    "roles": lambda w: w.analysis.heads.roles(),
    "sentences": lambda w: w.analysis.sentences,
    "specialization": lambda w: w.analysis.heads.specialization,
    "metrics": lambda w: w.analysis.metrics,
    "first_token": lambda w: w.analysis.model.first_token(),
    "inside": lambda w: w.analysis.model.layer(0),
    "embeddings": lambda w: w.analysis.model.embeddings,
    "classification": lambda w: w.classified.model.classification,
    "language": lambda w: w.analysis.language,
}

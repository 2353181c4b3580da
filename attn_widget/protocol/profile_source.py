"""The source of a profile: figures over many texts, with no text, tokens or weights."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from attn_widget.checks import shown
from attn_widget.corpus.profile import Profile
from attn_widget.errors import NotAvailableError
from attn_widget.figures import metrics, patterns, specialization
from attn_widget.figures.catalog.targets import SPECIAL_TOKENS
from attn_widget.figures.roles import Roles
from attn_widget.protocol.answer import Reply, answer, respond
from attn_widget.protocol.built import later_views
from attn_widget.protocol.handlers import Answer, Arrays
from attn_widget.protocol.pack import pack
from attn_widget.protocol.paint import first_paint, token_columns
from attn_widget.protocol.request import Request, integer, one_of
from attn_widget.protocol.slices.attention import MAX_SEED, describe_roles
from attn_widget.protocol.source import Source

if TYPE_CHECKING:
    from attn_widget.analysis import Analysis

EXAMPLES = 6  # texts in the list of a head
TOKEN_COLUMNS = ("text", "surface", "before", "id", "start", "end", "segment", "special")


def profile_paint(profile: Profile) -> bytes:
    """Pack the figures of a profile (``docs/protocol.md``, "Pack").

    For each key: ``metric:`` (mean over the texts that have it), ``low:``, ``high:`` (95% interval of
    that mean), ``sd:`` float32 [L, H] and ``count:`` int32 [L, H].
    """
    arrays: Arrays = {}
    for key in profile.keys:
        arrays.update({f"{part}:{key}": values for part, values in parts_of(profile, key).items()})
    accuracies = accuracy_arrays(profile)
    for values in accuracies.values():
        arrays.update(values)
    meta = {
        "version": 1,
        "model": {
            "name": profile.model,
            "family": None,
            "n_layers": profile.n_layers,
            "n_heads": profile.n_heads,
            **dict.fromkeys(("head_dim", "hidden_size", "vocab_size", "max_length"), 0),
            "revision": profile.meta.get("revision"),
            "has": dict.fromkeys(("mlm", "nsp", "classifier", "scores", "qkv"), False),
        },
        "text": "",
        "text_pair": None,
        "truncated": None,
        "tokens": {column: [] for column in TOKEN_COLUMNS},
        "masked": [],
        "profile": {
            "n_texts": profile.n_texts,
            "n_tokens": profile.total_tokens,
            "seed": profile.seed,
            "tagger": profile.meta.get("tagger"),
            "keys": list(profile.keys),
            "accuracies": list(accuracies),
            "by_chance": best_by_chance(profile),
            "interval_note": profile.interval_note,
            "examples": profile.has_examples,
        },
        "metrics": {"keys": _held(profile, metrics.KEYS), "tau": metrics.TAU, "scale": []},
        "thumb": 0,
        "predictions": None,
        "selected": None,
        "versions": {"attn_widget": profile.meta.get("attn_widget", "")},
    }
    return pack(meta, arrays)


def accuracy_arrays(profile: Profile) -> dict[str, Arrays]:
    """Accuracy on each pattern that the texts have, as parts of a figure; among words where these compete alone."""
    try:
        records = profile.pattern_records()
    except NotAvailableError:
        return {}
    shape = profile.n_layers, profile.n_heads
    by_key: dict[str, Arrays] = {}
    for one in records:
        if one["keys"] == ("all" if one["pattern"] in SPECIAL_TOKENS else "words"):
            key = f"accuracy: {one['pattern']}"
            at = one["layer"], one["head"]
            for part, name in (("metric", "accuracy"), ("low", "low"), ("high", "high")):
                values = by_key.setdefault(key, {})
                array = values.setdefault(f"{part}:{key}", np.full(shape, np.nan, np.float32))
                array[at] = one[name]
    return by_key


def best_by_chance(profile: Profile) -> dict[str, float]:
    """For each accuracy of `accuracy_arrays`, what the best of all heads reaches by chance (95%)."""
    try:
        records = profile.pattern_records()
    except NotAvailableError:
        return {}
    return {
        f"accuracy: {one['pattern']}": one["best_by_chance"]
        for one in records
        if one["keys"] == ("all" if one["pattern"] in SPECIAL_TOKENS else "words")
    }


def parts_of(profile: Profile, key: str) -> Arrays:
    """``metric``, ``low``, ``high``, ``sd`` float32 and ``count`` int32 of one figure, [L, H] each."""
    low, high = profile.interval[key]
    return {
        "metric": profile.mean[key],
        "low": low,
        "high": high,
        "sd": profile.sd[key],
        "count": profile.count[key].astype(np.int32),
    }


def _held(profile: Profile, keys: tuple[str, ...]) -> list[str]:
    """Those of ``keys`` that the profile has: one of an older version may lack some."""
    return [key for key in keys if key in profile.keys]


class ProfileSource(Source):
    """The figures of all heads over many texts.

    Parameters
    ----------
    profile : Profile
    """

    views = ("heads",)
    options = ("layer", "head", "metric", "view", "theme", "height", "chrome")

    def __init__(self, profile: Profile) -> None:
        self._profile = profile
        self.lock = threading.RLock()
        self._roles: dict[int, Roles] = {}
        self._opened: tuple[Any, Analysis] | None = None

    @property
    def profile(self) -> Profile:
        return self._profile

    @property
    def shape(self) -> tuple[int, int]:
        return self.profile.n_layers, self.profile.n_heads

    @property
    def title(self) -> str:
        return f"{self.profile.model}, {self.profile.n_texts} texts"

    @property
    def n_tokens(self) -> int:
        return self.profile.total_tokens

    @property
    def size(self) -> int:
        return 1

    def answer(self, request: object) -> Reply:
        if isinstance(request, Mapping) and "example" in request:
            return self._of_example(request)
        return respond(self, request, HANDLERS)

    def _of_example(self, request: Mapping[str, Any]) -> Reply:
        """A question about the text that is open."""
        with self.lock:
            if self._opened is None or self._opened[0] != request["example"]:
                said = "This example is no longer open."
                return {"ok": False, "error": said, "hint": "Open it again."}, []
            analysis = self._opened[1]
        return answer(analysis, {k: v for k, v in request.items() if k != "example"})

    def metrics(self, request: Request) -> Answer:
        tau = request.get("tau", metrics.TAU)
        if tau != metrics.TAU:
            raise NotAvailableError(
                f"The profile was counted with tau = {metrics.TAU}, not with {shown(tau)}.",
                "Sparsity with another threshold is available for one text: analyze(text).metrics_at(tau).",
            )
        keys = _held(self.profile, metrics.KEYS)
        return {"tau": tau, "keys": keys, "scale": []}, {
            f"metric:{key}": self.profile.mean[key] for key in keys
        }

    def specialization(self, _request: Request) -> Answer:
        keys = _held(self.profile, specialization.KEYS)
        arrays: Arrays = {}
        reasons: dict[str, str] = {}
        notes: list[str] = []
        texts = self.profile.n_texts
        for key in keys:
            mean = self.profile.mean[key]
            arrays[f"raw:{key}"] = mean
            arrays[f"scaled:{key}"] = specialization.scale_by_layer(mean)
            arrays[f"z:{key}"] = specialization.standardize(mean)
            count = int(self.profile.count[key].max())
            if count == 0:
                reasons[key] = f"None of the {texts} texts has it."
            elif count < texts:
                notes.append(f"{key}: mean over the {count} of {texts} texts that have it.")
        data = {"keys": keys, "chance": dict.fromkeys(keys), "reasons": reasons, "notes": notes}
        return data, arrays

    def patterns(self, _request: Request) -> Answer:
        keys = _held(self.profile, patterns.KEYS)
        if not keys:
            raise NotAvailableError(
                "This profile was made before positional patterns were measured.",
                "Run profile(texts) again.",
            )
        arrays: Arrays = {f"pattern:{key}": self.profile.mean[key] for key in keys}
        return {"keys": keys, "chance": None}, arrays

    def examples(self, request: Request) -> Answer:
        profile = self.profile
        layer = integer(request, "layer", 0, profile.n_layers)
        head = integer(request, "head", 0, profile.n_heads)
        by = one_of(request, "by", profile.example_names)
        with self.lock:
            examples = profile.linked_examples(
                layer, head, by, EXAMPLES, request.get("lowest") is True
            )
        arrays: Arrays = {}
        rows: list[dict[str, Any]] = []
        for place, (row, analysis) in enumerate(examples):
            columns = token_columns(analysis.tokens, analysis.text, None)
            rows.append(
                {name: row[name] for name in ("index", "value", "query", "key", "weight")}
                | {name: columns[name] for name in ("text", "before", "special")}
            )
            if row["query"] is not None:
                arrays[f"row:{place}"] = analysis.attention(layer, head)[row["query"]]
        return {"examples": rows, "names": list(profile.example_names)}, arrays

    def opened(self, index: Any) -> Analysis:
        """The analysis of one of the texts that examples were given of."""
        with self.lock:
            if self._opened is None or self._opened[0] != index:
                self._opened = index, self.profile.analysis_of(index)
            return self._opened[1]

    def example_paint(self, request: Request) -> Answer:
        layer = integer(request, "layer", 0, self.profile.n_layers)
        head = integer(request, "head", 0, self.profile.n_heads)
        paint = first_paint(self.opened(request.get("index")), layer, head, live=True)
        return {}, {"paint": np.frombuffer(paint, np.uint8)}

    def roles(self, request: Request) -> Answer:
        seed = integer({"seed": request.get("seed", self.profile.seed)}, "seed", 0, MAX_SEED)
        with self.lock:
            if seed not in self._roles:
                self._roles[seed] = self.profile.roles(seed)
            return describe_roles(self._roles[seed])


HANDLERS: Mapping[str, Callable[[ProfileSource, Request], Answer]] = {
    "metrics": ProfileSource.metrics,
    "specialization": ProfileSource.specialization,
    "patterns": ProfileSource.patterns,
    "roles": ProfileSource.roles,
    "examples": ProfileSource.examples,
    "example_paint": ProfileSource.example_paint,
    "code": later_views,  # it prints, too
}

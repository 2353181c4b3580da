"""The source of a profile: figures over many texts, with no text, tokens or weights."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attn_widget.analysis import Analysis
from attn_widget.checks import short_repr
from attn_widget.checks.rounding import first_largest
from attn_widget.errors import NotAvailableError, SliceError
from attn_widget.features.corpus.heaps import LINK
from attn_widget.features.corpus.profile import Profile
from attn_widget.features.corpus.profile_figures import require_one_text
from attn_widget.features.corpus.reading.targets import SPECIAL_TOKENS
from attn_widget.features.corpus.reading.two_texts import CROSS_KEYS
from attn_widget.figures import metrics, patterns, specialization
from attn_widget.figures.catalog.specializations import ALIGNMENT
from attn_widget.figures.roles import Roles
from attn_widget.figures.tables import Columns, by_head
from attn_widget.protocol.answer import Reply, respond
from attn_widget.protocol.built import later_views
from attn_widget.protocol.handlers import Answer, Arrays
from attn_widget.protocol.initial_payload import (
    first_paint,
    meta_without_tokens,
    token_columns,
    without_other_parts,
)
from attn_widget.protocol.pack import pack
from attn_widget.protocol.request import Request, integer, one_of, place_of
from attn_widget.protocol.run_source import RunSource
from attn_widget.protocol.selection import Selection
from attn_widget.protocol.slices.attention import MAX_SEED, describe_roles
from attn_widget.protocol.source import Cells, Recorded, Source

EXAMPLES = 6  # texts in the list of a head


ONE_PLACE = (
    "cls",
    "punctuation",
    "self",
    "previous",
    "next",
    "rest",
)  # a key or a distance, whatever the words


def opening_head(profile: Profile) -> tuple[int, int]:
    """Layer and head that a profile opens on: the head that stands out most in where it looks.

    The largest standard score, over all heads, in a specialization, a pattern or monotony, the first of those that are
    equal up to rounding; L0 H0 where no figure tells the heads apart. As with a text, to look at one key or over one distance
    counts only where nothing else is known.
    """
    every = _held(profile, (*specialization.KEYS, *patterns.KEYS, ALIGNMENT[0].key))
    keys = [key for key in every if key not in ONE_PLACE] or every
    scores = [specialization.standardize(profile.mean[key]) for key in keys]
    stands = np.fmax.reduce(scores) if scores else np.full(1, np.nan)
    layer, head = divmod(first_largest(stands), profile.n_heads)
    return layer, head


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
    model = {
        "name": name_of(profile),
        "family": None,
        "n_layers": profile.n_layers,
        "n_heads": profile.n_heads,
        **dict.fromkeys(("head_dim", "hidden_size", "vocab_size", "max_length"), 0),
        "revision": profile.meta.get("revision"),
        "has": dict.fromkeys(("mlm", "nsp", "classifier", "scores", "qkv"), False),
    }
    meta = meta_without_tokens(model, {"attn_widget": profile.meta.get("attn_widget", "")})
    meta["profile"] = {
        "n_texts": profile.n_texts,
        "n_tokens": profile.total_tokens,
        "seed": profile.seed,
        "tagger": profile.meta.get("tagger"),
        "keys": list(profile.keys),
        "accuracies": list(accuracies),
        "by_chance": best_by_chance(profile),
        "interval_note": profile.interval_note,
        "examples": profile.has_examples,
        "looks_back": looks_back(arrays),
    }
    meta["metrics"]["keys"] = _held(profile, CROSS_KEYS)
    return pack(meta, arrays)


def name_of(profile: Profile) -> str:
    """The model, and of an encoder-decoder the part."""
    return profile.model if profile.part is None else f"{profile.model}, {profile.part}"


def looks_back(arrays: Arrays) -> bool:
    """True if no query of any text may look at a later key: the first token of a decoder is no [CLS]."""
    counts = (arrays.get(f"count:{key}") for key in ("previous", "next"))
    previous, following = (count is not None and bool(count.any()) for count in counts)
    return previous and not following


def accuracy_arrays(profile: Profile) -> dict[str, Arrays]:
    """Accuracy on each pattern that the texts have, as parts of a figure; among words where these compete alone."""
    shape = profile.n_layers, profile.n_heads
    by_key: dict[str, Arrays] = {}
    for key, record in _accuracies(profile):
        at = record["layer"], record["head"]
        for part, name in (("metric", "accuracy"), ("low", "low"), ("high", "high")):
            values = by_key.setdefault(key, {})
            array = values.setdefault(f"{part}:{key}", np.full(shape, np.nan, np.float32))
            array[at] = record[name]
    return by_key


def best_by_chance(profile: Profile) -> dict[str, float]:
    """For each accuracy of `accuracy_arrays`, what the best of all heads reaches by chance (95%)."""
    return {key: record["best_by_chance"] for key, record in _accuracies(profile)}


def _accuracies(profile: Profile) -> list[tuple[str, dict[str, Any]]]:
    """Rows of `Profile.patterns` that are shown, each with its name as a figure; none where there are no patterns."""
    try:
        records = profile.pattern_records()
    except NotAvailableError:
        return []
    return [
        (f"accuracy: {record['pattern']}", record)
        for record in records
        if record["keys"] == ("all" if record["pattern"] in SPECIAL_TOKENS else "words")
    ]


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
    """Subset of ``keys`` that the profile has: one of an older version may lack some."""
    return [key for key in keys if key in profile.keys]


class ProfileSource(Source):
    """The figures of all heads over many texts."""

    name = "profile"
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
        return f"{name_of(self.profile)}, {self.profile.n_texts} texts"

    @property
    def n_tokens(self) -> int:
        return self.profile.total_tokens

    @property
    def size(self) -> int:
        return 1

    def reply(self, request: Request) -> Reply:
        return respond(self, request, HANDLERS)

    def recorded(self, selection: Selection, *, light: bool) -> Recorded:
        """All answers; ``light``: examples of the selected head alone, since others take some milliseconds for each text."""
        profile = self._profile
        if selection.layer is None and selection.head is None:
            layer, head = opening_head(profile)
            selection = replace(selection, layer=layer, head=head)
        chosen = selection.layer or 0, selection.head or 0
        asked: list[dict[str, Any]] = [
            {"kind": "metrics", "tau": metrics.TAU},
            {"kind": "specialization"},
            {"kind": "patterns"},
            {"kind": "roles", "seed": profile.seed},
            {"kind": "roles"},
            *(
                {"kind": "examples", "layer": layer, "head": head, "by": LINK, "lowest": False}
                for layer, head in np.ndindex(profile.n_layers, profile.n_heads)
                if not light or (layer, head) == chosen
            ),
        ]
        return Recorded(selection, profile_paint(profile), asked)

    def table(self, selection: Selection) -> Columns:  # noqa: ARG002
        """One row a head of a profile: each figure with its interval, deviation and count.

        ``layer, head``, and for every key its mean over the texts, then ``<key>_low``, ``<key>_high`` (95%
        interval of that mean), ``<key>_sd`` and ``<key>_count`` (texts that have it).
        """
        profile = self._profile
        figures: dict[str, NDArray[Any]] = {}
        for key in profile.keys:
            for part, values in parts_of(profile, key).items():
                figures[key if part == "metric" else f"{key}_{part}"] = values
        return by_head(figures)

    def cells(self, selection: Selection) -> Cells:
        """A figure of all heads; the first one in the place of the roles, which are no numbers."""
        keys = self._profile.keys
        key = selection.metric if selection.metric in keys else keys[0]
        values = self._profile.mean[key]
        some = values[~np.isnan(values)]
        least, span = (some.min(), np.ptp(some)) if some.size else (0.0, 0.0)
        caption = f"{self.title}: {key} of every head, mean over the texts. Rows are layers, columns heads."
        alt = f"{key} of every head as a heatmap, layers by heads"
        ends: tuple[str, str] | None = None
        if some.size:
            layer, head = divmod(int(np.nanargmax(values)), values.shape[1])
            alt += f"; the largest is {some.max():.3g}, of layer {layer}, head {head}"
            ends = f"{some.min():.3g}", f"{some.max():.3g}"
        rows, columns = (
            [f"{sign}{k}" for k in range(n)] for sign, n in zip("LH", values.shape, strict=True)
        )
        return Cells((values - least) / (span or 1.0), alt, caption, rows, columns, ends)

    def example(self, index: object) -> RunSource:
        """The text that is open.

        Raises `SliceError`: another one was opened since.
        """
        with self.lock:
            if self._opened is None or self._opened[0] != index:
                raise SliceError("This example is no longer open.", "Open it again.")
            return RunSource(self._opened[1])

    def metrics(self, request: Request) -> Answer:
        tau = request.get("tau", metrics.TAU)
        if tau != metrics.TAU:
            raise NotAvailableError(
                f"The profile was counted with tau = {metrics.TAU}, not with {short_repr(tau)}.",
                "Sparsity with another threshold is available for one text: analyze(text).heads.metrics_at(tau).",
            )
        keys = _held(self.profile, CROSS_KEYS)
        return {"tau": tau, "keys": keys, "scale": []}, {
            f"metric:{key}": self.profile.mean[key] for key in keys
        }

    def specialization(self, _request: Request) -> Answer:
        require_one_text(self.profile.part, "Specialization is of the tokens of one text")
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
        require_one_text(self.profile.part, "Patterns are of the tokens of one text")
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
        layer, head = place_of(profile, request)
        by = one_of(request, "by", profile.example_names)
        with self.lock:
            examples = profile.linked_examples(
                layer, head, by, EXAMPLES, request.get("lowest") is True
            )
        arrays: Arrays = {}
        rows: list[dict[str, Any]] = []
        for place, (row, analysis) in enumerate(examples):
            source = analysis.text if analysis.trace.square else analysis.model.source_text
            columns = token_columns(analysis.model.key_tokens, source, None)
            # A query of another text has no place among the tokens that are shown.
            written = {} if analysis.trace.square else {"written": row["query_token"]}
            if "output" in row:
                written["output"] = row["output"]
            rows.append(
                {name: row[name] for name in ("index", "value", "query", "key", "weight")}
                | {name: columns[name] for name in ("text", "before", "special")}
                | written
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
        layer, head = place_of(self.profile, request)
        opened = self.opened(request.get("index"))
        paint = without_other_parts(first_paint(opened, layer, head, live=True))
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

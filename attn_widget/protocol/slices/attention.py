"""Slices of attention and of what follows from it."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from attn_widget.analysis import Analysis
from attn_widget.analysis.base import known_language
from attn_widget.analysis.long.detail import check_rollout
from attn_widget.checks import LARGEST_SEED
from attn_widget.checks.rounding import first_largest
from attn_widget.errors import NotAvailableError, SliceError
from attn_widget.figures.roles import Roles
from attn_widget.model.classification import ClassProbabilities
from attn_widget.model.predictions import Mode
from attn_widget.protocol.handlers import Answer, Arrays, answers
from attn_widget.protocol.initial_payload import (
    describe_metrics,
    describe_predictions,
    prediction_arrays,
)
from attn_widget.protocol.request import (
    Request,
    head_of,
    integer,
    layer_of,
    one_of,
    place_of,
    rows_of,
    span,
)

MAX_TOP_K = 100
TEMPERATURES = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.2, 1.4, 1.6, 1.8, 2.0, 3.0)
MAX_TOKEN_IDS = 1000
MAX_SEED = LARGEST_SEED + 1
MAX_FLOW_EDGES = 120_000  # some 4 s on two cores: 140 tokens in 6 layers, 100 in 12


@answers("weights")
def weights(analysis: Analysis, request: Request) -> Answer:
    layer, rows = layer_of(analysis, request), rows_of(analysis, request)
    matrix = analysis.attention(layer, head_of(analysis, request), rows=rows)
    arrays: dict[str, NDArray[Any]] = {"weights": matrix}
    allowed = analysis.trace.mask(layer)
    if allowed is not None:
        arrays["allowed"] = allowed[rows].astype(np.uint8)
    return {}, arrays


@answers("pair_weights")
def pair_weights(analysis: Analysis, request: Request) -> Answer:
    """One link in every head, NaN where the mask forbids it; of words the mean over queries of the sum over keys."""
    trace = analysis.trace
    rows, cols = rows_of(analysis, request), span(request, "cols", trace.n_keys)
    weights = np.full((trace.n_layers, trace.n_heads), np.nan, dtype=np.float32)
    for layer in range(trace.n_layers):
        allowed = trace.mask(layer)
        if allowed is None or allowed[rows][:, cols].any():
            for head in range(trace.n_heads):
                weights[layer, head] = trace.weights(layer, head, rows, cols).sum(axis=1).mean()
    return {}, {"weights": weights}


@answers("scores")
def scores(analysis: Analysis, request: Request) -> Answer:
    layer, head = place_of(analysis.trace, request)
    return {}, {"scores": analysis.scores(layer, head, rows=rows_of(analysis, request))}


@answers("qkv")
def qkv(analysis: Analysis, request: Request) -> Answer:
    layer, head = place_of(analysis.trace, request)
    rows = rows_of(analysis, request)
    # Keys of another text are none of these rows.
    keys = rows if analysis.trace.square else slice(None)
    arrays = {
        "q": analysis.trace.queries(layer, head)[rows],
        "k": analysis.trace.keys(layer, head)[keys],
    }
    with suppress(NotAvailableError):  # tensors from outside come without values
        arrays["v"] = analysis.trace.values(layer, head)[keys]
    cap = analysis.trace.softcap(layer)
    capped = {} if cap is None else {"cap": cap}
    return {"scaling": analysis.trace.scaling(layer), **capped}, arrays


@answers("metrics", needs_heads=True)
def metrics(analysis: Analysis, request: Request) -> Answer:
    tau = request.get("tau", 0.01)
    figures = analysis.heads.metrics_at(tau)
    arrays = {f"metric:{key}": values for key, values in figures.as_dict().items()}
    return describe_metrics(analysis.trace, figures.tau), arrays


@answers("predictions")
def predictions(analysis: Analysis, request: Request) -> Answer:
    top_k = integer({"top_k": request.get("top_k", 5)}, "top_k", 1, MAX_TOP_K + 1)
    rows = rows_of(analysis, request)
    best = analysis.predictions(top_k=top_k, mode=mode_of(analysis, request), rows=rows)
    return describe_predictions(best), prediction_arrays(best)


@answers("intact")
def unablated(analysis: Analysis, _request: Request) -> Answer:
    """The model's answer with all of its heads: first choices with what is left of each, and classes."""
    data: dict[str, Any] = {"vocabulary": {}, "classes": None}
    arrays: dict[str, NDArray[Any]] = {}
    classes, run = analysis.model.unablated.model.classification, analysis.run
    if classes is not None and classes.task == "sequence":
        best = first_largest(classes.logits)
        share = float(np.ravel(classes.probabilities)[best])
        data["classes"] = {"label": classes.labels[best], "probability": share}
    if run is not None and run.encoder.has_lm:
        before = analysis.model.unablated.predictions(top_k=1)
        data["vocabulary"] = describe_predictions(before)["vocabulary"]
        arrays = {
            "ids": before.ids[:, 0].astype(np.int32),
            "probabilities": before.probabilities[:, 0].astype(np.float64),
            "left": run.probabilities_of(before.ids[:, 0]),
        }
    return data, arrays


def mode_of(analysis: Analysis, request: Request) -> Mode:
    given = {"mode": analysis.model.default_mode, **request}
    return cast("Mode", one_of(given, "mode", ("as_is", "masked", "next")))


@answers("softmax")
def softmax(analysis: Analysis, request: Request) -> Answer:
    position = integer(request, "position", 0, analysis.trace.n_tokens)
    ids = request.get("token_ids")
    if ids is not None:
        if not isinstance(ids, (list, tuple)) or len(ids) > MAX_TOKEN_IDS:
            raise SliceError(f"token_ids must be a list of at most {MAX_TOKEN_IDS} ids.")
        size = analysis.model.vocab_size
        ids = [integer({"token_ids": value}, "token_ids", 0, size) for value in ids]
    mode = mode_of(analysis, request)
    opened = asdict(analysis.model.softmax(position, token_ids=ids, mode=mode))
    if mode == "next" and analysis.run is not None:
        logits = analysis.run.trace.logits_tensor([position])[0].float().cpu().numpy()
        opened["temperatures"] = temperature_sums(logits)
    return opened, {}


def temperature_sums(logits: NDArray[np.float32]) -> list[tuple[float, float]]:
    """Each of `TEMPERATURES` with ``sum(exp((logit - max) / t))`` over the vocabulary, which a page cannot add up itself.

    >>> dict(temperature_sums(np.zeros(3, dtype=np.float32)))[0.5]
    3.0
    """
    away = logits.astype(np.float64) - float(logits.max())
    return [(t, float(np.exp(away / t).sum())) for t in TEMPERATURES]


@answers("language", needs_tagger=True)
def language(analysis: Analysis, _request: Request) -> Answer:
    language = analysis.language
    tokens = language.tokens
    data = {
        "words": [asdict(word) for word in language.words],
        "sentences": [asdict(sentence) for sentence in language.sentences],
        "token_word": [token.word for token in tokens],
        "token_sentence": [token.sentence for token in tokens],
        "token_pos": [token.pos for token in tokens],
        "token_entity": [token.entity for token in tokens],
        "tagger": language.tagger_name,
        "notes": list(language.notes),
    }
    if not analysis.trace.square and "encoder" in analysis.model.parts:
        keys = analysis.of("encoder").language.tokens
        for name in ("word", "sentence", "pos", "entity"):
            data[f"key_{name}"] = [getattr(token, name) for token in keys]
    return data, {}


@answers("rollout")
def rollout(analysis: Analysis, request: Request) -> Answer:
    rows = rows_of(analysis, request)
    check_rollout(analysis.trace.n_tokens)
    return {}, {"weights": analysis.rollout(layer_of(analysis, request))[rows]}


@answers("flow")
def flow(analysis: Analysis, request: Request) -> Answer:
    token = integer(request, "token", 0, analysis.trace.n_tokens)
    edges = analysis.trace.n_layers * analysis.trace.n_tokens**2
    if edges > MAX_FLOW_EDGES:
        raise SliceError(
            f"Attention flow through {analysis.trace.n_layers} layers of {analysis.trace.n_tokens} tokens would "
            "take the kernel from many seconds to minutes.",
            f"Rollout answers the same question at once; flow({token}) of the analysis in Python "
            "computes it all the same.",
        )
    return {}, {"flow": analysis.heads.flow(token)}


@answers("layer_change")
def layer_change(analysis: Analysis, _request: Request) -> Answer:
    return {}, {"change": analysis.heads.layer_change}


@answers("specialization", needs_tagger=True, needs_heads=True)
def specialization(analysis: Analysis, _request: Request) -> Answer:
    figures = analysis.heads.specialization
    forms = {"raw": figures.raw, "scaled": figures.scaled(), "z": figures.zscores()}
    arrays: Arrays = {
        f"{form}:{key}": values[key] for form, values in forms.items() for key in figures.raw
    }
    notes = list(known_language(analysis).notes)
    chance = by_layer(figures.chance_by_layer)
    data = {"keys": list(figures.raw), "chance": chance, "reasons": figures.reasons}
    return {**data, "notes": notes}, arrays


@answers("patterns", needs_heads=True)
def patterns(analysis: Analysis, _request: Request) -> Answer:
    figures = analysis.heads.patterns
    arrays: Arrays = {f"pattern:{key}": values for key, values in figures.as_dict().items()}
    return {"keys": list(figures.keys), "chance": by_layer(figures.chance)}, arrays


def by_layer(chance: Mapping[str, NDArray[np.float64]]) -> dict[str, float | list[float]]:
    """Chance levels [L] by key: one number where all layers are alike, as their masks mostly are."""
    return {
        key: float(values[0])
        if np.array_equal(values, np.full_like(values, values[0]), equal_nan=True)
        else values.tolist()
        for key, values in chance.items()
    }


@answers("roles", needs_tagger=True, needs_heads=True)
def roles(analysis: Analysis, request: Request) -> Answer:
    seed = integer({"seed": request.get("seed", 0)}, "seed", 0, MAX_SEED)
    return describe_roles(analysis.heads.roles(seed))


def describe_roles(roles: Roles) -> Answer:
    arrays: Arrays = {
        "labels": roles.labels,
        "layout": roles.layout,
        "centroids": roles.centroids,
    }
    data = {
        "names": list(roles.names),
        "axes": list(roles.axes),
        "explained": roles.explained,
        "silhouettes": {str(k): value for k, value in roles.silhouettes.items()},
        "seed": roles.seed,
    }
    return data, arrays


def opened_classes(classes: ClassProbabilities) -> Arrays:
    """Rows of classes; for question answering the columns are start and end, and rows positions."""
    columns = len(classes.labels)
    with np.errstate(over="ignore"):  # exp(-z) of a logit below -88 is infinite in float32
        exponentials = classes.exponentials.reshape(-1, columns).astype(np.float32)
    return {
        "logits": classes.logits.reshape(-1, columns).astype(np.float32),
        "exp": exponentials,
        "sum": np.atleast_1d(classes.sum).astype(np.float64),
        "probabilities": classes.probabilities.reshape(-1, columns).astype(np.float32),
    }


@answers("classification")
def classification(analysis: Analysis, _request: Request) -> Answer:
    classes = analysis.model.classification
    if classes is None:
        raise SliceError(
            "This model has no classifier.",
            "Load a checkpoint for sequence or token classification, or question answering.",
        )
    return describe_classes(classes), opened_classes(classes)


def describe_classes(classes: ClassProbabilities) -> dict[str, Any]:
    names = ("task", "activation", "note")
    return {"labels": list(classes.labels), **{name: getattr(classes, name) for name in names}}


@answers("next_sentence")
def next_sentence(analysis: Analysis, _request: Request) -> Answer:
    classes = analysis.model.next_sentence
    return {"labels": list(classes.labels)}, opened_classes(classes)

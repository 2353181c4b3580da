"""The packed first paint: all that the page needs to draw at once, in a few dozen kB.

What lies in it is listed in ``docs/protocol.md`` (section "Pack").
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from attn_widget._version import __version__
from attn_widget.analysis import Analysis
from attn_widget.analysis.base import methods_from_elsewhere
from attn_widget.analysis.opening import Opening, opening
from attn_widget.errors import NotAvailableError
from attn_widget.features import declared, loaded
from attn_widget.figures.arrays import Head, Tau
from attn_widget.figures.metrics import KEYS, TAU, metric_scale
from attn_widget.host.installed import imported
from attn_widget.language.whole_words import beginnings
from attn_widget.model.predictions import Mode, Predictions
from attn_widget.model.tokens import Token
from attn_widget.protocol.head_scan import head_scan, survey
from attn_widget.protocol.pack import pack, unpack
from attn_widget.protocol.selection import Selection
from attn_widget.protocol.slices.heads import heads_so_far
from attn_widget.trace import Trace
from attn_widget.trace.forward import Progress
from attn_widget.trace.windows.masks import keys_per_query, looks_back
from attn_widget.trace.windows.plan import Windows

WEIGHT_CELLS = 40_000  # 160 kB of float32: larger matrices come by slice, after the first picture
HEADS_BYTES = 200_000  # weights of all heads of a short text, which then need no slice: 25 tokens with 6 x 12 heads, 17 with 12 x 12
TOP_K = 5
# Views for which the decoder answers where cross-attention is shown (`written` in js/src/views).
WRITTEN_VIEWS = ("predictions", "why")
MASKED_TABLE = 128  # tokens: so many passes a table of masked predictions may take, some 16 s of bert-base on two cores


class GivesMeta(Protocol):
    """Function that a feature's ``meta`` name: what a page reads of a run, ready for JSON; None of a run without it."""

    def __call__(self, analysis: Analysis, /) -> Any | None: ...


def first_paint(
    analysis: Analysis,
    layer: int,
    head: Head,
    progress: Progress | None = None,
    *,
    streamed: bool = False,
    live: bool = False,
    view: str | None = None,
) -> bytes:
    """Pack the first paint of ``analysis`` with head ``(layer, head)`` selected.

    ``progress`` is called with ``(layers done, n_layers)``; what it raises ends the work. ``streamed``: of a
    long text only what is here already, and the selected head; the page asks for the rest (slice ``heads``).
    ``live``: for a widget, whose kernel may be busy when another head is selected; with all heads of a short text.
    ``view``: that opens; where it shows what is written, the pack of cross-attention has the decoder's.
    """
    trace = analysis.trace
    cells = analysis.trace.n_tokens * analysis.trace.n_keys
    arrays: dict[str, NDArray[Any]]
    if streamed and not head_scan(analysis).walk.complete:
        arrays, computed = heads_so_far(analysis, layer, head)
    else:
        arrays, computed = survey(analysis, progress).arrays(), None
        figures = analysis.metrics.as_dict()
        arrays.update({f"metric:{key}": values for key, values in figures.items()})
    selected = None
    if cells <= WEIGHT_CELLS:
        selected = {"layer": layer, "head": head}
        arrays["weights"] = analysis.attention(layer, head)
        allowed = trace.allowed(layer)
        if allowed is not None:
            arrays["allowed"] = allowed.astype(np.uint8)
    if live and cells * 4 * analysis.trace.n_layers * (analysis.trace.n_heads + 1) <= HEADS_BYTES:
        arrays.update(weights_of_all_heads(analysis))
    if any(trace.mask(index) is not None for index in range(analysis.trace.n_layers)):
        arrays["possible"] = np.stack(possible_keys(trace)).astype(np.int32)
    # A long text's predictions take as long as its forward pass: the view asks for them.
    predictions = None if streamed else predictions_or_none(analysis)
    if predictions is not None:
        arrays.update(prediction_arrays(predictions))
    meta = {
        "version": 1,
        "model": describe_model(analysis),
        "text": analysis.text or "",
        "text_pair": analysis.text_pair,
        "truncated": analysis.model.truncated,
        "tokens": token_columns(analysis.tokens, analysis.text, analysis.text_pair),
        "masked": [asdict(hidden) for hidden in analysis.model.masked],
        "heads_off": [[*address] for address in analysis.model.addresses_off],
        "unknown": unknown_tokens(analysis),
        "profile": None,
        "metrics": describe_metrics(trace, TAU),
        "thumb": arrays["thumbs"].shape[-2],
        "predictions": None
        if predictions is None
        else {**describe_predictions(predictions), "opens": opening_mode(analysis)},
        "selected": selected,
        "versions": versions(),
    }
    meta.update(describe_parts(analysis, arrays["thumbs"].shape[-1]))
    if view in WRITTEN_VIEWS and analysis.part == "cross" and analysis.run is not None:
        decoder = analysis.of("decoder")
        opened = opening(decoder)
        paint = first_paint(decoder, opened.layer, opened.head, streamed=streamed)
        arrays["decoder"] = np.frombuffer(paint, np.uint8)
    if computed is not None:
        meta["computed"] = computed
    if outside := methods_from_elsewhere(analysis):
        meta["outside"] = [*outside]
    if analysis.model.generated:
        meta["written"] = analysis.trace.n_tokens - len(analysis.model.generated)
    elif analysis.run is not None and analysis.run.encoding.asked:
        meta["wrote_nothing"] = True
    if analysis.run is not None and analysis.run.encoding.note:
        meta["note"] = analysis.run.encoding.note
    read = None if analysis.run is None else analysis.run.encoding
    for name, path in declared("meta") if read and (read.units or read.wordless) else ():
        give: GivesMeta = loaded(path)
        if (value := give(analysis)) is not None:
            meta[name] = value
    if trace.has_rest:
        meta["rest"] = True
    looking_back = [
        layer for layer in range(analysis.trace.n_layers) if looks_back(trace.mask(layer))
    ]
    if looking_back:
        limit = analysis.heads.rollout_limit
        meta["mask"] = {
            "back": looking_back,
            "found": trace.mask_found,
            "rollout": None
            if analysis.heads.no_rollout
            else limit and {"layer": limit[0], "token": limit[1], "share": limit[2]},
        }
    if trace.windows is not None:
        meta["windows"] = describe_windows(trace.windows)
    return pack(meta, arrays)


def without_other_parts(paint: bytes) -> bytes:
    """A pack without a switch of parts, where these cannot be switched; that of a run of one text as it is."""
    meta, arrays = unpack(paint)
    return pack({**meta, "parts": [meta["part"]]}, arrays) if "parts" in meta else paint


def describe_parts(analysis: Analysis, thumb_keys: int) -> dict[str, Any]:
    """Meta of one part of an encoder-decoder, or of attention from one text to another; nothing of a run of one text."""
    if analysis.part == "self":
        return {}
    meta: dict[str, Any] = {"parts": [*analysis.model.parts], "part": analysis.part}
    if not analysis.trace.square:
        meta["keys"] = token_columns(analysis.model.key_tokens, analysis.model.source_text, None)
        meta["thumb_keys"] = thumb_keys
    if analysis.heads.no_rollout is not None:
        meta["no_rollout"] = analysis.heads.no_rollout
    if analysis.part == "encoder":
        return meta
    if analysis.trace.square and "encoder" in analysis.model.parts:
        source = analysis.of("encoder").tokens
        meta["source_tokens"] = token_columns(source, analysis.model.source_text, None)
    meta["source_text"] = analysis.model.source_text
    meta["next_token"] = analysis.model.next_token
    return meta


TOKEN_COLUMNS = ("text", "surface", "before", "id", "start", "end", "segment", "special")


def meta_without_tokens(model: dict[str, Any], versions: dict[str, str]) -> dict[str, Any]:
    """Meta of a pack that is of no single run: no tokens, weights, metrics or predictions."""
    return {
        "version": 1,
        "model": model,
        "text": "",
        "text_pair": None,
        "truncated": None,
        "tokens": {column: [] for column in TOKEN_COLUMNS},
        "masked": [],
        "profile": None,
        "metrics": {"keys": [], "tau": TAU, "scale": []},
        "thumb": 0,
        "predictions": None,
        "selected": None,
        "versions": versions,
    }


def weights_of_all_heads(analysis: Analysis) -> dict[str, NDArray[Any]]:
    """``heads``, float32 [L, H + 1, n, m], the last one of a layer its mean; ``masks``, uint8 [L, n, m], where a mask forbids cells."""
    heads: list[Head] = [*range(analysis.trace.n_heads), "mean"]
    layers = range(analysis.trace.n_layers)
    matrices = [[analysis.attention(layer, head) for head in heads] for layer in layers]
    masks = [analysis.trace.allowed(layer) for layer in layers]
    arrays: dict[str, NDArray[Any]] = {"heads": np.array(matrices, dtype=np.float32)}
    if any(mask is not None for mask in masks):
        every = np.ones((analysis.trace.n_tokens, analysis.trace.n_keys), dtype=np.uint8)
        arrays["masks"] = np.array([every if m is None else m for m in masks], dtype=np.uint8)
    return arrays


def opening_of(
    analysis: Analysis,
    selection: Selection,
    layers: Sequence[int] | None = None,
    heads: Sequence[int] | None = None,
) -> Opening:
    """Opening of a picture that was asked for with ``selection``: what stands in it is kept.

    A head is chosen where none is given, in the given layer if there is one; a token, where a head was
    chosen and no token, pair or group is given.
    """
    layer, head, token = selection.layer, selection.head, selection.token
    if head is None or (layer is None and head != "mean"):
        chosen = opening(
            analysis,
            layers if layer is None else [layer],
            heads if head is None else [head],
        )
        named = token is not None or selection.pair or selection.group
        return replace(chosen, token=token, key=None, words=False) if named else chosen
    return Opening(layer or 0, head, token)


def describe_model(analysis: Analysis) -> dict[str, Any]:
    """The ``model`` entry of the pack's meta."""
    trace = analysis.trace
    run = analysis.run
    encoder = None if run is None else run.encoder
    return {
        "name": "attention tensors" if encoder is None else encoder.name,
        "family": None if encoder is None else encoder.family.name,
        "n_layers": analysis.trace.n_layers,
        "n_heads": analysis.trace.n_heads,
        "head_dim": trace.head_dim,
        "hidden_size": 0 if encoder is None else encoder.hidden_size,
        "vocab_size": 0 if encoder is None else encoder.vocab_size,
        "max_length": analysis.trace.n_tokens if encoder is None else encoder.max_length,
        "revision": None if encoder is None else encoder.revision,
        "has": {
            "mlm": encoder is not None and encoder.has_lm,
            "nsp": encoder is not None and encoder.has_nsp,
            "classifier": encoder is not None and trace.classifier_logits is not None,
            "scores": trace.has_scores,
            "qkv": trace.has_qkv,
        },
        "predicts": "here" if encoder is None else encoder.predicts,
    }


def describe_windows(windows: Windows) -> dict[str, Any]:
    """The ``windows`` entry of the pack's meta."""
    return {
        "size": windows.size,
        "overlap": windows.overlap,
        "spans": [[*span] for span in windows.spans],
        "of": windows.of.tolist(),
    }


def possible_keys(trace: Trace) -> list[NDArray[np.int_]]:
    """Number of keys that each query may attend to, int [n] for each layer."""
    n, m = trace.n_tokens, trace.n_keys
    masks = [trace.mask(layer) for layer in range(trace.n_layers)]
    counts: dict[int, NDArray[np.int_]] = {}  # layers of a kind share their mask
    for mask in masks:
        if id(mask) not in counts:
            counts[id(mask)] = np.full(n, m) if mask is None else keys_per_query(mask)
    return [counts[id(mask)] for mask in masks]


def describe_metrics(trace: Trace, tau: Tau) -> dict[str, Any]:
    """``keys``, ``tau`` and ``scale`` (docs/protocol.md)."""
    return {"keys": list(KEYS), "tau": tau, "scale": metric_scale(possible_keys(trace), tau)}


def token_columns(
    tokens: tuple[Token, ...], text: str | None, text_pair: str | None
) -> dict[str, list[Any]]:
    """The tokens by column, with the text that stands before each one in its segment."""
    texts = (text or "", text_pair or "")
    before: list[str] = []
    reached = [0, 0]
    for token in tokens:
        if token.special and token.start == token.end:
            before.append("")
            continue
        apart = text is None and not token.end  # a part of what is no text
        before.append(" " if apart else texts[token.segment][reached[token.segment] : token.start])
        reached[token.segment] = max(reached[token.segment], token.end)
    some = [
        *TOKEN_COLUMNS,
        *(["boilerplate"] if any(token.boilerplate for token in tokens) else []),
    ]
    return {
        name: before if name == "before" else [getattr(token, name) for token in tokens]
        for name in some
    }


def predictions_or_none(analysis: Analysis) -> Predictions | None:
    try:
        return analysis.predictions(top_k=TOP_K)
    except NotAvailableError:
        return None


def opening_mode(analysis: Analysis) -> Mode:
    """The mode that the view Predictions opens on.

    Masked, where the model can: as is, nearly every first choice is the token itself.
    """
    run = analysis.run
    if run is None or analysis.model.masked or run.encoder.mask_token_id is None:
        return analysis.model.default_mode
    return "next" if analysis.model.default_mode == "next" else "masked"


def table_mode(opens: Mode, n_tokens: int) -> Mode:
    """The mode of a table of all positions: ``opens``, but as is where masking each position takes too long to wait for."""
    return "as_is" if opens == "masked" and n_tokens > MASKED_TABLE else opens


def unknown_tokens(analysis: Analysis) -> dict[str, Any] | None:
    """Number of tokens unknown to the tokenizer, where these are most of a text; else None."""
    if analysis.run is None:
        return None
    tokenizer = analysis.run.encoder.reader
    if tokenizer.unk_token_id is None:
        return None
    words = [token.id for token in analysis.trace.tokens if not token.special]
    count = words.count(tokenizer.unk_token_id)
    if 2 * count <= len(words):
        return None
    return {"count": count, "tokens": len(words), "text": str(tokenizer.unk_token)}


def describe_predictions(predictions: Predictions) -> dict[str, Any]:
    """Mode, ``top_k`` and the texts of the predicted tokens; in mode "next" the perplexity of the text."""
    vocabulary = {
        str(token_id): token
        for ids, tokens in zip(predictions.ids.tolist(), predictions.tokens, strict=True)
        for token_id, token in zip(ids, tokens, strict=True)
    }
    data: dict[str, Any] = {
        "mode": predictions.mode,
        "top_k": predictions.top_k,
        "vocabulary": vocabulary,
    }
    if predictions.mode == "next":
        data["perplexity"] = predictions.perplexity
        data["beginnings"] = beginnings(vocabulary.values())
    return data


def prediction_arrays(predictions: Predictions) -> dict[str, NDArray[Any]]:
    """Arrays of a ``predictions`` slice; in mode "next" with rank and surprisal (bits) of the token that follows."""
    arrays: dict[str, NDArray[Any]] = {
        "prediction_ids": predictions.ids,
        "prediction_probabilities": predictions.probabilities,
        "prediction_logits": predictions.logits,
        "logit_max": predictions.logit_max,
        "log_sum_exp": predictions.log_sum_exp,
        "original_rank": predictions.original_rank,
        "original_probability": predictions.original_probability,
    }
    if predictions.mode == "next":
        arrays["next_rank"] = predictions.original_rank
        arrays["next_surprisal"] = predictions.original_surprisal
    return arrays


def versions() -> dict[str, str]:
    """Versions for captions; of torch and transformers only when they are loaded."""
    numbers = {"attn_widget": __version__}
    for name in ("transformers", "torch"):
        module = imported(name)
        if module is not None:
            numbers[name] = str(module.__version__)
    return numbers

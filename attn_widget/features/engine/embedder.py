"""An embedder's head for the engine of a page (js/src/features/engine/page/similar.ts)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from attn_widget.analysis.texts import run_text
from attn_widget.errors import NotAvailableError
from attn_widget.features.engine.rounding import are_halves, rounded
from attn_widget.trace.run import Run

if TYPE_CHECKING:
    from attn_widget.features.similarity.similarity import Similarity

POOLINGS = ("mean", "cls", "last", "weighted", "mean_sqrt")  # weighted sums of hidden states


def check_embedder(result: object) -> Similarity:
    """``result``, if the engine can compare other texts as it was made.

    Raises `NotAvailableError`: a ranking, a reranker, late interaction, or a head of other parts.
    """
    from attn_widget.features.similarity.similarity import Similarity

    if not isinstance(result, Similarity):
        raise NotAvailableError(
            "A ranking's texts are fixed, so its page needs no engine.", "Leave engine out."
        )
    head = result.a.run.encoder.embedding if result.a.run is not None else None
    if result.kind not in ("cosine", "dot") or head is None:
        raise NotAvailableError(
            f"The engine of a page compares embeddings of texts, and this score is a {result.kind}.",
            "Leave engine out.",
        )
    kinds = {type(layer).__name__ for layer in head.layers}
    first, *others = head.pooling
    if others or first not in POOLINGS or kinds - {"Normalize"}:
        raise NotAvailableError(
            f"The engine of a page has no head like {head!r}.",
            f"It has one pooling ({', '.join(POOLINGS)}), with Normalize or without.",
        )
    if any(result.reader.prompts) and not head.pools_prompt:
        raise NotAvailableError(
            "This model pools no prompts, which the engine of a page does.", "Leave engine out."
        )
    if result.a.model.heads_off:
        raise NotAvailableError(
            "The engine of a page compares texts with all heads on.", "Save intact."
        )
    return result


def embedder_facts(similarity: Similarity) -> dict[str, Any]:
    """The head and how it is given texts, for a page.

    Returns: the fields of ``Embedder`` in ``similar.ts``; ``rounding`` is what the engine's matrices change in the
    score of these texts and, at most, in an entry of ``input``.
    """
    run = similarity.a.run
    assert run is not None  # of every similarity
    encoder, head = run.encoder, run.encoder.embedding
    assert head is not None  # `check_embedder` has refused others
    longest = encoder.max_length
    return {
        "kind": similarity.kind,
        "pooling": head.pooling[0],
        "unit": similarity.kind == "cosine" or bool(head.layers),
        "prompts": list(similarity.reader.prompts),
        "lowercase": head.lowercase,
        "longest": min(longest, head.max_length or longest),
        "notes": list(similarity.reader.notes),
        "rounding": _rounding(similarity),
    }


def _rounding(similarity: Similarity) -> dict[str, float]:
    from attn_widget.features.similarity.sums import input_sum
    from attn_widget.features.why.bound_target import embedding_of, unit_vectors

    runs = (similarity.a.run, similarity.b.run)
    if all(run is not None and are_halves(run.encoder) for run in runs):
        return {"score": 0.0, "entry": 0.0}
    cosine = similarity.kind == "cosine"

    def again(of: str) -> Run:
        side: Any = similarity.side(of)  # pyright: ignore[reportArgumentType]
        other = rounded(side.run.encoder)
        found = run_text(other, side.text, None, truncation=True, tagger=None).run
        assert found is not None  # of every text that is run
        return found

    a, b = again("a"), again("b")
    vectors = [embedding_of(run).double() for run in (a, b)]
    if cosine:
        vectors = [
            unit_vectors(vector, run.encoder.name)
            for vector, run in zip(vectors, (a, b), strict=True)
        ]
    moved = np.abs(input_sum(a, b, cosine).pairs - similarity.matrix("input")).max()
    return {"score": abs(similarity.score - float(vectors[0] @ vectors[1])), "entry": float(moved)}

"""Exact sums over pairs of tokens for the similarity of two texts (docs/similarity.md)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from attn_widget.errors import NotAvailableError
from attn_widget.features.similarity.linear_text import LinearText
from attn_widget.features.why.bound_target import embedding_of, scored_tokens
from attn_widget.figures.arrays import Float64
from attn_widget.trace.forward import Progress
from attn_widget.trace.run import Run

KINDS = ("input", "output", "maxsim")


@dataclass(frozen=True)
class Sum:
    """A score as a sum over pairs of tokens.

    Attributes
    ----------
    pairs : float64 [n_a, n_b]
    biases_a : float64 [n_a]
        ``<u_i, v_0>``: a token of the first text and the biases of the second.
    biases_b : float64 [n_b]
        ``<u_0, v_j>``.
    both : float
        ``<u_0, v_0>``.
    """

    pairs: Float64
    biases_a: Float64
    biases_b: Float64
    both: float

    @property
    def biases(self) -> Float64:
        """All entries with a bias: float64 [n_a + n_b + 1]."""
        return np.concatenate([self.biases_a, self.biases_b, [self.both]])

    def gap(self, score: float) -> float | None:
        """Distance of the sum from a score, relative to what is summed; None where that is 0."""
        entries = np.concatenate([self.pairs.ravel(), self.biases])
        summed = float(np.abs(entries).sum())
        return abs(float(entries.sum()) - score) / summed if summed else None


def input_sum(a: Run, b: Run, cosine: bool, progress: Progress | None = None) -> Sum:
    """``<u_i, v_j> / (|e_a| |e_b|)``, or without the lengths; of late interaction, summed over the pairs that count.

    The vectors of the shorter text are made, one pass each; each is then a direction whose contributions by the
    longer text take one backward pass.

    ``progress``: called with ``(passes done, all)``; an exception that it raises cancels the work.
    """
    of_a, of_b = LinearText(a), LinearText(b)
    if (
        of_a.embedding.ndim == 2
    ):  # late interaction: every token of `a` meets the one that answers it
        weights = best_answers(b, _unit_rows(of_a.embedding) @ _unit_rows(of_b.embedding).T)
        weights /= np.linalg.norm(of_a.embedding, axis=1)[:, None]
        weights /= np.linalg.norm(of_b.embedding, axis=1)
    else:
        lengths = np.linalg.norm(of_a.embedding) * np.linalg.norm(of_b.embedding)
        weights = np.array(1 / lengths if cosine else 1.0)
    swapped = of_a.n_tokens > of_b.n_tokens
    short, long = (of_b, of_a) if swapped else (of_a, of_b)
    total, done = 2 * short.n_tokens + 1, 0

    def report(passes: int) -> None:
        nonlocal done
        done += passes
        if progress is not None:
            progress(done, total)

    vectors = np.concatenate([short.vectors(report), short.bias[None]])
    directions = _toward(vectors, weights.T if swapped else weights)
    table = np.empty((len(vectors), long.n_tokens + 1))
    table[:, :-1] = long.contributions(directions, report)
    table[:, -1] = (directions * long.bias).reshape(len(vectors), -1).sum(axis=1)
    if swapped:
        table = table.T
    return Sum(table[:-1, :-1], table[:-1, -1], table[-1, :-1], float(table[-1, -1]))


def input_row(
    linear: tuple[LinearText, LinearText], token: int, cosine: bool
) -> tuple[Float64, float]:
    """A row of `input_sum` of one embedding for each input: what a token gives with each token of the other one, float64 [n], and with its biases.

    ``linear``: the input of the token, and the other one. One pass forward, and one backward.
    """
    own, other = linear
    vector = own.vector(token)
    if cosine:
        vector = vector / (np.linalg.norm(own.embedding) * np.linalg.norm(other.embedding))
    return other.contributions(vector[None])[0], float(vector @ other.bias)


def _toward(vectors: Float64, weights: Float64) -> Float64:
    """Directions in the other text's embeddings: vectors [m, d'] by one weight, or [m, n, d'] by those [n, k] of pairs."""
    if weights.ndim == 0:
        return vectors * weights
    return np.einsum("mnd,nk->mkd", vectors, weights)


def best_answers(b: Run, cosines: Float64) -> Float64:
    """1 at each query token's largest cosine with a token of the passage, 0 elsewhere: float64 [n_a, n_b]."""
    scored = scored_tokens(b.encoder, b.encoding.inputs, True)[0].cpu().numpy()
    best = np.where(scored, cosines, -np.inf).argmax(axis=1)
    answers = np.zeros_like(cosines)
    answers[np.arange(len(cosines)), best] = 1
    return answers


def output_sum(a: Run, b: Run, cosine: bool) -> Sum:
    """``<h_i, h_j> w_i w_j / (|e_a| |e_b|)`` with last hidden states ``h`` and the pooling's weights ``w``.

    Raises `NotAvailableError`: an embedding that is not a weighted sum of hidden states.
    """
    parts = [_pooled_states(run) for run in (a, b)]
    pairs = parts[0] @ parts[1].T
    heads = [run.encoder.embedding for run in (a, b)]
    lengths = np.prod([np.linalg.norm(part.sum(axis=0)) for part in parts])
    # A model that ends with Normalize has unit embeddings, so that its dot product is the cosine.
    if cosine or all(head is not None and head.layers for head in heads):
        pairs = pairs / lengths
    return _without_biases(pairs)


def has_output(run: Run) -> bool:
    """True if a run's embedding is a weighted sum of its hidden states."""
    head = run.encoder.embedding
    return head is not None and head.weights(run.encoding.inputs.get("attention_mask")) is not None


def maxsim_sum(a: Run, b: Run) -> Sum:
    """Each query token's largest cosine with a token of the passage; 0 elsewhere."""
    cosines = token_cosines(a, b)
    return _without_biases(cosines * best_answers(b, cosines))


def token_cosines(a: Run, b: Run) -> Float64:
    """Cosines of the embeddings of tokens, float64 [n_a, n_b]."""
    of_a, of_b = (_unit_rows(embedding_of(run).double().cpu().numpy()) for run in (a, b))
    return of_a @ of_b.T


def _unit_rows(vectors: Float64) -> Float64:
    return vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)


def _pooled_states(run: Run) -> Float64:
    """``w_i h_i``, float64 [n, d]."""
    head, states = run.encoder.embedding, run.trace.hidden_states
    assert head is not None and states is not None  # the caller has asked
    weights = head.weights(run.encoding.inputs.get("attention_mask"))
    if weights is None:
        raise NotAvailableError(
            f"The embedding of {run.encoder.name} is not a weighted sum of its hidden states ({head!r}).",
            "matrix('input') is available.",
        )
    return weights[0][:, None] * np.asarray(states[-1], dtype=np.float64)


def _without_biases(pairs: Float64) -> Sum:
    return Sum(pairs, np.zeros(pairs.shape[0]), np.zeros(pairs.shape[1]), 0.0)

"""Predictions of the language-model head at every position (docs/definitions.md, section 7).

An encoder's head is ``LayerNorm(GELU(h W + b)) E^T + b_vocab`` (Devlin et al. 2019), a decoder's ``norm(h) U``; the
logits come from the model, here they become probabilities.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from attn_widget.errors import NotAvailableError
from attn_widget.host.frames import Records, records
from attn_widget.model.tokens import Token

Mode = Literal["as_is", "masked", "next"]
# rows of [n, vocabulary] in float64 at a time: 1 MB for 30,522 entries, which a core's cache holds
ROWS_AT_ONCE = 4
ROWS_AT_ONCE_GPU = 64  # where every call has to be waited for


@dataclass(frozen=True)
class Predictions(Records):
    """The best ``k`` entries of the vocabulary for every position.

    Attributes
    ----------
    mode : {"as_is", "masked", "next"}
        Of an encoder, the unmasked input, or each position replaced by the mask token in turn. Of a decoder, the
        token that follows each position.
    ids : int32 [n, k]
    tokens : list of list of str, [n][k]
        As the tokenizer has them.
    probabilities : float32 [n, k]
        ``softmax(logits)`` over the whole vocabulary.
    logits : float32 [n, k]
    logit_max : float32 [n]
        The largest logit of the row.
    log_sum_exp : float64 [n]
        Natural log of the sum of ``exp(logit)`` over the vocabulary.
    original_rank : int32 [n]
        1 = the model's first choice is the token that stands there; in mode "next" the token after it, and 0 at the
        last position, which none follows.
    original_probability : float32 [n]
        Of that token; NaN where there is none.
    original_surprisal : float32 [n]
        ``-log2`` of that probability, in bits.
    earlier_rank, earlier_probability, earlier_surprisal : float32 [n], or None
        In mode "next" the same of the token that stands at each position, which is predicted at the one before; NaN at
        the first position, which nothing predicts.
    positions : tuple of Token, length n
    at : tuple of int, length n
        Where these tokens stand in the text; from 0 on if it is empty.
    """

    mode: Mode
    ids: NDArray[np.int32]
    tokens: list[list[str]]
    probabilities: NDArray[np.float32]
    logits: NDArray[np.float32]
    logit_max: NDArray[np.float32]
    log_sum_exp: NDArray[np.float64]
    original_rank: NDArray[np.int32]
    original_probability: NDArray[np.float32]
    original_surprisal: NDArray[np.float32]
    positions: tuple[Token, ...] = ()
    earlier_rank: NDArray[np.float32] | None = None
    earlier_probability: NDArray[np.float32] | None = None
    earlier_surprisal: NDArray[np.float32] | None = None
    at: tuple[int, ...] = ()

    @property
    def top_k(self) -> int:
        return int(self.ids.shape[1])

    @property
    def mean_surprisal(self) -> float:
        """Mean of ``original_surprisal`` over the positions that have one, in bits; NaN where none has."""
        surprisal = self.original_surprisal[~np.isnan(self.original_surprisal)].astype(np.float64)
        return float(surprisal.mean()) if surprisal.size else float("nan")

    @property
    def perplexity(self) -> float:
        """``2 ** mean_surprisal``: of a decoder, how many tokens it wavers between on average."""
        return float(np.exp2(self.mean_surprisal))

    def to_records(self) -> list[dict[str, Any]]:
        """One record for every position and rank: ``position, token, rank, prediction, id, probability, logit``.

        Of an encoder also ``original_rank, original_probability`` of the token that stands there. Of a decoder,
        ``token_rank, token_probability, token_surprisal`` of that token, which the position before predicts (NaN at the first
        one): the predictions are for the token that follows.
        """

        def down(column: Any) -> Any:  # the same for every rank
            return np.asarray(column)[:, None]

        if self.mode == "next":
            assert self.earlier_rank is not None  # of every decoder
            ranks = [r if math.isnan(r) else int(r) for r in self.earlier_rank.tolist()]
            of_token = {
                "token_rank": down(np.array(ranks, dtype=object)),
                "token_probability": down(self.earlier_probability),
                "token_surprisal": down(self.earlier_surprisal),
            }
        else:
            of_token = {
                "original_rank": down(self.original_rank),
                "original_probability": down(self.original_probability),
            }
        return records(
            position=down(self.at or range(len(self.positions))),
            token=down([token.text for token in self.positions]),
            rank=np.arange(1, self.top_k + 1),
            prediction=self.tokens,
            id=self.ids,
            probability=self.probabilities,
            logit=self.logits,
            **of_token,
        )

    def __repr__(self) -> str:
        n, k = self.ids.shape
        return f"Predictions(mode={self.mode!r}, {n} positions, top {k})"


@dataclass(frozen=True)
class Softmax:
    """The softmax of one position opened up: ``probability = exp / sum_exp``.

    Attributes
    ----------
    position : int
    logit_max : float
        The largest logit; subtracted before the exponential, so that nothing overflows.
    sum_exp : float
        ``sum(exp(logit - logit_max))`` over the vocabulary.
    log_sum_exp : float
        Natural log of ``sum(exp(logit))``.
    vocab_size : int
    entries : list of dict
        ``id, token, logit, exp, probability, rank`` for each token asked for.
    """

    position: int
    logit_max: float
    sum_exp: float
    log_sum_exp: float
    vocab_size: int
    entries: list[dict[str, Any]]


def no_softmax(position: int) -> NotAvailableError:
    """Error for logits that are not finite; attention below the head remains valid."""
    return NotAvailableError(
        f"The language-model head gave numbers that are not finite at position {position}: they have no "
        "softmax.",
        "Its weights hold NaN, or overflow: get the checkpoint again, or load it with dtype='float32'.",
    )


def summarize(
    logits: Any,
    original_ids: NDArray[np.int64],
    top_k: int,
) -> dict[str, NDArray[Any]]:
    """The top ``top_k`` of every row of ``logits``, with what is needed to open the softmax.

    ``logits``: tensor or array [n, vocabulary], float. ``original_ids``, int [n]: the token that really stands at
    each position, or follows it, for its rank and probability; -1 where there is none. Returns: the array
    attributes of `Predictions`, by name.
    """
    parts: dict[str, list[NDArray[Any]]] = {}
    if isinstance(logits, np.ndarray):
        for start in range(0, len(logits), ROWS_AT_ONCE):
            rows = logits[start : start + ROWS_AT_ONCE]
            own = original_ids[start : start + ROWS_AT_ONCE, None]
            for name, column in _summarized(rows, own, top_k, start).items():
                parts.setdefault(name, []).append(column)
        return {name: np.concatenate(chunks) for name, chunks in parts.items()}
    import torch

    original = torch.as_tensor(original_ids, device=logits.device)
    step = ROWS_AT_ONCE if logits.device.type == "cpu" else ROWS_AT_ONCE_GPU
    for start in range(0, logits.shape[0], step):
        rows = logits[start : start + step].float()
        best, ids = rows.topk(top_k, dim=-1)
        log_sum = torch.logsumexp(rows.double(), dim=-1)
        if not bool(log_sum.isfinite().all()):
            raise no_softmax(start + int((~log_sum.isfinite()).nonzero()[0, 0]))
        wanted = original[start : start + step, None]
        has_original = wanted[:, 0] >= 0
        own = rows.gather(1, wanted.clamp_min(0))
        nats = (log_sum - own[:, 0].double()).masked_fill(~has_original, torch.nan)
        columns = {
            "ids": ids.to(torch.int32),
            "logits": best,
            "probabilities": torch.exp(best.double() - log_sum[:, None]).float(),
            "logit_max": best[:, 0],
            "log_sum_exp": log_sum,
            "original_rank": ((rows > own).sum(-1, dtype=torch.int32) + 1) * has_original,
            "original_probability": torch.exp(-nats).float(),
            "original_surprisal": (nats / math.log(2)).float(),
        }
        for name, column in columns.items():
            parts.setdefault(name, []).append(column.cpu().numpy())
    return {name: np.concatenate(chunks) for name, chunks in parts.items()}


def _summarized(
    rows: NDArray[np.float32], original_ids: NDArray[np.int64], top_k: int, first: int
) -> dict[str, NDArray[Any]]:
    """`summarize` of a few rows [r, vocabulary] with a token each, the first of which is position ``first``."""
    some = np.argpartition(-rows, top_k - 1)[:, :top_k]
    # Equal logits are in the order of their ids.
    ids = np.take_along_axis(some, np.lexsort((some, -np.take_along_axis(rows, some, 1))), 1)
    best, own = (np.take_along_axis(rows, at, 1) for at in (ids, original_ids))
    largest = rows.max(axis=-1).astype(np.float64)
    with np.errstate(invalid="ignore"):
        exponentials = np.exp(rows - largest[:, None])
    log_sum = largest + np.log(exponentials.sum(axis=-1))
    if not np.isfinite(log_sum).all():
        raise no_softmax(first + int((~np.isfinite(log_sum)).argmax()))
    nats = log_sum - own[:, 0]
    return {
        "ids": ids.astype(np.int32),
        "logits": best,
        "probabilities": np.exp(best - log_sum[:, None]).astype(np.float32),
        "logit_max": best[:, 0],
        "log_sum_exp": log_sum,
        "original_rank": (rows > own).sum(axis=-1, dtype=np.int32) + 1,
        "original_probability": np.exp(-nats).astype(np.float32),
        "original_surprisal": (nats / math.log(2)).astype(np.float32),
    }


def probabilities(logits: Any) -> NDArray[np.float64]:
    """The softmax of every row of a tensor or an array, in float64."""
    if not isinstance(logits, np.ndarray):
        return logits.double().softmax(dim=-1).cpu().numpy()
    wide = logits.astype(np.float64)
    wide = np.exp(wide - wide.max(axis=-1, keepdims=True))
    return wide / wide.sum(axis=-1, keepdims=True)


def open_softmax(
    logits: NDArray[np.floating[Any]], position: int, ids: list[int], tokens: list[str]
) -> Softmax:
    """Open the softmax of one row.

    ``logits``: float [vocabulary]. ``ids``, ``tokens``: the entries to show.

    >>> import numpy as np
    >>> s = open_softmax(np.log(np.array([1.0, 2.0, 5.0])), 0, [2], ["five"])
    >>> round(s.entries[0]["probability"], 3), s.entries[0]["rank"]
    (0.625, 1)
    """
    wide = np.asarray(logits, dtype=np.float64)
    if np.isnan(wide).any() or not np.isfinite(wide.max()):
        raise no_softmax(position)
    largest = float(wide.max())
    exps = np.exp(wide - largest)
    total = float(exps.sum())
    entries = [
        {
            "id": int(i),
            "token": token,
            "logit": float(wide[i]),
            "exp": float(exps[i]),
            "probability": float(exps[i] / total),
            "rank": int((wide > wide[i]).sum()) + 1,
        }
        for i, token in zip(ids, tokens, strict=True)
    ]
    return Softmax(position, largest, total, largest + float(np.log(total)), wide.size, entries)

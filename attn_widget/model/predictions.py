"""Predictions of the masked-LM head at every position (docs/definitions.md, section 7).

The head is ``LayerNorm(GELU(h W + b)) E^T + b_vocab`` (Devlin et al. 2019); its logits come from
the model, here they become probabilities.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from attn_widget.errors import NotAvailableError

if TYPE_CHECKING:
    import torch

    from attn_widget.model.tokens import Token

Mode = Literal["as_is", "masked"]
# rows of [n, vocabulary] in float64 at a time: 1 MB for 30,522 entries, which a core's cache holds
ROWS_AT_ONCE = 4
ROWS_AT_ONCE_GPU = 64  # where every call has to be waited for


@dataclass(frozen=True)
class Predictions:
    """The best ``k`` entries of the vocabulary for every position.

    Attributes
    ----------
    mode : {"as_is", "masked"}
        The unmasked input, or each position replaced by the mask token in turn.
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
        1 = the model's first choice is the token that stands there.
    original_probability : float32 [n]
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
    positions: tuple[Token, ...] = ()

    @property
    def top_k(self) -> int:
        return int(self.ids.shape[1])

    def to_records(self) -> list[dict[str, Any]]:
        """One record for every position and rank: position, token, rank, prediction, probability, logit."""
        return [
            {
                "position": i,
                "token": token.text,
                "rank": rank + 1,
                "prediction": self.tokens[i][rank],
                "id": int(self.ids[i, rank]),
                "probability": float(self.probabilities[i, rank]),
                "logit": float(self.logits[i, rank]),
                "original_rank": int(self.original_rank[i]),
                "original_probability": float(self.original_probability[i]),
            }
            for i, token in enumerate(self.positions)
            for rank in range(self.top_k)
        ]

    def to_dataframe(self) -> Any:
        """`to_records` as a pandas DataFrame (needs the extra ``tables``)."""
        from attn_widget.host.frames import dataframe

        return dataframe(self.to_records())

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
        f"The masked-LM head gave numbers that are not finite at position {position}: they have no "
        "softmax.",
        "Its weights hold NaN, or overflow: get the checkpoint again, or load it with dtype='float32'.",
    )


def summarize(
    logits: torch.Tensor,
    original_ids: NDArray[np.int64],
    top_k: int,
) -> dict[str, NDArray[Any]]:
    """The top ``top_k`` of every row of ``logits``, with what is needed to open the softmax.

    Parameters
    ----------
    logits : tensor [n, vocabulary], float
    original_ids : int [n]
        The token that really stands at each position, for its rank and probability.

    Returns
    -------
    dict of ndarray
        The array attributes of `Predictions`, by name.
    """
    import torch

    parts: dict[str, list[NDArray[Any]]] = {}
    original = torch.as_tensor(original_ids, device=logits.device)
    step = ROWS_AT_ONCE if logits.device.type == "cpu" else ROWS_AT_ONCE_GPU
    for start in range(0, logits.shape[0], step):
        rows = logits[start : start + step].float()
        best, ids = rows.topk(top_k, dim=-1)
        log_sum = torch.logsumexp(rows.double(), dim=-1)
        if not bool(log_sum.isfinite().all()):
            raise no_softmax(start + int((~log_sum.isfinite()).nonzero()[0, 0]))
        own = rows.gather(1, original[start : start + step, None])
        columns = {
            "ids": ids.to(torch.int32),
            "logits": best,
            "probabilities": torch.exp(best.double() - log_sum[:, None]).float(),
            "logit_max": best[:, 0],
            "log_sum_exp": log_sum,
            "original_rank": (rows > own).sum(-1, dtype=torch.int32) + 1,
            "original_probability": torch.exp(own[:, 0].double() - log_sum).float(),
        }
        for name, column in columns.items():
            parts.setdefault(name, []).append(column.cpu().numpy())
    return {name: np.concatenate(chunks) for name, chunks in parts.items()}


def open_softmax(
    logits: NDArray[np.floating[Any]], position: int, ids: list[int], tokens: list[str]
) -> Softmax:
    """Open the softmax of one row.

    Parameters
    ----------
    logits : float [vocabulary]
    ids, tokens
        The entries to show.

    Examples
    --------
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

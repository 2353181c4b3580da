"""Logit lens: the hidden state of every layer at every position, read by the language-model head (docs/lens.md).

References
----------
nostalgebraist (2020), "interpreting GPT: the logit lens", LessWrong.

Belrose et al. (2023), "Eliciting Latent Predictions from Transformers with the Tuned Lens", arXiv 2303.08112 (the divergence).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from attn_widget.errors import NotAvailableError
from attn_widget.figures.arrays import Float32, Int32
from attn_widget.host.frames import Records, records
from attn_widget.model.encoder import Encoder
from attn_widget.model.families import final_norm_of, layer_modules, states_module
from attn_widget.model.predictions import Mode, no_softmax
from attn_widget.model.tokens import Token
from attn_widget.trace.forward import Progress, inference_mode, on_device
from attn_widget.trace.hooks import hidden_of, hooked
from attn_widget.trace.run import Run

if TYPE_CHECKING:
    import torch

BIT = math.log(2)  # nats
HEAD_ROWS = (
    128  # states that the head reads at once: it reads its weights, 113 MB of SmolLM2, each time
)
MASKED_TOKENS = 2048  # of one batch of masked copies, whose states of all layers are held


@dataclass(frozen=True)
class Lens(Records):
    """Predictions of every layer at some positions; layer 0 is the embeddings, the last one is what the model says.

    The head was trained on the last layer alone: earlier layers may hold the same in another basis, so that an early answer
    is not calibrated.

    Attributes
    ----------
    mode : {"as_is", "masked", "next"}
        As of `Predictions`.
    ids : int32 [L + 1, n, k]
        The likeliest entries of the vocabulary.
    tokens : list of list of list of str, [L + 1][n][k]
    probabilities : float32 [L + 1, n, k]
    ranks : int32 [L + 1, n]
        Of the token that stands there (in mode "next": that follows; 0 at the last position, which none follows).
    entropies : float32 [L + 1, n]
        Of the layer's distribution over the vocabulary, in bits.
    divergences : float32 [L + 1, n]
        Kullback-Leibler divergence of the layer's distribution from the last layer's, ``KL(last || layer)``, in bits.
    positions : tuple of Token, length n
    at : tuple of int, length n
        Where they stand in the text.
    """

    mode: Mode
    ids: Int32
    tokens: list[list[list[str]]]
    probabilities: Float32
    ranks: Int32
    entropies: Float32
    divergences: Float32
    positions: tuple[Token, ...]
    at: tuple[int, ...]

    @property
    def settled(self) -> Int32:
        """Layer from which on the last layer's choice is the likeliest, int32 [n]."""
        same = self.ids[:, :, 0] == self.ids[-1, :, 0]
        return (len(same) - np.logical_and.accumulate(same[::-1]).sum(axis=0)).astype(np.int32)

    def to_records(self) -> list[dict[str, Any]]:
        """One record for every layer, position and rank: ``layer, position, token, rank, prediction, id, probability``.

        And of the layer and position ``token_rank`` (of the token that stands there, or follows), ``entropy`` and ``divergence``.
        """
        layers, _, k = self.ids.shape
        return records(
            layer=np.arange(layers)[:, None, None],
            position=np.array(self.at)[:, None],
            token=np.array([token.text for token in self.positions], dtype=object)[:, None],
            rank=np.arange(1, k + 1),
            prediction=np.array(self.tokens, dtype=object),
            id=self.ids,
            probability=self.probabilities,
            token_rank=self.ranks[..., None],
            entropy=self.entropies[..., None],
            divergence=self.divergences[..., None],
        )

    def __repr__(self) -> str:
        layers, n, k = self.ids.shape
        return f"<Lens of {layers} layers x {n} positions ({self.mode}), top {k}>"


def lens(
    run: Run, mode: Mode, wanted: list[int], top_k: int, progress: Progress | None
) -> dict[str, NDArray[Any]]:
    """The array attributes of `Lens`, by name, for some positions.

    Raises
    ------
    NotAvailableError
        A head that cannot be taken by itself, or a family whose layers are not known.
    """
    import torch

    encoder = run.encoder
    head = encoder.family.lm or encoder.family.written
    if head is None:
        raise NotAvailableError(
            f"The language-model head of {encoder.name} cannot be taken by itself, so it reads no layer."
        )
    ids = np.asarray(run.encoding.text_ids)
    comes = np.append(ids[1:], -1) if mode == "next" else ids
    n_states = encoder.n_layers + 1
    step = max(1, HEAD_ROWS // n_states)
    parts: list[dict[str, NDArray[Any]]] = []
    done = 0
    with inference_mode(encoder), torch.no_grad():
        norm = final_norm_of(encoder.family, encoder.network)
        for batch, states in _states(run, mode, wanted):
            states = states.to(encoder.device, encoder.dtype)
            if norm is not None:  # the last state is behind it
                states = torch.cat([norm(states[:-1]), states[-1:]])
            for first in range(0, len(batch), step):
                some = batch[first : first + step]
                hidden = states[:, first : first + step]
                logits = head(encoder.network, hidden.flatten(0, 1)).float()
                logits = logits.view(n_states, len(some), -1)
                for k, position in enumerate(some):  # whose logits a core's cache holds
                    parts.append(_read(logits[:, k : k + 1], torch.from_numpy(comes[[position]]), top_k, [position]))  # fmt: skip
                done += len(some)
                if progress is not None:
                    progress(done, len(wanted))
    return {name: np.concatenate([part[name] for part in parts], axis=1) for name in parts[0]}


def _read(
    logits: torch.Tensor, comes: torch.Tensor, top_k: int, at: list[int]
) -> dict[str, NDArray[Any]]:
    """Figures of logits [L + 1, p, vocabulary], which are overwritten; ``comes`` [p] are the tokens whose rank is asked for, -1 for none."""
    import torch

    best, ids = logits.topk(top_k, dim=-1)
    wanted = comes.to(logits.device)
    there = logits.gather(2, wanted.clamp_min(0)[None, :, None].expand(len(logits), -1, 1))
    ranks = ((logits > there).sum(dim=-1, dtype=torch.int32) + 1) * (wanted >= 0)
    shares = logits.softmax(dim=-1)
    total = shares.sum(dim=-1, dtype=torch.float64)  # 1, but for rounding
    probabilities = shares.gather(2, ids).double() / total[..., None]
    log_best = probabilities[..., 0].log()
    if not bool(log_best.isfinite().all()):
        raise no_softmax(at[int((~log_best.isfinite()).nonzero()[0, 1])])
    below = logits.sub_(best[..., :1]).clamp_min_(-1e30)  # an entry that cannot come adds nothing
    mean = torch.linalg.vecdot(shares, below).double() / total
    across = torch.linalg.vecdot(shares[-1:], below).double() / total[-1]
    divergence = (across[-1] + log_best[-1]) - (across + log_best)
    columns: dict[str, torch.Tensor] = {
        "ids": ids.to(torch.int32),
        "probabilities": probabilities.float(),
        "ranks": ranks.to(torch.int32),
        "entropies": (-(log_best + mean) / BIT).clamp_min(0).float(),
        "divergences": (divergence / BIT).clamp_min(0).float(),
    }
    return {name: column.cpu().numpy() for name, column in columns.items()}


def _states(run: Run, mode: Mode, wanted: list[int]) -> Any:
    """Positions, some at a time, and their hidden states, float tensor [L + 1, p, d]; masked, each in its own copy."""
    import torch

    if mode != "masked":
        states = run.trace.hidden_states
        if states is None:
            raise _no_layers(run)
        for first in range(0, len(wanted), 256):
            batch = wanted[first : first + 256]
            yield batch, torch.from_numpy(np.array(states[:, batch]))
        return
    encoder = run.encoder
    assert encoder.mask_token_id is not None  # `Analysis` has refused a tokenizer without one
    layers = layer_modules(encoder.family, encoder.network)
    if layers is None:
        raise _no_layers(run)
    held = run.encoding.arrays
    size = max(1, MASKED_TOKENS // run.trace.n_tokens)
    for first in range(0, len(wanted), size):
        batch = wanted[first : first + size]
        copies = {name: np.repeat(array, len(batch), axis=0) for name, array in held.items()}
        copies["input_ids"][range(len(batch)), batch] = encoder.mask_token_id
        inputs = {name: torch.from_numpy(array) for name, array in copies.items()}
        yield batch, _states_of(encoder, on_device(encoder, inputs), layers, batch)


def _states_of(
    encoder: Encoder, inputs: dict[str, Any], layers: list[Any], at: list[int]
) -> torch.Tensor:
    """Hidden states [L + 1, p, d] of one position in each of p texts."""
    import torch

    found: list[torch.Tensor] = []

    def keep(states: torch.Tensor) -> None:
        found.append(states[range(len(at)), at])

    def before(_module: Any, args: Any, kwargs: Any) -> None:
        keep(hidden_of(args, kwargs))

    def after(_module: Any, _args: Any, _kwargs: Any, output: Any) -> None:
        keep(output[0])

    last = states_module(encoder.family, encoder.network)
    with hooked(layers, before=before), hooked([last], after=after):
        encoder.network.base_model(**inputs)
    return torch.stack(found)


def _no_layers(run: Run) -> NotAvailableError:
    return NotAvailableError(
        f"The layers of {run.encoder.name} ({run.encoder.family.name}) are not known one by one, so no lens reads them.",
        "a.predictions() has what the model says.",
    )

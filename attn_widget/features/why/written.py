"""Shares of each token that an encoder-decoder writes: of the source, of what was written before it, of the biases."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from attn_widget.features.why.decomposition import check_closes, decompositions
from attn_widget.features.why.passes import check_finite
from attn_widget.figures.arrays import Float32, Int32
from attn_widget.host.frames import Records, records
from attn_widget.trace.forward import on_device
from attn_widget.trace.run import Run


@dataclass(frozen=True)
class WrittenShares(Records):
    """The logit of every written token as a sum: ``source + prefix + bias = logits``.

    Row ``i`` is of the token that follows target token ``i``; after the last one, of the model's first choice.

    Attributes
    ----------
    tokens : tuple of str, length n
        The tokens that are written.
    ids : int32 [n]
    logits : float32 [n]
    source : float32 [n, m]
        Contribution of each source token, in logits.
    prefix : float32 [n, n]
        Contribution of each target token that the decoder has read; 0 for those after row ``i``.
    bias : float32 [n]
    """

    tokens: tuple[str, ...]
    ids: Int32
    logits: Float32
    source: Float32
    prefix: Float32
    bias: Float32

    @property
    def shares(self) -> Float32:
        """Shares of source, prefix and bias in each written token, float32 [n, 3]; rows sum to 1.

        By absolute contributions, ``sum_j |c_j|``, so that those that cancel out are not lost: a high share of the
        source says that the model translates, one of the prefix that it continues.
        """
        sizes = np.stack(
            [np.abs(self.source).sum(1), np.abs(self.prefix).sum(1), np.abs(self.bias)], axis=1
        )
        return sizes / sizes.sum(axis=1, keepdims=True)

    @property
    def gap(self) -> float:
        """Largest distance of a sum from its logit, relative to the contributions without their signs."""
        wide = [array.astype(np.float64) for array in (self.source, self.prefix)]
        total = wide[0].sum(1) + wide[1].sum(1) + self.bias
        sizes = np.abs(wide[0]).sum(1) + np.abs(wide[1]).sum(1) + np.abs(self.bias)
        return float((np.abs(total - self.logits) / sizes).max())

    def to_records(self) -> list[dict[str, Any]]:
        """One record a written token: ``position, token, logit, source, prefix, bias``, and the three shares.

        ``position`` is the token's own, so that its target is at the position before; after the last token of the text
        comes the model's first choice.
        """
        shares = dict(
            zip(("share_source", "share_prefix", "share_bias"), self.shares.T, strict=True)
        )
        return records(
            position=np.arange(1, len(self.tokens) + 1),
            token=self.tokens,
            logit=self.logits,
            source=self.source.sum(1),
            prefix=self.prefix.sum(1),
            bias=self.bias,
            **shares,
        )

    def __repr__(self) -> str:
        source, prefix, bias = self.shares.mean(axis=0)
        return (
            f"WrittenShares({len(self.tokens)} tokens, mean share of the source {source:.2f}, of the prefix {prefix:.2f}, "
            f"of the bias {bias:.2f})"
        )


def written_shares(run: Run) -> WrittenShares:
    """See `attn_widget.analysis.Analysis.why.written_shares`.

    ``run``: of an encoder-decoder's decoder.

    References
    ----------
    Ferrando, Gallego, Alastruey, Escolano & Costa-jussa (2022), Towards Opening the Black Box of Neural Machine
    Translation: Source and Target Interpretations of the Transformer, EMNLP: the question, and another measure.
    """
    encoder = run.encoder
    last = run.trace.logits_tensor([run.trace.n_tokens - 1])[0]
    ids = [*run.encoding.text_ids[1:], int(last.argmax())]
    logits: list[Any] = []

    def values() -> Any:
        inputs = on_device(encoder, run.encoding.inputs)
        rows = encoder.network(**inputs, return_dict=True)["logits"][0]
        picked = rows[torch.arange(len(ids)), torch.tensor(ids, device=rows.device)]
        logits.append(picked.detach())
        return picked

    found = list(decompositions(run, values))
    sources = [decomposition.source for decomposition in found if decomposition.source is not None]
    check_finite(
        run, np.concatenate([*sources, *(decomposition.values for decomposition in found)])
    )
    shares = WrittenShares(
        tokens=tuple(encoder.token_texts(ids)),
        ids=np.array(ids, np.int32),
        logits=logits[0].float().cpu().numpy(),
        source=np.stack(sources).astype(np.float32),
        prefix=np.stack([decomposition.values for decomposition in found]).astype(np.float32),
        bias=np.array([decomposition.bias for decomposition in found], np.float32),
    )
    check_closes(shares.gap, "The shares of what is written", run)
    return shares

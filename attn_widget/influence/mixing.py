"""The mixing quantities of a run, layer by layer."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from attn_widget.errors import NotAvailableError
from attn_widget.figures import mixing as figures
from attn_widget.figures.arrays import Float32
from attn_widget.figures.mixing import OutputDecomposition
from attn_widget.influence.attention_block import attention_block, norm_output, projected
from attn_widget.influence.value_zeroing import value_zeroing
from attn_widget.trace.forward import Progress
from attn_widget.trace.run import Run


def mixing_layers(
    run: Run, kind: str, layers: Sequence[int], progress: Progress | None = None
) -> Iterator[Float32]:
    """A mixing quantity of each of ``layers``, float32 [n, n], one at a time.

    ``kind``: {"norms", "mixing", "alti", "value_zeroing"}. ``progress``: called with ``(done, all)``. Raises
    `NotAvailableError`: the family, or the trace, cannot give it.
    """
    if kind == "value_zeroing":
        yield from value_zeroing(run, layers, progress)
        return
    for done, layer in enumerate(layers, 1):
        if kind == "norms":
            yield figures.layer_norms(*projected(run, layer))
        else:
            compute = figures.mixing if kind == "mixing" else figures.alti
            yield compute(attention_block(run, layer))
        if progress is not None:
            progress(done, len(layers))


def of_block(run: Run, layer: int) -> tuple[dict[str, Float32], Float32]:
    """``mixing`` and ``alti`` of a layer, float32 [n, n] each, and its mixing ratio [n], of one reading of its parts."""
    block = attention_block(run, layer)
    matrices = {"mixing": figures.mixing(block), "alti": figures.alti(block)}
    return matrices, figures.mixing_ratio(block)


def norms_of_heads(run: Run, layer: int) -> Float32:
    """``||A^h_ij v_j^h W_O^h||`` of a layer's heads, float32 [H, n, n]."""
    return figures.head_norms(*projected(run, layer))


def lengths_of(run: Run, layer: int) -> Float32:
    """``||v_j^h W_O^h||`` of a layer's heads, float32 [H, n]."""
    _, values, projection = projected(run, layer)
    if run.encoder.heads_off:
        raise NotAvailableError("Heads are off in this run: weights do not tell what they carry.")
    return np.linalg.norm(values @ projection, axis=-1)


def ratio_of(run: Run, layer: int) -> Float32:
    """The mixing ratio of a layer, float32 [n]."""
    return figures.mixing_ratio(attention_block(run, layer))


def output_of(run: Run, layer: int, query: int) -> OutputDecomposition:
    """``y_i`` of a layer's attention block as a sum over tokens."""
    block = attention_block(run, layer)
    vectors, bias = figures.decompose(block, query)
    sums = block.sums[query].astype(np.float32)
    return OutputDecomposition(
        layer,
        query,
        vectors,
        bias,
        block.shift,
        norm_output(run, layer, sums, block.residual[query]),
    )

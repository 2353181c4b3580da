"""One layer's attention block as arrays: from the trace, and from the model's own modules."""

from __future__ import annotations

from typing import Any

import numpy as np

from attn_widget.errors import NotAvailableError
from attn_widget.figures.arrays import Float32
from attn_widget.figures.mixing import AttentionBlock
from attn_widget.model.encoder import HeadMeans
from attn_widget.model.families import layer_modules, submodule
from attn_widget.model.numpy_modules import LayerNorm
from attn_widget.trace.base import to_numpy
from attn_widget.trace.forward import inference_mode
from attn_widget.trace.run import Run


def attention_block(run: Run, layer: int) -> AttentionBlock:
    """Weights, values, output projection, residual and norm of a layer.

    Raises `NotAvailableError`: a family whose layers are not known, a trace without values, or parts that do not
    fit.
    """
    run.trace.check_one_pass("What attention carries")
    module = layer_of(run, layer, run.encoder.traced)
    weights, values, projection = projected(run, layer, module)
    names = run.encoder.family.block
    states = run.trace.hidden_states
    assert names is not None and states is not None  # `layer_of` has refused such a family
    width = projection.shape[-1]
    gain, shift, epsilon = np.ones(width, np.float32), np.zeros(width, np.float32), None
    inner = names.attention_added is not None
    if inner:
        norm = module.get_submodule(names.attention_added)
        epsilon = epsilon_of(norm) or 0.0
        gain = scale_of(run, norm, width, epsilon)
    elif not names.pre_norm:
        norm = module.get_submodule(names.attention_norm)
        gain, shift = _array(norm.weight, gain), _array(norm.bias, shift)
        epsilon = epsilon_of(norm)
    output, scale = module.get_submodule(names.attention_output), names.scales_of(module)[0]
    return AttentionBlock(
        weights=weights,
        values=values,
        projection=projection,
        bias=_array(output.bias, np.zeros(width, np.float32)) * scale
        + _constant(run, layer, projection),
        residual=_residual(run, module, states[layer]),
        gain=gain,
        shift=shift,
        epsilon=epsilon,
        inner=inner,
    )


def projected(run: Run, layer: int, module: Any = None) -> tuple[Float32, Float32, Float32]:
    """Weights [H, n, n], values [H, n, head_dim] and output projection [H, head_dim, d] of a layer."""
    trace = run.trace
    trace.check_one_pass("What attention carries")
    module = layer_of(run, layer, run.encoder.traced) if module is None else module
    if not trace.has_qkv:
        raise NotAvailableError(f"No values of {run.encoder.name} are known, so no norm of them.")
    values = np.stack([trace.values(layer, head) for head in range(trace.n_heads)])
    names = run.encoder.family.block
    assert names is not None
    with run.encoder.lock:
        output = module.get_submodule(names.attention_output)
        matrix = to_numpy(linear_weight(output)) * names.scales_of(module)[0]
    heads, _, head_dim = values.shape
    if matrix.shape[0] != heads * head_dim:
        raise NotAvailableError(
            f"The output projection of {run.encoder.name} takes {matrix.shape[0]} numbers, and its "
            f"{heads} heads give {heads * head_dim}: what a head carries is unknown."
        )
    return _working(run, layer), values, matrix.reshape(heads, head_dim, -1)


def linear_weight(module: Any) -> Any:
    """The weight [in, out] of a linear map; GPT-2's ``Conv1D`` keeps it the other way round than ``Linear``."""
    return module.weight if hasattr(module, "nf") else module.weight.T


def norm_output(run: Run, layer: int, sums: Float32, residual: Float32) -> Float32:
    """``y``: the model's own norm over the sums [d] that enter it; the sums where none follows.

    The residual [d] is added to a norm of attention alone.
    """
    names = run.encoder.family.block
    assert names is not None
    inner = names.attention_added is not None
    if names.pre_norm and not inner:
        return sums
    norm = layer_of(run, layer, run.encoder.traced).get_submodule(
        names.attention_added or names.attention_norm
    )
    if isinstance(norm, LayerNorm):
        normed = norm(sums)
    else:
        import torch

        with inference_mode(run.encoder):
            vectors = torch.from_numpy(sums).to(run.encoder.device, run.encoder.dtype)
            normed = to_numpy(norm(vectors))
    return normed + residual if inner else normed


def layer_of(run: Run, layer: int, network: Any = None) -> Any:
    """The module of a layer of ``network``: of ``run.encoder.network`` unless given."""
    return layers_of(run, network)[layer]


def layers_of(run: Run, network: Any = None) -> list[Any]:
    """The modules of all layers, of weights that are as they were: one check for all of them."""
    encoder = run.encoder
    encoder.check_weights()
    network = encoder.network if network is None else network
    layers = layer_modules(encoder.family, network)
    if encoder.family.block is None or layers is None:
        raise NotAvailableError(
            f"Where {encoder.family.name} keeps its output projection is not known, so what its "
            "attention carries is unknown.",
            f"Attention weights{' and predictions' if run.encoder.has_lm else ''} are available.",
        )
    return layers


def _working(run: Run, layer: int) -> Float32:
    """Weights [H, n, n] as the output sees them: 0, or each row the mean row, where a head is off.

    They are 0 where means over other texts take a head's place: no token of this one gives them.
    """
    weights = run.trace.layer_weights(layer)
    off = [head for where, head in run.encoder.heads_off if where == layer]
    if off:
        weights = weights.copy()
        own_mean = run.encoder.ablation == "mean"
        weights[off] = weights[off].mean(axis=1, keepdims=True) if own_mean else 0
    return weights


def _constant(run: Run, layer: int, projection: Float32) -> Float32:
    """Sum of the means that take the place of heads, float32 [d]."""
    means = run.encoder.ablation
    added = np.zeros(projection.shape[-1], np.float32)
    if isinstance(means, HeadMeans):
        for where, head in run.encoder.heads_off:
            if where == layer:
                added += means.values[layer, head] @ projection[head]
    return added


def _residual(run: Run, module: Any, state: Float32) -> Float32:
    """The residual added to the attention's output: the layer's input, or MobileBERT's projection of it."""
    bottleneck = submodule(module, "bottleneck")
    if bottleneck is None:
        return state
    import torch

    with inference_mode(run.encoder):
        vectors = torch.from_numpy(np.array(state)).to(run.encoder.device, run.encoder.dtype)
        return to_numpy(bottleneck(vectors[None])[-1][0])


def scale_of(run: Run, norm: Any, width: int, epsilon: float) -> Float32:
    """The factor of an RMSNorm, float32 [d]: Gemma's adds 1 to its weight."""
    import torch

    with inference_mode(run.encoder):
        ones = torch.ones(width, device=run.encoder.device, dtype=run.encoder.dtype)
        return norm(ones).float().cpu().numpy() * np.float32(np.sqrt(1 + epsilon))


def epsilon_of(norm: Any) -> float | None:
    """Epsilon of a LayerNorm or RMSNorm; None for a norm that only scales."""
    if isinstance(norm, LayerNorm):
        return norm.eps
    from torch import nn

    if isinstance(norm, nn.LayerNorm):
        return float(norm.eps)
    epsilon = getattr(norm, "variance_epsilon", None)  # DeBERTa's own, and Llama's
    if epsilon is None and "RMSNorm" in type(norm).__name__:
        epsilon = norm.eps  # Gemma's
    return None if epsilon is None else float(epsilon)


def _array(parameter: Any, otherwise: Float32) -> Float32:
    return otherwise if parameter is None else to_numpy(parameter)

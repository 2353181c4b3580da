"""Effects of heads on a target: each switched off in turn, and the gradient's guess."""

from __future__ import annotations

import threading
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from attn_widget.checks.rounding import first_largest
from attn_widget.features.why.bound_target import BoundTarget
from attn_widget.features.why.gradients import weights_and_slopes
from attn_widget.features.why.passes import TOKENS_AT_ONCE, finite
from attn_widget.features.why.targets import Target
from attn_widget.figures.arrays import Float32, Float64
from attn_widget.figures.ranks import mean_ranks
from attn_widget.host.frames import Records, records
from attn_widget.influence.attention_block import layers_of
from attn_widget.model.encoder import Ablation
from attn_widget.model.families import Part
from attn_widget.trace.forward import Progress, copies_of, inference_mode, on_device
from attn_widget.trace.heads_off import changing_heads, switch_off
from attn_widget.trace.hooks import hooked
from attn_widget.trace.run import Run


@dataclass(frozen=True)
class HeadEffects(Records):
    """Effect of switching off each head on a target.

    Attributes
    ----------
    target : Target
    ablation : {"zero", "mean"} or HeadMeans
    value : float
        ``s``, the target's value with all heads.
    effects : float32 [L, H]
        ``s - s'``, where the head is off: above 0, the head speaks for the target. Exact.
    divergence : float32 [L, H]
        ``KL(p || p')`` of the distribution that the target is of, in nats; NaN of a similarity, which is of none.
    proxy : float32 [L, H]
        ``|d s / d xi|``, where ``xi = 1`` scales the head's ``A v``: the gradient's guess at ``|effects|``; NaN for an
        encoder-decoder.
    part : str or None
        Part of an encoder-decoder whose heads these are.
    """

    target: Target
    ablation: Ablation
    value: float
    effects: Float32
    divergence: Float32
    proxy: Float32
    part: Part | None = None

    @property
    def correlation(self) -> float:
        """Spearman's correlation of the proxy and ``|effects|`` over all heads; NaN where one is constant."""
        exact, guessed = np.abs(self.effects).ravel(), self.proxy.ravel()
        if np.isnan(guessed).any():
            return float("nan")
        if not np.ptp(exact) or not np.ptp(guessed):
            return float("nan")
        return float(np.corrcoef(mean_ranks(exact), mean_ranks(guessed))[0, 1])

    def to_records(self) -> list[dict[str, Any]]:
        """One record a head: ``layer, head, effect, divergence, proxy``; of an encoder-decoder also ``part``."""
        named = {} if self.part is None else {"part": self.part}
        layers, heads = np.indices(self.effects.shape)
        return records(
            **named,
            layer=layers,
            head=heads,
            effect=self.effects,
            divergence=self.divergence,
            proxy=self.proxy,
        )

    def __repr__(self) -> str:
        layer, head = divmod(first_largest(np.abs(self.effects)), self.effects.shape[1])
        where = "" if self.part is None else f"{self.part}, "
        most = f"{self.effects[layer, head]:+.4f} by {where}layer {layer}, head {head}"
        return f"HeadEffects({self.target} = {self.value:.4f}, most {most})"


def head_effects(
    run: Run,
    target: Target,
    bound: BoundTarget,
    ablation: Ablation,
    progress: Progress | None = None,
    part: Part | None = None,
) -> HeadEffects:
    """Switch off each head in turn, in batches; layers below the head are not run again.

    ``progress``: called with ``(heads done, L * H)``; an exception that it raises cancels the work. ``part``: part
    of an encoder-decoder whose heads are switched off; by default the run's own. Raises `NotAvailableError`: a
    family whose layers are not known.

    References
    ----------
    Michel, Levy & Neubig (2019), Are Sixteen Heads Really Better than One?, NeurIPS.
    """
    encoder = run.encoder
    where_off = run if part is None else run.of(part)
    changed = where_off.encoder
    n, layers, heads = run.trace.n_tokens, changed.n_layers, changed.n_heads
    size = max(1, min(heads, TOKENS_AT_ONCE // n))
    values, divergences = np.zeros((layers, heads)), np.zeros((layers, heads))
    outputs = layer_outputs(where_off)
    with inference_mode(encoder):
        whole = bound.logits(encoder, run.encoding.inputs)
        value = float(finite(run, bound.of(whole))[0])
    for layer in range(layers):
        for start in range(0, heads, size):
            chosen = range(start, min(start + size, heads))

            def change(where: int, given: Any, layer: int = layer, chosen: range = chosen) -> None:
                if where == layer:
                    for copy, head in enumerate(chosen):
                        switch_off(given[copy, :, head], ablation, layer, head)

            inputs = copies_of(run.encoding.inputs, len(chosen))
            # The encoder is free between two batches: others may ask it something.
            with inference_mode(encoder):
                with known_below(where_off, layer, outputs), changing_heads(changed, change):
                    logits = bound.logits(encoder, inputs)
                values[layer, chosen] = finite(run, bound.of(logits))
                divergences[layer, chosen] = _divergence(bound, whole, logits)
            if progress is not None:
                progress(layer * heads + chosen.stop, layers * heads)
    return HeadEffects(
        target=target,
        ablation=ablation,
        value=value,
        effects=(value - values).astype(np.float32),
        divergence=divergences.astype(np.float32),
        proxy=np.full((layers, heads), np.nan, np.float32)
        if encoder.parts
        else gradient_proxy(run, bound),
        part=changed.part,
    )


def gradient_proxy(run: Run, bound: BoundTarget) -> Float32:
    """``|d s / d xi_h| = |sum_ij A_ij d s / d A_ij|`` of every head, float32 [L, H]."""
    pairs = weights_and_slopes(run, bound)
    return np.stack([np.abs((w * g).sum(axis=(1, 2))) for w, g in pairs]).astype(np.float32)


def layer_outputs(run: Run) -> list[Any]:
    """Output of each layer in a plain run: a tensor or a tuple."""
    encoder = run.encoder
    outputs: list[Any] = []
    layers = layers_of(run)

    def keep(_module: Any, _args: Any, _kwargs: Any, output: Any) -> None:
        outputs.append(output)

    with inference_mode(encoder), hooked(layers, after=keep):
        encoder.network.base_model(**on_device(encoder, run.encoding.inputs))
    return outputs


@contextmanager
def known_below(run: Run, layer: int, outputs: list[Any]) -> Generator[None]:
    """The layers before ``layer`` give what they gave, and compute nothing. Hold the encoder's lock."""
    modules = layers_of(run)
    if len(set(modules)) < len(modules):  # shared: all of them run
        yield
        return

    thread = threading.get_ident()

    def give(output: Any, whole: Any) -> Any:
        def forward(hidden_states: Any, *args: Any, **kwargs: Any) -> Any:
            if threading.get_ident() != thread:  # the model's owner, at the same time
                return whole(hidden_states, *args, **kwargs)
            copies = hidden_states.shape[0]
            if isinstance(output, tuple):
                return (output[0].expand(copies, -1, -1), *output[1:])
            return output.expand(copies, -1, -1)

        return forward

    below = modules[:layer]
    own = [module.__dict__.get("forward") for module in below]  # set by others, such as accelerate
    try:
        for module, output in zip(below, outputs, strict=False):
            module.forward = give(output, module.forward)
        yield
    finally:
        for module, forward in zip(below, own, strict=True):
            if forward is None:
                module.__dict__.pop("forward", None)
            else:
                module.forward = forward


def _divergence(bound: BoundTarget, whole: Any, logits: Any) -> Float64:
    """``KL(p || p')`` in nats of logits [1, C] and [B, C], float64 [B]."""
    if bound.kind == "similarity":
        return np.full(len(logits), np.nan)
    before, after = bound.log_shares(whole), bound.log_shares(logits)
    return (before.exp() * (before - after)).sum(dim=-1).clamp_min(0).cpu().numpy()

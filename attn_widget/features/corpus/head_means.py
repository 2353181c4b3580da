"""head_means(): what every head gives on average, to put in its place when it is switched off."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from attn_widget.checks import check_flag
from attn_widget.errors import InputError
from attn_widget.host.fingerprint import fingerprint
from attn_widget.model.encoder import HeadMeans
from attn_widget.model.loading import load
from attn_widget.model.tokenizing import check_texts
from attn_widget.trace.finite import check_states, check_weights
from attn_widget.trace.forward import inference_mode, on_device
from attn_widget.trace.heads_off import changing_heads


def head_means(
    texts: Iterable[str], *, model: Any = None, truncation: bool = False, progress: bool = True
) -> HeadMeans:
    """Means of the heads' outputs, ``A v``, over the positions of many texts.

    A head whose output is replaced by its mean over a corpus tells nothing of this text, but later layers
    still get what they are used to. With zero they do not.

    Parameters
    ----------
    texts : iterable of str
    model : optional
        As for `analyze`.
    truncation : bool
        Cut texts that are longer than the model allows instead of refusing them.
    progress : bool
        Show a progress bar.

    Returns
    -------
    HeadMeans
        ``values`` float32 [L, H, head_dim]; for `Analysis.ablate` and `Analysis.why.head_effects`.

    Raises
    ------
    InputError
        No text, one that the model cannot read, or outputs that are not finite.
    InputTypeError
        Anything but str.
    NotAvailableError
        A family whose layers are not known.
    NotFiniteError
        The model has weights, or gives hidden states, that are NaN or infinite.
    TooLongError
        A text with too many tokens, without `truncation`.

    Examples
    --------
    >>> from attn_widget import analyze
    >>> means = head_means(["The cat sat.", "Dogs run in the park."], progress=False)
    >>> means.values.shape, means
    ((6, 12, 32), HeadMeans(texts=2, tokens=14))
    >>> analyze("the cat sat", progress=False).ablate([(2, 1)], means).model.heads_off
    ((2, 1),)
    """
    checked = check_texts(texts, 'head_means(["The cat sat.", "Dogs run."])')
    truncation, progress = check_flag(truncation, "truncation"), check_flag(progress, "progress")
    from tqdm.auto import tqdm

    encoder = load(model, progress=progress)
    check_weights(encoder)
    sums = np.zeros((encoder.n_layers, encoder.n_heads, encoder.head_dim))
    tokens = 0

    def add(layer: int, given: Any) -> None:
        sums[layer] += given[0].double().sum(dim=0).cpu().numpy()

    for text in tqdm(checked, desc="head means", disable=not progress):
        encoding = encoder.encode(text, truncation=truncation)
        with inference_mode(encoder), changing_heads(encoder, add):
            states = encoder.network.base_model(**on_device(encoder, encoding.inputs))[0]
        check_states(encoder, encoding.tokens, [states[0]])
        tokens += len(encoding.tokens)
    values = (sums / tokens).astype(np.float32)
    if not np.isfinite(values).all():
        layer, head = np.argwhere(~np.isfinite(values))[0][:2]
        raise InputError(
            f"The outputs of layer {layer}, head {head} of {encoder.name} are not finite numbers.",
            "Check the weights: a mean of them is none.",
        )
    weights = fingerprint(encoder.network)
    return HeadMeans(values, len(checked), tokens, encoder.name, weights)

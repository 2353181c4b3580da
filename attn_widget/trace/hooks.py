"""Inputs and outputs of modules, recorded by hooks."""

from __future__ import annotations

import threading
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from attn_widget.errors import NotAvailableError

if TYPE_CHECKING:
    from attn_widget.model.encoder import Encoder
    from attn_widget.model.encoding import Encoding

Floats = NDArray[np.float32]
Recorded = dict[tuple[str, str], list[Any]]  # (part, "in" or "out") -> one tensor for each call


def unknown_layers(encoder: Encoder) -> NotAvailableError:
    return NotAvailableError(
        f"Where {encoder.family.name} keeps its layers is not known, so its inside cannot be shown.",
        "Attention, hidden states and predictions are available.",
    )


def run_base(encoder: Encoder, encoding: Encoding) -> None:
    from attn_widget.trace.forward import inference_mode, on_device

    with inference_mode(encoder):
        encoder.network.base_model(**on_device(encoder, encoding.inputs))


@contextmanager
def recording(modules: dict[str, Any]) -> Generator[Recorded]:
    """Record input and output of modules by hooks: ``seen[key, "in" or "out"]``, one for each call."""
    seen: Recorded = {(key, side): [] for key in modules for side in ("in", "out")}
    thread = threading.get_ident()

    def hook(key: str) -> Any:
        def keep(_module: Any, args: Any, kwargs: Any, output: Any) -> None:
            if threading.get_ident() == thread:
                entered, made = ends_of(args, kwargs, output)
                seen[key, "in"].append(entered)
                seen[key, "out"].append(made)

        return keep

    with ExitStack() as stack:
        for key, module in modules.items():
            handle = module.register_forward_hook(hook(key), with_kwargs=True)
            stack.callback(handle.remove)
        yield seen


def ends_of(args: Any, kwargs: Any, output: Any) -> tuple[Any, Any]:
    """A module's first input and its output, of the one text that runs."""
    entered = args[0] if args else next(iter(kwargs.values()))
    made = output[0] if isinstance(output, tuple) else output
    return entered[0], made[0]


def joined(calls: list[Any]) -> Floats:
    """Inputs and outputs of a module; a feed-forward in chunks is called once for each."""
    import torch

    return (calls[0] if len(calls) == 1 else torch.cat(calls)).float().cpu().numpy()

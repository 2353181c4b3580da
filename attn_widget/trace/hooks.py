"""Hooks on the modules of a network: what enters and leaves them."""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

import numpy as np

from attn_widget.errors import NotAvailableError
from attn_widget.model.encoder import Encoder
from attn_widget.trace.base import Floats, copy_of, to_numpy

Recorded = dict[tuple[str, str], list[Any]]  # (part, "in" or "out") -> one tensor for each call


def unknown_layers(encoder: Encoder) -> NotAvailableError:
    return NotAvailableError(
        f"Where {encoder.family.name} keeps its layers is not known, so its inside cannot be shown.",
        f"Attention{', hidden states and predictions' if encoder.has_lm else ' and hidden states'} are available.",
    )


@contextmanager
def hooked(
    modules: Iterable[Any],
    *,
    before: Callable[[Any, Any, Any], Any] | None = None,
    after: Callable[[Any, Any, Any, Any], Any] | None = None,
) -> Generator[None]:
    """Hooks on modules, each once, for the passes of this thread: others may run the model at the same time.

    ``before``, ``after``: called with the module, its ``args`` and its ``kwargs``, and after it with its output.
    What they return, unless None, takes the place of ``(args, kwargs)``, or of the output.
    """
    thread = threading.get_ident()

    def here(hook: Callable[..., Any]) -> Callable[..., Any]:
        return lambda *call: hook(*call) if threading.get_ident() == thread else None

    with ExitStack() as stack:
        for module in {id(module): module for module in modules}.values():
            if before is not None:
                handle = module.register_forward_pre_hook(here(before), with_kwargs=True)
                stack.callback(handle.remove)
            if after is not None:
                handle = module.register_forward_hook(here(after), with_kwargs=True)
                stack.callback(handle.remove)
        yield


def uses_of(layers: Sequence[Any]) -> dict[Any, list[int]]:
    """Which layers each module computes: some models share one."""
    uses: dict[Any, list[int]] = {}
    for index, module in enumerate(layers):
        uses.setdefault(module, []).append(index)
    return uses


def hidden_of(args: Any, kwargs: Any) -> Any:
    """The hidden states that enter a layer."""
    return args[0] if args else kwargs["hidden_states"]


def with_hidden(hidden: Any, args: Any, kwargs: Any) -> tuple[Any, Any]:
    """A layer's arguments with other hidden states."""
    if args:
        return (hidden, *args[1:]), kwargs
    return args, {**kwargs, "hidden_states": hidden}


@contextmanager
def recording(modules: dict[str, Any]) -> Generator[Recorded]:
    """Record input and output of modules by hooks: ``seen[key, "in" or "out"]``, one for each call."""
    seen: Recorded = {(key, side): [] for key in modules for side in ("in", "out")}
    keys: dict[Any, list[str]] = {}
    for key, module in modules.items():
        keys.setdefault(module, []).append(key)

    def keep(module: Any, args: Any, kwargs: Any, output: Any) -> None:
        entered, made = ends_of(args, kwargs, output)
        for key in keys[module]:
            seen[key, "in"].append(entered)
            seen[key, "out"].append(copy_of(made))  # Falcon adds to it in place

    with hooked(modules.values(), after=keep):
        yield seen


def ends_of(args: Any, kwargs: Any, output: Any) -> tuple[Any, Any]:
    """A module's first input and its output, of the one text that runs; OPT's FFN has its tokens in a row already."""
    entered = args[0] if args else next(iter(kwargs.values()))
    made = output[0] if isinstance(output, tuple) else output
    # Marian's positions are computed for a shape.
    batched = getattr(entered, "ndim", 0) > 2
    return entered[0] if batched else entered, made[0] if made.ndim > 2 else made


def joined(calls: list[Any]) -> Floats:
    """Inputs and outputs of a module; a feed-forward in chunks is called once for each."""
    arrays = [to_numpy(call) for call in calls]
    return arrays[0] if len(arrays) == 1 else np.concatenate(arrays)

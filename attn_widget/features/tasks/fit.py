"""fit_classifier(): an encoder, texts and their classes in, a fine-tuned classifier out."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from attn_widget.checks import (
    as_array,
    check_choice,
    check_count,
    check_flag,
    check_path,
    check_seed,
    check_several,
    short_repr,
)
from attn_widget.errors import InputError, InputTypeError
from attn_widget.features.corpus.identity import identity_of
from attn_widget.features.tasks.fitted import FittedClassifier
from attn_widget.features.tasks.moved import heads_moved, line_of
from attn_widget.host.installed import require_extra
from attn_widget.host.store import locked
from attn_widget.model.loading import load

if TYPE_CHECKING:
    from attn_widget.features.tasks.heads import Head, Pooling
    from attn_widget.features.tasks.trainer import Labelled

RATE = (
    2e-4  # of the encoder, up to this width; at 768 it is 5e-5, the highest of Devlin et al. (2019)
)
RATE_WIDTH = 384


def fit_classifier(
    encoder: Any,
    texts: Sequence[str],
    labels: Any,
    *,
    validation: tuple[Sequence[str], Any] | None = None,
    classes: Sequence[str] | None = None,
    head: Head = "linear",
    pooling: Pooling = "mean",
    lr_encoder: float | None = None,
    lr_head: float = 1e-3,
    weight_decay: float = 0.01,
    dropout: float | None = None,
    warmup: float = 0.1,
    epochs: int = 3,
    batch_size: int = 32,
    patience: int = 2,
    max_length: int | None = None,
    truncation: bool = False,
    seed: int = 0,
    checkpoint: str | Path | None = None,
    resume: bool = True,
    progress: bool = True,
) -> FittedClassifier:
    """Fine-tune a copy of an encoder on texts with classes.

    Every weight learns by AdamW: those of the encoder at ``lr_encoder``, those of the new head at
    ``lr_head``. Both rise in a linear way over the first tenth of the batches and then fall to 0. The
    encoder keeps the dropout that its configuration states. With ``validation``, training stops when
    ``patience`` epochs in a row were no better on the validation texts than an earlier one, and the best
    epoch's weights are kept: the one with most texts right, of equal ones that with the lower loss.
    The same seed on the same machine gives the same weights.

    Parameters
    ----------
    encoder : optional
        As for `attn_widget.load`: None (the embedded model), a name, a folder, a pair, an `Encoder`.
        It is left as it is.
    texts : sequence of str
    labels : int array [n]
        Classes 0 to c - 1, each at least once.
    validation : (texts, labels), optional
        Without it all epochs are trained and the last weights kept.
    classes : sequence of str, length c, optional
        Names of the classes; "0", "1" ... unless given.
    head : {"linear", "cnn"}
        A linear map of one vector, or a text CNN on all hidden states; see `attn_widget.features.tasks.mean` and
        `attn_widget.features.tasks.cnn`.
    pooling : {"mean", "first"}
        What the linear head reads: LayerNorm of the mean of all tokens, or the first token as the
        classifier of `transformers` for this family does (through the pooler, where it has one).
    lr_encoder : float, optional
        Highest learning rate of the encoder; unless given, 2e-4 up to a width of 384 and ``2e-4 *
        (384 / width)**2`` beyond: 5e-5 for BERT-base.
    lr_head : float
        Highest learning rate of the head.
    weight_decay : float
        AdamW's, not on biases and LayerNorms.
    dropout : float, optional
        Share of what the last linear map reads that training drops: 0.1 for the linear head, 0.5 for the
        CNN unless given.
    warmup : float
        Share of the batches in which the rates rise, 0 to 0.9.
    epochs : int
        At most.
    batch_size : int
        Texts; batches hold texts of like lengths.
    patience : int
        Epochs in a row, none of them the best so far, before training stops.
    max_length : int, optional
        Most tokens of a text; the model's own limit unless given.
    truncation : bool
        Cut longer texts instead of refusing them.
    seed : int
        Of the head's weights, the order of the texts and dropout.
    checkpoint : str or path, optional
        A folder for checkpoints, after each epoch and each minute: the same call goes on where it was
        killed, with the same result.
    resume : bool
        False begins again in a folder that holds a checkpoint.
    progress : bool
        Show a progress bar with the loss, and after it one line about the heads that moved most.

    Returns
    -------
    FittedClassifier

    Raises
    ------
    InputTypeError
        Texts that are no str, labels that are no int, an argument of another type.
    InputError
        No text, fewer labels than texts, one class only, a class without texts, an unknown head, a
        number out of range; a checkpoint of another training. Before any training.
    TooLongError
        A text with more tokens than ``max_length``, without ``truncation``.
    ModelLoadError
        The encoder cannot be loaded; a checkpoint without its tokenizer.
    NotAvailableError
        accelerate is not installed, which `transformers.Trainer` needs.

    References
    ----------
    Devlin et al. (2019), BERT, NAACL, section 4. Reimers & Gurevych (2019), Sentence-BERT, EMNLP. Kim
    (2014), Convolutional Neural Networks for Sentence Classification, EMNLP.

    Examples
    --------
    >>> texts = ["good", "very good", "bad", "very bad"]
    >>> fitted = fit_classifier(None, texts, [1, 1, 0, 0], classes=["no", "yes"], epochs=3, progress=False)
    >>> fitted.classes, fitted.probabilities(texts).shape
    (('no', 'yes'), (4, 2))
    """
    require_extra("accelerate", "Fine-tuning needs accelerate", "tasks")
    from attn_widget.features.tasks.batches import check_texts, tokenize
    from attn_widget.features.tasks.heads import (
        HEADS,
        POOLINGS,
        build,
        check_encoder,
        tokenizer_for,
    )

    check_choice(head, "head", HEADS)
    check_choice(pooling, "pooling", POOLINGS)
    for name, value, high in (
        ("lr_encoder", lr_encoder, 1.0),
        ("lr_head", lr_head, 1.0),
        ("weight_decay", weight_decay, 1.0),
        ("dropout", dropout, 0.9),
        ("warmup", warmup, 0.9),
    ):
        if value is not None or name not in ("lr_encoder", "dropout"):
            _check_number(name, value, high)
    for name, value in (
        ("epochs", epochs),
        ("batch_size", batch_size),
        ("patience", patience),
    ):
        check_count(value, name, 1)
    seed = check_seed(seed)
    progress = check_flag(progress, "progress")
    truncation, resume = check_flag(truncation, "truncation"), check_flag(resume, "resume")
    folder = None if checkpoint is None else check_path(checkpoint, "checkpoint")
    given = check_texts(texts, "texts")
    indices = _check_labels(labels, len(given), "labels", None)
    n_classes = int(indices.max()) + 1
    names = _check_classes(classes, n_classes)
    held = None if validation is None else _check_validation(validation, n_classes)

    loaded = load(encoder, progress=progress)
    check_encoder(loaded, head, pooling)
    if max_length is not None:
        check_count(max_length, "max_length", 3, loaded.max_length)
    limit = loaded.max_length if max_length is None else max_length
    options: dict[str, Any] = {"max_length": limit, "truncation": truncation}

    from attn_widget.features.tasks.trainer import Labelled, Settings, fine_tune

    train = Labelled(tokenize(loaded, given, **options, name="texts"), indices)
    checked = None
    if held is not None:
        checked = Labelled(tokenize(loaded, held[0], **options, name="validation texts"), held[1])
    rate = usual_rate(loaded.hidden_size) if lr_encoder is None else float(lr_encoder)
    share = None if dropout is None else float(dropout)
    settings = Settings(
        head, pooling if head == "linear" else None, rate, float(lr_head), float(weight_decay), share,
        float(warmup), int(epochs), int(batch_size), int(patience), int(limit), truncation, seed,
    )  # fmt: skip

    import torch

    devices = [loaded.device] if loaded.device.type == "cuda" else []
    with torch.random.fork_rng(devices):
        torch.manual_seed(seed)
        model, fresh = build(loaded, head, names, pooling, share)
    tokenizer = tokenizer_for(loaded)
    if folder is None:
        state = fine_tune(model, fresh, train, checked, settings, None, progress=progress)
    else:
        from attn_widget.features.tasks.checkpoint import Store

        identity: dict[str, Any] = {
            **{key: value for key, value in identity_of(loaded).items() if key != "attn_widget"},
            "classes": list(names),
            "train": _digest(train),
            "validation": None if checked is None else _digest(checked),
            **asdict(settings),
        }
        with locked(folder, "checkpoint"):
            store = Store(folder, identity, tokenizer, resume=resume)
            state = fine_tune(model, fresh, train, checked, settings, store, progress=progress)

    fitted = FittedClassifier(model, tokenizer, state.history, asdict(settings))
    seen = given if validation is None else list(validation[0])
    fitted.moved = heads_moved(loaded, fitted.encoder, seen, truncation)
    if progress and fitted.moved is not None:
        print(line_of(fitted.moved))  # noqa: T201
    return fitted


def usual_rate(hidden_size: int) -> float:
    """Rate of an encoder of this width: 2e-4 suits the embedded one, wider ones need less.

    >>> [f"{usual_rate(width):.2g}" for width in (256, 384, 768, 1024)]
    ['0.0002', '0.0002', '5e-05', '2.8e-05']
    """
    return RATE * min(1.0, (RATE_WIDTH / hidden_size) ** 2)


def _check_number(name: str, value: Any, high: float) -> None:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise InputTypeError(f"{name} is a {type(value).__name__}, expected a number.")
    if not 0 <= value <= high:
        raise InputError(f"{name} is {short_repr(value)}, expected 0 to {high:g}.")


def _check_labels(labels: Any, n_texts: int, name: str, n_classes: int | None) -> NDArray[np.int64]:
    """``labels`` as int64 [n]: every class of 0 to c - 1, or (``n_classes``) none besides those."""
    array = as_array(labels, name)
    if array.ndim != 1:
        raise InputTypeError(f"{name} has shape {array.shape}, expected one class for each text.")
    if len(array) != n_texts:
        what = "texts" if n_classes is None else "validation texts"
        raise InputError(f"There are {n_texts} {what} and {len(array)} {name}, expected as many.")
    if not np.issubdtype(array.dtype, np.integer):
        raise InputTypeError(
            f"{name} has the type {array.dtype}, expected int: classes 0 to c - 1.",
            "numpy.unique(labels, return_inverse=True) gives names and numbers.",
        )
    present = np.unique(array)
    if n_classes is not None:
        if present[0] < 0 or present[-1] >= n_classes:
            other = present[0] if present[0] < 0 else present[-1]
            raise InputError(
                f"{name} has the class {other}, which the training texts do not have "
                f"(0 to {n_classes - 1})."
            )
        return array.astype(np.int64)
    if len(present) < 2:
        raise InputError(
            f"All {name} are {present[0]}: there is nothing to tell apart.",
            "Give texts of at least two classes.",
        )
    gap = next((i for i, label in enumerate(present) if label != i), None)
    if gap is not None:
        shown = ", ".join(map(str, present[:8])) + (", ..." if len(present) > 8 else "")
        raise InputError(
            f"{name} has the classes {shown}, expected 0 to c - 1 without a gap ({gap} is missing).",
            "numpy.unique(labels, return_inverse=True) gives names and numbers.",
        )
    return array.astype(np.int64)


def _check_classes(classes: Any, n_classes: int) -> tuple[str, ...]:
    if classes is None:
        return tuple(map(str, range(n_classes)))
    names = tuple(check_several(classes, "classes", "names (str)"))
    if not all(isinstance(name, str) for name in names):
        raise InputTypeError(
            f"classes is {short_repr(names)}, expected several names (str).",
            "classes=['no', 'yes']",
        )
    if len(names) != n_classes:
        raise InputError(
            f"There are {len(names)} names of classes, and the labels have {n_classes} classes "
            f"(0 to {n_classes - 1})."
        )
    if len(set(names)) != len(names):
        raise InputError(f"Two classes have the same name: {', '.join(names)}.")
    return names


def _check_validation(validation: Any, n_classes: int) -> tuple[list[str], NDArray[np.int64]]:
    from attn_widget.features.tasks.batches import check_texts

    if not isinstance(validation, (tuple, list)) or len(validation) != 2:
        raise InputTypeError(
            f"validation is a {type(validation).__name__}, expected (texts, labels) or None.",
            "validation=(split.texts, split.labels)",
        )
    texts = check_texts(validation[0], "validation texts")
    return texts, _check_labels(validation[1], len(texts), "validation labels", n_classes)


def _digest(data: Labelled) -> str:
    """Other texts, labels, order or tokenizer give another one."""
    packed = json.dumps([data.examples.columns, data.labels.tolist()])
    return hashlib.sha256(packed.encode()).hexdigest()[:16]

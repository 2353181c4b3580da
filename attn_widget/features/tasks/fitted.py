"""A fine-tuned classifier: what `fit_classifier` gives and `load_classifier` finds again."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attn_widget.checks import (
    as_array,
    check_flag,
    check_kind,
    check_path,
    check_several,
    short_repr,
)
from attn_widget.errors import InputError, InputTypeError, ModelLoadError, NotAvailableError
from attn_widget.features.tasks.curves import draw
from attn_widget.features.tasks.metrics import rank
from attn_widget.features.tasks.moved import line_of
from attn_widget.host.store import SUMS, check_sums, read_json
from attn_widget.model.checkpoint import load_checkpoint
from attn_widget.model.classification import activation_of, class_probabilities
from attn_widget.model.encoder import Encoder
from attn_widget.model.loading import load
from attn_widget.model.places import locate
from attn_widget.model.predictions import probabilities
from attn_widget.trace.finite import check_head
from attn_widget.trace.forward import inference_mode

FIGURES = ("loss", "correct")  # of every epoch, by which epochs are ranked


class FittedClassifier:
    """A sequence classifier with its tokenizer, its classes and how it was trained.

    ``show(text, model=fitted)``, ``load(fitted)`` and
    ``transformers.pipeline("text-classification", model=fitted.model, tokenizer=fitted.tokenizer)``
    take it.

    Attributes
    ----------
    model : transformers.PreTrainedModel
    tokenizer : transformers.PreTrainedTokenizerBase
    classes : tuple of str, length c
    history : tuple of dict
        A record for each epoch: ``epoch`` (1 is the first), ``lr_encoder``, ``lr_head`` (of its last batch), and ``train`` and
        ``validation`` (None without one), each with ``loss`` and the four metrics of
        `attn_widget.features.tasks.score`. Those of ``train`` are of the batches as they were learnt from:
        with dropout, each before its own update.
    settings : dict
        Arguments of `fit_classifier`.
    moved : float32 ndarray [L, H] or None
        Mean Jensen-Shannon distance of every head from that of the encoder that the training began from, over
        up to 4 of the validation texts (of the training texts, without validation): which heads the training
        moved. ``aw.compare(text, models=[base, fitted])`` shows them on a text.
    """

    def __init__(
        self,
        model: Any,
        tokenizer: Any,
        history: Sequence[dict[str, Any]] = (),
        settings: dict[str, Any] | None = None,
        moved: Any = None,
    ) -> None:
        from transformers import PreTrainedModel, PreTrainedTokenizerBase

        hint = "fit_classifier(...) and load_classifier(folder) make a FittedClassifier."
        check_kind(model, PreTrainedModel, "model", hint)
        check_kind(tokenizer, PreTrainedTokenizerBase, "tokenizer", hint)
        records = check_several(history, "history", "dicts")
        for record in (*records, {} if settings is None else settings):
            check_kind(record, dict, "settings, or an entry of history,", hint)
        check_history(records)
        self.model = model.eval()
        self.tokenizer = tokenizer
        labels = model.config.id2label
        self.classes: tuple[str, ...] = tuple(str(labels[i]) for i in range(len(labels)))
        self.history: tuple[dict[str, Any], ...] = tuple(records)
        self.settings: dict[str, Any] = dict(settings or {})
        self.moved: NDArray[np.float32] | None = None
        if moved is not None:
            self.moved = as_array(moved, "moved", np.float32)
            if self.moved.ndim != 2 or self.moved.size == 0:
                raise InputError(
                    f"moved has shape {self.moved.shape}, expected [layers, heads].", hint
                )

    @property
    def encoder(self) -> Encoder:
        """The `Encoder` that `attn_widget.load` makes of it."""
        return load((self.model, self.tokenizer))

    @property
    def best_epoch(self) -> int | None:
        """The epoch (1-based) whose weights these are; None when it was not trained here."""
        if not self.history:
            return None
        if self.history[-1]["validation"] is None:
            return len(self.history)
        ranks = [rank(record) for record in self.history]
        return 1 + ranks.index(max(ranks))

    def probabilities(
        self, texts: Sequence[str], *, truncation: bool | None = None
    ) -> NDArray[np.float32]:
        """``softmax(logits)`` of every text; sigmoids where the model's configuration says so.

        Parameters
        ----------
        texts : sequence of str
        truncation : bool, optional
            Cut texts that are longer than the training allowed; as in the training unless given.

        Returns
        -------
        float32 ndarray [n, c]
            Columns in the order of ``classes``; rows of a softmax sum to 1.

        Raises
        ------
        NotAvailableError
            The model gives values and no probabilities (regression).
        TooLongError
            A text with more tokens, without ``truncation``.
        NotFiniteError
            The model gives NaN or infinite logits.
        InputError, InputTypeError
            No text, one that is empty, or one that is no str; ``truncation`` is no bool.
        """
        from attn_widget.features.tasks.batches import check_texts, tokenize
        from attn_widget.features.tasks.passes import predict

        encoder = self.encoder
        usual = bool(self.settings.get("truncation"))
        cut = usual if truncation is None else check_flag(truncation, "truncation")
        examples = tokenize(
            encoder,
            check_texts(texts, "texts"),
            max_length=self.settings.get("max_length", encoder.max_length),
            truncation=cut,
            name="texts",
        )
        activation, _ = activation_of(self.model.config.problem_type, len(self.classes))
        if activation == "identity":
            raise NotAvailableError(
                "This model gives values, not probabilities: its problem_type is 'regression'.",
                "Values of a text: analyze(text, model=fitted).model.classification.logits.",
            )
        with inference_mode(encoder):
            logits = predict(self.model, examples)
        check_head(encoder, logits, "classifier")
        if activation == "softmax":
            return probabilities(logits).astype(np.float32)
        classes = class_probabilities(self.classes, logits, activation=activation)
        return classes.probabilities.astype(np.float32)

    def save(self, folder: str | Path) -> Path:
        """Write weights, tokenizer, history and settings; `transformers` loads the folder too.

        Parameters
        ----------
        folder : str or path
            Created if missing; its parent must exist. An earlier classifier in it is replaced.

        Returns
        -------
        Path

        Raises
        ------
        InputError
            The folder cannot be written, or holds something else.
        InputTypeError
            ``folder`` is no path.
        """
        from attn_widget.features.tasks.checkpoint import write_model

        moved = None if self.moved is None else self.moved.tolist()
        record = {"history": self.history, "settings": self.settings, "moved": moved}
        return write_model(check_path(folder, "folder"), self.model, self.tokenizer, record)

    def curves(self) -> Any:
        """Loss and metrics over the epochs.

        Returns
        -------
        matplotlib.figure.Figure
            Drawn by itself as the last line of a cell; transparent, for light and dark pages.

        Raises
        ------
        NotAvailableError
            There is no history, or matplotlib is not installed.
        """
        return draw(self.history, self.best_epoch)

    def __repr__(self) -> str:
        shown = ", ".join(self.classes[:5]) + (", ..." if len(self.classes) > 5 else "")
        trained = ""
        if self.history:
            record = self.history[(self.best_epoch or 1) - 1]
            figures = record["validation"] or record["train"]
            part = "validation" if record["validation"] else "training"
            trained = (
                f", epoch {self.best_epoch} of {len(self.history)}: {part} loss "
                f"{figures['loss']:.3f}"
            )
        moved = "" if self.moved is None else f"\n{line_of(self.moved)}"
        return f"<FittedClassifier {type(self.model).__name__}: {shown}{trained}>{moved}"


def check_history(records: Sequence[dict[str, Any]]) -> None:
    """Refuse records that are not those of epochs."""
    for k, record in enumerate(records):
        parts = (record.get("train"), record.get("validation") or record.get("train"))
        numbers = [
            record.get("epoch"),
            *(p.get(n) for p in parts if isinstance(p, dict) for n in FIGURES),
        ]
        sound = all(isinstance(part, dict) for part in parts) and "validation" in record
        if not sound or not all(isinstance(number, (int, float)) for number in numbers):
            raise InputError(
                f"Entry {k} of history is {short_repr(record)}, expected epoch, train and validation with "
                f"{' and '.join(FIGURES)}.",
                "fit_classifier(...) gives such a history.",
            )


def load_classifier(folder: str | Path) -> FittedClassifier:
    """The classifier that `FittedClassifier.save` wrote, or any sequence classifier in a folder.

    Parameters
    ----------
    folder : str or path

    Returns
    -------
    FittedClassifier
        Without history when it was trained elsewhere.

    Raises
    ------
    ModelLoadError
        No such folder, no tokenizer next to the weights, broken files, or no sequence classifier.
    InputError
        The checkpoint of a training that is not finished.
    InputTypeError
        ``folder`` is no path.
    """
    from attn_widget.features.tasks.checkpoint import (
        PLACE,
        RECORD,
        WEIGHTS,
        need_tokenizer,
    )

    path = check_path(folder, "folder")
    place = locate(path)
    if any(PLACE.fullmatch(entry.name) for entry in path.iterdir()):
        raise InputError(
            f"{str(folder)!r} is the checkpoint of a training.",
            "Call fit_classifier(..., checkpoint=folder) again: it continues, or returns the finished classifier.",
        )
    if not (path / "config.json").is_file():
        raise ModelLoadError(
            f"The folder {str(folder)!r} has no config.json.",
            "Give a folder that FittedClassifier.save() wrote.",
        )
    need_tokenizer(path)
    checkpoint = load_checkpoint(place, None, None, progress=False)
    if Encoder(checkpoint).classifier != "sequence":
        raise ModelLoadError(
            f"{str(folder)!r} holds a {type(checkpoint.model).__name__}, which does not classify texts.",
            "Fine-tune it: fit_classifier(folder, texts, labels).",
        )
    hint = f"Restore it; if it was changed on purpose, delete {SUMS}."
    check_sums(path, hint, (RECORD, WEIGHTS))
    record = read_json(path / RECORD, hint) if (path / RECORD).is_file() else {}
    stored = record.get("history", ()), record.get("settings"), record.get("moved")
    try:
        return FittedClassifier(checkpoint.model, checkpoint.tokenizer, *stored)
    except (InputError, InputTypeError) as error:
        raise ModelLoadError(
            f"{str(path / RECORD)!r} is damaged: {error.message}",
            "Restore it, or delete it to load the classifier without its history.",
        ) from error

"""Texts to batches: tokens once, then batches of like lengths in an order that a seed decides."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch.nn.utils.rnn import pad_sequence

from attn_widget.checks import check_entries, is_iterable
from attn_widget.errors import InputError, InputTypeError, TooLongError
from attn_widget.model.encoder import Encoder
from attn_widget.model.tokenizing import check_text

POOL = 50  # batches whose texts are sorted by length together; pools are cut from a random order


@dataclass(frozen=True)
class Examples:
    """Tokenized texts.

    Attributes
    ----------
    columns : dict of str to list of list of int
        ``input_ids`` and, where the model takes it, ``token_type_ids``; one list for each text.
    padding : dict of str to int
        What fills each column up.
    """

    columns: dict[str, list[list[int]]]
    padding: dict[str, int]

    def __len__(self) -> int:
        return len(self.columns["input_ids"])

    @property
    def lengths(self) -> list[int]:
        """Tokens of each text, special ones included."""
        return [len(ids) for ids in self.columns["input_ids"]]

    def batch(self, indices: Sequence[int], device: torch.device) -> dict[str, torch.Tensor]:
        """The texts of ``indices``, padded to the longest of them: int64 [len(indices), n]."""
        tensors = {
            name: pad_sequence(
                [torch.tensor(rows[i]) for i in indices],
                batch_first=True,
                padding_value=self.padding[name],
            )
            for name, rows in self.columns.items()
        }
        lengths = torch.tensor([len(self.columns["input_ids"][i]) for i in indices])
        places = torch.arange(int(lengths.max()))
        tensors["attention_mask"] = (places < lengths[:, None]).long()
        return {name: tensor.to(device) for name, tensor in tensors.items()}


def check_texts(texts: Any, name: str) -> list[str]:
    """``texts`` as a list of str that a tokenizer can read."""
    if isinstance(texts, (str, bytes)) or not is_iterable(texts):
        raise InputTypeError(
            f"{name} is a {type(texts).__name__}, expected a list of str.",
            "For one text: [text].",
        )
    checked = check_entries(texts, name)
    if not checked:
        raise InputError(f"{name} is empty.", "Give at least one text.")
    for i, text in enumerate(checked):
        check_text(text, f"{name}[{i}]")
    return checked


def tokenize(
    encoder: Encoder, texts: Sequence[str], *, max_length: int, truncation: bool, name: str
) -> Examples:
    """Tokens of all texts; see `check_texts` for the texts themselves.

    ``max_length``: most tokens of a text, special ones included. ``truncation``: cut longer texts instead of
    refusing them. ``name``: what the texts are called in messages.
    """
    options: dict[str, Any] = {"truncation": True, "max_length": max_length} if truncation else {}
    with encoder.lock:
        encoded = encoder.tokenizer(list(texts), verbose=False, **options)
    ids: list[list[int]] = encoded["input_ids"]
    for i, row in enumerate(ids):
        if len(row) > max_length:
            over = sum(len(other) > max_length for other in ids)
            more = f" ({over} texts are too long.)" if over > 1 else ""
            raise TooLongError(
                f"{name}[{i}] has {len(row):,} tokens; at most {max_length:,} are read.{more}",
                "Pass truncation=True to read only the beginning of such texts"
                + (
                    "."
                    if max_length >= encoder.max_length
                    else f", or max_length up to {encoder.max_length:,}."
                ),
            )
        if max(row, default=0) >= encoder.n_embeddings:
            raise InputError(
                f"The tokenizer gives the id {max(row)} for {name}[{i}], but {encoder.name} has "
                f"embeddings for ids 0 to {encoder.n_embeddings - 1} only.",
                "Use the tokenizer that the model was trained with.",
            )
    tokenizer = encoder.tokenizer
    columns, padding = {"input_ids": ids}, {"input_ids": int(tokenizer.pad_token_id)}
    if encoder.takes_segments and "token_type_ids" in encoded:
        columns["token_type_ids"] = encoded["token_type_ids"]
        padding["token_type_ids"] = int(tokenizer.pad_token_type_id)
    return Examples(columns, padding)


def shuffled(lengths: Sequence[int], batch_size: int, seed: tuple[int, int]) -> list[list[int]]:
    """Batches of texts of like lengths, in random order: every text once.

    ``seed``: of the training and of the epoch; the same one gives the same batches.

    >>> batches = shuffled([3, 9, 3, 9, 3], 2, (0, 1))
    >>> [len(batch) for batch in batches].count(2), sorted(i for batch in batches for i in batch)
    (2, [0, 1, 2, 3, 4])
    """
    random = np.random.default_rng(seed)
    order = random.permutation(len(lengths))
    pool = POOL * batch_size
    batches: list[list[int]] = []
    for start in range(0, len(order), pool):
        near = sorted(order[start : start + pool].tolist(), key=lambda i: lengths[i])
        batches += [near[i : i + batch_size] for i in range(0, len(near), batch_size)]
    return [batches[i] for i in random.permutation(len(batches))]


def by_length(lengths: Sequence[int], batch_size: int) -> Iterator[list[int]]:
    """Batches of texts of like lengths, the longest first: what does not fit is known at once."""
    order = sorted(range(len(lengths)), key=lambda i: -lengths[i])
    for start in range(0, len(order), batch_size):
        yield order[start : start + batch_size]

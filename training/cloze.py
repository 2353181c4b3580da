"""Prompts with one [MASK]: cloze by group, minimal pairs, the named probes, copied words.

A minimal pair differs in one word piece, so both members share one context with a [MASK] in that
place, and the pair is right when the grammatical piece gets the higher probability there
(Goldberg 2019, arXiv:1901.05287). A pseudo-log-likelihood of the two sentences (Salazar et al.
2020) would add, for every other word, its probability given the grammatical or the ungrammatical
one: n passes a sentence, and a mixture of what the pair tests with what it does not.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from transformers import BertForPreTraining, PreTrainedTokenizerBase

PROMPTS = Path(__file__).with_name("prompts")


@dataclass
class Reader:
    """A model and its tokenizer, answering prompts."""

    model: BertForPreTraining
    tokenizer: PreTrainedTokenizerBase

    @torch.no_grad()
    def probabilities(self, text: str) -> torch.Tensor:
        """The distribution at the one [MASK] of ``text``, float32 [vocabulary]."""
        encoded = self.tokenizer(text, return_tensors="pt")
        place = encoded.input_ids[0] == self.tokenizer.mask_token_id
        if int(place.sum()) != 1:
            raise ValueError(f"{text!r} has {int(place.sum())} masks; one was expected")
        return self.model(**encoded).prediction_logits[0, place][0].softmax(-1)

    def top(self, text: str, k: int = 5) -> list[str]:
        """The ``k`` most probable word pieces at the [MASK], best first."""
        ids: list[int] = self.probabilities(text).topk(k).indices.tolist()
        return [str(piece) for piece in self.tokenizer.convert_ids_to_tokens(ids)]

    def prefers(self, text: str, good: str, bad: str) -> bool:
        """True if ``good`` is more probable than ``bad``; a tie is wrong."""
        probabilities = self.probabilities(text)
        return bool(probabilities[self._id(good)] > probabilities[self._id(bad)])

    def _id(self, piece: str) -> int:
        ids: list[int] = self.tokenizer(piece, add_special_tokens=False).input_ids
        if len(ids) != 1 or ids[0] == self.tokenizer.unk_token_id:
            raise ValueError(f"{piece!r} is no single word piece of this vocabulary")
        return ids[0]


def read_prompts(name: str) -> Any:
    """The content of ``prompts/NAME.json``."""
    return json.loads((PROMPTS / f"{name}.json").read_text(encoding="utf-8"))


def _mean(values: Iterable[bool]) -> float:
    listed = list(values)
    return sum(listed) / len(listed)


def evaluate_cloze(reader: Reader, name: str = "cloze") -> dict[str, Any]:
    """Answers to the prompts of ``prompts/NAME.json``.

    Top-1 and top-5 accuracy by group, and how often a word of the prompt is copied.

    A prompt is *copied* when the best piece stands in the prompt itself and is no accepted
    answer.
    """
    groups: dict[str, Any] = {}
    answers: list[dict[str, Any]] = []
    for group, prompts in read_prompts(name).items():
        for prompt in prompts:
            top = reader.top(prompt["text"])
            first = top[0] in prompt["accept"]
            answers.append(
                {
                    "group": group,
                    "text": prompt["text"],
                    "top": top,
                    "top1": first,
                    "top5": bool(set(top) & set(prompt["accept"])),
                    "copied": not first and top[0] in reader.tokenizer.tokenize(prompt["text"]),
                }
            )
        own = [answer for answer in answers if answer["group"] == group]
        groups[group] = {
            "n": len(own),
            "top1": _mean(answer["top1"] for answer in own),
            "top5": _mean(answer["top5"] for answer in own),
        }
    return {
        "n": len(answers),
        "top1": _mean(answer["top1"] for answer in answers),
        "top5": _mean(answer["top5"] for answer in answers),
        "copied": _mean(answer["copied"] for answer in answers),
        "groups": groups,
        "answers": answers,
    }


def evaluate_pairs(reader: Reader) -> dict[str, Any]:
    """Accuracy on the minimal pairs, in all and by phenomenon (chance 0.5), and the failures."""
    groups: dict[str, Any] = {}
    wrong: list[str] = []
    right: list[bool] = []
    for group, pairs in read_prompts("pairs").items():
        own = [reader.prefers(**pair) for pair in pairs]
        wrong += [
            pair["text"].replace("[MASK]", f"[{pair['good']} / {pair['bad']}]")
            for pair, correct in zip(pairs, own, strict=True)
            if not correct
        ]
        right += own
        groups[group] = {"n": len(own), "accuracy": _mean(own)}
    return {
        "n": len(right),
        "accuracy": _mean(right),
        "chance": 0.5,
        "groups": groups,
        "wrong": wrong,
    }


def evaluate_probes(reader: Reader) -> list[dict[str, Any]]:
    """The named sentences: what stands on top, and whether it is what was asked for."""
    results: list[dict[str, Any]] = []
    for probe in read_prompts("probes"):
        top = reader.top(probe["text"])
        if "good" in probe:
            met = reader.prefers(probe["text"], probe["good"], probe["bad"])
            wanted = f"{probe['good']} before {probe['bad']}"
        else:
            met = bool(set(top[: probe["top"]]) & set(probe["accept"]))
            some = " / ".join(probe["accept"][:3]) + (" ..." if len(probe["accept"]) > 3 else "")
            wanted = f"{some} in the top {probe['top']}"
        results.append({"text": probe["text"], "wanted": wanted, "top": top, "met": met})
    return results

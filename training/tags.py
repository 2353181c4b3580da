"""Train a read-out of parts of speech from the embedded model's own hidden states, for pages without a tagger.

Run ``python -m training.tags --corpus FOLDER`` (text files of one paragraph a line, some packed by xz: training files and one
for validation). It prints the agreement with spaCy by layer and writes ``attn_widget/mini/tags.json`` for the best one.

A linear map with a bias takes a token's hidden state to one logit a tag, as a probe does (Hewitt & Liang 2019); the label of
a token is that of the word in which spaCy sees it. It reads tags, and is no claim of how the model represents them.
"""

from __future__ import annotations

import argparse
import base64
import json
import lzma
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import spacy
import torch
from torch.nn import functional
from transformers import BertForPreTraining

import attn_widget
from attn_widget.model.encoder import Encoder
from attn_widget.model.loading import load
from training.heads import TAGGER

OUT = Path(attn_widget.__file__).parent / "mini" / "tags.json"
TAGS = (
    *("ADJ", "ADP", "ADV", "AUX", "CCONJ", "DET", "INTJ", "NOUN", "NUM"),
    *("PART", "PRON", "PROPN", "PUNCT", "SCONJ", "SYM", "VERB", "X"),
)
LAYERS = range(1, 5)  # hidden states that are tried: 0 are the embeddings
LONGEST = 64  # tokens of a passage
STEPS = 1500
BATCH = 4096  # tokens


def paragraphs(files: Sequence[Path], count: int, seed: int) -> list[str]:
    """``count`` of their lines, drawn without replacement."""
    lines: list[str] = []
    for path in files:
        with lzma.open(path, "rt", encoding="utf-8") as file:
            lines += [line.strip() for line in file if 20 < len(line) < 400]
    chosen = np.random.default_rng(seed).permutation(len(lines))[:count]
    return [lines[i] for i in chosen]


def labeled(texts: Sequence[str], encoder: Encoder) -> Iterator[tuple[Any, np.ndarray]]:
    """Each text's tokens with the tags of their words; -1 for a token that has none."""
    tagger = spacy.load(TAGGER, exclude=["ner", "lemmatizer", "parser"])
    for text, doc in zip(texts, tagger.pipe(texts), strict=True):
        encoding = encoder.encode(text, truncation=True)
        ends = np.array([word.idx + len(word) for word in doc])
        tags = [-1] * len(encoding.tokens)
        for i, token in enumerate(encoding.tokens):
            word = int(np.searchsorted(ends, token.start, side="right"))
            if not token.special and word < len(doc) and doc[word].pos_ in TAGS:
                tags[i] = TAGS.index(doc[word].pos_)
        yield encoding, np.array(tags)


def states_of(
    texts: Sequence[str], encoder: Encoder, model: Any
) -> tuple[dict[int, torch.Tensor], torch.Tensor]:
    """Hidden states of every labeled token by layer, float16 [tokens, d], and labels."""
    states_by_layer: dict[int, list[torch.Tensor]] = {layer: [] for layer in LAYERS}
    labels: list[np.ndarray] = []
    for encoding, tags in labeled(texts, encoder):
        ids = encoding.inputs["input_ids"][:, :LONGEST]
        kept = torch.from_numpy(np.flatnonzero(tags[: ids.shape[1]] >= 0))
        with torch.no_grad():
            states = model.bert(ids, output_hidden_states=True).hidden_states
        for layer in LAYERS:
            states_by_layer[layer].append(states[layer][0, kept].half())
        labels.append(tags[: ids.shape[1]][kept.numpy()])
    return {layer: torch.cat(parts) for layer, parts in states_by_layer.items()}, torch.from_numpy(
        np.concatenate(labels)
    )


def fit(states: torch.Tensor, labels: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Weight [tags, d] and bias [tags] of a softmax regression."""
    torch.manual_seed(0)
    weight = torch.zeros(len(TAGS), states.shape[1], requires_grad=True)
    bias = torch.zeros(len(TAGS), requires_grad=True)
    optimizer = torch.optim.AdamW([weight, bias], lr=1e-2, weight_decay=1e-2)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, STEPS)
    for _ in range(STEPS):
        rows = torch.randint(len(labels), (BATCH,))
        loss = functional.cross_entropy(
            functional.linear(states[rows].float(), weight, bias), labels[rows]
        )
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
    return weight.detach(), bias.detach()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--corpus", type=Path, required=True)
    parser.add_argument("--texts", type=int, default=12_000)
    options = parser.parse_args()
    files = sorted(options.corpus.rglob("*.txt.xz"))
    held = [path for path in files if "validation" in path.name]
    encoder = load(None)
    model: BertForPreTraining = encoder.model
    train = states_of(
        paragraphs([path for path in files if path not in held], options.texts, 0), encoder, model
    )
    test = states_of(paragraphs(held, options.texts // 6, 1), encoder, model)
    print(f"{len(train[1]):,} tokens to train on, {len(test[1]):,} held out")
    best: tuple[float, int, torch.Tensor, torch.Tensor] | None = None
    for layer in LAYERS:
        weight, bias = fit(train[0][layer], train[1])
        weight = weight.half().float()
        guesses = functional.linear(test[0][layer].float(), weight, bias).argmax(1)
        agreement = float((guesses == test[1]).float().mean())
        print(f"hidden state {layer}: agreement {agreement:.4f}")
        if best is None or agreement > best[0]:
            best = agreement, layer, weight, bias
    assert best is not None
    agreement, layer, weight, bias = best
    packed = base64.b64encode(weight.numpy().astype("<f2").tobytes()).decode()
    written = {
        "layer": layer,
        "tags": TAGS,
        "agreement": round(agreement, 4),
        "tokens": len(test[1]),
        "tagger": f"spaCy {TAGGER}",
        "weight": packed,
        "bias": [round(float(one), 4) for one in bias],
    }
    OUT.write_text(json.dumps(written) + "\n", encoding="utf-8")
    print(f"wrote {OUT.name} ({OUT.stat().st_size / 1e3:.1f} kB)")


if __name__ == "__main__":
    main()

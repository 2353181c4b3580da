"""Compares the engine of a page, in Node, with the kernel."""

from __future__ import annotations

import copy
import json
import random
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import attn_widget as aw
from attn_widget.features.engine.packing import pack_model
from tests.hard_texts import HARD_TEXTS

ROOT = Path(__file__).parents[1]
MINI = ROOT / "attn_widget" / "mini"
SCRIPT = ROOT / "js" / "dev" / "engine.mjs"
WORDS = (
    "the",
    "a",
    "of",
    "river",
    "house",
    "cat",
    "doctor",
    "light",
    "said",
    "small",
    "old",
    "never",
)
LENGTHS = (1, 2, 3, 5, 6, 7, 13, 30, 61, 62, 126, 254, 510)  # words, each one token


BATCH = 20  # texts whose figures lie on the disk at once: 100 MB for the longest
RELAXED = (
    "--experimental-wasm-relaxed-simd"  # Node 20 has it behind this flag, browsers have it without
)
CLOSER = 1e-4  # logits whose order may differ


class Differences(NamedTuple):
    """Largest absolute differences over all texts, and how many differ otherwise.

    Attributes
    ----------
    relative : float
        The largest of ``||difference|| / ||hidden state||`` of a token.
    tokens : int
        Texts whose ids or offsets differ.
    order : int
        Positions whose ten best tokens stand in another order, though their logits are not closer than `CLOSER`.
    """

    attention: float
    hidden_states: float
    relative: float
    logits: float
    projections: float
    next_sentence: float
    tokens: int
    order: int


class Rounding(NamedTuple):
    """Largest absolute differences of one text from the same weights in float64."""

    attention: float
    hidden_states: float
    logits: float


class Compared(NamedTuple):
    """The engine against the kernel, and both against float64: the latter a pair for each text."""

    kernel: Differences
    rounding: dict[str, tuple[Rounding, Rounding]]
    largest: Rounding  # scores, hidden states and logits: what is summed

    def worst(self, which: int, without: Sequence[str] = ()) -> Rounding:
        """Largest differences of the engine (0) or the kernel (1) over all texts but some."""
        every = [pair[which] for text, pair in self.rounding.items() if text not in without]
        return Rounding._make(map(max, zip(*every, strict=True)))


def parity_texts(count: int = 60) -> list[str]:
    """Texts of 3 to 512 tokens, hard ones among them."""
    rng = random.Random(0)
    texts = [" ".join(rng.choices(WORDS, k=length)) for length in LENGTHS]
    hard = [text for text in HARD_TEXTS if text.strip() and any(map(str.isalnum, text))]
    while len(texts) + len(hard) < count:
        length = round(510 ** rng.random())  # as many short as long ones
        texts.append(" ".join(rng.choices([*WORDS, *"abcdefgh,.?!"], k=length)))
    return [*texts, *hard][:count]


def run_engine(folder: Path, relaxed: bool = False, **job: Any) -> list[Any]:
    """What js/dev/engine.mjs answers to a job; ``folder`` receives its files.

    ``relaxed``: by the kernels that browsers with relaxed SIMD choose.
    """
    model = folder / "model.bin"
    if not model.exists():
        model.write_bytes(pack_model(MINI))
    path = folder / "job.json"
    path.write_text(json.dumps({"model": str(model), "folder": str(folder), **job}))
    flags = [RELAXED] if relaxed else []
    done = subprocess.run(
        ["node", *flags, str(SCRIPT), str(path)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=3600,
    )
    assert done.returncode == 0, done.stderr
    return list(json.loads(done.stdout))


def most(found: np.ndarray, expected: Any) -> float:
    return float(np.abs(found.reshape(-1) - np.asarray(expected).reshape(-1)).max())


def others_in_order(found: np.ndarray, expected: np.ndarray) -> int:
    """Rows whose ten best entries stand in another order, unless they are closer than `CLOSER`."""
    count = 0
    for own, other in zip(found, expected, strict=True):
        best = np.argsort(-other, kind="stable")[:10]
        count += not bool((np.diff(own[best]) <= CLOSER).all() and (own[best[-1]] >= np.sort(own)[-10] - CLOSER))  # fmt: skip
    return count


def compare(texts: list[str], folder: Path, *, relaxed: bool = False) -> Compared:
    """The engine against `analyze` and against float64, for every text."""
    exact = in_float64()
    worst = np.zeros(6)
    tokens = order = 0
    rounding: dict[str, tuple[Rounding, Rounding]] = {}
    largest = np.zeros(3)
    for start in range(0, len(texts), BATCH):
        batch = texts[start : start + BATCH]
        for index, answer in enumerate(run_engine(folder, relaxed, texts=batch)):
            text = batch[index]
            apart, others, rounding[text], sizes = one_text(
                text, answer, folder / f"{index}.bin", exact
            )
            largest = np.maximum(largest, sizes)
            worst = np.maximum(worst, apart)
            tokens, order = tokens + others[0], order + others[1]
    differences = Differences._make([*map(float, worst), tokens, order])
    return Compared(differences, rounding, Rounding._make(map(float, largest)))


def in_float64() -> Any:
    """A function of ids: attention, hidden states and logits of three positions in float64, and the largest score."""
    import torch
    from torch.nn import functional

    encoder = aw.load(progress=False)
    model = copy.deepcopy(encoder.model).double()

    @torch.inference_mode()
    def run(ids: list[int]) -> tuple[list[np.ndarray], float]:
        n = len(ids)
        state = model.bert.embeddings(torch.tensor([ids]), None)[0]
        weights, states, largest = [], [state], 0.0
        for layer in model.bert.encoder.layer:
            own = layer.attention.self
            query, key, value = (
                part(state).reshape(n, encoder.n_heads, -1).transpose(0, 1)
                for part in (own.query, own.key, own.value)
            )
            scores = query @ key.transpose(1, 2) * own.scaling
            largest = max(largest, float(scores.abs().max()))
            weights.append(functional.softmax(scores, dim=-1))
            context = (weights[-1] @ value).transpose(0, 1).reshape(state.shape)
            attended = layer.attention.output(context, state)
            state = layer.output(layer.intermediate(attended), attended)
            states.append(state)
        logits = model.cls.predictions(state[[0, n // 2, n - 1]])
        true = [torch.stack(weights).numpy(), torch.stack(states).numpy(), logits.numpy()]
        return true, largest

    return run


def one_text(
    text: str, answer: Any, path: Path, exact: Any
) -> tuple[list[float], tuple[int, int], tuple[Rounding, Rounding], list[float]]:
    """Differences of one text, whose figures by the engine lie in ``path``, and the largest values."""
    run = aw.analyze(text, tagger=None, progress=False)
    n = run.trace.n_tokens
    layers, heads = range(run.trace.n_layers), range(run.trace.n_heads)
    ids = [token.id for token in run.tokens]
    offsets = [[token.start, token.end] for token in run.tokens]
    values = np.fromfile(path, dtype="<f4")
    path.unlink()
    states = np.stack([np.asarray(state) for state in run.model.hidden_states])
    attention, values = np.split(values, [len(layers) * len(heads) * n * n])
    hidden, values = np.split(values, [states.size])
    parts, values = np.split(values, [3 * states[0].size])
    logits, next_sentence = np.split(values, [len(values) - 2])
    weights = np.stack([[run.attention(k, h) for h in heads] for k in layers])
    qkv = [
        np.concatenate([part(1, h) for h in heads], axis=1)
        for part in (run.model.queries, run.model.keys, run.model.values)
    ]
    rows = np.stack([run.trace.logits_tensor([i])[0].numpy() for i in (0, n // 2, n - 1)])
    lengths = np.linalg.norm(states, axis=-1)
    apart = [
        most(attention, weights),
        most(hidden, states),
        float((np.linalg.norm(hidden.reshape(states.shape) - states, axis=-1) / lengths).max()),
        most(logits, rows),
        most(parts, np.stack(qkv)),
        most(next_sentence, run.trace.nsp_logits),
    ]
    same = (answer["ids"], answer["offsets"]) == (ids, offsets)
    others = int(not same), others_in_order(logits.reshape(rows.shape), rows)
    true, largest_score = exact(ids)
    engine, kernel = (
        Rounding._make(map(most, found, true))
        for found in ((attention, hidden, logits), (weights, states, rows))
    )
    sizes = [largest_score, *(float(np.abs(one).max()) for one in true[1:])]
    return apart, others, (engine, kernel), sizes

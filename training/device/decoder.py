"""Train a small decoder on one GPU until a deadline, and put together what it wrote.

Run: ``python -m training.device.decoder pack --data DATA --out PARTS`` after `training.device.text`; ``... train --parts PARTS --out OUT --seconds
540`` on the GPU; ``... join OUT --data DATA --folder MODEL`` gives a folder that ``attn_widget.load`` opens. ``train`` needs torch, transformers
and numpy; repeated with the same ``--work`` it goes on from the last checkpoint. It writes at most 5 files of 15 MiB.
"""

from __future__ import annotations

import itertools
import json
import math
import sys
from argparse import ArgumentParser
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.torch import load
from tokenizers import Tokenizer
from torch import Tensor
from torch.nn.functional import cross_entropy, linear
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

from training.device.loop import Costs, Figures, Run, loop_parser, train
from training.device.parts import WEIGHTS, held_of, write_parts
from training.device.text import START, encode
from training.settings import Settings, read_settings

ROW = 512  # tokens that a position can see, and that a row of a step has
TEXT, TOKENIZER = "text-", "tokenizer.json"
OPTIONS = [
    *("model.width=384", "model.layers=6", "model.heads=6", "batch.step_tokens=65_536"),
    *("train.muon_lr=3e-3", "train.peak_lr=2e-3", "train.weight_decay=0.1"),
]


def build_config(settings: dict[str, Any], vocabulary: int) -> LlamaConfig:
    """A Llama with as many keys as queries, tied embeddings, and a feed-forward part 8/3 as wide."""
    width = settings["width"]
    return LlamaConfig(
        vocab_size=vocabulary,
        hidden_size=width,
        intermediate_size=round(width * 8 / 3 / 64) * 64 or 64,
        num_hidden_layers=settings["layers"],
        num_attention_heads=settings["heads"],
        num_key_value_heads=settings["heads"],
        max_position_embeddings=ROW,
        rms_norm_eps=1e-6,
        tie_word_embeddings=True,
        bos_token_id=0,
        eos_token_id=0,
        use_cache=False,
    )


def rows_of(step: int, rows: int, total: int, seed: int) -> np.ndarray:
    """First token of each row of a step, in ``total`` tokens of text; int64 [rows].

    Each pass through the text reads every row once, in an order and from a first token of its own.
    """
    a_pass = (total - ROW - 1) // ROW  # rows; leaves room for the first token
    places = np.arange(step * rows, (step + 1) * rows)
    starts = np.empty(rows, np.int64)
    for number in np.unique(places // a_pass):
        rng = np.random.default_rng((seed, int(number)))
        offset, order = rng.integers(ROW), rng.permutation(a_pass)
        own = places // a_pass == number
        starts[own] = offset + ROW * order[places[own] % a_pass]
    return starts


def predicted(hidden: Tensor, embeddings: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
    """Sum of the losses in nats, and how many labels came first."""
    logits = linear(hidden, embeddings).float()
    loss = cross_entropy(logits, labels, reduction="sum")
    return loss, (logits.detach().argmax(-1) == labels).sum()


class Decoder(Run):
    """Llama on rows of 512 tokens cut from the text; documents are told apart by their first token alone."""

    model: LlamaForCausalLM

    def __init__(self, settings: Settings, files: dict[str, bytes], device: torch.device) -> None:
        config = build_config(settings["model"], vocabulary_of(files))
        model = LlamaForCausalLM(config)
        super().__init__(model, model.model.layers, settings, device)
        text = b"".join(content for name, content in files.items() if name.startswith(TEXT))
        self.text = torch.from_numpy(np.frombuffer(text, np.int16).copy()).to(device)
        self.told = {"text": len(self.text)}
        self.held = held_of(files)
        self.inner = torch.arange(ROW + 1, device=device)
        self.predicted = predicted

    def batches(self) -> Iterator[list[Tensor]]:
        rows, seed = self.step_tokens // ROW, self.settings["train"]["seed"]
        for step in itertools.count(self.step):
            yield [torch.from_numpy(rows_of(step, rows, len(self.text), seed))]

    def score(self, rows: Tensor) -> tuple[Tensor, Tensor]:
        """Sum of the losses, and how many tokens came first, of rows of 513 tokens each."""
        with self.autocast():
            hidden = self.model.model(input_ids=rows[:, :-1], use_cache=False).last_hidden_state
            embeddings = self.model.model.embed_tokens.weight
            return self.predicted(hidden.flatten(0, 1), embeddings, rows[:, 1:].flatten())

    def losses(self, arrays: list[Tensor]) -> tuple[Tensor, dict[str, Tensor]]:
        loss, first = self.score(self.text[arrays[0][:, None] + self.inner].long())
        loss = loss / self.step_tokens
        return loss, {"loss": loss, "top1": first / self.step_tokens}

    def shown(self, figures: dict[str, float]) -> dict[str, float]:
        return figures

    @torch.no_grad()
    @torch.compiler.set_stance("force_eager")  # compiled parts would be compiled again
    def evaluate(self, limit: int | None) -> Figures:
        """Figures of rows that begin 512 tokens apart; the last ones, which would not fill a step, are left out."""
        figures: Figures = {}
        n_rows = self.step_tokens // ROW
        for name, tokens in self.held.items():
            whole = (len(tokens) - 1) // ROW
            asked = whole if limit is None else min(whole, math.ceil(limit / ROW))
            starts = torch.arange(max(n_rows, asked // n_rows * n_rows)).clamp(max=whole - 1) * ROW
            text = torch.from_numpy(tokens.astype(np.int64)).to(self.device)
            sums = torch.zeros(2, dtype=torch.float64)
            for some in starts.split(n_rows):
                scored = self.score(text[some.to(self.device)[:, None] + self.inner])
                sums += torch.tensor([float(value) for value in scored], dtype=torch.float64)
            loss, first = (sums / (len(starts) * ROW)).tolist()
            figures[name] = {"loss": loss, "top1": first, "n_chosen": len(starts) * ROW}
        return figures

    def compile(self) -> None:
        for layer in self.model.model.layers:
            layer.compile(dynamic=False)
        self.predicted = torch.compile(predicted, dynamic=False)

    def exported(self) -> dict[str, Tensor]:
        return {name: p.detach() for name, p in self.model.named_parameters()}


def vocabulary_of(files: dict[str, bytes]) -> int:
    return Tokenizer.from_str(files[TOKENIZER].decode()).get_vocab_size()


def pack(data: Path, out: Path, first: int, most: int) -> None:
    """Write parts of at most ``most`` tokens of text, from the ``first`` one on; with these, the tokenizer and held-out text.

    The largest of the sets in ``data`` comes last, and is the one that is cut where not all can travel at once.
    """
    sets = [file.read_bytes() for file in sorted(data.glob("*.tokens"))]
    text = b"".join(sorted(sets, key=len))[2 * first : 2 * (first + most)]
    files = {f"{TEXT}{first}.tokens": text}
    if first == 0:
        tokenizer = Tokenizer.from_file(str(data / TOKENIZER))
        files[TOKENIZER] = (data / TOKENIZER).read_bytes()
        for file in sorted(data.glob("held-*.txt")):
            texts = map(json.loads, file.read_text().splitlines())
            tokens = np.concatenate(list(encode(tokenizer, texts)))
            files[f"{file.stem}.tokens"] = tokens.tobytes()
    for folder in write_parts(files, out):
        size = sum(file.stat().st_size for file in folder.iterdir())
        print(f"{folder}  {size / 2**20:.1f} MiB  {len(text) // 2:,} tokens")


def join(out: Path, data: Path, folder: Path) -> None:
    """Write a folder that transformers opens, from the parts of the weights in ``out`` and the tokenizer in ``data``."""
    parts = sorted(out.glob(f"{WEIGHTS}.*"), key=lambda part: int(part.suffix[1:]))
    if not parts:
        raise FileNotFoundError(f"no {WEIGHTS}.0 in {out}: expected what ``train`` wrote")
    folder.mkdir(parents=True, exist_ok=True)
    content = b"".join(part.read_bytes() for part in parts)
    (folder / WEIGHTS).write_bytes(content)
    weights = load(content)
    facts = json.loads((out / "run.json").read_text()) if (out / "run.json").exists() else {}
    settings = facts.get("settings") or read_settings(overrides=OPTIONS)
    config = build_config(settings["model"], len(weights["model.embed_tokens.weight"]))
    config.architectures = ["LlamaForCausalLM"]
    config.dtype = torch.float16
    config.save_pretrained(folder)
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_file=str(data / TOKENIZER),
        bos_token=START,
        eos_token=START,
        model_max_length=ROW,
    )
    tokenizer.save_pretrained(folder)


def main() -> None:
    name = sys.argv[1] if len(sys.argv) > 1 else ""
    if name == "train":
        parser = loop_parser(__doc__)
        arguments = parser.parse_args(sys.argv[2:])
        settings = read_settings(arguments.config, [*OPTIONS, *arguments.set])

        def make(files: dict[str, bytes], first: int, costs: Costs) -> Decoder:
            run = Decoder(settings, files, torch.device(arguments.device))
            run.step = first
            costs.end("text and model")
            return run

        train(arguments, settings, make)
        return
    parser = ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    verbs = parser.add_subparsers(dest="verb", required=True)
    verbs.add_parser("train", help="see: train --help")
    packing = verbs.add_parser("pack")
    packing.add_argument("--data", type=Path, required=True, help="what `text` wrote")
    packing.add_argument("--out", type=Path, required=True)
    packing.add_argument("--first", type=int, default=0, help="token of the whole text")
    packing.add_argument("--tokens", type=int, default=1 << 40, help="at most, from there on")
    joining = verbs.add_parser("join")
    joining.add_argument("out", type=Path)
    joining.add_argument("--data", type=Path, required=True)
    joining.add_argument("--folder", type=Path, required=True)
    given = parser.parse_args()
    if given.verb == "pack":
        pack(given.data, given.out, given.first, given.tokens)
    else:
        join(given.out, given.data, given.folder)


if __name__ == "__main__":
    main()

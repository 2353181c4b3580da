"""Train the embedded model on one GPU until a deadline.

Run: ``python -m training.device.run --parts PARTS --out OUT --seconds 540``. It needs torch and numpy alone. Repeated with the same ``--work`` it
goes on from the last checkpoint. What it writes to OUT, every minute and at the end, is at most 7 files of 15 MiB: the weights in
float16 (``model.safetensors.0`` to ``.2``), ``curve.jsonl``, ``evaluation.json`` and ``run.json``.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from typing import Any

import torch
from safetensors.torch import load
from torch import Tensor

from training.device.evaluate import evaluate
from training.device.feeder import Feeder
from training.device.flat import Attend, Flat, attend_flat, attend_rows, exported_name, mask
from training.device.loop import Costs, Figures, Run, loop_parser, train
from training.device.packed import ROW
from training.device.parts import WEIGHTS, held_of, mixture_of
from training.level import TRAINED
from training.settings import Settings, read_settings

FINAL = 0.1  # of the time, at the end: the mask rate that is measured
MAX_CHOSEN, MAX_PAIRS = 0.29, 1 / 64  # of the tokens of a step; more are left out of the loss
OPTIONS = [
    *("batch.step_tokens=65_536", "train.schedule=linear", "train.average_tokens=0"),
    "train.final_dropout=0.0",
    # ten times the tokens of all stretches before, eight times the tokens a step
    *("train.muon_lr=2.5e-3", "train.peak_lr=1.0e-3", "train.weight_decay=0.05"),
    # less of the texts that would be read more than thirty times
    *("running.wikipedia=0.66", "running.books=0.21", "running.dialogues=0.13"),
    *("alone.wikipedia=0.34", "alone.books=0.18", "alone.dialogues=0.14"),
    *("alone.tatoeba=0.22", "alone.examples=0.08", "alone.proverbs=0.04"),
]


class Masked(Run):
    """The embedded model: masked words, next sentences, and the penalties of `training.train`."""

    model: Flat

    def __init__(
        self,
        settings: Settings,
        weights: bytes,
        device: torch.device,
        held: dict[str, Any],
        feeder: Feeder,
    ) -> None:
        own = settings["model"]
        stored = load(weights)
        self.vocabulary = len(stored["bert.embeddings.word_embeddings.weight"])
        model = Flat(self.vocabulary, own["width"], own["heads"], own["layers"])
        model.load_state_dict(
            {name: stored[exported_name(name)].float() for name in model.state_dict()}
        )
        super().__init__(model, model.layers, settings, device)
        self.held, self.feeder = held, feeder

    def batches(self) -> Iterator[list[Tensor]]:
        return self.feeder

    def losses(self, arrays: list[Tensor]) -> tuple[Tensor, dict[str, Tensor]]:
        batch, options = self.settings["batch"], self.settings["train"]
        rate = batch["final_mask_rate"] if self.done > 1 - FINAL else batch["mask_rate"]
        tokens = self.step_tokens
        random = torch.rand(3, tokens, device=self.device)
        masked = mask(arrays, rate, self.vocabulary, random)
        with self.autocast():
            most = int(MAX_CHOSEN * tokens), int(MAX_PAIRS * tokens)
            figures = self.model(masked, *most, bool(options["rest_weight"]))
        expected = rate * tokens
        loss = (figures["mlm_sum"] + options["copy_weight"] * figures["copied_sum"]) / expected
        # in `training.train` a quarter of the batches has pairs
        loss = loss + 0.25 * options["nsp_weight"] * figures["next"]
        return loss + options["rest_weight"] * figures["resting"], figures

    def shown(self, figures: dict[str, float]) -> dict[str, float]:
        chosen = figures["n_chosen"]
        loss, copied = figures["mlm_sum"] / chosen, figures["copied_sum"] / chosen
        rest = {name: figures[name] for name in ("next", "resting")}
        return {"loss": loss, "copied": copied, **rest}

    def evaluate(self, limit: int | None) -> Figures:
        return evaluate(self.model, self.held, self.step_tokens // ROW, limit)

    def compile(self) -> None:
        """Compile layers and losses one by one, which takes less time than the whole."""
        for layer in self.model.layers:
            layer.compile(dynamic=False)
        self.model.embed = torch.compile(self.model.embed, dynamic=False)
        self.model.losses = torch.compile(self.model.losses, dynamic=False)

    def exported(self) -> dict[str, Tensor]:
        return {exported_name(name): value for name, value in self.model.state_dict().items()}

    def begin(self) -> None:
        self.model.set_scale(TRAINED)

    def close(self) -> None:
        self.feeder.close()
        self.settings["train"]["total_tokens"] = self.tokens
        self.settings["train"]["final_tokens"] = int(FINAL * self.tokens)


def choose_attention(run: Masked, arrays: list[Tensor]) -> dict[str, Any]:
    """Give the model the fastest attention that agrees with the mask over rows; tells what was measured."""
    if run.device.type != "cuda":
        return {"attention": "rows"}
    arrays = [array.to(run.device) for array in arrays]
    step = mask(arrays, 0.15, run.vocabulary, torch.rand(3, arrays[0].numel(), device=run.device))
    own = run.settings["model"]
    shape = (arrays[0].numel(), own["heads"], own["width"] // own["heads"])
    q, k, v = torch.randn(3, *shape, device=run.device, dtype=torch.bfloat16).requires_grad_()
    seconds: dict[str, Any] = {}
    outcomes: dict[str, Tensor] = {}
    ways: dict[str, Attend] = {"rows": attend_rows, "flat": attend_flat}
    for name, attend in ways.items():
        try:
            attend(q, k, v, step).sum().backward()
            torch.cuda.synchronize()
            begun = time.monotonic()
            for _ in range(3):
                attend(q, k, v, step).sum().backward()
            torch.cuda.synchronize()
            seconds[name] = (time.monotonic() - begun) / 3
            outcomes[name] = attend(q, k, v, step).detach().float()
        except Exception as error:  # an older torch has no such kernel: the other one will do
            seconds[name] = repr(error)
    if "flat" in outcomes:
        seconds["difference"] = float((outcomes["flat"] - outcomes["rows"]).abs().max())
        if seconds["difference"] < 0.05 and seconds["flat"] < seconds["rows"]:
            run.model.attend = attend_flat
    return {"attention": "flat" if run.model.attend is attend_flat else "rows", "tried": seconds}


def main() -> None:
    parser = loop_parser(__doc__)
    parser.add_argument("--workers", type=int, default=max(1, (os.cpu_count() or 2) - 2))
    arguments = parser.parse_args()
    settings = read_settings(arguments.config, [*OPTIONS, *arguments.set])

    def make(files: dict[str, bytes], first: int, costs: Costs) -> Masked:
        mixture, held = mixture_of(files, settings), held_of(files)
        rows = settings["batch"]["step_tokens"] // ROW
        feeder = Feeder(mixture, settings, rows, first, arguments.workers)
        costs.end("corpora and workers")
        run = Masked(settings, files[WEIGHTS], torch.device(arguments.device), held, feeder)
        run.told = choose_attention(run, next(feeder))
        print(run.told, flush=True)
        costs.end("model and attention")
        return run

    train(arguments, settings, make)


if __name__ == "__main__":
    main()

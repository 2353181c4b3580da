"""Training by a clock, whatever the model: the rate, checkpoints, the curve, and weights written in parts.

A kind of model is a `Run`: `training.device.run` has the embedded one, `training.device.decoder` a decoder.
"""

from __future__ import annotations

import json
import math
import platform
import time
from argparse import ArgumentParser
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save as serialize
from torch import Tensor, nn

from training.device import BEGUN
from training.device.parts import WEIGHTS, unpack
from training.muon import Muon
from training.settings import Settings, build_parser

PART_BYTES = 15 << 20
WARMUP = 0.03  # of the time: the rate rises
QUICK_TOKENS = 40_000  # of each held-out text, every minute

Figures = dict[str, dict[str, float]]


def share_of_rate(done: float) -> float:
    """The learning rate as a share of its peak when ``done`` of the time has passed.

    >>> [round(share_of_rate(done), 2) for done in (0, 0.015, 0.03, 0.515, 1)]
    [0.0, 0.5, 1.0, 0.5, 0.0]
    """
    return max(0.0, min(done / WARMUP, (1 - done) / (1 - WARMUP)))


@dataclass
class Clock:
    """The share of the training time that has passed; a resumed run goes on at the share it had."""

    begun: float
    deadline: float
    before: float = 0.0

    def done(self) -> float:
        passed = (time.monotonic() - self.begun) / max(1e-9, self.deadline - self.begun)
        return min(1.0, self.before + (1 - self.before) * passed)


class Costs:
    """Seconds of each part of a run, since the process began."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    def end(self, name: str) -> None:
        """Give the seconds since the last call this name."""
        spent = sum(self.seconds.values())
        self.seconds[name] = round(time.monotonic() - BEGUN - spent, 2)
        print(f"{name}: {self.seconds[name]} s", flush=True)

    def add(self, name: str, seconds: float) -> None:
        self.seconds[name] = round(self.seconds.get(name, 0) + seconds, 2)


class Run:
    """Model, optimizers and position of one run; a kind of model adds the methods that raise here."""

    validation = "wikipedia"  # the held-out text of the curve

    def __init__(
        self, model: nn.Module, layers: nn.Module, settings: Settings, device: torch.device
    ) -> None:
        self.settings, self.device = settings, device
        self.model = model
        nn.Module.to(model, device)
        self.step = self.tokens = 0
        self.done = 0.0
        self.step_tokens = int(settings["batch"]["step_tokens"])
        self.told: dict[str, Any] = {}  # facts for run.json
        options = settings["train"]
        matrices = [p for p in layers.parameters() if p.ndim == 2]
        inner = {id(p) for p in matrices}
        others = [p for p in model.parameters() if id(p) not in inner]
        decay = options["weight_decay"]
        self.optimizers: list[torch.optim.Optimizer] = [
            torch.optim.AdamW(
                [
                    {"params": [p for p in others if p.ndim >= 2], "weight_decay": decay},
                    {"params": [p for p in others if p.ndim < 2], "weight_decay": 0.0},
                ],
                lr=options["peak_lr"],
                betas=(options["beta1"], options["beta2"]),
                eps=options["eps"],
                fused=True,
            ),
            Muon(
                matrices,
                options["muon_lr"],
                weight_decay=decay,
                dtype=torch.bfloat16 if device.type == "cuda" else torch.float32,
            ),
        ]

    def batches(self) -> Iterator[list[Tensor]]:
        """The steps from `step` on, each a list of tensors."""
        raise NotImplementedError

    def losses(self, arrays: list[Tensor]) -> tuple[Tensor, dict[str, Tensor]]:
        """Loss to minimize at the share `done` of the time, and the figures of the step, still on the device."""
        raise NotImplementedError

    def shown(self, figures: dict[str, float]) -> dict[str, float]:
        """The same figures as the curve has them; ``loss`` is one of them, in nats per token."""
        raise NotImplementedError

    def evaluate(self, limit: int | None) -> Figures:
        """``loss`` and ``top1`` of each held-out text; of ``limit`` tokens of it, or of all."""
        raise NotImplementedError

    def compile(self) -> None:
        raise NotImplementedError

    def exported(self) -> dict[str, Tensor]:
        """The weights by the names under which they are written."""
        raise NotImplementedError

    def begin(self) -> None:
        """Before the first step of a run that is not resumed."""

    def close(self) -> None:
        """After the last step."""

    def set_share(self, share: float) -> None:
        options = self.settings["train"]
        for optimizer, peak in zip(
            self.optimizers, (options["peak_lr"], options["muon_lr"]), strict=True
        ):
            for group in optimizer.param_groups:
                group["lr"] = share * peak

    def autocast(self) -> Any:
        on = self.device.type == "cuda"
        return torch.autocast("cuda", torch.bfloat16) if on else nullcontext()

    def take(self, arrays: list[Tensor], done: float) -> dict[str, Tensor]:
        """One step of all parameters; returns its figures, still on the device."""
        options = self.settings["train"]
        self.done = done
        self.set_share(share_of_rate(done))
        arrays = [array.to(self.device) for array in arrays]
        loss, figures = self.losses(arrays)
        loss.backward()
        nn.utils.clip_grad_norm_(self.model.parameters(), options["clip"])
        for optimizer in self.optimizers:
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
        self.step, self.tokens = self.step + 1, self.tokens + self.step_tokens
        return {name: value.detach() for name, value in figures.items()}

    def save(self, path: Path) -> None:
        """Write a checkpoint to a temporary name, then rename it: a kill leaves the old one or the new one."""
        state = {
            "model": self.model.state_dict(),
            "optimizers": [optimizer.state_dict() for optimizer in self.optimizers],
            "position": [self.step, self.tokens, self.done],
        }
        compare_with = path.with_suffix(".tmp")
        torch.save(state, compare_with)
        compare_with.replace(path)

    def load(self, path: Path) -> None:
        state = torch.load(path, map_location=self.device, weights_only=True)
        self.model.load_state_dict(state["model"])
        for optimizer, own in zip(self.optimizers, state["optimizers"], strict=True):
            optimizer.load_state_dict(own)
        self.step, self.tokens, self.done = state["position"]

    def export(self, out: Path) -> None:
        """Write the weights in float16, in parts that are renamed when all are written."""
        state = {name: value.half().cpu() for name, value in self.exported().items()}
        metadata = {"format": "pt", "step": str(self.step), "tokens": str(self.tokens)}
        content = serialize(state, metadata)
        parts = range(0, len(content), PART_BYTES)
        files = [out / f"{WEIGHTS}.{number}" for number in range(len(parts))]
        compare_with = [file.with_name(f"{file.name}.tmp") for file in files]
        for file, start in zip(compare_with, parts, strict=True):
            file.write_bytes(content[start : start + PART_BYTES])
        for file, own in zip(compare_with, files, strict=True):
            file.replace(own)


def log(out: Path, record: dict[str, Any]) -> None:
    with (out / "curve.jsonl").open("a") as curve:
        curve.write(json.dumps(record) + "\n")
    print(json.dumps(record), flush=True)


def loop_parser(docstring: str | None) -> ArgumentParser:
    """The options of every kind of model."""
    parser = build_parser(docstring)
    parser.add_argument("--parts", type=Path, required=True, help="folder that `parts` wrote")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--work", type=Path, default=Path("/tmp/device-run"), help="checkpoints")
    parser.add_argument("--seconds", type=float, default=540.0, help="of the whole command")
    parser.add_argument(
        "--reserve", type=float, default=15.0, help="s kept for the last evaluation"
    )
    parser.add_argument("--every", type=float, default=60.0, help="s between checkpoints")
    parser.add_argument("--limit", type=int, help="tokens of each held-out text; all if left out")
    parser.add_argument("--log-steps", type=int, default=100)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--no-compile", dest="compile", action="store_false")
    return parser


def train(
    arguments: Any, settings: Settings, make: Callable[[dict[str, bytes], int, Costs], Run]
) -> None:
    """Train what ``make`` gives, for the files of the parts and the first step, until the deadline."""
    out, work = arguments.out, arguments.work
    out.mkdir(parents=True, exist_ok=True)
    work.mkdir(parents=True, exist_ok=True)
    costs = Costs()
    costs.end("import")
    files = unpack(arguments.parts)
    costs.end("unpack")
    checkpoint = work / "checkpoint.pt"
    resumed = checkpoint.exists()
    if resumed:  # the position alone, to begin with the right batch
        first = torch.load(checkpoint, map_location="cpu", weights_only=True)["position"][0]
    else:
        first = 0
    torch.manual_seed(settings["train"]["seed"] + first)
    torch.set_float32_matmul_precision("high")
    run = make(files, first, costs)
    before = run.evaluate(arguments.limit)
    costs.end("evaluation before")
    if resumed:
        run.load(checkpoint)
        print(f"going on from step {run.step}, {run.done:.1%} of the time", flush=True)
    else:
        run.begin()
    if arguments.compile:
        run.compile()
    batches = run.batches()
    position = run.step, run.tokens, run.done
    state = {name: value.clone() for name, value in run.model.state_dict().items()}
    run.take(next(batches), 0.0)  # compiles; at rate 0
    run.take(next(batches), 1.0)  # at rate 0, too, as in the last part of the time
    run.model.load_state_dict(state)
    run.step, run.tokens, run.done = position
    if run.device.type == "cuda":
        torch.cuda.synchronize()
    costs.end("compile")
    clock = Clock(time.monotonic(), BEGUN + arguments.seconds - arguments.reserve, run.done)
    quick_tokens = min(QUICK_TOKENS, arguments.limit or QUICK_TOKENS)

    def log_validation() -> None:
        quick = run.evaluate(quick_tokens)
        record = {"step": run.step, "tokens": run.tokens, "done": round(run.done, 4)}
        own = quick[run.validation]
        record |= {f"validation_{name}": own[name] for name in ("loss", "top1")}
        log(out, record | {"held_top1": {name: row["top1"] for name, row in quick.items()}})

    if not resumed:
        log_validation()
    saved = logged = time.monotonic()
    waited = logged_tokens = 0.0
    while (done := clock.done()) < 1:
        begun = time.monotonic()
        arrays = next(batches)
        waited += time.monotonic() - begun
        figures = run.take(arrays, done)
        logged_tokens += run.step_tokens
        if run.step % arguments.log_steps == 0:
            shown = run.shown({name: float(value) for name, value in figures.items()})
            if math.isnan(shown["loss"]):
                raise FloatingPointError(
                    f"the loss is {shown['loss']} at step {run.step}: the last checkpoint counts. Lower the rates "
                    "(--set train.muon_lr=..., train.peak_lr=...) and begin again."
                )
            now = time.monotonic()
            record = {"step": run.step, "tokens": run.tokens, "done": round(done, 4), **shown}
            record["lr"] = share_of_rate(done) * settings["train"]["peak_lr"]
            record["tokens_per_second"] = logged_tokens / (now - logged)
            log(out, record | {"waited": waited / (now - logged)})
            logged, waited, logged_tokens = now, 0.0, 0
        if time.monotonic() - saved > arguments.every:
            begun = time.monotonic()
            run.save(checkpoint)
            run.export(out)
            log_validation()
            saved = time.monotonic()
            costs.add("checkpoints", saved - begun)
    costs.end("training")
    run.close()
    run.save(checkpoint)
    run.export(out)
    costs.end("last checkpoint")
    after = run.evaluate(arguments.limit)
    costs.end("evaluation after")
    result = {"before": before, "after": after}
    (out / "evaluation.json").write_text(json.dumps(result, indent=1))
    cuda = run.device.type == "cuda"
    name = torch.cuda.get_device_name() if cuda else platform.processor()
    facts = {"step": run.step, "tokens": run.tokens, "device": name, "torch": torch.__version__}
    facts |= {"seconds": costs.seconds, **run.told, "settings": settings}
    (out / "run.json").write_text(json.dumps(facts, indent=1))
    for name, row in after.items():
        print(f"{name:12} top-1 {before[name]['top1']:.1%} to {row['top1']:.1%}", flush=True)

"""Train the embedded model on one GPU until a deadline.

Run: ``python -m training.device.run --parts PARTS --out OUT --seconds 540``. It needs torch and numpy alone. Repeated with the same ``--work`` it
goes on from the last checkpoint. What it writes to OUT, every minute and at the end, is at most 7 files of 15 MiB: the weights in
float16 (``model.safetensors.0`` to ``.2``), ``curve.jsonl``, ``evaluation.json`` and ``run.json``.
"""

from __future__ import annotations

import json
import os
import platform
import time
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load
from safetensors.torch import save as serialize

from training.device import BEGUN
from training.device.evaluate import evaluate
from training.device.feeder import Feeder
from training.device.flat import Attend, Flat, attend_flat, attend_rows, exported_name, mask
from training.device.packed import ROW
from training.device.parts import WEIGHTS, held_of, mixture_of, unpack
from training.level import TRAINED
from training.muon import Muon
from training.settings import Settings, build_parser, read_settings

PART_BYTES = 15 << 20
WARMUP = 0.03  # of the time: the rate rises
FINAL = 0.1  # of the time, at the end: the mask rate that is measured
MOST_CHOSEN, MOST_PAIRS = 0.29, 1 / 64  # of the tokens of a step; more are left out of the loss
VALIDATION = "wikipedia"  # the held-out text of the curve
QUICK_TOKENS = 40_000  # of each held-out text, every minute
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


class Run:
    """Model, optimizers and position of one run."""

    def __init__(self, settings: Settings, weights: bytes, device: torch.device) -> None:
        self.settings, self.device = settings, device
        own = settings["model"]
        stored = load(weights)
        vocabulary = len(stored["bert.embeddings.word_embeddings.weight"])
        self.model = Flat(vocabulary, own["width"], own["heads"], own["layers"])
        self.model.load_state_dict(
            {name: stored[exported_name(name)].float() for name in self.model.state_dict()}
        )
        self.model.to(device)
        self.vocabulary = vocabulary
        self.step = self.tokens = 0
        self.done = 0.0
        options = settings["train"]
        matrices = [p for p in self.model.layers.parameters() if p.ndim == 2]
        inner = {id(p) for p in matrices}
        others = [p for p in self.model.parameters() if id(p) not in inner]
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

    def take(self, arrays: list[torch.Tensor], done: float) -> dict[str, torch.Tensor]:
        """One step of all parameters; returns its figures, still on the device."""
        batch, options = self.settings["batch"], self.settings["train"]
        rate = batch["final_mask_rate"] if done > 1 - FINAL else batch["mask_rate"]
        self.set_share(share_of_rate(done))
        arrays = [array.to(self.device) for array in arrays]
        tokens = arrays[0].numel()
        random = torch.rand(3, tokens, device=self.device)
        masked = mask(arrays, rate, self.vocabulary, random)
        with self.autocast():
            most = int(MOST_CHOSEN * tokens), int(MOST_PAIRS * tokens)
            figures = self.model(masked, *most, bool(options["rest_weight"]))
        expected = rate * tokens
        loss = (figures["mlm_sum"] + options["copy_weight"] * figures["copied_sum"]) / expected
        # in `training.train` a quarter of the batches has pairs
        loss = loss + 0.25 * options["nsp_weight"] * figures["next"]
        loss = loss + options["rest_weight"] * figures["resting"]
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), options["clip"])
        for optimizer in self.optimizers:
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
        self.step, self.tokens, self.done = self.step + 1, self.tokens + tokens, done
        return {name: value.detach() for name, value in figures.items()}

    def save(self, path: Path) -> None:
        """Write a checkpoint beside, then rename it: a kill leaves the old one or the new one."""
        state = {
            "model": self.model.state_dict(),
            "optimizers": [optimizer.state_dict() for optimizer in self.optimizers],
            "position": [self.step, self.tokens, self.done],
        }
        beside = path.with_suffix(".tmp")
        torch.save(state, beside)
        beside.replace(path)

    def load(self, path: Path) -> None:
        state = torch.load(path, map_location=self.device, weights_only=True)
        self.model.load_state_dict(state["model"])
        for optimizer, own in zip(self.optimizers, state["optimizers"], strict=True):
            optimizer.load_state_dict(own)
        self.step, self.tokens, self.done = state["position"]

    def export(self, out: Path) -> None:
        """Write the weights in float16, in parts that are renamed when all are written."""
        state = {exported_name(n): v.half().cpu() for n, v in self.model.state_dict().items()}
        content = serialize(state, {"step": str(self.step), "tokens": str(self.tokens)})
        parts = range(0, len(content), PART_BYTES)
        files = [out / f"{WEIGHTS}.{number}" for number in range(len(parts))]
        beside = [file.with_name(f"{file.name}.tmp") for file in files]
        for file, start in zip(beside, parts, strict=True):
            file.write_bytes(content[start : start + PART_BYTES])
        for file, own in zip(beside, files, strict=True):
            file.replace(own)


def choose_attention(run: Run, arrays: list[torch.Tensor]) -> dict[str, Any]:
    """Give the model the fastest attention that agrees with the mask over rows; tells what was measured."""
    if run.device.type != "cuda":
        return {"attention": "rows"}
    arrays = [array.to(run.device) for array in arrays]
    step = mask(arrays, 0.15, run.vocabulary, torch.rand(3, arrays[0].numel(), device=run.device))
    own = run.settings["model"]
    shape = (arrays[0].numel(), own["heads"], own["width"] // own["heads"])
    q, k, v = torch.randn(3, *shape, device=run.device, dtype=torch.bfloat16).requires_grad_()
    seconds: dict[str, Any] = {}
    outcomes: dict[str, torch.Tensor] = {}
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


def compile_parts(model: Flat) -> None:
    """Compile layers and losses one by one, which takes less time than the whole."""
    for layer in model.layers:
        layer.compile(dynamic=False)
    model.embed = torch.compile(model.embed, dynamic=False)
    model.losses = torch.compile(model.losses, dynamic=False)


def log(out: Path, record: dict[str, Any]) -> None:
    with (out / "curve.jsonl").open("a") as curve:
        curve.write(json.dumps(record) + "\n")
    print(json.dumps(record), flush=True)


def train(arguments: Any, settings: Settings) -> None:
    out, work = arguments.out, arguments.work
    out.mkdir(parents=True, exist_ok=True)
    work.mkdir(parents=True, exist_ok=True)
    costs: dict[str, float] = {}

    def cost(name: str) -> None:
        costs[name] = round(time.monotonic() - BEGUN - sum(costs.values()), 2)
        print(f"{name}: {costs[name]} s", flush=True)

    cost("import")
    files = unpack(arguments.parts)
    cost("unpack")
    mixture = mixture_of(files, settings)
    held = held_of(files)
    checkpoint = work / "checkpoint.pt"
    resumed = checkpoint.exists()
    if resumed:  # the position alone, to begin with the right batch
        first = torch.load(checkpoint, map_location="cpu", weights_only=True)["position"][0]
    else:
        first = 0
    feeder = Feeder(mixture, settings, arguments.rows, first, arguments.workers)
    cost("corpora and workers")
    torch.manual_seed(settings["train"]["seed"] + first)
    torch.set_float32_matmul_precision("high")
    device = torch.device(arguments.device)
    run = Run(settings, files[WEIGHTS], device)
    told: dict[str, Any] = choose_attention(run, next(feeder))
    print(told, flush=True)
    cost("model and attention")
    before = evaluate(run.model, held, arguments.rows, arguments.limit)
    cost("evaluation before")
    if resumed:
        run.load(checkpoint)
        print(f"going on from step {run.step}, {run.done:.1%} of the time", flush=True)
    else:
        run.model.set_scale(TRAINED)
    if arguments.compile:
        compile_parts(run.model)
    position = run.step, run.tokens, run.done
    state = {name: value.clone() for name, value in run.model.state_dict().items()}
    run.take(next(feeder), 0.0)  # compiles; at rate 0
    run.take(next(feeder), 1.0)  # at rate 0, too, with fewer masks
    run.model.load_state_dict(state)
    run.step, run.tokens, run.done = position
    if device.type == "cuda":
        torch.cuda.synchronize()
    cost("compile")
    clock = Clock(time.monotonic(), BEGUN + arguments.seconds - arguments.reserve, run.done)
    quick_tokens = min(QUICK_TOKENS, arguments.limit or QUICK_TOKENS)

    def log_validation() -> None:
        quick = evaluate(run.model, held, arguments.rows, quick_tokens)
        record = {"step": run.step, "tokens": run.tokens, "done": round(run.done, 4)}
        record |= {f"validation_{name}": quick[VALIDATION][name] for name in ("loss", "top1")}
        log(out, record | {"held_top1": {name: row["top1"] for name, row in quick.items()}})

    if not resumed:
        log_validation()
    saved = logged = time.monotonic()
    waited = logged_tokens = 0.0
    figures: dict[str, torch.Tensor] = {}
    while (done := clock.done()) < 1:
        begun = time.monotonic()
        arrays = next(feeder)
        waited += time.monotonic() - begun
        figures = run.take(arrays, done)
        logged_tokens += arrays[0].numel()
        if run.step % arguments.log_steps == 0:
            shown = {name: float(value) for name, value in figures.items()}
            loss = shown["mlm_sum"] / shown["n_chosen"]
            if loss != loss:
                raise FloatingPointError(
                    f"the loss is {loss} at step {run.step}: the last checkpoint counts. Lower the rates "
                    "(--set train.muon_lr=..., train.peak_lr=...) and begin again."
                )
            now = time.monotonic()
            record = {"step": run.step, "tokens": run.tokens, "done": round(done, 4), "loss": loss}
            record["lr"] = share_of_rate(done) * settings["train"]["peak_lr"]
            record |= {"copied": shown["copied_sum"] / shown["n_chosen"], "next": shown["next"]}
            record |= {
                "resting": shown["resting"],
                "tokens_per_second": logged_tokens / (now - logged),
            }
            log(out, record | {"waited": waited / (now - logged)})
            logged, waited, logged_tokens = now, 0.0, 0
        if time.monotonic() - saved > arguments.every:
            begun = time.monotonic()
            run.save(checkpoint)
            run.export(out)
            log_validation()
            saved = time.monotonic()
            costs["checkpoints"] = round(costs.get("checkpoints", 0) + saved - begun, 2)
    cost("training")
    feeder.close()
    run.save(checkpoint)
    run.export(out)
    cost("last checkpoint")
    after = evaluate(run.model, held, arguments.rows, arguments.limit)
    cost("evaluation after")
    result = {"before": before, "after": after}
    (out / "evaluation.json").write_text(json.dumps(result, indent=1))
    name = torch.cuda.get_device_name() if device.type == "cuda" else platform.processor()
    settings["train"]["total_tokens"] = run.tokens
    settings["train"]["final_tokens"] = int(FINAL * run.tokens)
    facts = {"step": run.step, "tokens": run.tokens, "device": name, "torch": torch.__version__}
    facts |= {"seconds": costs, **told, "settings": settings}
    (out / "run.json").write_text(json.dumps(facts, indent=1))
    for name, row in after.items():
        print(f"{name:12} top-1 {before[name]['top1']:.1%} to {row['top1']:.1%}", flush=True)


def main() -> None:
    parser = build_parser(__doc__)
    parser.add_argument("--parts", type=Path, required=True, help="folder that `parts.pack` wrote")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--work", type=Path, default=Path("/tmp/device-run"), help="checkpoints")
    parser.add_argument("--seconds", type=float, default=540.0, help="of the whole command")
    parser.add_argument(
        "--reserve", type=float, default=15.0, help="s kept for the last evaluation"
    )
    parser.add_argument("--every", type=float, default=60.0, help="s between checkpoints")
    parser.add_argument("--limit", type=int, help="tokens of each held-out text; all if left out")
    parser.add_argument("--workers", type=int, default=max(1, (os.cpu_count() or 2) - 2))
    parser.add_argument("--log-steps", type=int, default=100)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--no-compile", dest="compile", action="store_false")
    arguments = parser.parse_args()
    settings = read_settings(arguments.config, [*OPTIONS, *arguments.set])
    arguments.rows = settings["batch"]["step_tokens"] // ROW
    train(arguments, settings)


if __name__ == "__main__":
    main()

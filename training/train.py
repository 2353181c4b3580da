"""Train the embedded model; resumable after any kill.

Run: ``OMP_WAIT_POLICY=passive python -m training.train --run RUN`` (again to resume). With
``--begin FOLDER`` it begins with an exported model's weights, as the second stretch of its run.
Writes ``RUN/checkpoint.pt`` (model, its running average, optimizer, position), ``RUN/curve.jsonl`` and, when the
last stretch of the schedule begins, ``RUN/before-decay.pt``, from which a longer run can go on.
"""

from __future__ import annotations

import json
import math
import time
from pathlib import Path
from typing import Any

import torch
from transformers import BertForPreTraining

from attn_widget.features.tasks.passes import has_bfloat16
from training.average import Average
from training.corpus import Corpus, Mixture
from training.data import build_batch
from training.level import TRAINED, level_by
from training.loss import compute
from training.masked import MASK_RATE
from training.model import build_config, build_model, load_exported
from training.optimizer import build_optimizers
from training.resting import Resting
from training.settings import Settings, build_parser, read_settings


def learning_rate(tokens: int, settings: dict[str, Any], begun: int = 0) -> float:
    """The rate after ``tokens`` tokens of a run begun at ``begun``, as a share of the peak in [0, 1]."""
    total, warmup = settings["total_tokens"], settings["warmup_tokens"]
    if tokens - begun < warmup:
        return (tokens - begun) / warmup
    left = max(0.0, total - tokens)
    whole = total - begun - warmup
    if settings["schedule"] == "linear":
        return left / whole
    if settings["schedule"] == "cosine":
        return 0.5 * (1 + math.cos(math.pi * (1 - left / whole)))
    if settings["schedule"] == "trapezoid":
        return min(1.0, left / settings["decay_tokens"])
    raise ValueError(
        f"unknown schedule {settings['schedule']!r}: one of 'trapezoid', 'linear', 'cosine'"
    )


class Rate:
    """The share of the peak rate, which never jumps up: after a stop it rises to the schedule's as in a warm-up."""

    def __init__(self, settings: dict[str, Any], begun: int = 0) -> None:
        self.settings, self.begun = settings, begun
        self._since, self._low = begun, math.inf  # nothing holds it down

    def at(self, tokens: int) -> float:
        wanted = learning_rate(tokens, self.settings, self.begun)
        return min(wanted, self._low + (tokens - self._since) / self.settings["warmup_tokens"])

    def go_on(self, tokens: int, share: float) -> None:
        """From ``tokens`` on, where the rate was at ``share``; a schedule that has not been changed goes on as it was."""
        if learning_rate(tokens, self.settings, self.begun) > share:
            self._since, self._low = tokens, share


def set_dropout(model: torch.nn.Module, share: float) -> None:
    """Set every dropout of the encoder to ``share``."""
    for module in model.modules():
        if isinstance(module, torch.nn.Dropout):
            module.p = share


def save(path: Path, state: dict[str, Any]) -> None:
    """Write to a temporary name, then rename: a kill leaves the old checkpoint or the new one, never half."""
    compare_with = path.with_suffix(".tmp")
    torch.save(state, compare_with)
    compare_with.replace(path)


def log(run: Path, record: dict[str, float]) -> None:
    """Add a line to the curve, and show it."""
    line = json.dumps(record)
    with (run / "curve.jsonl").open("a") as curve:
        curve.write(line + "\n")
    print(line, flush=True)


@torch.no_grad()
def validate(
    model: BertForPreTraining, corpus: Corpus, settings: Settings, device: torch.device
) -> dict[str, float]:
    """Loss and accuracy on validation batches that are the same at every call."""
    model.eval()
    fixed = {"single": 0.75, "pair": 0.25, "short": 0.0, "long": 0.0, "names": 0.0}
    fixed |= {"bare": 0.0, "curly": 0.0}
    batch_settings = {**settings["batch"], **fixed, "mask_rate": MASK_RATE}
    loss = chosen = correct = next_correct = pairs = 0.0
    seen = part = 0
    while seen < settings["train"]["eval_tokens"]:
        batch = build_batch(corpus, batch_settings, model.config.vocab_size, (20_231, part))
        outcome = compute(model, move(batch, device))
        loss += float(outcome.mlm_sum)
        chosen += outcome.n_chosen
        correct += int((outcome.logits.argmax(-1) == outcome.labels).sum())
        next_correct += outcome.nsp_correct
        pairs += outcome.n_pairs
        seen += batch.input_ids.numel()
        part += 1
    model.train()
    return {
        "validation_loss": loss / chosen,
        "validation_top1": correct / chosen,
        "validation_next": next_correct / max(1.0, pairs),
    }


def move(batch: Any, device: torch.device) -> Any:
    for name, value in vars(batch).items():
        if isinstance(value, torch.Tensor):
            setattr(batch, name, value.to(device))
    return batch


def train(run: Path, settings: Settings, begin: Path | None = None) -> None:
    """Train until ``train.total_tokens``, going on from ``run``'s checkpoint if there is one.

    Without a checkpoint it begins with the exported model in the folder ``begin``: its weights, step
    and tokens, with fresh optimizers and a warm-up of their own.

    Raises
    ------
    ValueError
        If ``train.rest_weight`` excludes ``train.keep_share`` or ``train.compile``.
    """
    options = settings["train"]
    if options["rest_weight"] and options["keep_share"] < 1:
        raise ValueError(
            "train.rest_weight reads the weights of all words, and train.keep_share "
            f"= {options['keep_share']} drops some: set one of them, keep_share=1 or rest_weight=0"
        )
    if options["rest_weight"] and options["compile"]:
        raise ValueError(
            "train.rest_weight reads the weights by a hook, which compiled layers pass over: "
            "set one of them, compile=false or rest_weight=0"
        )
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    bf16 = has_bfloat16(device)
    torch.set_num_threads(options["threads"])
    torch.manual_seed(options["seed"])
    corpus = Mixture.open(run / "data", settings)
    validation = Corpus.open(run / "data", "validation")
    counts = corpus.unigram_counts(build_config(settings["model"]).vocab_size)
    model = build_model(settings["model"], counts)
    step = tokens = begun = 0
    if begin is not None:
        step, tokens = load_exported(model, begin)
        begun = tokens
        level_by(model.eval(), run / "data", TRAINED)
    torch.nn.Module.to(model, device)  # `model.to` has no usable type
    # heads of 32 numbers: on a CPU plain products are faster than the fused kernel, above all backwards
    fused = device.type == "cuda" and not options["rest_weight"]  # which gives no weights
    model.set_attn_implementation("sdpa" if fused else "eager")
    if options["compile"]:
        for layer in model.bert.encoder.layer:
            layer.compile(dynamic=False)
    resting = Resting(model) if options["rest_weight"] else None
    optimizer = build_optimizers(model, options, bf16)
    average = Average(model, options["average_tokens"])
    rate = Rate(options, begun)
    checkpoint = run / "checkpoint.pt"
    if checkpoint.exists():
        state = torch.load(checkpoint, map_location=device, weights_only=True)
        model.load_state_dict(state["model"])
        optimizer.load_state_dict(state["optimizer"])
        average.load_state_dict(state["average"])
        step, tokens, begun = state["step"], state["tokens"], state["begun"]
        rate = Rate(options, begun)
        rate.go_on(tokens, state["share"])
        print(f"going on from step {step}, {tokens:,} tokens", flush=True)

    def state_now() -> dict[str, Any]:
        return {
            "model": model.state_dict(),
            "average": average.state_dict(),
            "optimizer": optimizer.state_dict(),
            "share": rate.at(tokens),
            "step": step,
            "tokens": tokens,
            "begun": begun,
        }

    def evaluate() -> None:
        with average.inside(model):
            figures = validate(model, validation, settings, device)
        log(run, {"step": step, "tokens": tokens, **figures})

    if tokens == begun:
        evaluate()
    model.train()
    saved = logged = time.monotonic()
    loss_sum = chosen_sum = rest_sum = logged_tokens = 0.0
    logged_steps = 0
    total = options["total_tokens"]
    parts = settings["batch"]["step_tokens"] // settings["batch"]["micro_tokens"]
    while tokens < total:
        if options["schedule"] == "trapezoid":
            begins = total - options["decay_tokens"]
            if tokens < begins <= tokens + settings["batch"]["step_tokens"]:
                save(run / "before-decay.pt", state_now())
        share = rate.at(tokens)
        optimizer.set_share(share)
        whole = tokens >= total - options["whole_tokens"]
        keep_share = 1.0 if whole else options["keep_share"]
        batch_settings = dict(settings["batch"])
        if tokens >= total - options["final_tokens"]:
            batch_settings["mask_rate"] = batch_settings["final_mask_rate"]
            set_dropout(model, options["final_dropout"])
        expected = batch_settings["mask_rate"] * batch_settings["step_tokens"]
        step_tokens = 0
        for part in range(parts):
            seed = (options["seed"], step, part)
            batch = build_batch(corpus, batch_settings, model.config.vocab_size, seed)
            step_tokens += int(batch.input_ids.numel())
            torch.manual_seed(step * parts + part)  # what is dropped
            batch = move(batch, device)
            if not options["copy_weight"]:
                batch.copyable = None
            with torch.autocast(device.type, torch.bfloat16, enabled=bf16):
                outcome = compute(model, batch, keep_share)
            loss = outcome.mlm_sum / expected
            if outcome.nsp is not None:
                loss = loss + options["nsp_weight"] * outcome.nsp / parts
            if outcome.copied_sum is not None:
                loss = loss + options["copy_weight"] * outcome.copied_sum / expected
            if resting is not None:
                penalty = resting.penalty(batch.input_ids)
                loss = loss + options["rest_weight"] * penalty / parts
                rest_sum += float(penalty.detach())
            loss.backward()
            loss_sum += float(outcome.mlm_sum.detach())
            chosen_sum += outcome.n_chosen
        torch.nn.utils.clip_grad_norm_(model.parameters(), options["clip"])
        optimizer.step()
        average.add(model, step_tokens)
        before = tokens
        step, tokens, logged_tokens = step + 1, tokens + step_tokens, logged_tokens + step_tokens
        logged_steps += 1
        now = time.monotonic()
        if step % options["log_steps"] == 0:
            record = {
                "step": step,
                "tokens": tokens,
                "loss": loss_sum / chosen_sum,
                "lr": share * options["peak_lr"],
                "tokens_per_second": logged_tokens / (now - logged),
            }
            if resting is not None:
                record["resting"] = rest_sum / (logged_steps * parts)
            log(run, record)
            loss_sum = chosen_sum = rest_sum = logged_tokens = 0.0
            logged_steps = 0
            logged = now
        every = options["eval_every_tokens"]
        if before // every != tokens // every:
            evaluate()
            logged += time.monotonic() - now  # the rate is of training alone
        if now - saved > 60 * options["checkpoint_minutes"]:
            save(checkpoint, state_now())
            saved = now
    save(checkpoint, state_now())
    evaluate()


def main() -> None:
    parser = build_parser(__doc__)
    parser.add_argument("--run", type=Path, required=True, help="folder with data/ inside")
    parser.add_argument("--begin", type=Path, help="a folder that `training.export` wrote")
    arguments = parser.parse_args()
    train(arguments.run, read_settings(arguments.config, arguments.set), arguments.begin)


if __name__ == "__main__":
    main()

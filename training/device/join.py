"""The output of `training.device.run` as the folder of a run, which `training.export`, `evaluate` and `curve` read.

Run: ``python -m training.device.join OUT --begin attn_widget/mini --run RUN --after training/results/run.json``. The steps and tokens that the
weights to begin with had seen are added; the run's facts, as one more stretch, are printed into the file of ``--after``.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import torch
from safetensors import safe_open
from transformers import BertForPreTraining

from training.average import Average
from training.curve import run_facts
from training.device.parts import WEIGHTS
from training.model import build_config, load_exported
from training.settings import CONFIG, read_settings


def join(out: Path, begin: Path, run: Path) -> tuple[int, int]:
    """Write ``run/checkpoint.pt`` and ``run/curve.jsonl`` from ``out``; returns the steps and tokens in all.

    Raises
    ------
    FileNotFoundError
        If ``out`` holds no part of the weights.
    """
    parts = sorted(out.glob(f"{WEIGHTS}.*"), key=lambda part: int(part.suffix[1:]))
    if not parts:
        raise FileNotFoundError(f"no {WEIGHTS}.0 in {out}: expected what training.device.run wrote")
    run.mkdir(parents=True, exist_ok=True)
    (run / WEIGHTS).write_bytes(b"".join(part.read_bytes() for part in parts))
    model = BertForPreTraining(build_config(read_settings(CONFIG)["model"]))
    step, tokens = load_exported(model, run)
    with safe_open(str(begin / WEIGHTS), "pt") as file:
        before = file.metadata() or {}
    step, tokens = step + int(before.get("step", 0)), tokens + int(before.get("tokens", 0))
    with (run / "curve.jsonl").open("w") as curve:
        for line in (out / "curve.jsonl").read_text().splitlines():
            record = json.loads(line)
            record["step"] += int(before.get("step", 0))
            record["tokens"] += int(before.get("tokens", 0))
            curve.write(json.dumps(record) + "\n")
    state = {"model": model.state_dict(), "average": Average(model, 1.0).state_dict()}
    torch.save(state | {"step": step, "tokens": tokens}, run / "checkpoint.pt")
    return step, tokens


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("out", type=Path)
    parser.add_argument("--begin", type=Path, required=True, help="the export it began with")
    parser.add_argument("--run", type=Path, required=True)
    parser.add_argument("--after", type=Path, required=True, help="facts of the stretches before")
    arguments = parser.parse_args()
    step, tokens = join(arguments.out, arguments.begin, arguments.run)
    settings = json.loads((arguments.out / "run.json").read_text())["settings"]
    earlier = json.loads(arguments.after.read_text("utf-8"))
    facts = run_facts(arguments.run, settings, earlier)
    arguments.after.write_text(json.dumps(facts, indent=1) + "\n", encoding="utf-8")
    print(f"{arguments.run}: step {step:,}, {tokens:,} tokens")


if __name__ == "__main__":
    main()

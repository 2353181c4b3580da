"""Measure a model: masks filled, grammar kept, facts known, heads understood.

Run: ``python -m training.evaluate MODEL --text validation.txt.xz --out training/results``
MODEL is an exported folder, or a run's folder (then its checkpoint is exported for the occasion,
so that what is measured is always the float16 file that would ship). ``--quick`` reads a sample; ``--held FILE ...``
tells the kinds of text apart, a file each; ``--stars`` fine-tunes, which takes an hour.
"""

from __future__ import annotations

import json
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
import transformers
from safetensors import safe_open
from transformers import AutoTokenizer, BertForPreTraining, PreTrainedTokenizerBase

from training.cloze import Reader, evaluate_cloze, evaluate_pairs, evaluate_probes
from training.corpus import Corpus
from training.export import export
from training.heads import TAGGER, head_table, tag_passages
from training.kinds import evaluate_kind, everyday_sentences, seen_words
from training.masked import evaluate_masked
from training.model import build_model
from training.prepare import load_tokenizer, pack, read_paragraphs
from training.settings import Settings, build_parser, read_settings
from training.stars import evaluate_stars

PASSAGES, QUICK_PASSAGES = 500, 60
QUICK_SEQUENCES = 150
MIN_PASSAGE_CHARS = 80


def load_exported(
    folder: Path,
) -> tuple[BertForPreTraining, PreTrainedTokenizerBase, dict[str, int]]:
    """The model (eager attention), its tokenizer, and the step and tokens it was stored at."""
    model = BertForPreTraining.from_pretrained(
        folder, local_files_only=True, attn_implementation="eager"
    )
    tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True)
    with safe_open(folder / "model.safetensors", framework="pt") as weights:
        metadata = weights.metadata()
    return model.eval(), tokenizer, {key: int(metadata[key]) for key in ("step", "tokens")}


def spread(paragraphs: list[str], count: int) -> list[str]:
    """``count`` of ``paragraphs``, evenly over all of them."""
    return [paragraphs[i] for i in np.linspace(0, len(paragraphs) - 1, count).astype(int)]


def evaluate(
    folder: Path, text: Path, settings: Settings, quick: bool, held: Sequence[Path] = ()
) -> dict[str, Any]:
    """All figures of the exported model in ``folder`` on the paragraphs of ``text``, and by kind on ``held``."""
    started = time.perf_counter()
    torch.set_num_threads(settings["train"]["threads"])
    model, tokenizer, seen = load_exported(folder)
    paragraphs = list(read_paragraphs([text], settings["prepare"]["min_chars"]))
    packer = load_tokenizer(settings["model"]["base"])
    with tempfile.TemporaryDirectory() as data:
        pack(iter(paragraphs), packer, Path(data), "validation")
        corpus = Corpus.open(Path(data), "validation")
        torch.manual_seed(settings["train"]["seed"])
        untrained = build_model(
            settings["model"], corpus.unigram_counts(model.config.vocab_size)
        ).eval()
        masked = evaluate_masked(model, untrained, corpus, QUICK_SEQUENCES if quick else None)
    reader = Reader(model, tokenizer)
    prose = [paragraph for paragraph in paragraphs if len(paragraph) >= MIN_PASSAGE_CHARS]
    passages = spread(prose, QUICK_PASSAGES if quick else PASSAGES)
    return {
        "model": seen,
        "text": {"file": text.name, "paragraphs": len(paragraphs), "tokens": len(corpus.tokens)},
        "quick": quick,
        "versions": {"torch": torch.__version__, "transformers": transformers.__version__},
        "masked": masked,
        "probes": evaluate_probes(reader),
        "pairs": evaluate_pairs(reader),
        "cloze": evaluate_cloze(reader),
        "everyday": evaluate_cloze(reader, "everyday"),
        "seen": seen_words(reader, everyday_sentences(reader)),
        "kinds": {
            file.name.split(".")[0]: evaluate_kind(reader, packer, file, quick)
            for file in (text, *held)
        },
        "heads": {"tagger": TAGGER} | head_table(model, tag_passages(passages, tokenizer)),
        "seconds": time.perf_counter() - started,
    }


def describe(figures: dict[str, Any]) -> str:
    """The figures as a page of plain text."""
    masked, heads = figures["masked"], figures["heads"]
    lines = [f"{figures['model']['tokens']:,} tokens seen, step {figures['model']['step']:,}"]
    for name in ("model", "before_training", "word_frequency"):
        row = masked[name]
        lines.append(
            f"{name:16} loss {row['loss']:.3f}  top-1 {row['top1']:.1%}  top-5 {row['top5']:.1%}"
            f"  ({row['n_chosen']:,} tokens)  hidden ones {row['hidden_top1']:.1%}  {row['hidden_top5']:.1%}"
        )
    pair = masked["next_sentence"]
    lines.append(f"next sentence    {pair['accuracy']:.1%} of {pair['n_pairs']:,} (chance 50%)")
    lines.append(f"minimal pairs    {figures['pairs']['accuracy']:.1%} of {figures['pairs']['n']}")
    for name, row in figures["pairs"]["groups"].items():
        lines.append(f"    {name:32} {row['accuracy']:.0%}")
    for title in ("cloze", "everyday"):
        cloze = figures[title]
        lines.append(
            f"{title:16} top-1 {cloze['top1']:.1%}  top-5 {cloze['top5']:.1%}  copies a word of "
            f"the prompt {cloze['copied']:.1%}"
        )
        for name, row in cloze["groups"].items():
            lines.append(f"    {name:32} {row['top1']:.0%}  {row['top5']:.0%}")
    seen = figures["seen"]
    lines.append(f"no full stop     last word itself first {seen['last']:.1%} of {seen['n']}")
    for name, row in figures["kinds"].items():
        masked, seen = row["masked"], row["seen"]
        lines.append(
            f"    {name:20} top-1 {masked['top1']:.1%}  top-5 {masked['top5']:.1%}  hidden ones "
            f"{masked['hidden_top1']:.1%}  {masked['hidden_top5']:.1%}  last word itself {seen['last']:.1%}"
        )
    for name, row in figures.get("stars", {}).items():
        lines.append(f"{name:16} {row['mean']:.1f}% of {row['classes']} stars right")
    for probe in figures["probes"]:
        met = "met" if probe["met"] else "NOT met"
        lines.append(f"{probe['text']}  {' '.join(probe['top'])}  ({probe['wanted']}: {met})")
    lines.append(f"{heads['resting']} heads have more than half of their weight on [CLS]")
    for keys in ("all_keys", "words_only"):
        table = heads[keys]
        name = keys.replace("_", " ")
        lines.append(f"{name}: {table['known']} of {len(table['heads'])} heads do a known pattern")
        counts = Counter(head["pattern"] for head in table["heads"] if head["known"])
        for pattern, count in counts.most_common():
            best = max(
                (head for head in table["heads"] if head["pattern"] == pattern),
                key=lambda head: head["accuracy"],
            )
            levels = f"chance {best['chance']:.1%}"
            if best["offset"] is not None:
                levels += f", best fixed offset {best['offset']:.1%}"
            place = f"L{best['layer']} H{best['head']}"
            lines.append(
                f"    {pattern:20} {count:2} heads, best {place:7} {best['accuracy']:.1%} ({levels})"
            )
    return "\n".join(lines)


def main() -> None:
    parser = build_parser(__doc__)
    parser.add_argument("model", type=Path, help="an exported folder or a run's folder")
    parser.add_argument("--text", type=Path, required=True, help="a paragraph a line, or .xz")
    parser.add_argument("--out", type=Path, help="folder for evaluation.json")
    parser.add_argument("--held", type=Path, nargs="+", default=[], help="other kinds of text")
    parser.add_argument("--stars", action="store_true", help="fine-tune on stars, three seeds")
    parser.add_argument("--quick", action="store_true", help="a sample of the text")
    arguments = parser.parse_args()
    settings = read_settings(arguments.config, arguments.set)
    with tempfile.TemporaryDirectory() as temporary:
        folder: Path = arguments.model
        if (folder / "checkpoint.pt").exists():
            folder = Path(temporary)
            export(arguments.model, folder, settings)
        figures = evaluate(folder, arguments.text, settings, arguments.quick, arguments.held)
        if arguments.stars:
            figures["stars"] = evaluate_stars(folder)
    print(describe(figures))
    if arguments.out is not None:
        arguments.out.mkdir(parents=True, exist_ok=True)
        text = json.dumps(figures, indent=1, ensure_ascii=False)
        (arguments.out / "evaluation.json").write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()

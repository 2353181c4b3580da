"""Are the methods right: areas over the deletion curve of each, and whether the subject outweighs the attractor.

Run: ``OMP_WAIT_POLICY=passive python -m benchmarks.faithfulness`` (again to go on; ``--only-table`` prints what is
there). Three parts, on the embedded model:

- ``masked``: sentences of film reviews, one word of each masked; its own logit is the target;
- ``classifier``: a sentiment classifier fitted on the Amazon sentences (linear head, defaults); the logit of the
  likeliest class of its test sentences, against the next one;
- ``subject``: the minimal pairs of ``training/prompts`` with a second noun before the mask; the right word against the
  wrong one. A method is right where the subject contributes more than the other noun.

Sentences have 6 to 9 words, so that every order of their words can be read and no verdict rests on drawn orders.
Results go to ``benchmarks/results/faithfulness.json``, the table to docs/influence.md.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any, cast

import numpy as np
from tqdm.auto import tqdm

import attn_widget as aw
from attn_widget.features import tasks
from attn_widget.features.tasks.data.rated import rated_sentences
from attn_widget.features.why.agreement import word_scores
from attn_widget.features.why.contributions import maskable_words
from attn_widget.features.why.methods import METHODS, Method
from benchmarks.documents import fill
from training.cloze import read_prompts

ROOT = Path(__file__).parent.parent
RESULTS = Path(__file__).with_name("results") / "faithfulness.json"
KEPT = ROOT / "build" / "faithfulness"
WORDS = range(6, 10)  # words of a sentence
LEVEL = 0.05
GROUPS = ("across a prepositional phrase", "across a relative clause", "reflexive")
PARTS = ("subject", "masked", "classifier")


def film_sentences(count: int) -> list[str]:
    """Sentences of everyday length that begin with a capital, spread over the whole source."""
    every = [
        text
        for text in rated_sentences("films").texts
        if len(text.split()) in WORDS and text[:1].isupper() and text.isascii()
    ]
    chosen = np.random.default_rng(0).permutation(len(every))[:count]
    return [every[int(i)] for i in sorted(chosen)]


def hidden_word(analysis: aw.Analysis) -> aw.Target:
    """The word of four letters or more that is nearest to the middle, masked: its own logit."""
    middle = analysis.trace.n_tokens / 2
    places = [
        i
        for i, token in enumerate(analysis.tokens)
        if token.text.isalpha() and len(token.text) > 3 and not token.special
    ]
    if not places:
        raise aw.AttnWidgetError("No word to mask.")
    position = min(places, key=lambda i: abs(i - middle))
    return aw.target(position=position, token=analysis.tokens[position].id, masked=True)


def best_class(analysis: aw.Analysis) -> aw.Target:
    classes = analysis.model.classification
    assert classes is not None
    first, second = np.argsort(-classes.logits).ravel()[:2].tolist()
    return aw.target(label=first, against=second)


def tagged_nouns(analysis: aw.Analysis, words: list[list[int]], mask: int) -> tuple[int, ...]:
    """The first two nouns before the mask, as words; fewer where there are fewer."""
    tokens = analysis.language.tokens
    nouns = [
        k
        for k, pieces in enumerate(words)
        if pieces[0] < mask and tokens[pieces[0]].pos in ("NOUN", "PROPN")
    ]
    return tuple(nouns[:2])


def subject_over_attractor() -> dict[str, Any]:
    """For each method the number of sentences in which the subject contributes more than the other noun.

    The sentences come from three templates: too few for an interval, since those of a template are alike.
    """
    templates: set[str] = set()
    right: dict[str, list[bool]] = {method: [] for method in METHODS}
    pairs = read_prompts("pairs")
    for group, pair in tqdm([(g, pair) for g in GROUPS for pair in pairs[g]], desc="subject"):
        analysis = aw.analyze(pair["text"], progress=False)
        mask = next(i for i, token in enumerate(analysis.tokens) if token.text == "[MASK]")
        target = aw.target(position=mask, token=pair["good"], against=pair["bad"])
        words = maskable_words(analysis.language.tokens, analysis.tokens[mask].id)
        nouns = tagged_nouns(analysis, words, mask)
        if len(nouns) < 2:
            continue
        templates.add(group)
        for method in METHODS:
            scores = word_scores(analysis.why.contributions(target, cast("Method", method)), words)
            right[method].append(bool(scores[nouns[0]] > scores[nouns[1]]))
    return {
        "texts": len(right[METHODS[0]]),
        "templates": len(templates),
        "right": {method: sum(right[method]) for method in METHODS},
    }


def measured(result: Any) -> dict[str, Any]:
    rank, rank_low, rank_high = result.mean_percentile
    better_low, better_high = result.better_interval
    first = result.comprehensiveness.mean(axis=0)
    alike = [
        [row["method"], row["other"]]
        for row in result.differences()
        if not row["adjusted"] <= LEVEL
    ]
    return {
        "texts": len(result.index),
        "tested": result.tested,
        "alike": alike,
        "failed": len(result.failed),
        "random": float(first[-1]),
        "methods": {
            method: {
                "comprehensiveness": float(first[i]),
                "gain": float(result.gain[i]),
                "percentile": float(rank[i]),
                "percentile_low": float(rank_low[i]),
                "percentile_high": float(rank_high[i]),
                "better_than_random": float(result.better_than_random[i]),
                "better_low": float(better_low[i]),
                "better_high": float(better_high[i]),
            }
            for i, method in enumerate(result.methods)
        },
    }


def run(part: str, count: int) -> dict[str, Any]:
    if part == "subject":
        return subject_over_attractor()
    if part == "masked":
        texts = film_sentences(count)
        result = aw.corpus.faithfulness(texts, target=hidden_word, resume=KEPT / f"masked-{count}")
        return measured(result)
    data = tasks.load_amazon(classes=3)
    fitted = tasks.fit_classifier(
        None,
        data.train.texts,
        data.train.labels,
        validation=(data.validation.texts, data.validation.labels),
        classes=data.classes,
        checkpoint=KEPT / "classifier",
    )
    texts = [text for text in data.test.texts if len(text.split()) in WORDS][:count]
    source = rated_sentences("amazon")
    review = dict(zip(source.texts, source.groups, strict=True))
    result = aw.corpus.faithfulness(
        texts,
        target=best_class,
        groups=[review[text] for text in texts],
        model=(fitted.model, fitted.tokenizer),
        resume=KEPT / f"classifier-{count}",
    )
    return measured(result)


def table(results: dict[str, Any]) -> str:
    """Markdown, the methods in the order of the masked words' percentile."""
    masked = results.get("masked", {}).get("methods", {})
    order = sorted(METHODS, key=lambda m: -masked.get(m, {}).get("percentile", 0.0))
    number = {method: str(k + 1) for k, method in enumerate(order)}

    def cells(part: str, method: str) -> list[str]:
        figures = results.get(part, {}).get("methods", {}).get(method)
        if figures is None:
            return ["", "", ""]
        low, high = figures["percentile_low"], figures["percentile_high"]
        rank = f"{figures['percentile']:.0f}% ({low:.0f} to {high:.0f})"
        low, high = figures["better_low"], figures["better_high"]
        better = f"{figures['better_than_random']:.0%} ({100 * low:.0f} to {100 * high:.0f})"
        others = [a if b == method else b for a, b in results[part]["alike"] if method in (a, b)]
        same = sorted((number[other] for other in others), key=int)
        return [rank, ", ".join(same) or "–", better]

    def right(method: str) -> str:
        figures = results.get("subject", {})
        return f"{figures['right'][method]} of {figures['texts']}" if figures else ""

    rows = [
        "| | method | masked word: lower than | not different from | better | sentiment: lower than | not different from | better | subject |",
        "|--:|---|--:|---|--:|--:|---|--:|--:|",
    ]
    for method in order:
        row = [
            number[method],
            f"`{method}`",
            *cells("masked", method),
            *cells("classifier", method),
        ]
        rows.append(f"| {' | '.join([*row, right(method)])} |")
    chance = "| | *by chance* | 50% | | any of ten: 5% | 50% | | any of ten: 5% | half |"
    tested = [
        f"{results[part]['tested']} of {results[part]['texts'] + results[part]['failed']} {what}"
        for part, what in (("masked", "masked words"), ("classifier", "sentences of sentiment"))
        if part in results
    ]
    return "\n".join([*rows, chance, "", f"Tested: {' and '.join(tested)}."])


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.faithfulness", description=__doc__)
    parser.add_argument("--texts", type=int, default=200)
    parser.add_argument("--only-table", action="store_true")
    parser.add_argument("--part", choices=PARTS, action="append")
    options = parser.parse_args()
    results: dict[str, Any] = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    # Figures of the test of earlier versions are no figures of this one.
    results = {part: found for part, found in results.items() if {"alike", "right"} & found.keys()}
    if not options.only_table:
        for part in options.part or PARTS:
            results[part] = run(part, options.texts)
            RESULTS.parent.mkdir(exist_ok=True)
            RESULTS.write_text(json.dumps(results, indent=1) + "\n")
    fill("docs/influence.md", "faithfulness", table(results))


if __name__ == "__main__":
    main()

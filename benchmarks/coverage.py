"""Share of 95% intervals that hold the mean of all texts, measured on the figures that they are printed with.

Run: ``OMP_WAIT_POLICY=passive python -m benchmarks.coverage`` (again to print the tables from stored figures;
``--fresh`` reads the texts again, ``--used`` measures only the intervals of the package). Figures of a thousand
sentences of film reviews stand for all texts: means of heads (`profile`), rank correlations of quick methods
(`agreement`), percentiles among random orders (`faithfulness`), distances of heads to the same sentence with another
article (`compare_many`), accuracies of heads on patterns, and whether a head is right at most places of a sentence
(shares). Samples of 8 to 200 of them are drawn with replacement 1,000 times. The first table has the intervals of the
package, the second those that were tried and are not used, also for the gain over random orders, which has none.

The figures go to ``build/coverage/``, the tables to docs/influence.md and ``benchmarks/results/coverage.md``.
"""

from __future__ import annotations

import argparse
import shutil
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import t

import attn_widget as aw
from attn_widget.features.corpus.reading.observed import ROWS
from attn_widget.features.corpus.statistics import intervals
from attn_widget.features.corpus.storage import Rows
from attn_widget.features.corpus.totals import Totals
from attn_widget.features.why.orders.order_test import clopper_pearson
from benchmarks.documents import fill
from benchmarks.faithfulness import film_sentences, hidden_word

ROOT = Path(__file__).parent.parent
KEPT = ROOT / "build" / "coverage"
RESULTS = Path(__file__).with_name("results") / "coverage.md"
HEADER = """# Coverage of 95% intervals

Percent of the intervals that hold the mean of all texts: mean over figures, in parentheses the lowest of them; a dash
where more than a tenth of the samples have none. Written by `python -m benchmarks.coverage`.
"""
TRIED_HEADING = "\n## Tried, and not used\n\n"
SENTENCES, EXPLAINED, TESTED, FIGURES = 1500, 400, 300, 60  # at most: there are 1,012 sentences
HEADS = 12  # of whose accuracies there are intervals
SAMPLES = 1000
AT_ONCE = 20  # samples whose texts are drawn again with the same weights
SIZES = (8, 10, 20, 50, 200)
QUICK = ("decomposition", "gradient_x_input", "attention_gradient", "weights", "norms", "alti")
Floats = NDArray[Any]
Ends = tuple[Floats, Floats]
Interval = Callable[[Floats, int], Ends]


def heads(texts: list[str]) -> Floats:
    """Figures of heads [texts, figures], those that every text has."""
    return aw.profile(texts, tagger=None).figures.reshape(len(texts), -1)


def correlations(texts: list[str]) -> Floats:
    many = aw.corpus.agreement(texts[:EXPLAINED], target=hidden_word, methods=QUICK, tagger=None)
    first, second = np.triu_indices(len(QUICK), 1)
    return many.rho[:, first, second]


def tested(texts: list[str]) -> Any:
    """The masking test of sentences with few orders."""
    short = [text for text in texts if len(text.split()) == 6]
    return aw.corpus.faithfulness(
        short[:TESTED], target=hidden_word, methods=QUICK, tagger=None, resume=KEPT / "tested"
    )


def gains(texts: list[str]) -> Floats:
    """Comprehensiveness beyond random orders."""
    many = tested(texts)
    return many.comprehensiveness[:, :-1] - many.comprehensiveness[:, -1:]


def percentiles(texts: list[str]) -> Floats:
    return tested(texts).percentile


def distances(texts: list[str]) -> Floats:
    pairs = [(text, text.replace(" the ", " a ", 1)) for text in texts if " the " in text]
    return aw.compare.many(pairs[:EXPLAINED]).distances.reshape(min(len(pairs), EXPLAINED), -1)


@cache
def read() -> Rows:
    """The sentences, with the hits of each head."""
    return aw.profile(film_sentences(SENTENCES), tagger=None)._each  # pyright: ignore[reportPrivateUsage]


def hits(_texts: list[str]) -> Floats:
    """1 if the strongest keys of a head are right at most places of a sentence, else 0."""
    rows = read()
    assert rows.observed is not None
    wanted = [k for k, (keys, name) in enumerate(ROWS) if keys == "words" and name in ("previous", "next")]  # fmt: skip
    queries = rows.observed.queries[:, wanted, None, None]
    share = rows.observed.hits[:, wanted] / np.maximum(queries, 1)
    right = (share > 0.5).astype(np.float32).reshape(len(share), -1)
    return right[:, known(right.mean(axis=0))]


def known(share: Floats) -> NDArray[np.bool_]:
    """Shares that a sample can tell from 0 and from 1: between 1% and 99%."""
    return (share > 0.01) & (share < 0.99)


KINDS: dict[str, Callable[[list[str]], Floats]] = {
    "figures of heads": heads,
    "rank correlations": correlations,
    "percentiles": percentiles,
    "gains": gains,
    "distances": distances,
    "shares": hits,
}


@cache
def population(kind: str) -> Floats:
    """Figures of all texts, float64 [texts, figures]; at most 60 figures that vary."""
    path = KEPT / f"{kind.replace(' ', '_')}.npy"
    if not path.exists():
        KEPT.mkdir(parents=True, exist_ok=True)
        np.save(path, KINDS[kind](film_sentences(SENTENCES)))
    figures = np.load(path).astype(np.float64)
    figures = figures[:, np.isnan(figures).mean(axis=0) < 0.1]
    figures = figures[~np.isnan(figures).any(axis=1)]
    figures = figures[:, figures.std(axis=0) > 1e-6]
    chosen = np.random.default_rng(0).permutation(figures.shape[1])[:FIGURES]
    return figures[:, chosen]


def student(sample: Floats, _seed: int) -> Ends:
    n = len(sample)
    half = t.ppf(0.975, n - 1) * sample.std(axis=0, ddof=1) / np.sqrt(n)
    return sample.mean(axis=0) - half, sample.mean(axis=0) + half


def percentile(sample: Floats, seed: int) -> Ends:
    """The interval before the correction: 2.5% and 97.5% of the resampled means."""
    drawn = np.random.default_rng(seed).poisson(1.0, (intervals.RESAMPLES, len(sample)))
    means = drawn @ sample / np.maximum(drawn.sum(axis=1, keepdims=True), 1)
    low, high = np.percentile(means, (2.5, 97.5), axis=0)
    return low, high


def bootstrap_t(sample: Floats, seed: int) -> Ends:
    """Resampled t values (Efron and Tibshirani 1993, section 12.5): they follow the skewness of the figures."""
    n = len(sample)
    drawn = np.random.default_rng(seed).multinomial(n, np.full(n, 1 / n), intervals.RESAMPLES)
    mean, sd = sample.mean(axis=0), sample.std(axis=0, ddof=1)
    means = drawn @ sample / n
    sds = np.sqrt(np.maximum(drawn @ sample**2 / n - means**2, 0) * n / (n - 1))
    # Resamples in which all texts are the same have no t value: as far out as their mean.
    values = np.where(
        sds > 1e-12, (means - mean) / np.maximum(sds, 1e-12), 1e3 * np.sign(means - mean)
    )
    low, high = np.percentile(values, (2.5, 97.5), axis=0)
    return mean - high * sd, mean - low * sd


def exact(sample: Floats, _seed: int) -> Ends:
    ends = [clopper_pearson(int(column.sum()), len(sample)) for column in sample.T]
    low, high = np.array(ends).T
    return low, high


def agresti_coull(sample: Floats, _seed: int) -> Ends:
    """The normal interval after two more trials with 1 and two with 0 (Agresti and Coull 1998)."""
    more = len(sample) + intervals.NORMAL**2
    middle = (sample.sum(axis=0) + intervals.NORMAL**2 / 2) / more
    half = intervals.NORMAL * np.sqrt(middle * (1 - middle) / more)
    return middle - half, middle + half


def ours(sample: Floats, seed: int) -> Ends:
    return intervals.bootstrap(sample.astype(np.float32), seed)


def of_shares(sample: Floats, seed: int) -> Ends:
    return intervals.share_interval(sample.astype(np.float32), seed)


def of_percentiles(sample: Floats, seed: int, digests: NDArray[np.uint64] | None = None) -> Ends:
    return intervals.bounded_interval(sample.astype(np.float32), (0, 100), seed, digests)


def repeated(interval: Callable[..., Ends]) -> Interval:
    """The same of texts that stand in the list one to five times each, as those of a template may."""

    def of_groups(sample: Floats, seed: int) -> Ends:
        times = np.random.default_rng([seed, 1]).integers(1, 6, len(sample))
        marks = np.repeat(np.arange(len(sample), dtype=np.uint64), times)
        return interval(np.repeat(sample, times, axis=0).astype(np.float32), seed, marks)

    return of_groups


# Figures, name of the interval, the interval.
USED: tuple[tuple[str, str, Interval], ...] = (
    ("figures of heads", "corrected bootstrap", ours),
    ("figures of heads", "the same, each text 1 to 5 times", repeated(intervals.bootstrap)),
    ("rank correlations", "corrected bootstrap", ours),
    ("percentiles", "known range", of_percentiles),
    ("percentiles", "the same, each text 1 to 5 times", repeated(of_percentiles)),
    ("distances", "corrected bootstrap", ours),
    ("shares", "Wilson", of_shares),
    ("shares", "the same, each text 1 to 5 times", repeated(intervals.share_interval)),
)
TRIED: tuple[tuple[str, str, Interval], ...] = (
    *((kind, "percentile bootstrap", percentile) for kind in KINDS if kind != "gains"),
    *((kind, "Student's t", student) for kind in KINDS if kind not in ("gains", "shares")),
    *((kind, "bootstrap t", bootstrap_t) for kind in KINDS if kind not in ("gains", "shares")),
    ("percentiles", "corrected bootstrap", ours),
    ("shares", "Agresti and Coull", agresti_coull),
    ("shares", "Clopper-Pearson", exact),
    ("gains", "corrected bootstrap", ours),
    ("gains", "Student's t", student),
    ("gains", "bootstrap t", bootstrap_t),
)


def covered(figures: Floats, n: int, interval: Interval) -> Floats | None:
    """Percent of intervals from ``n`` texts that hold the mean of all texts, by figure.

    None where more than a tenth of the samples have no interval.
    """
    rng, mean = np.random.default_rng(n), figures.mean(axis=0)
    held, there = np.zeros(figures.shape[1]), np.zeros(figures.shape[1])
    for seed in range(SAMPLES // AT_ONCE):
        drawn = figures[rng.integers(len(figures), size=(n, AT_ONCE))]
        ends = interval(drawn.reshape(n, -1), seed)
        low, high = (end.reshape(AT_ONCE, -1) for end in ends)
        held += ((low <= mean + 1e-6) & (mean - 1e-6 <= high)).sum(axis=0)
        there += (~np.isnan(low)).sum(axis=0)
    return None if there.min() < 0.9 * SAMPLES else 100 * held / there


def covered_accuracies(n: int) -> Floats:
    """The same of the accuracies of heads on the previous and the next word, where they are `known`."""
    rows, heads = read(), np.random.default_rng(0).permutation(72)[:HEADS]
    assert rows.observed is not None
    shape = (0, 1, HEADS)
    observed = replace(
        rows.observed,
        hits=rows.observed.hits.reshape(*rows.observed.hits.shape[:2], 1, -1)[..., heads],
    )
    rows = replace(rows, figures=rows.figures[:, :0, :1, :HEADS])

    def records(places: NDArray[np.int64], seed: int) -> list[dict[str, Any]]:
        # The same text drawn twice counts as two, as in the other rows.
        marks = np.arange(len(places), dtype=np.uint64)
        totals = Totals(shape, seed)
        index, tokens, figures = rows.index[places], rows.n_tokens[places], rows.figures[places]
        totals.add(Rows(index, tokens, figures, marks, observed.take(places)))
        return [row for row in totals.accuracies() if row["pattern"] in ("previous", "next")]

    every = np.array([row["accuracy"] for row in records(np.arange(len(rows.index)), 0)])
    rng, held, there = np.random.default_rng(n), np.zeros(len(every)), np.zeros(len(every))
    for seed in range(SAMPLES):
        found = records(rng.integers(len(rows.index), size=n), seed)
        low, high = (np.array([row[end] for row in found]) for end in ("low", "high"))
        held += (low <= every + 1e-6) & (every - 1e-6 <= high)
        there += ~np.isnan(low)
    return 100 * held[known(every)] / there[known(every)]


def line(kind: str, name: str, found: list[Floats | None]) -> str:
    cells = ["–" if one is None else f"{one.mean():.1f} ({one.min():.0f})" for one in found]
    figures = max(0 if one is None else len(one) for one in found)
    print(row := f"| {kind} ({figures}) | {name} | {' | '.join(cells)} |", flush=True)
    return row


def table(intervals_of: tuple[tuple[str, str, Interval], ...]) -> str:
    rows = [
        f"| figures | interval | {' | '.join(f'{n} texts' for n in SIZES)} |",
        f"|---|---|{'--:|' * len(SIZES)}",
    ]
    for kind, name, interval in sorted(intervals_of, key=lambda row: [*KINDS].index(row[0])):
        rows.append(line(kind, name, [covered(population(kind), n, interval) for n in SIZES]))
    return "\n".join(rows)


def concentration() -> str:
    """Why gains have no interval."""
    sizes = np.sort(np.abs(population("gains")), axis=0)[::-1]
    share = sizes[:10].sum(axis=0) / sizes.sum(axis=0)
    return (
        f"Of the gains of {len(sizes)} hidden words, ten make up {share.min():.0%} to {share.max():.0%} of the sum of "
        f"all sizes, by method; the median word has {np.median(sizes, axis=0).max():.4f} at most, the largest "
        f"{sizes[0].max():.2f}."
    )


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.coverage", description=__doc__)
    parser.add_argument("--fresh", action="store_true")
    parser.add_argument("--used", action="store_true")
    options = parser.parse_args()
    if options.fresh:
        shutil.rmtree(KEPT, ignore_errors=True)
    accuracies = line("accuracies", "Wilson", [covered_accuracies(n) for n in SIZES])
    used, why = f"{table(USED)}\n{accuracies}", concentration()
    fill("docs/influence.md", "coverage", f"{used}\n\n{why}")
    tried = (
        RESULTS.read_text().split(TRIED_HEADING)[1]
        if options.used
        else f"{table(TRIED)}\n\n{why}\n"
    )
    RESULTS.write_text(f"{HEADER}\n## Used\n\n{used}\n{TRIED_HEADING}{tried}")


if __name__ == "__main__":
    main()

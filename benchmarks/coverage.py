"""How often do 95% intervals hold the mean of all texts: measured on the figures that they are printed beside.

Run: ``OMP_WAIT_POLICY=passive python -m benchmarks.coverage`` (again to print the table from stored figures;
``--fresh`` reads the texts again). Figures of 1,500 sentences of film reviews stand for all texts: means of heads
(`profile`), rank correlations of quick methods (`agreement`), gains over random orders (`faithfulness`) and
distances of heads to the same sentence with another article (`compare_many`). Samples of 10 to 200 of them are
drawn with replacement 400 times, and the intervals of the package, those of Student's t and the plain percentile
bootstrap are computed of each sample. Shares (accuracies of heads on patterns) have Wilson's interval.

The figures go to ``build/coverage/``, the table to docs/influence.md.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import t

import attn_widget as aw
from attn_widget.corpus.reading.observed import ROWS
from attn_widget.corpus.statistics import intervals
from benchmarks.documents import fill
from benchmarks.faithfulness import film_sentences, hidden_word

ROOT = Path(__file__).parent.parent
KEPT = ROOT / "build" / "coverage"
SENTENCES, EXPLAINED, TESTED, FIGURES = 1500, 400, 120, 60
SAMPLES = 400
SIZES = (8, 10, 20, 50, 200)
QUICK = ("decomposition", "gradient_x_input", "attention_gradient", "weights", "norms", "alti")
Floats = NDArray[Any]
Interval = Callable[[Floats, int], tuple[Floats, Floats]]


def heads(texts: list[str]) -> Floats:
    """Figures of heads [texts, figures], those that every text has."""
    return aw.profile(texts, tagger=None).figures.reshape(len(texts), -1)


def correlations(texts: list[str]) -> Floats:
    many = aw.agreement(texts[:EXPLAINED], target=hidden_word, methods=QUICK, tagger=None)
    first, second = np.triu_indices(len(QUICK), 1)
    return many.rho[:, first, second]


def tested(texts: list[str]) -> Any:
    """The masking test of sentences with few orders."""
    short = [text for text in texts if len(text.split()) == 6]
    return aw.faithfulness(short[:TESTED], target=hidden_word, methods=QUICK, tagger=None)


def gains(texts: list[str]) -> Floats:
    """Comprehensiveness beyond random orders."""
    many = tested(texts)
    return many.comprehensiveness[:, :-1] - many.comprehensiveness[:, -1:]


def percentiles(texts: list[str]) -> Floats:
    return tested(texts).percentile


def distances(texts: list[str]) -> Floats:
    pairs = [(text, text.replace(" the ", " a ", 1)) for text in texts if " the " in text]
    return aw.compare_many(pairs[:EXPLAINED]).distances.reshape(min(len(pairs), EXPLAINED), -1)


def hits(texts: list[str]) -> Floats:
    """Whether the strongest key of each head's first query of a pattern is right: 0 and 1."""
    rows = aw.profile(texts, tagger=None)._each  # pyright: ignore[reportPrivateUsage]
    assert rows.observed is not None
    wanted = [k for k, (keys, name) in enumerate(ROWS) if keys == "words" and name in ("previous", "next")]  # fmt: skip
    queries = rows.observed.queries[:, wanted, None, None]
    share = rows.observed.hits[:, wanted] / np.maximum(queries, 1)
    return (share > 0.5).astype(np.float32).reshape(len(texts), -1)


KINDS: dict[str, Callable[[list[str]], Floats]] = {
    "figures of heads": heads,
    "rank correlations": correlations,
    "percentiles": percentiles,
    "gains": gains,
    "distances": distances,
    "shares": hits,
}


def population(kind: str, fresh: bool) -> Floats:
    """Figures of all texts, float64 [texts, figures]; at most 60 figures that vary."""
    path = KEPT / f"{kind.replace(' ', '_')}.npy"
    if fresh or not path.exists():
        KEPT.mkdir(parents=True, exist_ok=True)
        np.save(path, KINDS[kind](film_sentences(SENTENCES)))
    figures = np.load(path).astype(np.float64)
    figures = figures[:, np.isnan(figures).mean(axis=0) < 0.1]
    figures = figures[~np.isnan(figures).any(axis=1)]
    figures = figures[:, figures.std(axis=0) > 1e-6]
    chosen = np.random.default_rng(0).permutation(figures.shape[1])[:FIGURES]
    return figures[:, chosen]


def student(sample: Floats, _seed: int) -> tuple[Floats, Floats]:
    n = len(sample)
    half = t.ppf(0.975, n - 1) * sample.std(axis=0, ddof=1) / np.sqrt(n)
    return sample.mean(axis=0) - half, sample.mean(axis=0) + half


def percentile(sample: Floats, seed: int) -> tuple[Floats, Floats]:
    """The interval before the correction: 2.5% and 97.5% of the resampled means."""
    drawn = np.random.default_rng(seed).poisson(1.0, (intervals.RESAMPLES, len(sample)))
    means = drawn @ sample / np.maximum(drawn.sum(axis=1, keepdims=True), 1)
    low, high = np.percentile(means, (2.5, 97.5), axis=0)
    return low, high


def ours(sample: Floats, seed: int) -> tuple[Floats, Floats]:
    return intervals.bootstrap(sample.astype(np.float32), seed)


def wilson(sample: Floats, seed: int) -> tuple[Floats, Floats]:
    return intervals.share_interval(sample.astype(np.float32), seed)


def covered(figures: Floats, n: int, interval: Interval) -> Floats:
    """Percent of samples of ``n`` texts whose interval holds the mean of all texts, by figure."""
    rng, mean = np.random.default_rng(n), figures.mean(axis=0)
    held = np.zeros(figures.shape[1])
    for seed in range(SAMPLES):
        low, high = interval(figures[rng.integers(len(figures), size=n)], seed)
        held += (low <= mean + 1e-6) & (mean - 1e-6 <= high)
    return 100 * held / SAMPLES


def table(fresh: bool) -> str:
    rows = [
        f"| figures | interval | {' | '.join(f'{n} texts' for n in SIZES)} |",
        f"|---|---|{'--:|' * len(SIZES)}",
    ]
    for kind in KINDS:
        figures = population(kind, fresh)
        of_kind: dict[str, Interval] = (
            {"Wilson": wilson, "percentile": percentile}
            if kind == "shares"
            else {"corrected bootstrap": ours, "Student's t": student, "percentile": percentile}
        )
        for name, interval in of_kind.items():
            found = [covered(figures, n, interval) for n in SIZES]
            cells = [f"{one.mean():.1f} ({one.min():.0f})" for one in found]
            rows.append(f"| {kind} ({figures.shape[1]}) | {name} | {' | '.join(cells)} |")
            print(rows[-1], flush=True)
    return "\n".join(rows)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.coverage", description=__doc__)
    parser.add_argument("--fresh", action="store_true")
    fill("docs/influence.md", "coverage", table(parser.parse_args().fresh))


if __name__ == "__main__":
    main()

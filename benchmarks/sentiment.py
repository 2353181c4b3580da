"""Lexicon, linear head and text CNN on the same held-out sentences; resumable after any kill.

Run: ``OMP_WAIT_POLICY=passive python -m benchmarks.sentiment`` (again to go on; ``--only-table`` prints
what is there). For each seed the data is split again, all three learn from the same training split
and answer for the same test split; the embedded model, the defaults of `fit_classifier`. Results go
to ``benchmarks/results/sentiment.json`` and the table to ``sentiment.md`` next to it; ``--documents``
puts it in the place of the tables of docs/tasks.md and the tutorial.
"""

from __future__ import annotations

import argparse
import json
import re
import statistics
import time
from collections.abc import Callable
from dataclasses import asdict
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import nbformat
import numpy as np
import torch
from numpy.typing import NDArray

from attn_widget.features import tasks
from attn_widget.features.corpus.identity import drawn_together
from attn_widget.features.corpus.statistics import intervals
from attn_widget.features.tasks import trainer
from attn_widget.host.fingerprint import fingerprint
from attn_widget.model.loading import load

ROOT = Path(__file__).parent.parent
RESULTS = Path(__file__).with_name("results") / "sentiment.json"
CHECKPOINTS = ROOT / "build" / "sentiment"
DOCUMENTS = (ROOT / "docs" / "tasks.md",)
TUTORIAL = ROOT / "notebooks" / "sentiment-and-stars.ipynb"
LOADERS: dict[str, Callable[..., Any]] = {"amazon": tasks.load_amazon, "films": tasks.load_films}
METHODS = ("lexicon", "linear", "cnn")
NAMES = {"lexicon": "lexicon", "linear": "linear head", "cnn": "CNN head"}
COLUMNS = (("cross_entropy", 3), ("auc_roc", 3), ("correct", 1), ("relaxed", 1))
KEEP_EVERY = 300.0  # seconds between two checkpoints inside an epoch
SAMPLES = 400  # of reviews, to see how often intervals hold


def key_of(record: dict[str, Any]) -> tuple[Any, ...]:
    return tuple(record[name] for name in ("dataset", "classes", "seed", "method"))


def fit(name: str, classes: int, seed: int, method: str, threads: int) -> dict[str, Any]:
    """Fit one method on one split and score it on the test split."""
    data = LOADERS[name](classes=classes, seed=seed)
    started, began = time.process_time(), time.perf_counter()
    record: dict[str, Any] = {"dataset": name, "classes": classes, "seed": seed, "method": method}
    if method == "lexicon":
        baseline = tasks.LexiconBaseline().fit(data.train)
        probabilities = baseline.probabilities(data.test.texts)
    else:
        torch.set_num_threads(threads)
        trainer.SAVE_EVERY = KEEP_EVERY
        fitted = tasks.fit_classifier(
            None,
            data.train.texts,
            data.train.labels,
            validation=(data.validation.texts, data.validation.labels),
            classes=data.classes,
            head=method,
            seed=seed,
            checkpoint=CHECKPOINTS / f"{name}-{classes}-{seed}-{method}",
            progress=False,
        )
        probabilities = fitted.probabilities(data.test.texts)
        record["settings"] = fitted.settings
        record["epochs"] = len(fitted.history)
        record["best_epoch"] = fitted.best_epoch
        record["weights"] = fingerprint(load(progress=False).model)
    record["cpu_s"] = round(time.process_time() - started, 1)
    record["wall_s"] = round(time.perf_counter() - began, 1)
    record["threads"] = threads
    record["texts"] = {part: len(split) for part, split in data.splits.items()}
    record["metrics"] = asdict(tasks.score(data.test.labels, probabilities))
    record["hits"] = "".join(
        "1" if hit else "0" for hit in probabilities.argmax(1) == data.test.labels
    )
    return record


@cache
def reviews(name: str, classes: int, seeds: tuple[int, ...]) -> NDArray[np.uint64]:
    """The review of each test sentence of these seeds: sentences of one review are resampled together."""
    source = tasks.rated_sentences(name)
    review = dict(zip(source.texts, source.groups, strict=True))
    splits = [LOADERS[name](classes=classes, seed=seed) for seed in seeds]
    texts = [text for data in splits for text in data.test.texts]
    return drawn_together(texts, [review[text] for text in texts])


def hits(records: list[dict[str, Any]]) -> NDArray[np.float32]:
    """1 for each test sentence of these seeds that is right, else 0, float32 [n, 1]."""
    return np.array([[hit == "1"] for record in records for hit in record["hits"]], np.float32)


def of_reviews(records: list[dict[str, Any]]) -> NDArray[np.uint64]:
    first = records[0]
    return reviews(first["dataset"], first["classes"], tuple(record["seed"] for record in records))


def percent(low: NDArray[Any], high: NDArray[Any], sign: str = "") -> str:
    return f"{100 * low.item():{sign}.1f} to {100 * high.item():{sign}.1f}"


def interval(records: list[dict[str, Any]]) -> str:
    """Wilson's 95% interval of % correct."""
    return percent(*intervals.share_interval(hits(records), 0, of_reviews(records)))


def shown(records: list[dict[str, Any]], metric: str, digits: int) -> str:
    values = [record["metrics"][metric] for record in records]
    if values[0] is None:
        return ""
    spread = f" ± {statistics.stdev(values):.{digits}f}" if len(values) > 1 else ""
    return f"{statistics.mean(values):.{digits}f}{spread}"


def chosen_from(
    records: list[dict[str, Any]], name: str, classes: int, method: str
) -> list[dict[str, Any]]:
    return [r for r in records if key_of(r)[:2] == (name, classes) and r["method"] == method]


def table(records: list[dict[str, Any]]) -> str:
    """Markdown: mean ± standard deviation over the seeds that are there."""
    rows = [
        "| sentences | classes | train / test | method | cross-entropy | AUC-ROC | % correct | 95% interval | % within one star | seeds |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    for name, classes, method in product(LOADERS, (3, 5), METHODS):
        chosen = chosen_from(records, name, classes, method)
        if not chosen:
            continue
        texts = chosen[0]["texts"]
        cells = [shown(chosen, metric, digits) for metric, digits in COLUMNS]
        cells.insert(3, interval(chosen))
        sizes = f"{texts['train']:,} / {texts['test']:,}"
        row = [name, str(classes), sizes, NAMES[method], *cells, str(len(chosen))]
        rows.append(f"| {' | '.join(row)} |")
    return "\n".join(rows)


def differences(records: list[dict[str, Any]]) -> str:
    """Markdown: how much more one method gets right on the same sentences, with a corrected bootstrap interval."""
    rows = [
        "| sentences | classes | linear head - lexicon, % correct | CNN head - lexicon | CNN head - linear head |",
        "|---|---|---|---|---|",
    ]
    for name, classes in product(LOADERS, (3, 5)):
        of = {method: chosen_from(records, name, classes, method) for method in METHODS}
        if not all(of.values()):
            continue
        cells: list[str] = []
        for one, other in (("linear", "lexicon"), ("cnn", "lexicon"), ("cnn", "linear")):
            more = hits(of[one]) - hits(of[other])
            ends = intervals.bootstrap(more, 0, of_reviews(of[one]))
            cells.append(f"{100 * more.mean():+.1f} ({percent(*ends, '+')})")
        rows.append(f"| {name} | {classes} | {' | '.join(cells)} |")
    return "\n".join(rows)


def coverage(records: list[dict[str, Any]]) -> str:
    """Percentage of samples, drawn by review, whose interval holds the figure of all test sentences."""
    held: dict[str, list[float]] = {"shares": [], "without reviews": [], "differences": []}
    for name, classes in product(LOADERS, (3, 5)):
        of = {method: chosen_from(records, name, classes, method) for method in METHODS}
        marks = of_reviews(of["linear"])
        places = [np.flatnonzero(marks == mark) for mark in np.unique(marks)]
        right = np.concatenate([hits(of[method]) for method in METHODS], axis=1)
        figures = np.concatenate([right, right[:, 1:] - right[:, :1]], axis=1)
        mean, found = figures.mean(axis=0), []
        for seed in range(SAMPLES):
            drawn = np.random.default_rng([seed, classes]).integers(len(places), size=len(places))
            rows = np.concatenate([places[k] for k in drawn])
            groups = np.repeat(np.arange(len(drawn), dtype=np.uint64), [len(places[k]) for k in drawn])  # fmt: skip
            sample, shares = figures[rows], figures[rows, : len(METHODS)]
            ends = (
                intervals.share_interval(shares, seed, groups),
                intervals.share_interval(shares, seed),
                intervals.bootstrap(sample[:, len(METHODS) :], seed, groups),
            )
            means = (mean[: len(METHODS)], mean[: len(METHODS)], mean[len(METHODS) :])
            found.append([((low <= one) & (one <= high)).mean() for (low, high), one in zip(ends, means, strict=True)])  # fmt: skip
        for kind, share in zip(held, np.mean(found, axis=0), strict=True):
            held[kind].append(100 * float(share))
    return "\n".join(f"{kind}: {', '.join(f'{one:.1f}' for one in each)}" for kind, each in held.items())  # fmt: skip


def documented(text: str, rows: str) -> str:
    """``text`` with ``rows`` in the place of its own table."""
    begins = rows.splitlines()[0]
    replaced, _ = re.subn(
        rf"^{re.escape(begins)}\n(\|.*\n)+", f"{rows}\n", text, flags=re.MULTILINE
    )
    return replaced


def read(path: Path) -> list[dict[str, Any]]:
    return json.loads(path.read_text()) if path.exists() else []


def write(path: Path, text: str) -> None:
    compare_with = path.with_suffix(".tmp")
    compare_with.write_text(text, encoding="utf-8")
    compare_with.replace(path)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--results", type=Path, default=RESULTS)
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--datasets", nargs="+", choices=list(LOADERS), default=list(LOADERS))
    parser.add_argument("--classes", type=int, nargs="+", default=[3, 5])
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=list(METHODS))
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--only-table", action="store_true")
    parser.add_argument("--documents", action="store_true")
    parser.add_argument("--coverage", action="store_true", help="simulate how often intervals hold")
    arguments = parser.parse_args()
    path: Path = arguments.results
    records = read(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    wanted = product(arguments.classes, arguments.seeds, arguments.datasets, arguments.methods)
    weights = fingerprint(load(progress=False).model)  # an earlier model's results are recomputed
    only = arguments.only_table or arguments.documents or arguments.coverage
    for classes, seed, name, method in () if only else wanted:
        key = (name, classes, seed, method)
        if any(key_of(r) == key and r.get("weights", weights) == weights for r in records):
            continue
        record = fit(name, classes, seed, method, arguments.threads)
        known = read(path)  # another process may have added to it
        records = sorted([*(r for r in known if key_of(r) != key), record], key=key_of)
        write(path, json.dumps(records, indent=1) + "\n")
        print(name, classes, method, seed, record["metrics"], f"{record['cpu_s']} s", flush=True)
    rows, pairs = table(records), differences(records)
    print(f"{rows}\n\n{pairs}")
    if arguments.coverage:
        print(coverage(records))
    if not arguments.only_table:
        write(path.with_suffix(".md"), f"{rows}\n\n{pairs}\n")
    if arguments.documents:
        for document in DOCUMENTS:
            text = documented(document.read_text(encoding="utf-8"), rows)
            write(document, documented(text, pairs))
        notebook = nbformat.read(TUTORIAL, as_version=4)
        for cell in notebook.cells:
            cell.source = documented(f"{cell.source}\n", rows).removesuffix("\n")
        write(TUTORIAL, f"{nbformat.writes(notebook)}\n")


if __name__ == "__main__":
    main()

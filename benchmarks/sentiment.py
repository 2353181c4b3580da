"""Lexicon, linear head and text CNN on the same held-out sentences; resumable after any kill.

Run: ``OMP_WAIT_POLICY=passive python -m benchmarks.sentiment`` (again to go on; ``--only-table`` prints
what is there). For each seed the data is split anew, all three learn from the same training split
and answer for the same test split; the embedded model, the defaults of `fit_classifier`. Results go
to ``benchmarks/results/sentiment.json`` and the table to ``sentiment.md`` beside it; ``--documents``
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
from itertools import product
from pathlib import Path
from typing import Any

import nbformat
import numpy as np
import torch

from attn_widget import tasks
from attn_widget.host.fingerprint import fingerprint
from attn_widget.model.loading import load
from attn_widget.tasks import trainer

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
DRAWS = 10_000  # bootstrap samples of an interval


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


def interval(records: list[dict[str, Any]]) -> tuple[float, float]:
    """95% bootstrap interval of % correct: test sentences resampled within each seed's split."""
    random = np.random.default_rng(0)
    means = np.mean(
        [
            random.binomial(len(hits), hits.count("1") / len(hits), DRAWS) / len(hits)
            for hits in (record["hits"] for record in records)
        ],
        axis=0,
    )
    low, high = np.quantile(means, [0.025, 0.975])
    return 100 * float(low), 100 * float(high)


def shown(records: list[dict[str, Any]], metric: str, digits: int) -> str:
    values = [record["metrics"][metric] for record in records]
    if values[0] is None:
        return ""
    spread = f" ± {statistics.stdev(values):.{digits}f}" if len(values) > 1 else ""
    return f"{statistics.mean(values):.{digits}f}{spread}"


def table(records: list[dict[str, Any]]) -> str:
    """Markdown: mean ± standard deviation over the seeds that are there."""
    rows = [
        "| sentences | classes | train / test | method | cross-entropy | AUC-ROC | % correct | 95% interval | % within one star | seeds |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    for name, classes, method in product(LOADERS, (3, 5), METHODS):
        chosen = [r for r in records if key_of(r)[:2] == (name, classes) and r["method"] == method]
        if not chosen:
            continue
        texts = chosen[0]["texts"]
        cells = [shown(chosen, metric, digits) for metric, digits in COLUMNS]
        low, high = interval(chosen)
        cells.insert(3, f"{low:.1f} to {high:.1f}")
        sizes = f"{texts['train']:,} / {texts['test']:,}"
        row = [name, str(classes), sizes, NAMES[method], *cells, str(len(chosen))]
        rows.append(f"| {' | '.join(row)} |")
    return "\n".join(rows)


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
    beside = path.with_suffix(".tmp")
    beside.write_text(text, encoding="utf-8")
    beside.replace(path)


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
    arguments = parser.parse_args()
    path: Path = arguments.results
    records = read(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    wanted = product(arguments.classes, arguments.seeds, arguments.datasets, arguments.methods)
    weights = fingerprint(load(progress=False).model)  # results of an earlier model are found anew
    for classes, seed, name, method in () if arguments.only_table else wanted:
        key = (name, classes, seed, method)
        if any(key_of(r) == key and r.get("weights", weights) == weights for r in records):
            continue
        record = fit(name, classes, seed, method, arguments.threads)
        known = read(path)  # another process may have added to it
        records = sorted([*(r for r in known if key_of(r) != key), record], key=key_of)
        write(path, json.dumps(records, indent=1) + "\n")
        write(path.with_suffix(".md"), table(records) + "\n")
        print(name, classes, method, seed, record["metrics"], f"{record['cpu_s']} s", flush=True)
    print(table(records))
    if arguments.documents:
        for document in DOCUMENTS:
            write(document, documented(document.read_text(encoding="utf-8"), table(records)))
        notebook = nbformat.read(TUTORIAL, as_version=4)
        for cell in notebook.cells:
            cell.source = documented(f"{cell.source}\n", table(records)).removesuffix("\n")
        write(TUTORIAL, f"{nbformat.writes(notebook)}\n")


if __name__ == "__main__":
    main()

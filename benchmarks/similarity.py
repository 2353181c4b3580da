"""Similarities on all-MiniLM-L6-v2: do the sums close, what do other methods say, are they right, what do they cost.

Run: ``OMP_WAIT_POLICY=passive python -m benchmarks.similarity`` (``--part`` for one; ``--only-table`` writes what is there).

- ``closing``: pairs of 3 to 200 words, cut from film reviews; the whole matrix of each (of most, one text has at most 60).
- ``families``: the same with random models of five families.
- ``jacobians``: ten pairs; integrated Jacobians (Moeller et al. 2024, own loop) against `matrix("input")`.
- ``masking``: pairs of sentences of film reviews, 6 to 9 words, the second one of them a neighbor of the first
  among 2,000 by the model itself (the 1st, 3rd, 10th, 30th in turn): mask words of the first in each method's order and
  watch the cosine. Every order of the words is read.
- ``page``: a page with the model in Chromium (``npm run build`` first): its size, and times from a typed text to its picture.
- ``cost``: processor times as multiples of a plain forward pass in the same run, and memory.

An interrupted part goes on from what lies in ``build/similarity``. Results go to ``benchmarks/results/similarity.json``, the tables to docs/similarity.md.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from playwright.sync_api import expect, sync_playwright
from torch.nn import functional
from tqdm.auto import tqdm

import attn_widget as aw
from attn_widget.features.corpus.statistics.intervals import bounded_interval, share_interval
from attn_widget.features.exports.browser import launch
from attn_widget.features.tasks.data.rated import rated_sentences
from attn_widget.features.why.agreement import spearman
from attn_widget.features.why.bound_target import bind
from attn_widget.features.why.contributions import Contributions, maskable_words
from attn_widget.features.why.faithfulness import faithfulness
from attn_widget.features.why.passes import differentiable, entering, first_vectors
from attn_widget.trace.forward import inference_mode
from benchmarks.documents import fill
from tests.unit import tiny_models

RESULTS = Path(__file__).with_name("results") / "similarity.json"
KEPT = Path("build") / "similarity"
PARTS = ("closing", "families", "jacobians", "masking", "cost", "page")
FAMILIES = ("bert", "roberta", "distilbert", "mpnet", "modernbert")
WORDS = range(6, 10)  # words of a sentence of ``masking``
POOL, RANKS = 2000, (1, 3, 10, 30)
STEPS = 200  # of an integrated Jacobian
STEPS_AT_ONCE = 10
METHODS = ("input", "output", "occlusion", "gradient_x_input", "token_cosine")
TEXTS = (
    ("A man is playing a guitar on the stage.", "Someone plays an instrument in front of people."),
    ("How do I reset my password?", "Steps to recover access to your account when the login fails."),
    ("He did not like the film at all.", "He liked the film very much."),
    ("The bank raised interest rates again this year.", "The river bank was covered in flowers."),
    ("A child runs through the park.", "Kids are playing outside."),
    ("The train to Paris leaves at nine.", "When does the next train depart?"),
    ("She bought three apples.", "She bought thirty apples."),
    ("The dog bit the man.", "The man bit the dog."),
    ("Stocks fell sharply on Monday.", "Markets lost ground at the start of the week."),
    ("The soup is too salty.", "It needs less salt."),
)  # fmt: skip


def compared(a: str, b: str) -> Any:
    return aw.similarity(a, b, tagger=None, progress=False)


def each(name: str, items: Sequence[Any], measured: Callable[[Any], Any]) -> list[Any]:
    """A measurement of every item; those of an interrupted run are read from ``build/similarity``."""
    KEPT.mkdir(parents=True, exist_ok=True)
    path = KEPT / f"{name}.jsonl"
    lines = path.read_text().splitlines() if path.exists() else []
    found = [json.loads(line) for line in lines[: len(items)]]
    with path.open("a") as file:
        for item in tqdm(items[len(found) :], desc=name, initial=len(found), total=len(items)):
            found.append(measured(item))
            file.write(json.dumps(found[-1]) + "\n")
            file.flush()
    return found


def word_pairs(words: list[str], count: int) -> list[tuple[str, str]]:
    """One text has 3 to 200 words, the other 3 to 60; of the last two pairs both have 190."""
    made = np.random.default_rng(0)
    pairs: list[tuple[str, str]] = []
    for k in range(count):
        lengths = [round(np.exp(made.uniform(np.log(3), np.log(most)))) for most in (200, 60)]
        if k >= count - 2:
            lengths = [190, 190]
        starts = made.integers(0, len(words) - 200, 2)
        texts = [" ".join(words[s : s + n]) for s, n in zip(starts, lengths, strict=True)]
        first, second = texts[:: int(made.choice([-1, 1]))]
        pairs.append((first, second))
    return pairs


def gaps_of(s: Any) -> dict[str, Any]:
    matrix, output = s.matrix("input"), s.matrix("output")
    rows = matrix.sum(axis=1) + s.biases[: s.a.trace.n_tokens]
    return {
        "tokens": [s.a.trace.n_tokens, s.b.trace.n_tokens],
        "input": abs(float(matrix.sum() + s.biases.sum()) - s.score),
        "size": float(np.abs(matrix).sum() + np.abs(s.biases).sum()),
        "output": abs(float(output.sum()) - s.score),
        "rows": float(np.abs(s.contributions().values - rows).max()),
    }


def largest_of(found: list[dict[str, Any]]) -> dict[str, Any]:
    tokens = [n for one in found for n in one["tokens"]]
    names = ("input", "size", "output", "rows")
    largest = {name: max(one[name] for one in found) for name in names}
    return {"pairs": len(found), "tokens": [min(tokens), max(tokens)], "largest": largest}


def closing(count: int) -> dict[str, Any]:
    def measured(pair: tuple[str, str]) -> dict[str, Any]:
        # A text of more than 256 word pieces is cut there.
        return gaps_of(aw.similarity(*pair, tagger=None, progress=False, truncation=True))

    words = " ".join(rated_sentences("films").texts[:3000]).split()
    return largest_of(each("closing", word_pairs(words, count), measured))


def families(count: int) -> dict[str, Any]:
    """The same with small random models, whose attention is peaked (`tests.unit.tiny_models`)."""
    # Words that their tokenizers were made from: others split into letters.
    known = " ".join(tiny_models.TEXTS).split()
    drawn = np.random.default_rng(1).integers(0, len(known), 4000)
    pairs = word_pairs([known[i] for i in drawn], count)
    results: dict[str, Any] = {}
    for family in FAMILIES:
        positions = 1026 if family in ("mpnet", "roberta") else 1024
        model, tokenizer = tiny_models.build(family, "Model", max_position_embeddings=positions)
        tokenizer.model_max_length = 1024
        encoder = aw.load((model, tokenizer), progress=False).with_pooling("mean")

        def measured(pair: tuple[str, str], encoder: Any = encoder) -> dict[str, Any]:
            options: dict[str, Any] = {"tagger": None, "progress": False, "truncation": True}
            return gaps_of(aw.similarity(*pair, model=encoder, **options))

        results[family] = largest_of(each(f"closing-{family}", pairs, measured))
    return results


def integrated_jacobian(analysis: Any) -> np.ndarray[Any, Any]:
    """``int J(r + t (x - r)) dt (x_i - r_i)`` of each token, float64 [n, d], from the text with every word padded."""
    run = analysis.run
    encoder, inputs = run.encoder, run.encoding.inputs
    vectors = first_vectors(run)
    padded = {name: tensor.clone() for name, tensor in inputs.items()}
    own = [i for i, token in enumerate(run.trace.tokens) if not token.special]
    padded["input_ids"][0, own] = 0
    with inference_mode(encoder):
        reference = encoder.network.base_model.embeddings(
            padded["input_ids"], padded.get("token_type_ids")
        )
    step = vectors - reference
    n = vectors.shape[1]
    sources = torch.zeros(n, STEPS_AT_ONCE, *vectors.shape[1:])
    for i in range(n):
        sources[i, :, i] = step[0, i]
    several = {name: tensor.repeat(STEPS_AT_ONCE, 1) for name, tensor in inputs.items()}
    total = torch.zeros(n, encoder.hidden_size, dtype=torch.float64)
    for start in range(0, STEPS, STEPS_AT_ONCE):
        places = (torch.arange(start, start + STEPS_AT_ONCE) + 0.5) / STEPS
        at = (reference + places[:, None, None] * step).requires_grad_()
        with differentiable(encoder, "eager"), entering(run, at):
            hidden = encoder.network.base_model(**several, return_dict=True)[0]
            e = hidden.mean(dim=1)
            seed = torch.zeros_like(e, requires_grad=True)
            (slope,) = torch.autograd.grad(e, at, seed, create_graph=True)
            (moved,) = torch.autograd.grad(slope, seed, sources, is_grads_batched=True)
        total += moved.double().sum(dim=1) / STEPS
    return total.numpy()


def jacobians(_count: int) -> dict[str, Any]:
    def measured(pair: tuple[str, str]) -> dict[str, Any]:
        s = compared(*pair)
        states = [x.trace.hidden_states[-1].mean(axis=0).astype(np.float64) for x in (s.a, s.b)]
        lengths = np.linalg.norm(states[0]) * np.linalg.norm(states[1])
        table = integrated_jacobian(s.a) @ integrated_jacobian(s.b).T / lengths
        return {
            "missing": abs(float(table.sum()) - s.score),
            "ours": s.matrix("input")[1:-1, 1:-1].ravel().tolist(),
            "theirs": table[1:-1, 1:-1].ravel().tolist(),
        }

    found = each("jacobians", TEXTS, measured)
    ours, theirs = ([np.array(one[name]) for one in found] for name in ("ours", "theirs"))
    missing = [one["missing"] for one in found]
    correlations = [
        (float(np.corrcoef(x, y)[0, 1]), spearman(x, y)) for x, y in zip(ours, theirs, strict=True)
    ]
    best = [int(x.argmax()) == int(y.argmax()) for x, y in zip(ours, theirs, strict=True)]
    return {
        "pairs": len(correlations),
        "steps": STEPS,
        "pearson": [min(p for p, _ in correlations), statistics.fmean(p for p, _ in correlations)],
        "spearman": [min(r for _, r in correlations), statistics.fmean(r for _, r in correlations)],
        "pooled": float(np.corrcoef(np.concatenate(ours), np.concatenate(theirs))[0, 1]),
        "same_largest": sum(best),
        "reference_part": [min(missing), max(missing)],
    }


def film_pairs(count: int) -> list[tuple[str, str]]:
    """Sentences, and others that the model finds more or less similar."""
    every = [
        text
        for text in dict.fromkeys(rated_sentences("films").texts)
        if len(text.split()) in WORDS and text[:1].isupper() and text.isascii()
    ]
    made = np.random.default_rng(0)
    pool = [every[int(i)] for i in made.permutation(len(every))[:POOL]]
    embeddings = embedded(pool)
    ranked = np.argsort(
        -(embeddings[:count] @ embeddings.T), axis=1
    )  # the first is the text itself
    return [(pool[k], pool[row[RANKS[k % len(RANKS)]]]) for k, row in enumerate(ranked)]


def embedded(texts: list[str]) -> np.ndarray[Any, Any]:
    """Embeddings of length 1, [texts, d], as the model's card computes them."""
    run = compared("x", "y").a.run
    assert run is not None
    encoder = run.encoder
    parts: list[Any] = []
    for start in range(0, len(texts), 64):
        batch = encoder.tokenizer(texts[start : start + 64], padding=True, return_tensors="pt")
        with inference_mode(encoder):
            hidden = encoder.network.base_model(**batch)[0]
        mask = batch["attention_mask"][..., None]
        parts.append(functional.normalize((hidden * mask).sum(1) / mask.sum(1), dim=-1))
    return torch.cat(parts).numpy()


def orders_of(s: Any, target: aw.Target) -> dict[str, Contributions]:
    """Contributions of the first text's tokens by every method of the table."""
    found: dict[str, Any] = {
        "input": s.contributions("a"),
        "occlusion": s.contributions("a", "occlusion"),
        "gradient_x_input": s.contributions("a", "gradient_x_input"),
    }
    tokens, value = found["input"].tokens, found["input"].value
    # The plain question: is there a token like this one in the other text.
    cosines = token_cosines_of(s)[:, 1:-1].max(axis=1)
    for method, values in (("output", s.matrix("output").sum(axis=1)), ("token_cosine", cosines)):
        found[method] = Contributions(
            method, target, tokens, values.astype(np.float32), signed=True, value=value
        )
    return {method: found[method] for method in METHODS}


def token_cosines_of(s: Any) -> np.ndarray[Any, Any]:
    states = [x.trace.hidden_states[-1].astype(np.float64) for x in (s.a, s.b)]
    units = [x / np.linalg.norm(x, axis=1, keepdims=True) for x in states]
    return units[0] @ units[1].T


def masking(count: int) -> dict[str, Any]:
    def measured(pair: tuple[str, str]) -> dict[str, Any]:
        s = compared(*pair)
        target = s.target("a")
        run = s.a.run
        assert run is not None
        words = maskable_words(s.a.language.tokens, run.encoder.mask_token_id)
        orders = orders_of(s, target)
        result = faithfulness(run, target, bind(run, target), orders, words, {}, n_random=400)
        return {
            "ranks": [float(result.tests[method].percentile) for method in METHODS],
            "areas": [float(result.curves[method].comprehensiveness) for method in METHODS],
            "better": [float(result.tests[method].better is True) for method in METHODS],
            "chance": float(result.band()[0]),
        }

    found = each("masking", film_pairs(count), measured)
    ranks, areas, better, chance = (
        [one[name] for one in found] for name in ("ranks", "areas", "better", "chance")
    )
    percentiles, passed = (np.array(one, dtype=np.float32) for one in (ranks, better))
    falls = np.array(areas) - np.array(chance)[:, None]
    # As in `aw.corpus.faithfulness`: the gain over random orders has no interval.
    columns = {
        "percentile": (percentiles.mean(axis=0), *bounded_interval(percentiles, (0, 100), 0)),
        "better": (passed.mean(axis=0), *share_interval(passed, 0)),
    }
    return {
        "pairs": len(ranks),
        "chance": float(np.mean(chance)),
        "methods": {
            method: {
                **{name: [float(one[k]) for one in three] for name, three in columns.items()},
                "fall": float(falls[:, k].mean()),
            }
            for k, method in enumerate(METHODS)
        },
    }


def median_of(work: Callable[[], Any], times: int) -> float:
    """Median processor time of a call, s: other programs on the machine change it little."""
    marks = []
    for _ in range(times):
        start = time.process_time()
        work()
        marks.append(time.process_time() - start)
    return statistics.median(marks)


def resident() -> float:
    """Memory of this process, MB."""
    fields = Path("/proc/self/statm").read_text().split()
    return int(fields[1]) * 4096 / 1e6


def added_memory(work: Callable[[], Any]) -> float:
    """By how much a call raises this process's memory at most, MB; looked at every 2 ms."""
    before, peak, done = resident(), [0.0], threading.Event()

    def watch() -> None:
        while not done.wait(0.002):
            peak[0] = max(peak[0], resident())

    watcher = threading.Thread(target=watch)
    watcher.start()
    work()
    done.set()
    watcher.join()
    return peak[0] - before


def cost(_count: int) -> dict[str, Any]:
    words = " ".join(rated_sentences("films").texts[:600]).split()
    begun = os.getloadavg()[0]
    rows: dict[str, Any] = {"threads": torch.get_num_threads()}
    for tokens in (20, 128):
        texts = [fitting(words[start:], tokens) for start in (0, 300)]
        s = compared(*texts)
        inputs = s.a.run.encoding.inputs

        def plain(inputs: Any = inputs, s: Any = s) -> None:
            with inference_mode(s.a.run.encoder):
                s.a.run.encoder.network.base_model(**inputs)

        def shaded(texts: Any = texts) -> None:
            new = compared(*texts)
            new.contributions("a")
            new.contributions("b")

        def matrix(texts: Any = texts) -> None:
            compared(*texts).matrix()

        plain()
        times = {
            "plain": median_of(plain, 15),
            "words": median_of(shaded, 7),
            "matrix": median_of(matrix, 5 if tokens == 20 else 1),
        }
        rows[str(tokens)] = {**times, "tokens": s.a.trace.n_tokens, "memory": added_memory(matrix)}
    passages = [" ".join(words[i : i + 60]) for i in range(0, 6000, 60)]

    def encode() -> None:
        embedded(sorted(passages, key=len))

    def rank() -> None:
        aw.similarity("How are modules imported?", passages, progress=False)

    encode()
    rank()
    rows["ranking"] = {"plain": median_of(encode, 3), "ranking": median_of(rank, 3)}
    rows["load"] = sorted([begun, os.getloadavg()[0]])
    return rows


def page(_count: int) -> dict[str, Any]:
    """Wall times of one thread of the browser, s."""
    words = " ".join(rated_sentences("films").texts[:600]).split()
    begun = os.getloadavg()[0]
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        path = compared(*TEXTS[0]).to_html(Path(folder) / "page.html", engine=True)
        rows: dict[str, Any] = {"size": path.stat().st_size / 1e6}
        opened = launch(playwright).new_page()
        start = time.perf_counter()
        opened.goto(path.as_uri())
        opened.wait_for_selector('html[data-aw-engine="ready"]', timeout=120_000)
        rows["ready"] = time.perf_counter() - start

        def part(name: str) -> Any:
            return opened.locator(f'[data-aw-part="{name}"]')

        for tokens in (20, 48, 128):
            texts = [fitting(words[at:], tokens) for at in (0, 300)]
            score = compared(*texts).score
            part("edit-a").click()
            part("text-a").fill(texts[0])
            part("edit-b").click()
            start = time.perf_counter()
            part("text-b").fill(texts[1])
            opened.wait_for_function(
                "s => Math.abs(document.querySelector('[data-aw-part=score]').dataset.awValue - s) < 1e-3",
                arg=score,
                timeout=120_000,
            )
            shown = time.perf_counter() - start
            start = time.perf_counter()
            opened.locator('[data-kind="input"]').click()
            expect(part("matrix-note")).to_contain_text("Input:", timeout=300_000)
            rows[str(tokens)] = {"shown": shown, "input": time.perf_counter() - start}
    rows["load"] = sorted([begun, os.getloadavg()[0]])
    return rows


def fitting(words: list[str], tokens: int) -> str:
    """The first words that give ``tokens`` tokens, or hardly fewer."""
    run = compared("x", "y").a.run
    assert run is not None
    lengths = [(k, run.encoder.encode(" ".join(words[:k])).n_tokens) for k in range(2, tokens)]
    return " ".join(words[: max(k for k, n in lengths if n <= tokens)])


def tables(results: dict[str, Any]) -> str:
    parts: list[str] = []
    if "closing" in results:
        r = results["closing"]
        gaps = r["largest"]
        parts.append(
            f"**Closing.** {r['pairs']} pairs of {r['tokens'][0]} to {r['tokens'][1]} tokens: the sum of `input` and the "
            f"biases is at most {gaps['input']:.1e} from the model's cosine, the sum of `output` {gaps['output']:.1e}; "
            f"row sums and the decomposition of the target differ by at most {gaps['rows']:.1e}."
        )
    if "families" in results:
        rows = [
            "**Other families**, with random weights and peaked attention: largest gaps, and the largest sum of the absolute values of a "
            "matrix and its biases.",
            "",
            "| | pairs | tokens | `input` | absolute values | `output` | rows |",
            "|---|--:|--:|--:|--:|--:|--:|",
        ]
        for family, r in results["families"].items():
            gaps, (least, most) = r["largest"], r["tokens"]
            rows.append(
                f"| {family} | {r['pairs']} | {least} to {most} | {gaps['input']:.1e} | {gaps['size']:.0f} | "
                f"{gaps['output']:.1e} | {gaps['rows']:.1e} |"
            )
        parts.append("\n".join(rows))
    if "jacobians" in results:
        r = results["jacobians"]
        parts.append(
            f"**Integrated Jacobians.** {r['pairs']} pairs, {r['steps']} steps: Pearson's correlation with `input` over the pairs of "
            f"word pieces is {r['pearson'][1]:.2f} on average (lowest {r['pearson'][0]:.2f}), Spearman's "
            f"{r['spearman'][1]:.2f} ({r['spearman'][0]:.2f}); the largest entry is the same in {r['same_largest']} of "
            f"{r['pairs']}. The integrated Jacobians leave {r['reference_part'][0]:.2f} to {r['reference_part'][1]:.2f} of "
            "the cosine to the padded reference texts."
        )
    if "masking" in results:
        r = results["masking"]
        rows = [
            f"**Masking.** {r['pairs']} pairs of sentences. By chance the area over the cosine's fall is "
            f"{r['chance']:.3f} and the percentile 50%.",
            "",
            "| order of the words by | lower than | fall above chance | better than random |",
            "|---|--:|--:|--:|",
        ]
        for method, m in sorted(r["methods"].items(), key=lambda item: -item[1]["percentile"][0]):
            rank, fall, better = m["percentile"], m["fall"], m["better"]
            rows.append(
                f"| `{method}` | {rank[0]:.0f}% ({rank[1]:.0f} to {rank[2]:.0f}) | "
                f"{fall:+.3f} | {better[0]:.0%} ({100 * better[1]:.0f} to "
                f"{100 * better[2]:.0f}) |"
            )
        parts.append("\n".join(rows))
    if "cost" in results:
        r = results["cost"]
        rows = [
            "**Cost**: processor time of all threads in ms, and as multiples of a plain forward pass of one of the texts; for the ranking, of "
            f"encoding the passages. On a quiet machine with two cores it takes less time than that. {r['threads']} threads, "
            f"load {r['load'][0]:.0f} to {r['load'][1]:.0f} by other programs.",
            "",
            "| | plain | words, from text to sums | matrix | more memory, MB |",
            "|---|--:|--:|--:|--:|",
        ]

        def compare_with(part: float, plain: float) -> str:
            return f"{1e3 * part:,.0f} ({part / plain:.{1 if part < 20 * plain else 0}f} x)"

        for tokens in ("20", "128"):
            c = r[tokens]
            rows.append(
                f"| 2 x {c['tokens']} tokens | {1e3 * c['plain']:.0f} | {compare_with(c['words'], c['plain'])} | "
                f"{compare_with(c['matrix'], c['plain'])} | {c['memory']:.0f} |"
            )
        c = r["ranking"]
        rows.append(
            f"| 100 passages of 60 words | {1e3 * c['plain']:,.0f} | {compare_with(c['ranking'], c['plain'])} | | |"
        )
        parts.append("\n".join(rows))
    if "page" in results:
        r = results["page"]
        times = "; ".join(
            f"2 x {tokens} tokens {r[tokens]['shown']:.1f} s and {r[tokens]['input']:.1f} s"
            for tokens in ("20", "48", "128")
        )
        parts.append(
            f"**Page** with the model: {r['size']:.0f} MB, ready after {r['ready']:.1f} s. From a typed text to score, words and `output`, "
            f"and from there to `input` of both texts: {times} (one thread of the browser, load {r['load'][0]:.0f} to "
            f"{r['load'][1]:.0f} by other programs)."
        )
    return "\n\n".join(parts)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.similarity", description=__doc__)
    parser.add_argument("--pairs", type=int, default=200, help="of closing and masking")
    parser.add_argument("--only-table", action="store_true")
    parser.add_argument("--part", choices=PARTS, action="append")
    options = parser.parse_args()
    results: dict[str, Any] = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    if not options.only_table:
        work = {
            "closing": closing,
            "families": families,
            "jacobians": jacobians,
            "masking": masking,
            "cost": cost,
            "page": page,
        }
        for part in options.part or PARTS:
            results[part] = work[part](options.pairs)
            print(part, json.dumps(results[part], indent=1))
            RESULTS.write_text(json.dumps(results, indent=1) + "\n")
    fill("docs/similarity.md", "similarity", tables(results))


if __name__ == "__main__":
    main()

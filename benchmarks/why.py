"""From the click on a prediction to the text painted with contributions, in JupyterLab.

Run: ``OMP_WAIT_POLICY=passive python -m benchmarks.why`` (embedded model, warm). Each wait is of another position:
its run with the word masked, the decomposition, the answer and the picture are in it. The plain pass of the same
text, in the same process, is what it is measured against. Next to it the effects of all heads, computed again each time;
``--effects`` measures these alone, ``--tests`` all ten methods and their masking test, ``--decoders`` a decomposition of the
next token, by processor time, all three without JupyterLab.
"""

from __future__ import annotations

import argparse
import statistics
from contextlib import suppress

import torch

import attn_widget as aw
from attn_widget.errors import ModelLoadError
from attn_widget.features.why.bound_target import bind
from attn_widget.features.why.decomposition import decomposition
from attn_widget.features.why.effects import head_effects
from attn_widget.features.why.proposals import proposals
from attn_widget.model.encoder import Encoder
from benchmarks.capture import in_turns
from benchmarks.shapes import gpt2, median_ms, smollm2_135m, table, text_of, tokenizer
from scripts.lab import Lab, chromium, jupyterlab

CLICK = """() => new Promise(done => {
  const text = () => [...document.querySelectorAll('.aw-ribbon-token')]
    .map(one => one.dataset.awValue).join(' ');
  const before = text();
  const start = performance.now();
  document.querySelector('[data-aw-part="why-button"]').click();
  const look = () => {
    const now = text();
    if (now === before || !now.trim() || now.includes('undefined')) return requestAnimationFrame(look);
    requestAnimationFrame(() => done(performance.now() - start));
  };
  requestAnimationFrame(look);
})"""


def waits_ms(lab: Lab, n: int, positions: list[int]) -> list[float]:
    """One wait for each position, ms."""
    cell = f"import attn_widget as aw\nw = aw.show({text_of(n)!r}, token=1, progress=False)"
    with chromium() as browser:
        notebook = lab.open(browser, lab.write(f"why_{n}.ipynb", [cell]), width=1240)
        notebook.run_all()
        notebook.widget(0).wait_drawn()
        page, waits = notebook.page, list[float]()
        for position in positions:
            page.locator('[role="tab"][data-view="predictions"]').click()
            page.locator(f'.aw-guess[data-position="{position}"][data-token-id]').first.click()
            page.locator('[data-aw-part="why-button"]').wait_for()
            page.wait_for_timeout(400)
            waits.append(page.evaluate(CLICK))
            # Until the slow methods and their tests are done: they would share the processor.
            page.locator('[data-aw-part="why-heads"]').wait_for()
        notebook.close()
    return waits


def plain_ms(text: str) -> float:
    """Median time of a run of ``text``, ms."""
    return median_ms(lambda: aw.analyze(text, tagger=None, progress=False), 10, warm_up=3)


def effects_ms(text: str) -> float:
    """Median time of the effects of all heads on a word that is masked, ms."""
    a = aw.analyze(text, tagger=None, progress=False).mask([3])
    target = aw.target(position=3, token="the", against="a")
    run = a.run
    assert run is not None
    bound = bind(run, target)
    return median_ms(lambda: head_effects(run, target, bound, "zero"), 7, warm_up=2)


def tests_ms(text: str) -> float:
    """Median time of a run, all methods on a masked word, and their test against every order of the others, ms."""
    target = aw.target(position=3, token="the", masked=True)

    def tested() -> None:  # a run of its own: a run keeps what was computed
        aw.analyze(text, tagger=None, progress=False).why.faithfulness(target)

    return median_ms(tested, 7, warm_up=2)


def decoder_row(name: str, encoder: Encoder, n: int) -> list[str]:
    """Processor time of a plain pass and of a decomposition of the next token, in turns."""
    analysis = aw.analyze(text_of(n), model=encoder, tagger=None, progress=False)
    run = analysis.run
    assert run is not None
    (target,) = proposals(analysis)
    bound = bind(run, target)

    def plain() -> None:
        with torch.no_grad():
            encoder.model(**run.encoding.inputs, use_cache=False)

    _, ms = in_turns({"plain": plain, "decomposition": lambda: decomposition(run, bound)}, 9)
    ratio = ms["decomposition"] / ms["plain"]
    tokens = str(analysis.trace.n_tokens)
    return [name, tokens, f"{ms['plain']:.0f}", f"{ms['decomposition']:.0f}", f"{ratio:.2f}"]


def decoders() -> dict[str, Encoder]:
    """GPT-2 and Llama's kind with random weights, and SmolLM2 where its package is installed."""
    pair = (gpt2(), tokenizer())
    found = {"GPT-2": aw.load(pair), "Llama": aw.load((smollm2_135m(), tokenizer()))}
    with suppress(ModelLoadError):
        found["SmolLM2"] = aw.load("smollm2", progress=False)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.why", description=__doc__)
    parser.add_argument("--lengths", type=int, nargs="+", default=[10, 20, 40])
    parser.add_argument("--effects", action="store_true", help="only the effects of all heads")
    parser.add_argument("--tests", action="store_true", help="only all methods and their test")
    parser.add_argument("--decoders", action="store_true", help="only decompositions of decoders")
    options = parser.parse_args()
    rows: list[list[str]] = []
    if options.decoders:
        named = [
            (name, encoder, n) for name, encoder in decoders().items() for n in options.lengths
        ]
        rows = [decoder_row(*one) for one in named]
        print(table(["model", "n", "plain pass, ms", "decomposition, ms", "ratio"], rows))
        return
    if options.tests:
        for n in options.lengths:
            plain, tests = plain_ms(text_of(n)), tests_ms(text_of(n))
            rows.append([str(n), f"{plain:.1f}", f"{tests:.0f}", f"{tests / plain:.0f}"])
        print(table(["n", "plain pass, ms", "methods and test, ms", "ratio"], rows))
        return
    if options.effects:
        for n in options.lengths:
            text = text_of(n)
            plain, effects = plain_ms(text), effects_ms(text)
            rows.append([str(n), f"{plain:.1f}", f"{effects:.0f}", f"{effects / plain:.1f}"])
        print(table(["n", "plain pass, ms", "effects of all heads, ms", "ratio"], rows))
        return
    with jupyterlab() as lab:
        for n in options.lengths:
            text = text_of(n)
            plain = plain_ms(text)
            first, *waits = waits_ms(lab, n, [2, 3, 4, 5, 6, 7, 2, 4])
            figures = [
                first,
                statistics.median(waits),
                min(waits),
                max(waits),
                plain,
                effects_ms(text),
            ]
            ratio = statistics.median(waits) / plain
            rows.append([str(n), *(f"{one:.0f}" for one in figures), f"{ratio:.1f}"])
    header = [
        "n",
        "first, ms",
        "median, ms",
        "least",
        "most",
        "plain pass, ms",
        "all heads, ms",
        "ratio",
    ]
    print(table(header, rows))


if __name__ == "__main__":
    main()

"""The README and the guide say what the model that ships gives: `python -m benchmarks.claims` writes it."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import attn_widget as aw
from benchmarks import here, peers, peers_table
from benchmarks.claims import TARGET, TEXT, best, paragraph, table, verdict, whole
from benchmarks.coverage import USED
from benchmarks.documents import quoted
from scripts.sentence import SENTENCE

ROOT = Path(__file__).resolve().parent.parent.parent
HINT = "python -m benchmarks.claims writes what should stand there"


@pytest.fixture(scope="module")
def analysis() -> aw.Analysis:
    return aw.analyze(TEXT, progress=False)


def written(name: str) -> str:
    return " ".join((ROOT / name).read_text(encoding="utf-8").split())


def test_the_readme_says_what_the_model_gives(analysis: aw.Analysis) -> None:
    assert paragraph(analysis) == " ".join(quoted("README.md", "claims").split()), HINT


def test_the_table_of_the_guide_is_that_of_the_model(analysis: aw.Analysis) -> None:
    assert table(analysis.why.faithfulness(TARGET)) == quoted("docs/influence.md", "claims"), HINT


def test_the_readme_says_why_the_head_of_its_picture_looks_there() -> None:
    a = aw.analyze(SENTENCE, tagger=None, progress=False)
    found = " ".join(quoted("README.md", "here").split())
    assert here.paragraph(a) == found, "python -m benchmarks.here writes what should stand there"


def test_pages_have_the_sizes_of_the_readme(tmp_path: Path) -> None:
    stated = re.search(
        r"no network: ([\d.]+) MB for the sentence above. With the model inside, ([\d.]+) MB",
        written("README.md"),
    )
    assert stated is not None
    widget = aw.show(SENTENCE, progress=False)
    pages = (
        widget.to_html(tmp_path / "page.html"),
        widget.to_html(tmp_path / "live.html", engine=True),
    )
    for page, size in zip(pages, stated.groups(), strict=True):
        assert page.stat().st_size / 1e6 == pytest.approx(float(size), rel=0.1), page.name
    widget.close()


def test_the_table_of_other_tools_is_what_was_measured() -> None:
    results = json.loads((ROOT / peers.RESULTS).read_text(encoding="utf-8"))
    assert peers_table.table(results) == quoted("docs/peers.md", "peers_table")
    guide = (ROOT / "docs/peers.md").read_text(encoding="utf-8")
    for name, version in (line.split("==") for line in peers.PACKAGES[:3]):
        assert re.search(rf"{name} \| {re.escape(version)},", guide, re.IGNORECASE), name


def test_the_readme_answers_in_the_order_of_a_stranger() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    first = ("hero-light.png", "| you |", "aw.show(", "make demo", "make test", "here-light.png")
    then = ("similarity-light.png", "typing-light.png", "## Install", "## What you see")
    places = [text.index(words) for words in (*first, *then)]
    assert places == sorted(places)
    assert text[places[-1] :].count("\n") <= 160


def test_the_verdict_of_the_readme_is_the_one_of_200_seeds(analysis: aw.Analysis) -> None:
    said = {verdict(analysis.why.faithfulness(TARGET, seed=seed)) for seed in range(200)}
    assert len(said) == 1
    tested = analysis.why.faithfulness(TARGET)
    better = {method for method, is_better in tested.better_than_random.items() if is_better}
    (sentence,) = said
    assert ("no better than random" in sentence) == (not better)
    assert whole(tested.tests[best(tested)].percentile) in sentence


def test_the_documents_use_no_word_that_a_test_cannot_support() -> None:
    guides = ("README.md", "docs/influence.md", "site/guide.md")
    others = [
        *ROOT.glob("docs/*.md"),
        *ROOT.glob("notebooks/*.ipynb"),
        ROOT / "attn_widget/mini/README.md",
    ]
    for name in (*guides, *(str(path.relative_to(ROOT)) for path in others)):
        text = written(name)
        words = ("tell nothing", "tells nothing", "trust none")
        for word in (*words, "trusted") if name in guides else words:
            assert word not in text, f"{name}: {word}"


def test_intervals_hold_the_mean_in_93_to_97_percent_of_samples() -> None:
    _, _, *rows = [
        row for row in quoted("docs/influence.md", "coverage").splitlines() if row[:1] == "|"
    ]
    assert len(rows) == len(USED) + 1  # and accuracies
    for row in rows:
        kind, _, eight, *others = (cell.strip() for cell in row.strip("| ").split("|"))
        held = [cell.rstrip(")").split(" (") for cell in others if cell != "–"]
        assert len(held) >= 3 and (eight == "–" or float(eight.split()[0]) >= 93), row
        # A share takes few values, so a single one is held less evenly.
        least = 87 if kind.startswith("shares") else 91
        for mean, lowest in held:
            assert 93 <= round(float(mean)) <= 97 and float(lowest) >= least, row

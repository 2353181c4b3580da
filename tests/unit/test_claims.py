"""The README and the guide say what the model that ships gives: `python -m benchmarks.claims` writes it."""

from __future__ import annotations

from pathlib import Path

import pytest

import attn_widget as aw
from benchmarks.claims import TARGET, TEXT, best, paragraph, table, verdict, whole
from benchmarks.coverage import USED
from benchmarks.documents import quoted

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

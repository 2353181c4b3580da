"""The page's half of the declared figures is written from Python's, and the definitions list them all."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from attn_widget.figures.catalog.metrics import METRICS
from attn_widget.figures.catalog.registry import metric
from attn_widget.figures.catalog.specializations import ALIGNMENT, PATTERNS, SPECIALIZATIONS
from scripts.manifest import manifest

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "js" / "src"
WRITTEN = (
    "catalog/selection.ts",
    "catalog/definitions.ts",
    "catalog/function-words.ts",
    "figures/catalog/names.ts",
    "figures/catalog/cards.ts",
    "figures/catalog/explanations.ts",
    "views/core.ts",
    "views/lazy-code.ts",
)


def test_the_pages_catalog_is_that_of_the_declarations(tmp_path: Path) -> None:
    subprocess.run(
        ["node", "js/catalog.mjs", tmp_path],
        input=json.dumps(manifest()),
        encoding="utf-8",
        cwd=ROOT,
        check=True,
    )
    for name in WRITTEN:
        written, stored = ((folder / name).read_text("utf-8") for folder in (tmp_path, PAGE))
        assert written == stored, f"{name} is out of date: make catalog."


def test_a_formula_that_the_page_cannot_draw_is_refused(tmp_path: Path) -> None:
    declared = manifest()
    declared["patterns"][0]["formula"] = r"\begin{matrix} A \\ B \end{matrix}"
    done = subprocess.run(
        ["node", "js/catalog.mjs", tmp_path],
        input=json.dumps(declared),
        encoding="utf-8",
        cwd=ROOT,
        capture_output=True,
    )
    assert done.returncode != 0
    assert "A formula needs <mtable>, which the page cannot draw." in done.stderr


@pytest.mark.parametrize(
    "key", [*METRICS, *(metric.key for metric in (*SPECIALIZATIONS, *PATTERNS, *ALIGNMENT))]
)
def test_every_figure_is_defined_in_the_docs(key: str) -> None:
    assert f"`{key}" in (ROOT / "docs" / "definitions.md").read_text("utf-8")


def test_a_key_is_declared_once() -> None:
    with pytest.raises(ValueError, match="There is a metric 'sparsity' already"):
        metric("sparsity", "Another")(lambda _: 0.0)

"""Notebooks are run once, for all tests that look at them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import nbformat
import pytest

from scripts.tutorials import execute, read, solutions
from tests.unit.needs import needs_smollm2


@dataclass(frozen=True)
class Run:
    """A notebook that was run, with its solutions after it in the same kernel.

    Attributes
    ----------
    notebook : nbformat.NotebookNode
    solutions : list of cells
    written : list of str
        Names of what appeared in the working folder.
    """

    notebook: Any
    solutions: list[Any]
    written: list[str]


Executed = Callable[[str], Run]


@pytest.fixture(scope="session")
def executed(tmp_path_factory: pytest.TempPathFactory) -> Executed:
    """Run a notebook by its name, or give what running it gave before."""
    runs: dict[str, Run] = {}

    def run(name: str) -> Run:
        if name not in runs:
            notebook = read(name)
            if (
                any('load("smollm2"' in cell.source for cell in notebook.cells)
                and needs_smollm2.args[0]
            ):
                pytest.skip(needs_smollm2.kwargs["reason"])
            own = len(notebook.cells)
            notebook.cells += [nbformat.v4.new_code_cell(code) for code in solutions(notebook)]
            folder = tmp_path_factory.mktemp(name)
            execute(notebook, folder)
            hidden, notebook.cells = notebook.cells[own:], notebook.cells[:own]
            written = sorted(path.name for path in folder.iterdir())
            runs[name] = Run(notebook, hidden, written)
        return runs[name]

    return run

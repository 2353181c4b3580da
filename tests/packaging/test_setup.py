"""The set-up does a step again when, and only when, what it was made from has changed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from scripts import setup


@pytest.fixture
def done(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    monkeypatch.setattr(setup, "STAMPS", tmp_path)
    return []


def step(done: list[str], made_from: str, proof: Path) -> None:
    setup.step("a step", made_from, proof, "working", lambda: done.append(made_from))


def test_skips_what_is_up_to_date(done: list[str], tmp_path: Path) -> None:
    step(done, "one", tmp_path)
    step(done, "one", tmp_path)
    step(done, "two", tmp_path)
    assert done == ["one", "two"]


def test_repeats_what_was_removed(done: list[str], tmp_path: Path) -> None:
    step(done, "one", tmp_path / "removed")
    step(done, "one", tmp_path / "removed")
    assert done == ["one", "one"]


def test_repeats_what_has_failed(done: list[str], tmp_path: Path) -> None:
    def fail() -> None:
        raise SystemExit(1)

    step(done, "one", tmp_path)
    with pytest.raises(SystemExit):
        setup.step("a step", "two", tmp_path, "working", fail)
    step(done, "one", tmp_path)
    assert done == ["one", "one"]


def test_a_digest_changes_with_content_name_and_words() -> None:
    here = Path(__file__).resolve()
    pyproject = setup.ROOT / "pyproject.toml"
    digests = {
        setup.digest([here]),
        setup.digest([pyproject]),
        setup.digest([here, pyproject]),
        setup.digest([here, pyproject], "word"),
    }
    assert len(digests) == 4
    assert setup.digest([here, pyproject]) == setup.digest([pyproject, here])


def test_names_an_unknown_step(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(setup, "STAMPS", tmp_path)
    with pytest.raises(SystemExit, match="unknown step 'pithon'"):
        setup.main(["pithon"])


def test_a_wheel_is_built_without_the_tools_of_development() -> None:
    shown = subprocess.run(
        ["make", "--dry-run", "build"], cwd=setup.ROOT, capture_output=True, text=True, check=True
    ).stdout
    assert ".venv" not in shown and "setup.py builder node page" in shown
    assert f"{setup.BUILDER.relative_to(setup.ROOT)}/bin/hatchling build" in shown


def test_it_needs_the_standard_library_alone() -> None:
    code = f"import sys; sys.path.insert(0, {str(setup.ROOT)!r}); import scripts.setup"
    subprocess.run([sys.executable, "-I", "-S", "-c", code], check=True)

"""The files that state a version state the same one, and the changelog has its date."""

from __future__ import annotations

import json
import re
import sys
from datetime import date
from pathlib import Path

import yaml

from attn_widget._version import __version__
from scripts.sentence import SENTENCE

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).resolve().parents[2]
CITATION = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
# By what people search for such a tool.
SOUGHT = (
    "attention visualization",
    "bert",
    "sentence similarity",
    "surprisal",
    "logit lens",
    "interpretability",
)
SECTION = re.compile(r"^## \[(.+?)\](?: - (\S+))?$", re.MULTILINE)


def test_the_version_is_the_same_everywhere() -> None:
    assert json.loads((ROOT / "package.json").read_text(encoding="utf-8"))["version"] == __version__
    assert (
        json.loads((ROOT / "package-lock.json").read_text(encoding="utf-8"))["version"]
        == __version__
    )
    assert re.findall(r"^version: (.*)$", CITATION, re.MULTILINE) == [__version__]
    assert (
        json.loads((ROOT / "codemeta.json").read_text(encoding="utf-8"))["version"] == __version__
    )


def test_the_changelog_has_a_dated_section_for_it_below_what_is_not_released() -> None:
    sections = SECTION.findall((ROOT / "CHANGELOG.md").read_text(encoding="utf-8"))
    assert sections[0] == ("Unreleased", "")
    dates = [date.fromisoformat(day) for _, day in sections[1:]]
    assert sections[1][0] == __version__
    assert dates == sorted(dates, reverse=True)
    assert re.findall(r'^date-released: "?([-0-9]+)"?$', CITATION, re.MULTILINE) == [str(dates[0])]


def test_a_tag_publishes_what_was_tested_and_no_token_is_stored() -> None:
    text = (ROOT / ".github" / "workflows" / "release.yml").read_text(encoding="utf-8")
    flow = yaml.safe_load(text)
    assert flow[True] == {"push": {"tags": ["v*"]}}  # YAML 1.1 reads "on" as true
    build, publish = flow["jobs"]["build"], flow["jobs"]["publish"]
    commands = [step["run"] for step in build["steps"] if "run" in step]
    assert [c for c in commands if c.startswith("make")] == ["make test-all", "make build"]
    assert "_version.py" in commands[0] and "sdist" in commands[-2]
    assert commands[-1].endswith("-m scripts.rehearsal --dist dist")
    assert publish["needs"] == "build" and publish["environment"]["name"] == "pypi"
    assert publish["permissions"] == {"id-token": "write", "attestations": "write"}
    assert flow["permissions"] == {"contents": "read"}
    _, attest, send = publish["steps"]
    assert attest["uses"].startswith("actions/attest-build-provenance@")
    assert attest["with"] == {"subject-path": "dist/*"}
    assert send["uses"].startswith("pypa/gh-action-pypi-publish@")
    assert send["with"] == {"attestations": True}
    assert "secrets." not in text and "password" not in text


def test_each_action_is_one_commit_whose_release_stands_beside_it() -> None:
    lines = [
        line.strip()
        for path in (ROOT / ".github" / "workflows").glob("*.yml")
        for line in path.read_text(encoding="utf-8").splitlines()
        if "uses:" in line
    ]
    assert len(lines) > 15
    pinned = [
        re.fullmatch(r"(?:- )?uses: ([\w./-]+)@([0-9a-f]{40}) # v\d+\.\d+\.\d+", line)
        for line in lines
    ]
    assert None not in pinned, lines
    commits = {(found[1], found[2]) for found in pinned if found}
    assert len(commits) == len({action for action, _ in commits})  # no action at two commits
    updated = yaml.safe_load((ROOT / ".github" / "dependabot.yml").read_text(encoding="utf-8"))
    assert "github-actions" in [one["package-ecosystem"] for one in updated["updates"]]


def test_it_is_found_by_what_people_search() -> None:
    assert all(words in " ".join(PROJECT["keywords"]) for words in SOUGHT)
    described = PROJECT["description"].lower()
    assert all(
        words in described for words in ("attention visualization", "bert", "gpt-2", "similar")
    )
    assert len(described) < 200
    for name in ("codemeta.json", ".zenodo.json"):
        known = json.loads((ROOT / name).read_text(encoding="utf-8"))["keywords"]
        assert {*SOUGHT} <= {word.lower() for word in known}, name
    assert {*SOUGHT} <= {word.lower() for word in yaml.safe_load(CITATION)["keywords"]}


def test_entries_for_galleries_are_those_of_the_package() -> None:
    text = (ROOT / ".github" / "GALLERIES.md").read_text(encoding="utf-8")
    (entry,) = (json.loads(found) for found in re.findall(r"```json\n(.*?)```", text, re.DOTALL))
    assert entry["description"] == PROJECT["description"]
    assert entry["image"] == f"{entry['repo'].replace('/', '__')}.png"
    tab, pane = re.findall(r"```html\n(.*?)```", text, re.DOTALL)
    assert 'id="attn_widget"' in pane and 'href="#attn_widget"' in tab
    assert f"<p>{PROJECT['description']}</p>" in pane and f'aw.show("{SENTENCE}")' in pane
    assert f"pip install {PROJECT['name']}" in pane
    for name in re.findall(r"`((?:docs|recipe|paper)/[^`]*)`", text):
        assert (ROOT / name).exists(), name

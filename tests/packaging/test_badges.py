"""Links to Binder and Colab: none before the repository is known, then those of this version, and no picture from elsewhere on the site."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from scripts.badges import NOTEBOOK, as_text, badges, current, with_badges
from scripts.hatch_readme import for_index
from scripts.site.documents import page

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
REPOSITORY = "https://github.com/lab/attn_widget"
ADDRESSES = (
    f"https://mybinder.org/v2/gh/lab/attn_widget/v1.2.3?urlpath=lab/tree/{NOTEBOOK}",
    f"https://colab.research.google.com/github/lab/attn_widget/blob/v1.2.3/{NOTEBOOK}",
)


def test_the_readme_has_those_of_its_state() -> None:
    assert with_badges(README, *current()) == README, "python -m scripts.badges writes them"
    assert (ROOT / NOTEBOOK).is_file()


@pytest.mark.parametrize("repository", [None, "https://gitlab.com/lab/attn_widget"])
def test_without_a_repository_on_github_there_are_none(repository: str | None) -> None:
    assert badges(repository, "1.2.3") == ""
    plain = with_badges(README, repository, "1.2.3")
    assert "mybinder" not in plain and "colab.research" not in plain
    assert with_badges(with_badges(README, REPOSITORY, "1.2.3"), repository, "1.2.3") == plain


def test_with_one_they_open_the_quickstart_at_this_version() -> None:
    text = with_badges(README, REPOSITORY, "1.2.3")
    assert re.findall(r"\)\]\((https://[^)]+)\)", text) == [*ADDRESSES]
    assert with_badges(text, REPOSITORY, "1.2.3") == text
    shown = for_index(text, REPOSITORY, "1.2.3")
    assert all(f"({address})" in shown for address in ADDRESSES)


def test_the_site_has_their_links_and_not_their_pictures() -> None:
    shown = page("README.md", with_badges(README, REPOSITORY, "1.2.3"), REPOSITORY)
    for address, words in zip(ADDRESSES, ("Try it on Binder", "Open in Colab"), strict=True):
        assert f"[{words}]({address})" in shown
    assert not re.search(r"!\[[^\]]*\]\(https:", shown)
    assert as_text(README) == README

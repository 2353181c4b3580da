"""The README and the URLs that a package index gets: nothing there leads nowhere."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from scripts.hatch_readme import for_index, repository_of, urls

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
REPOSITORY = "https://example.org/lab/attn_widget"
# Written here anew: what stands in an address of Markdown or HTML.
ADDRESS = re.compile(r"\]\(([^)\s]+)\)|\b(?:src|srcset|href)=\"([^\"]+)\"")


def addresses(text: str) -> list[str]:
    prose = re.sub(r"^```.*?^```$", "", text, flags=re.DOTALL | re.MULTILINE)
    return [a or b for a, b in ADDRESS.findall(prose)]


@pytest.mark.parametrize("repository", [REPOSITORY, None])
def test_no_address_is_relative_on_an_index(repository: str | None) -> None:
    found = addresses(for_index(README, repository, "1.2.3"))
    assert [one for one in found if not one.startswith(("https://", "#"))] == []
    assert any(not one.startswith(("https://", "#")) for one in addresses(README))


def test_every_address_is_that_of_a_file_of_the_checkout_at_the_version() -> None:
    kept = [one for one in addresses(README) if one.startswith(("https://", "#"))]
    found = [one for one in addresses(for_index(README, REPOSITORY, "1.2.3")) if one not in kept]
    places = [
        re.fullmatch(rf"{REPOSITORY}/(blob|raw)/v1\.2\.3/([^#]+)(#.*)?", one) for one in found
    ]
    assert len(places) == len(addresses(README)) - len(kept) > 10
    for place in places:
        assert place is not None and (ROOT / place[2]).exists(), place
        assert (place[1] == "raw") == place[2].endswith((".png", ".svg")), place


def test_a_picture_keeps_its_dark_variant_and_its_alternative_text() -> None:
    text = for_index(README, REPOSITORY, "1.2.3")
    pictures = re.findall(r"<picture>.*?</picture>", text, re.DOTALL)
    assert len(pictures) == README.count("<picture>") > 0
    for picture in pictures:
        assert (
            f'srcset="{REPOSITORY}/raw/v1.2.3/' in picture and f'src="{REPOSITORY}/raw/' in picture
        )
        assert "prefers-color-scheme: dark" in picture and "alt=" in picture


def test_without_a_repository_links_are_text_and_pictures_are_left_out() -> None:
    given = "A [page](docs/a.md#b), a [place](#here), [all](https://example.org). ![plot](a.svg)\n"
    shown = for_index(given, None, "1")
    assert shown == "A page, a [place](#here), [all](https://example.org). \n"
    assert "<img" not in for_index(README, None, "1")


def test_code_stays_as_it_is() -> None:
    code = "```python\nmodels[layer](docs/a)\n```"
    for repository in (REPOSITORY, None):
        assert for_index(f"{code}\n", repository, "1") == f"{code}\n"


def test_the_repository_stands_in_the_citation_file() -> None:
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert repository_of(f"{citation}repository-code: '{REPOSITORY}/'\n") == REPOSITORY
    assert repository_of("title: repository-code: no\n") is None
    assert all(url.startswith(REPOSITORY) for url in urls(REPOSITORY).values())

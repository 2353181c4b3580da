"""Links that open the quickstart on Binder and Colab: ``python -m scripts.badges`` writes them into the README.

They lead to the repository at the tag of this version, so there are none until CITATION.cff has ``repository-code``, and none for a repository
outside of GitHub, the only host that Colab knows. On the site, which fetches nothing from elsewhere, their pictures become text (`scripts/site/documents.py`).
"""

from __future__ import annotations

import re
import runpy
from pathlib import Path

from scripts.hatch_readme import repository_of

ROOT = Path(__file__).resolve().parent.parent
NOTEBOOK = "notebooks/quickstart.ipynb"
GITHUB = re.compile(r"https://github\.com/(?P<name>[\w.-]+/[\w.-]+?)(?:\.git)?")
BLOCK = re.compile(r"<!-- badges[^>]*-->\n.*?<!-- end of badges -->\n", re.DOTALL)
BADGE = re.compile(r"\[!\[(?P<text>[^\]]+)\]\(https:[^)]+\)\]\((?P<address>[^)]+)\)")


def badges(repository: str | None, version: str) -> str:
    """The line of links, empty without a repository on GitHub.

    Examples
    --------
    >>> badges(None, "0.1.0")
    ''
    >>> line = badges("https://github.com/lab/tool", "0.1.0")
    >>> "https://mybinder.org/v2/gh/lab/tool/v0.1.0?urlpath=lab/tree/notebooks/quickstart.ipynb" in line
    True
    """
    found = GITHUB.fullmatch(repository or "")
    if found is None:
        return ""
    name, tag = found["name"], f"v{version}"
    binder = f"https://mybinder.org/v2/gh/{name}/{tag}?urlpath=lab/tree/{NOTEBOOK}"
    colab = f"https://colab.research.google.com/github/{name}/blob/{tag}/{NOTEBOOK}"
    return (
        f"[![Try it on Binder](https://mybinder.org/badge_logo.svg)]({binder})\n"
        f"[![Open in Colab](https://colab.research.google.com/assets/colab-badge.svg)]({colab})"
        " (in Colab, run `%pip install attn-widget` first)\n"
    )


def with_badges(readme: str, repository: str | None, version: str) -> str:
    """The README with these links in their place."""
    opening = "<!-- badges: written by python -m scripts.badges -->\n"
    line = badges(repository, version)
    block = f"{opening}{line and f'{chr(10)}{line}{chr(10)}'}<!-- end of badges -->\n"
    text, places = BLOCK.subn(lambda _: block, readme)
    assert places == 1, "the README has no place for badges"
    return text


def as_text(page: str) -> str:
    """A page whose badges are links with words, without a picture from elsewhere.

    Examples
    --------
    >>> as_text("[![Open](https://a.org/b.svg)](https://c.org)")
    '[Open](https://c.org)'
    """
    return BADGE.sub(r"[\g<text>](\g<address>)", page)


def current() -> tuple[str | None, str]:
    """Repository and version of this checkout."""
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    return repository_of(citation), runpy.run_path(str(ROOT / "attn_widget/_version.py"))[
        "__version__"
    ]


if __name__ == "__main__":
    path = ROOT / "README.md"
    path.write_text(with_badges(path.read_text(encoding="utf-8"), *current()), encoding="utf-8")

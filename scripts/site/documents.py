"""The documents of the repository as pages of the site: the same files, with links that lead from page to page.

The copy keeps the repository's layout, so that a relative link means the same on a forge and on the site. Five things
change: what a reader does in a checkout alone is left out, a picture with a dark version follows the site's own switch, links to notebooks lead to the pages made of them, badges become words,
and links to files that are no page lead to the repository (or become plain text while its address is unknown).
"""

from __future__ import annotations

import html
import re
import shutil
from collections.abc import Iterable
from pathlib import Path, PurePosixPath
from posixpath import normpath

from scripts.badges import as_text
from scripts.hatch_readme import LINK, repository_of
from scripts.site.cards import with_cards
from scripts.site.kept import write
from scripts.site.places import ASSETS, ROOT, SOURCE

TUTORIALS = "notebooks/README.md"
# Pages besides those of docs/.
LOOSE = (
    "README.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "attn_widget/dates/README.md",
    "attn_widget/mini/README.md",
    "js/engine/README.md",
    TUTORIALS,
    "training/README.md",
)
PICTURES = ("docs/images/*.png", "docs/images/*.svg", "attn_widget/mini/*.svg")
TWINS = re.compile(
    r'(?:<p align="center">\s*)?<picture>\s*<source media="\(prefers-color-scheme: dark\)" srcset="([^"]+)">\s*'
    r"<img ([^>]*)>\s*</picture>(?:\s*</p>)?"
)
CODE = re.compile(r"(^```.*?^```$|`[^`\n]+`)", re.DOTALL | re.MULTILINE)  # blocks and spans
ATTRIBUTE = re.compile(r'(\w+)="([^"]*)"')
FRONT_MATTER = re.compile(r"\A---\n.*?\n---\n", re.DOTALL)
# Only a reader of the checkout can do this.
CHECKOUT = re.compile(
    r"^<!-- checkout -->\n.*?<!-- end of checkout -->\n+|<!-- checkout -->.*?<!-- end of checkout -->",
    re.DOTALL | re.MULTILINE,
)


def documents() -> list[str]:
    """Paths of all documents, as the repository has them."""
    guides = sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / "docs").glob("*.md"))
    return [*guides, *LOOSE]


def notebooks() -> list[str]:
    """Paths of the tutorials."""
    return sorted(
        path.relative_to(ROOT).as_posix() for path in (ROOT / "notebooks").glob("*.ipynb")
    )


def twin_pictures(text: str) -> str:
    """Pictures in two colors as images of which the site shows one.

    Examples
    --------
    >>> print(twin_pictures('<picture><source media="(prefers-color-scheme: dark)" srcset="d.png"> '
    ...                     '<img src="l.png" alt="A head"></picture>'))
    <BLANKLINE>
    ```{image} l.png
    :class: only-light
    :alt: A head
    ```
    <BLANKLINE>
    ```{image} d.png
    :class: only-dark
    :alt: A head
    ```
    <BLANKLINE>
    """

    def replaced(match: re.Match[str]) -> str:
        attributes = dict(ATTRIBUTE.findall(match[2]))
        alt = html.unescape(attributes.get("alt", ""))
        pairs = ((attributes["src"], "only-light"), (match[1], "only-dark"))
        return "\n" + "\n".join(
            f"```{{image}} {path}\n:class: {name}\n:alt: {alt}\n```\n" for path, name in pairs
        )

    return TWINS.sub(replaced, text)


def site_links(text: str, document: str, pages: Iterable[str], repository: str | None) -> str:
    """Links of ``document`` for the site: to pages as they are, to notebooks' pages, else to the repository.

    Examples
    --------
    >>> pages = ["README.md", "docs/tasks.md", "notebooks/quickstart.ipynb"]
    >>> site_links("[a](tasks.md#how) [b](../notebooks/quickstart.ipynb) [c](../LICENSE)", "docs/x.md", pages, None)
    '[a](tasks.md#how) [b](../notebooks/quickstart.md) c'
    """
    known = set(pages)

    def replaced(match: re.Match[str]) -> str:
        path, _, anchor = match["path"].partition("#")
        target = normpath(str(PurePosixPath(document).parent / path))
        if target in known:
            page = re.sub(r"\.ipynb$", ".md", path)
            return f"[{match['text']}]({page}{'#' + anchor if anchor else ''})"
        if repository is None:
            return match["text"]
        return f"[{match['text']}]({repository}/blob/HEAD/{target})"

    pieces = CODE.split(text)
    pieces[::2] = [LINK.sub(replaced, piece) for piece in pieces[::2]]
    return "".join(pieces)


def page(document: str, text: str, repository: str | None) -> str:
    """A document as Sphinx reads it."""
    text = as_text(twin_pictures(CHECKOUT.sub("", FRONT_MATTER.sub("", text))))
    if document == TUTORIALS:
        text = with_cards(text, ASSETS) + contents(text)
    heading = re.search(r"^# .+$", text, re.MULTILINE)
    if heading is not None:  # a forge shows a picture above it
        text = f"{heading[0]}\n{text[: heading.start()]}{text[heading.end() :]}"
    return site_links(text, document, [*documents(), *notebooks()], repository)


def contents(text: str) -> str:
    """The sidebar's list of the notebooks that a text links to, in its order."""
    names = re.findall(r"\]\(([\w-]+)\.ipynb\)", text)
    return "\n".join(["", "```{toctree}", ":hidden:", "", *dict.fromkeys(names), "```", ""])


def repository() -> str | None:
    """Address of the repository, once it is known."""
    return repository_of((ROOT / "CITATION.cff").read_text(encoding="utf-8"))


def pages_of(address: str | None) -> str:
    """Address at which GitHub serves the pages of a repository; empty while its address is unknown or another host's.

    Examples
    --------
    >>> pages_of("https://github.com/Someone/attn_widget")
    'https://someone.github.io/attn_widget/'
    >>> pages_of(None)
    ''
    """
    found = re.fullmatch(r"https://github\.com/([^/]+)/([^/]+?)(?:\.git)?/?", address or "")
    return f"https://{found[1].lower()}.github.io/{found[2]}/" if found else ""


def write_documents() -> None:
    """Copy all documents and their pictures below the source folder."""
    address = repository()
    for name in documents():
        text = (ROOT / name).read_text(encoding="utf-8")
        write(SOURCE / name, page(name, text, address))
    for pattern in PICTURES:
        for path in ROOT.glob(pattern):
            target = SOURCE / path.relative_to(ROOT)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, target)


def title_of(path: Path) -> str:
    """First heading of a document."""
    heading = re.search(r"^# (.+)$", path.read_text(encoding="utf-8"), re.MULTILINE)
    assert heading is not None, f"{path} has no heading"
    return heading[1]

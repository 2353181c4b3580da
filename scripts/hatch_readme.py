"""Metadata hook: the README and the project's URLs as a package index shows them.

An index shows the README alone: links to files of the checkout lead nowhere there, and its pictures are not drawn. They
get absolute addresses below ``repository-code`` of CITATION.cff, at the tag of this version. While that key is
missing, pictures are left out and links become their text, so that nothing is broken.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

# Not of another address (https:), nor of a place in the README itself (#).
RELATIVE = r"(?![a-z][a-z0-9+.-]*:|#|/)"
LINK = re.compile(rf"(?<!!)\[(?P<text>[^\]]+)\]\({RELATIVE}(?P<path>[^)\s]+)\)")
PICTURE = re.compile(rf"!\[(?P<text>[^\]]*)\]\({RELATIVE}(?P<path>[^)\s]+)\)")
ATTRIBUTE = re.compile(rf'(?P<name>\b(?:src|srcset))="{RELATIVE}(?P<path>[^"]+)"')
FIGURE = re.compile(r"(?:<p[^>]*>\s*)?<picture>.*?</picture>(?:\s*</p>)?\s*|<img [^>]*>", re.DOTALL)
CODE = re.compile(r"(^```.*?^```$)", re.DOTALL | re.MULTILINE)


def repository_of(citation: str) -> str | None:
    """``repository-code`` of a CITATION.cff, without a slash at its end."""
    match = re.search(r"^repository-code:\s*[\"']?(https://[^\s\"']+)", citation, re.MULTILINE)
    return match[1].rstrip("/") if match else None


def urls(repository: str) -> dict[str, str]:
    """``project.urls``: names that package indexes know."""
    return {
        "Homepage": repository,
        "Documentation": f"{repository}/tree/HEAD/docs",
        "Changelog": f"{repository}/blob/HEAD/CHANGELOG.md",
        "Source": repository,
        "Issues": f"{repository}/issues",
    }


def for_index(readme: str, repository: str | None, version: str) -> str:
    """The README without a relative address; code blocks stay as they are."""
    pieces = CODE.split(readme)
    pieces[::2] = [_absolute(piece, repository, version) for piece in pieces[::2]]
    return "".join(pieces)


def _absolute(text: str, repository: str | None, version: str) -> str:
    if repository is None:
        text = PICTURE.sub("", FIGURE.sub("", text))
        return LINK.sub(lambda found: found["text"], text)
    page, file = f"{repository}/blob/v{version}/", f"{repository}/raw/v{version}/"
    text = PICTURE.sub(lambda found: f"![{found['text']}]({file}{found['path']})", text)
    text = LINK.sub(lambda found: f"[{found['text']}]({page}{found['path']})", text)
    return ATTRIBUTE.sub(lambda found: f'{found["name"]}="{file}{found["path"]}"', text)


class ReadmeHook(MetadataHookInterface):
    """Sets ``project.readme`` and, with a known repository, ``project.urls``."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Called by hatchling once the version is known."""
        root = Path(self.root)
        repository = repository_of((root / "CITATION.cff").read_text(encoding="utf-8"))
        readme = (root / "README.md").read_text(encoding="utf-8")
        text = for_index(readme, repository, metadata["version"])
        metadata["readme"] = {"content-type": "text/markdown", "text": text}
        metadata["urls"] = {} if repository is None else urls(repository)

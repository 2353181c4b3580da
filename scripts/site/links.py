"""Checks a folder of pages: every link leads somewhere, and nothing is loaded from elsewhere.

``python -m scripts.site.links build/site`` prints what is wrong; no network is asked. Links to other sites are read for
their form alone.
"""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

# Attributes by which a page loads something, and the elements on which they do.
LOADS = {
    ("script", "src"), ("img", "src"), ("img", "srcset"), ("source", "src"), ("source", "srcset"), ("iframe", "src"),
    ("video", "src"), ("audio", "src"), ("embed", "src"), ("object", "data"), ("input", "src"), ("use", "href"),
}  # fmt: skip
LOADED_RELATIONS = {"stylesheet", "icon", "preload", "modulepreload", "prefetch", "manifest", "preconnect"}  # fmt: skip
STYLE_ADDRESS = re.compile(r"""(?:@import\s+)?(?:url\(\s*["']?|(?<=@import\s)["'])([^"')\s;]+)""")
ELSEWHERE = ("http", "https", "mailto", "data", "blob", "javascript")


@dataclass
class Page(HTMLParser):
    """Links and anchors of one page.

    Attributes
    ----------
    anchors : set of str
        Values of ``id`` and ``name``.
    links : list of (line, address, loaded)
        ``loaded``: the page asks for it by itself.
    """

    anchors: set[str] = field(default_factory=set)
    links: list[tuple[int, str, bool]] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__()
        self._in_style = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        self.anchors.update(values[name] for name in ("id", "name") if name in values)
        relations = set(values.get("rel", "").split())
        self._in_style = tag == "style"
        for name, value in values.items():
            loaded = (tag, name) in LOADS
            if tag == "link" and name == "href":
                if not relations & (LOADED_RELATIONS | {"next", "prev", "index", "search"}):
                    continue
                loaded = bool(relations & LOADED_RELATIONS)
            elif not loaded and (tag, name) not in {("a", "href"), ("area", "href")}:
                continue
            several = [part.split()[0] for part in value.split(",") if part.strip()]
            for address in several if name == "srcset" else [value]:
                self.links.append((self.getpos()[0], address, loaded))

    def handle_endtag(self, tag: str) -> None:
        self._in_style = False

    def handle_data(self, data: str) -> None:
        if self._in_style:
            line = self.getpos()[0]
            self.links += [(line, address, True) for address in STYLE_ADDRESS.findall(data)]


def read(path: Path) -> Page:
    """The links of a page."""
    page = Page()
    page.feed(path.read_text(encoding="utf-8"))
    return page


def files_of(folder: Path, kind: str) -> list[Path]:
    """Files of the site's own below ``folder``, by their ending: those of JupyterLite are not ours."""
    found = sorted(folder.rglob(f"*.{kind}"))
    return [path for path in found if path.relative_to(folder).parts[0] != "lite"]


def pages_of(folder: Path) -> list[Path]:
    """Pages of the site's own below ``folder``: a theme keeps templates in _static."""
    return [path for path in files_of(folder, "html") if "_static" not in path.parts]


def check(folder: Path) -> list[str]:
    """``file:line: address (what is wrong with it)`` of everything that is wrong below ``folder``."""
    pages = {path: read(path) for path in pages_of(folder)}
    wrong: list[str] = []
    for path, page in pages.items():
        for line, address, loaded in page.links:
            problem = problem_of(address, path, folder, pages, loaded=loaded)
            if problem is not None:
                wrong.append(f"{path.relative_to(folder)}:{line}: {address[:120]} ({problem})")
    for path in files_of(folder, "css"):
        for address in STYLE_ADDRESS.findall(path.read_text(encoding="utf-8")):
            problem = problem_of(address, path, folder, {}, loaded=True)
            if problem is not None:
                wrong.append(f"{path.relative_to(folder)}: {address[:120]} ({problem})")
    return wrong


def problem_of(
    address: str, path: Path, folder: Path, pages: dict[Path, Page], *, loaded: bool
) -> str | None:
    """Why an address of ``path`` is wrong; None where it is right."""
    parts = urlsplit(address.strip())
    if parts.scheme in ("data", "blob"):
        return None
    if parts.scheme or parts.netloc:
        if loaded:
            return "loaded from elsewhere"
        known = parts.scheme in ELSEWHERE and (parts.netloc or parts.scheme == "mailto")
        return None if known and parts.scheme != "javascript" else "no address that a link can have"
    if parts.path.startswith("/"):
        return "from the top of a host: breaks in a folder"
    target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
    if target.is_dir():
        return "a folder: needs a server that finds its index"
    if not target.is_file():
        return "no such file"
    if not target.is_relative_to(folder.resolve()):
        return "outside of the site"
    anchor = unquote(parts.fragment)
    if not anchor or loaded or target.suffix != ".html":
        return None
    known_page = next((page for other, page in pages.items() if other.resolve() == target), None)
    if known_page is not None and anchor not in known_page.anchors:
        return "no such place on that page"
    return None


def main(arguments: list[str]) -> None:
    wrong: list[str] = []
    for argument in arguments:
        folder = Path(argument)
        if not any(folder.rglob("*.html")):
            sys.exit(f"{folder} has no pages. `make site` builds build/site.")
        wrong += check(folder)
    for text in wrong:
        print(text)
    if wrong:
        sys.exit(f"{len(wrong)} links are wrong.")


if __name__ == "__main__":
    main(sys.argv[1:])

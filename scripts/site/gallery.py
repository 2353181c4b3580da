"""The gallery as a page: a chosen few of the pictures of `make gallery`, each in light and dark.

Pictures that lie in build/gallery are taken; those that lack are drawn.
"""

from __future__ import annotations

import shutil

from attn_widget.figures.catalog.choices import VIEWS
from scripts import gallery
from scripts.lab import chromium
from scripts.probe import sentiment
from scripts.site.places import SOURCE

# Name of a shot without its theme, where it has both: text and width.
SENTENCE = "60-{theme}-1200"
SINGLE = {
    "300-light-1200": "A text of 300 tokens",
    "chinese-light-1200": "Chinese",
    "hebrew-dark-1200": "Hebrew, from right to left, in dark",
}
SINGLE_VIEWS = {"300-light-1200": "sentences", "chinese-light-1200": "attention", "hebrew-dark-1200": "attention"}  # fmt: skip
THEMES = ("light", "dark")
ABOUT = {
    "attention": "One head: its matrix, its links, and the arithmetic behind a pinned pair.",
    "heads": "Where a head stands out among all heads, and the radar of its specializations.",
    "tree": "The tokens that a token attends to, those that they attend to, and so on.",
    "sentences": "How much each sentence attends to each other one.",
    "predictions": "The five best tokens at every position, with their probabilities.",
    "inside": "The model as a map, and every tensor on the way through a layer.",
    "task": "A classifier's probabilities, and where its first token attends to.",
    "why": "What each word contributes to a prediction, by ten methods, and which of them survive a test.",
}


def pictures() -> list[str]:
    """File names of all pictures of the page."""
    both = [f"{view}-{SENTENCE.format(theme=theme)}.png" for view in VIEWS for theme in THEMES]
    return both + [f"{SINGLE_VIEWS[shot]}-{shot}.png" for shot in SINGLE]


def page() -> str:
    """The page, in Markdown."""
    lines = ["# Gallery", "", "Every view on one paragraph, drawn by the embedded model in light and in dark.", ""]  # fmt: skip
    for view in VIEWS:
        lines += [f"## {view.capitalize()}", "", ABOUT[view], ""]
        for theme in THEMES:
            name = f"{view}-{SENTENCE.format(theme=theme)}.png"
            lines += [image(name, f"The view {view.capitalize()}, {theme}", f"only-{theme}"), ""]
    lines += ["## Other texts", ""]
    for shot, title in SINGLE.items():
        name = f"{SINGLE_VIEWS[shot]}-{shot}.png"
        lines += [f"{title}:", "", image(name, title, "dark-light"), ""]
    lines += ["`make gallery` in a checkout draws the views in both themes, narrow and wide, on five texts.", ""]  # fmt: skip
    return "\n".join(lines)


def image(name: str, alt: str, classes: str) -> str:
    """A picture that opens in full size."""
    return f"```{{image}} gallery/{name}\n:class: picture {classes}\n:alt: {alt}\n:target: _images/{name}\n```"


def draw(names: list[str]) -> None:
    """Draw the pictures of these names into build/gallery."""
    gallery.OUT.mkdir(parents=True, exist_ok=True)
    with chromium() as browser:
        for shot in gallery.SHOTS:
            views = [view for view in VIEWS if f"{view}-{shot.name}.png" in names]
            plain = [view for view in views if view != "task"]
            if plain:
                gallery.take(browser, shot, plain, None)
            if "task" in views:
                gallery.take(browser, shot, ["task"], sentiment())


def write_gallery() -> None:
    """Write the page and its pictures below the source folder."""
    missing = [name for name in pictures() if not (gallery.OUT / name).exists()]
    if missing:
        draw(missing)
    (SOURCE / "gallery").mkdir(parents=True, exist_ok=True)
    for name in pictures():
        shutil.copyfile(gallery.OUT / name, SOURCE / "gallery" / name)
    (SOURCE / "gallery.md").write_text(page(), encoding="utf-8")

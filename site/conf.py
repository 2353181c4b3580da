"""Settings of Sphinx for `make site`; scripts/site writes what it reads."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from docutils import nodes
from latex2mathml.converter import convert

from attn_widget import __version__
from scripts.site.documents import pages_of, repository
from scripts.site.front import SCRIPT, SOCIAL, STYLE
from scripts.site.places import ASSETS

HERE = Path(__file__).resolve().parent

project = "attn_widget"
author = "The attn_widget developers"
copyright = author  # noqa: A001
version = release = __version__
language = "en"
extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.githubpages",
    "numpydoc",
    "myst_parser",
]
nitpicky = False
templates_path = [str(HERE / "templates")]

# Markdown: anchors as a forge makes them, formulas in dollars.
myst_enable_extensions = ["colon_fence", "dollarmath"]
myst_heading_anchors = 4
myst_html_meta = {
    "description": "What a transformer does with a text: every attention head, what the model expects, and why, in a notebook or in a page."
}
# A console session or a sketch is no program of the named language: colored as far as it is one. An attribute's bare name
# may be that of several classes.
suppress_warnings = ["misc.highlighting_failure", "myst.header", "ref.python"]

# Docstrings: `name` in single backticks is a name of the package.
default_role = "py:obj"
autodoc_typehints = "none"  # numpydoc's sections say types and shapes
autodoc_member_order = "bysource"
autosummary_generate = False
add_module_names = False
toc_object_entries_show_parents = "hide"
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False
numpydoc_xref_param_type = False
# Sections, their order, and parameters: described, and as the signature has them.
numpydoc_validation_checks = {
    "GL01", "GL03", "GL05", "GL06", "GL07", "GL08", "PR01", "PR02", "PR03", "RT02", "YD01", "SS01", "SS02", "SS04",
}  # fmt: skip

# A dataclass describes its fields as attributes; mixing's
# relatives share its parameters; errors all take a message and a hint; show() gathers keywords.
numpydoc_validation_overrides = {"PR01": [r"Attributes\n\s*-{5,}", r"As in `mixing`"]}
numpydoc_validation_exclude = {
    r"\.errors\.",
    r"attn_widget\.(show|Analysis|Encoder)$",
    r"FittedClassifier$",
}

html_theme = "pydata_sphinx_theme"
html_title = "attn_widget"
html_static_path = [str(ASSETS)]
html_css_files = ["theme.css", "frame.css", "article.css", "widgets.css", "front.css"]
html_favicon = str(HERE / "static" / "mark.svg")
html_show_sourcelink = False
html_copy_source = False
html_permalinks_icon = "#"
html_extra_path = [str(HERE / "404.html")]
html_search_scorer = str(HERE / "search.js")
# On GitHub the address of the project's pages; elsewhere addresses stay relative.
address = repository()
html_baseurl = pages_of(address)
html_sidebars = {
    "index": [],
    "README": [],
    "gallery": [],
    "about": [],
    "404": [],
    "**": ["sidebar-nav-bs"],
}
html_theme_options = {
    "logo": {"text": "attn_widget", "image_light": "_static/mark.svg", "image_dark": "_static/mark.svg"},
    "navbar_align": "left",
    "navbar_end": ["theme-switcher", "navbar-icon-links"],
    "icon_links": [{"name": "Source", "url": address, "icon": "fa-solid fa-code"}] if address else [],
    "show_prev_next": True,
    "show_toc_level": 2,
    "navigation_with_keys": False,
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
    "footer_start": ["colophon"],
    "footer_end": [],
    "secondary_sidebar_items": ["page-toc"],
    "back_to_top_button": False,
}  # fmt: skip
html_context = {
    "default_mode": "light",  # where no script runs; the layout's script follows the system
    "repository": address,
    "description": myst_html_meta["description"],
    "social_image": f"{html_baseurl}_static/{SOCIAL}",
}


def inline(self, node) -> None:
    """A formula in a line, as MathML: the browser draws it, without a script."""
    self.body.append(convert(node.astext(), display="inline"))
    raise nodes.SkipNode


def block(self, node) -> None:
    """A formula of its own, as MathML."""
    self.body.append(f'<div class="formula">{convert(node.astext(), display="block")}</div>')
    raise nodes.SkipNode


def apart(app, pagename, templatename, context, doctree) -> None:
    """Pages without a sidebar stand in no order: nothing comes before or after them."""
    if not html_sidebars.get(pagename, True):
        context["theme_show_prev_next"] = False


def live(app, pagename, templatename, context, doctree) -> None:
    """Give pages with live widgets their script and styles; other pages load neither."""
    if 'class="aw-place' not in context.get("body", ""):
        return
    app.add_css_file(STYLE)
    app.add_js_file(SCRIPT, defer="defer")


def setup(app) -> None:
    """Called by Sphinx."""
    app.add_html_math_renderer("mathml", (inline, None), (block, None))
    app.connect("html-page-context", live)
    app.connect("html-page-context", apart)


html_math_renderer = "mathml"

"""Text in a page, as HTML or as JSON, so that neither the document nor a template around it reads it as markup.

A page that is put through Jinja or Django comes out as it went in: nowhere does an opening brace stand before ``{``, ``%``
or ``#``. The digits of `base85` have no braces.
"""

from __future__ import annotations

import html
import json
import re
from typing import Any

# Both stand inside strings of JSON alone: an object begins with a quote or ends.
OPENINGS = re.compile(r"<|\{(?=[{%#])")


def markup(text: str) -> str:
    """Text of an element or of an attribute in quotes.

    >>> markup('{{ "a" }} <b>')
    '&#123;&#123; &quot;a&quot; }} &lt;b&gt;'
    """
    return html.escape(text, quote=True).replace("{", "&#123;")


def json_data(value: Any) -> str:
    r"""JSON that cannot end its element.

    Examples
    --------
    >>> json_data({"title": "{% a %}</script>"})
    '{"title": "\\u007b% a %}\\u003c/script>"}'
    """
    return OPENINGS.sub(lambda found: f"\\u{ord(found[0]):04x}", json.dumps(value))

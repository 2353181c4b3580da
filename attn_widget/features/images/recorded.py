"""The data of a picture in a saved page: itself and the patterns of its heads. Rows of patches follow from the page's attention."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from attn_widget.analysis import Analysis
from attn_widget.features.images.encoding import encoding_of
from attn_widget.page.recorded import Answered, record
from attn_widget.page.spec import PageSpec

VIEW = "images"


def answers_of(analysis: Analysis, _chosen: Mapping[str, Any], _spec: PageSpec) -> list[Answered]:
    """The picture and its patterns; none of a text."""
    if encoding_of(analysis) is None:
        return []
    kinds = ("image", "patch_patterns")
    return [answered for kind in kinds for answered in record(analysis, {"kind": kind})]


def picture_of(analysis: Analysis, _chosen: Mapping[str, Any], spec: PageSpec) -> list[Answered]:
    """The picture of a page without the view Picture: it stands in place of the text."""
    if encoding_of(analysis) is None or spec.views is None or VIEW in spec.views:
        return []
    return [*record(analysis, {"kind": "image"})]


def drawing_of(analysis: Analysis, _chosen: Mapping[str, Any], _spec: PageSpec) -> list[Answered]:
    """The picture that a similarity shows in place of words; none of a text."""
    return [] if encoding_of(analysis) is None else [*record(analysis, {"kind": "image"})]

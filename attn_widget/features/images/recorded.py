"""The data of a picture in a saved page: itself, the patterns of its heads and the rows that it opens on. Other rows follow from the page's attention, in its steps."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from attn_widget.analysis import Analysis
from attn_widget.features.images.encoding import encoding_of
from attn_widget.figures.arrays import Float32
from attn_widget.page.recorded import Answered, record
from attn_widget.page.spec import PageSpec

VIEW = "images"
DIGITS = 11  # of a recorded weight, binary: of 72 heads 40 kB instead of 90


def answers_of(analysis: Analysis, chosen: Mapping[str, Any], _spec: PageSpec) -> list[Answered]:
    """The picture, its patterns and the rows that the page opens on; none of a text."""
    found = encoding_of(analysis)
    if found is None:
        return []
    kinds = ("image", "patch_patterns")
    answers = [answered for kind in kinds for answered in record(analysis, {"kind": kind})]
    tokens = found.focused(chosen.get("token"), chosen.get("group") or ())
    of = {"token": tokens[0]} if len(tokens) == 1 else {"tokens": tokens}
    for asked, data, arrays in record(analysis, {"kind": "patch_rows", **of}):
        answers.append((asked, data, {"rows": rounded(arrays["rows"])}))
    return answers


def rounded(values: Float32) -> Float32:
    """``values`` to `DIGITS` binary digits, so that zeros follow, which compress well.

    >>> import numpy as np
    >>> found = rounded(np.array([1 / 3, 1e-5], np.float32))
    >>> bool(np.abs(found * [3, 1e5] - 1).max() < 2**-DIGITS)
    True
    """
    drop = 23 - DIGITS
    bits = values.view(np.uint32) + np.uint32(1 << (drop - 1))
    return (bits >> drop << drop).view(np.float32)


def picture_of(analysis: Analysis, _chosen: Mapping[str, Any], spec: PageSpec) -> list[Answered]:
    """The picture of a page without the view Picture: it stands in place of the text."""
    if encoding_of(analysis) is None or spec.views is None or VIEW in spec.views:
        return []
    return [*record(analysis, {"kind": "image"})]


def drawing_of(analysis: Analysis, _chosen: Mapping[str, Any], _spec: PageSpec) -> list[Answered]:
    """The picture that a similarity shows in place of words; none of a text."""
    return [] if encoding_of(analysis) is None else [*record(analysis, {"kind": "image"})]

"""What stands beside the core: a folder for each feature, and one line for each folder.

The core (one text, one run, seen) imports none of them, and works without any: deleting a feature's folders and its line takes it away.
"""

from __future__ import annotations

from typing import NamedTuple


class Feature(NamedTuple):
    """Line of a feature.

    Attributes
    ----------
    uses : tuple of str
        Other features that it imports.
    """

    uses: tuple[str, ...] = ()


FEATURES = {
    "comparison": Feature(uses=("corpus", "why")),
    "corpus": Feature(uses=("similarity", "why")),
    "engine": Feature(uses=("similarity", "why")),
    "exports": Feature(uses=("comparison", "corpus", "engine", "similarity", "why")),
    "similarity": Feature(uses=("why",)),
    "tasks": Feature(uses=("comparison", "corpus")),
    "why": Feature(),
}

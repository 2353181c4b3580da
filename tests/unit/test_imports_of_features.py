"""Each module that gives the core's classes something may be the first that is imported, and a plain text passes none."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from types import FrameType

import pytest

import attn_widget as aw
import attn_widget.features
from attn_widget.features import declared

FIELDS = ("analysis", "heads", "model", "widgets", "traits", "selection", "page")
MODULES = sorted({path.partition(":")[0] for field in FIELDS for _, path in declared(field)})


@pytest.mark.parametrize("module", MODULES)
def test_a_module_of_a_feature_comes_first(module: str) -> None:
    code = f"import {module}\nfrom attn_widget.analysis import Analysis\nimport attn_widget\nattn_widget.AttentionWidget"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]


def test_the_two_packages_that_wait_for_features_know_no_other_name() -> None:
    import attn_widget.analysis
    import attn_widget.widget

    for package in (attn_widget.analysis, attn_widget.widget):
        with pytest.raises(AttributeError, match="nothing"):
            _ = package.nothing


def test_a_plain_text_passes_no_feature_but_the_list_of_them() -> None:
    aw.show("the cat sat", progress=False).close()  # classes get what features give them
    passed: set[Path] = set()

    def note(frame: FrameType, _event: str, _value: object) -> None:
        passed.add(Path(frame.f_code.co_filename))

    sys.setprofile(note)
    try:
        widget = aw.show("the dog ran", progress=False)
    finally:
        sys.setprofile(None)
    widget.close()
    registry = Path(attn_widget.features.__file__)
    assert {path for path in passed if registry.parent in path.parents} == {registry}

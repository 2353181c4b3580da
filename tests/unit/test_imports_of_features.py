"""Each module that gives the core's classes something may be the first that is imported."""

from __future__ import annotations

import subprocess
import sys

import pytest

from attn_widget.features import declared

FIELDS = ("analysis", "widgets", "traits", "selection", "page")
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

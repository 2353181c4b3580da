"""Build hook: no wheel without the page that the widget draws with."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class PageBuildHook(BuildHookInterface):
    """Run ``npm run build`` when the bundle is missing from the checkout."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Called by hatchling before the wheel is built; an editable install builds nothing."""
        root = Path(self.root)
        bundle = root / "attn_widget" / "static" / "widget.js"
        if version == "editable" or bundle.is_file():
            return
        npm = shutil.which("npm")
        if npm is None:
            raise FileNotFoundError(
                "attn_widget/static/widget.js is missing and npm, which builds it, was not found. "
                "Install Node 20 or later, or install a released wheel."
            )
        if not (root / "node_modules").is_dir():
            subprocess.run([npm, "ci", "--no-audit", "--no-fund"], cwd=root, check=True)
        subprocess.run([npm, "run", "build"], cwd=root, check=True)

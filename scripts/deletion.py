"""Take a feature away, with all that uses it, and see that everything else stands: ``python -m scripts.deletion tasks``.

A copy of the working tree loses the folders of the features (`attn_widget/features`, `tests/features`, ``js/src/features``, ``js/tests/features``, ``docs``)
and their lines in both registries. Then the rest is imported, shows a text, type-checks on both sides, and passes its quick tests.
"""

from __future__ import annotations

import argparse
import ast
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from attn_widget.features import FEATURES

ROOT = Path(__file__).resolve().parents[1]
FOLDERS = (
    "attn_widget/features/{}",
    "tests/features/{}",
    "js/src/features/{}",
    "js/tests/features/{}",
    "docs/{}.md",
)
UNTRACKED = ("attn_widget/static", "build/types")  # what the package needs of a build
REGISTRY = "attn_widget/features/__init__.py"
PAGE = "js/src/features/index.ts"
PYTHON = sys.executable
CHECKS = {
    "page": ("node", "--input-type=module", "-e", "(await import('./js/features.mjs')).writeLazyFeatures()"),
    "page types": ("npm", "run", "--silent", "check"),
    "stub": (PYTHON, "-m", "scripts.public_names"),
    "show": (
        PYTHON, "-c",
        "import attn_widget as aw; w = aw.show('the cat sat', progress=False); "
        "w.to_html('cat.html'); print(w, *dir(aw)); w.close()",
    ),
    "types": (PYTHON, "-m", "pyright", "attn_widget"),
    "layout": (PYTHON, "-m", "pytest", "-q", "-n", "0", "-p", "no:cacheprovider", "tests/unit/test_layout.py"),
    "tests": (
        PYTHON, "-m", "pytest", "-q", "-n", "0", "-p", "no:cacheprovider", "tests/unit/test_slices.py", "tests/unit/test_pack.py",
        "tests/unit/test_analysis_analysis.py", "tests/unit/test_analysis_metrics.py", "tests/unit/test_mask.py",
    ),
}  # fmt: skip


def dependents(feature: str) -> set[str]:
    """The feature, and those that use it, one by the other.

    Examples
    --------
    >>> sorted(dependents("tasks"))
    ['tasks']
    """
    found = {feature}
    while more := {name for name, line in FEATURES.items() if found & {*line.uses}} - found:
        found |= more
    return found


def dependents_of_page(features: set[str]) -> set[str]:
    """These features on the page, and those that use them there."""
    uses: dict[str, set[str]] = {}
    for path in (ROOT / PAGE).parent.glob("*/index.ts"):
        (names,) = re.findall(r"uses: \[(.*?)\]", path.read_text(encoding="utf-8")) or [""]
        uses[path.parent.name] = set(re.findall(r'"(\w+)"', names))
    found = set(features)
    while more := {name for name, used in uses.items() if found & used} - found:
        found |= more
    return found


def without_lines(registry: str, features: set[str]) -> str:
    """The registry without the lines of these features."""
    lines = registry.splitlines(keepends=True)
    for node in ast.walk(ast.parse(registry)):
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "FEATURES":
            assert isinstance(node.value, ast.Dict)
            for key, value in zip(node.value.keys, node.value.values, strict=True):
                assert isinstance(key, ast.Constant) and value.end_lineno is not None
                if key.value in features:
                    lines[key.lineno - 1 : value.end_lineno] = [""] * (
                        value.end_lineno - key.lineno + 1
                    )
    return "".join(lines)


def copied(target: Path, features: set[str]) -> None:
    """The working tree without these features, in an empty folder."""
    listed = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    for name in listed.stdout.splitlines():
        source = ROOT / name
        if source.is_file() and not source.is_symlink():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, target / name)
    for name in UNTRACKED:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, target / name, dirs_exist_ok=True)
    for name in (".venv", "node_modules"):
        (target / name).symlink_to((ROOT / name).resolve())
    of_page = dependents_of_page(features)
    gone = [folder.format(name) for name in features for folder in FOLDERS]
    gone += [f"js/{part}/features/{name}" for name in of_page for part in ("src", "tests")]
    for path in (target / name for name in gone):
        if path.is_dir():
            shutil.rmtree(path)
        elif path.exists():
            path.unlink()
    page = target / PAGE
    lines = page.read_text(encoding="utf-8").splitlines(keepends=True)
    named = re.compile(rf"features/({'|'.join(of_page)})[/\"]|\./({'|'.join(of_page)})\"")
    kept = "".join(line for line in lines if not named.search(line))
    page.write_text(kept if "export" in kept else "export {};\n", encoding="utf-8")
    for test in (target / "js/tests").rglob("*.ts"):  # of several features
        if named.search(test.read_text(encoding="utf-8")):
            test.unlink()
    registry = target / REGISTRY
    registry.write_text(
        without_lines(registry.read_text(encoding="utf-8"), features), encoding="utf-8"
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("feature", choices=sorted(FEATURES))
    parser.add_argument("--only", choices=CHECKS, action="append", help="by default all checks")
    options = parser.parse_args()
    features = dependents(options.feature)
    print("without", *sorted(features))
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        copied(Path(folder), features)
        environment = {**os.environ, "PYTHONPATH": folder}
        for name in options.only or CHECKS:
            done = subprocess.run(
                CHECKS[name],
                cwd=folder,
                env=environment,
                capture_output=True,
                text=True,
            )
            print(
                f"[{name}]",
                "passed" if done.returncode == 0 else "FAILED",
                *done.stdout.splitlines()[-1:],
            )
            if done.returncode:
                failed += 1
                print(done.stdout[-3000:], done.stderr[-2000:])
    return failed


if __name__ == "__main__":
    sys.exit(main())

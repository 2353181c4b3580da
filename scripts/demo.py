"""`make demo`: predictions on the command line, a sentence and the quickstart in JupyterLab, the latter to use if there is a screen."""

from __future__ import annotations

import os
import subprocess
import sys
import traceback
from pathlib import Path

import nbformat

import attn_widget as aw
from scripts.lab import ROOT, chromium, jupyterlab
from scripts.sentence import SENTENCE

OUT = ROOT / "build" / "demo"
FAILURE = OUT / "failure.txt"
PATIENCE_MS = 600_000  # for one step in the page; with twenty busy processes a step takes a minute
MAX_SAID = 200  # characters


def print_predictions(text: str) -> None:
    """The best tokens of the embedded model at every position."""
    analysis = aw.analyze(text)
    predictions = analysis.predictions(top_k=5)
    print(f"\n{text!r}: what the embedded model predicts at each position (probability)\n")
    for token, words, probabilities in zip(
        analysis.tokens, predictions.tokens, predictions.probabilities, strict=True
    ):
        row = "  ".join(f"{word} {p:.3f}" for word, p in zip(words, probabilities, strict=True))
        print(f"  {token.text:8}{row}")
    print(flush=True)


def render() -> list[Path]:
    """Run the quickstart in JupyterLab and save it, and pictures of the cell that shows `SENTENCE`."""
    OUT.mkdir(parents=True, exist_ok=True)
    pictures = []
    with chromium() as browser, jupyterlab() as lab:
        cell = f"import attn_widget as aw\n\naw.show({SENTENCE!r})"
        shown = lab.open(
            browser, lab.write("sentence.ipynb", [cell]), height=1400, patience_ms=PATIENCE_MS
        )
        shown.run_all()
        shown.widget(0).wait_drawn(PATIENCE_MS)
        for theme in ("Light", "Dark"):
            shown.theme(f"JupyterLab {theme}")
            picture = OUT / f"sentence-{theme.lower()}.png"
            shown.widget(0).element.scroll_into_view_if_needed()
            shown.page.screenshot(path=picture)
            pictures.append(picture)
        shown.close()
        name = lab.copy(ROOT / "notebooks" / "quickstart.ipynb")
        notebook = lab.open(browser, name, height=1400, patience_ms=PATIENCE_MS)
        notebook.run_all()
        executed = nbformat.read(lab.notebooks / name, as_version=4)
        for cell, ran in zip(executed.cells, notebook.cells(), strict=True):
            if cell.cell_type == "code":
                cell.outputs = nbformat.from_dict(ran["outputs"])
                cell.execution_count = ran["execution_count"]
        nbformat.write(executed, OUT / name)
        notebook.close()
    return [OUT / name, *pictures]


def has_screen() -> bool:
    if os.environ.get("CI"):
        return False
    return sys.platform == "darwin" or any(
        os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY")
    )


def main() -> None:
    """Run the demo; a failure is printed in a sentence, and written in full to `FAILURE`."""
    try:
        demo()
    except Exception as error:
        OUT.mkdir(parents=True, exist_ok=True)
        FAILURE.write_text(traceback.format_exc(), encoding="utf-8")
        said = next(iter(str(error).splitlines()), type(error).__name__)[:MAX_SAID]
        sys.exit(f"[demo] failed: {said} ({FAILURE.relative_to(ROOT)} has the details)")


def demo() -> None:
    print_predictions(SENTENCE)
    print("[demo] running notebooks/quickstart.ipynb in JupyterLab")
    for path in render():
        print(f"[demo] wrote {path.relative_to(ROOT)}")
    quickstart = ROOT / "notebooks" / "quickstart.ipynb"
    if has_screen():
        print("[demo] opening JupyterLab; stop it with Ctrl-C")
        subprocess.run([sys.executable, "-m", "jupyterlab", str(quickstart)], check=False)
    else:
        print("[demo] no screen here. With one: .venv/bin/jupyter lab notebooks/quickstart.ipynb")


if __name__ == "__main__":
    main()

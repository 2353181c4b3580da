"""`make gallery`: a picture of every view, light and dark, in build/gallery/."""

from __future__ import annotations

from playwright.sync_api import expect

from attn_widget.widget.widget import VIEWS
from scripts.lab import ROOT, STEP_MS, chromium, jupyterlab

OUT = ROOT / "build" / "gallery"
CELLS = [
    "import attn_widget as aw\n"
    "w = aw.show('The trophy does not fit into the suitcase because it is too large.',"
    " layer=3, head=5, token=8)"
]


def main() -> None:
    OUT.mkdir(parents=True, exist_ok=True)
    expect.set_options(timeout=STEP_MS)
    with chromium() as browser, jupyterlab() as lab:
        notebook = lab.open(browser, lab.write("gallery.ipynb", CELLS), width=1240)
        notebook.run_all()
        widget = notebook.widget(0)
        widget.wait_drawn()
        for theme in ("light", "dark"):
            notebook.theme(f"JupyterLab {theme.capitalize()}")
            for view in VIEWS:
                notebook.python(f"w.view = {view!r}")
                panel = widget.part("view").locator(f'> [data-view="{view}"]')
                expect(panel).to_be_visible()
                widget.leave()
                path = OUT / f"{view}-{theme}.png"
                widget.element.screenshot(path=path)
                print(f"[gallery] wrote {path.relative_to(ROOT)}", flush=True)
        notebook.close()


if __name__ == "__main__":
    main()

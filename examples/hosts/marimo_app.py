"""marimo: ``marimo edit marimo_app.py``."""

import marimo

app = marimo.App()


@app.cell
def _():
    import marimo as mo

    import attn_widget as aw

    w = mo.ui.anywidget(aw.show("the cat sat on the mat", layer=3, head=5, progress=False))
    w  # noqa: B018
    return mo, w


@app.cell
def _(mo, w):
    mo.md(f"layer {w.layer}, head {w.head}")
    return


if __name__ == "__main__":
    app.run()

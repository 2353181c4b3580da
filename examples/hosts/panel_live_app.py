"""Panel with the widget itself: ``panel serve panel_live_app.py`` (packages panel, ipywidgets_bokeh)."""

import panel as pn

import attn_widget as aw

pn.extension("ipywidgets")
w = aw.show("the cat sat on the mat", layer=3, head=5, progress=False)
pn.Column(
    "## Panel",
    pn.pane.IPyWidget(w, sizing_mode="stretch_width"),
    "below the widget",
    sizing_mode="stretch_width",
).servable()

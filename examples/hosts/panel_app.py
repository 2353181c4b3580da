"""Panel: ``panel serve panel_app.py``."""

import panel as pn

import attn_widget as aw

w = aw.show("the cat sat on the mat", layer=3, head=5, progress=False)
pn.Column(
    "## Panel",
    pn.pane.HTML(w.as_html(height=900), sizing_mode="stretch_width"),
    "below the page",
    sizing_mode="stretch_width",
).servable()

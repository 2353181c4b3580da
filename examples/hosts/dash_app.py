"""Dash: ``python dash_app.py``."""

import os

from dash import Dash, html

import attn_widget as aw

w = aw.show("the cat sat on the mat", layer=3, head=5, progress=False)
page = w.to_html("cat.html").read_text(encoding="utf-8")
app = Dash()
app.layout = [
    html.H2("Dash"),
    html.Iframe(srcDoc=page, style={"width": "100%", "height": "900px", "border": 0}),
    html.P("below the page"),
]
app.run(port=int(os.environ.get("PORT", "8050")))

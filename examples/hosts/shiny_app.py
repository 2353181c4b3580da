# Shiny: `shiny run shiny_app.py` (packages shiny, shinywidgets). Express would show a docstring.  # noqa: D100

from shiny.express import ui
from shinywidgets import render_widget

import attn_widget as aw

ui.h2("Shiny")
ui.input_dark_mode()  # light or dark as the system, with a switch


@render_widget
def cat():
    return aw.show("the cat sat on the mat", layer=3, head=5, progress=False)


ui.p("below the widget")

"""Gradio: ``python gradio_app.py``."""

import os

import gradio as gr

import attn_widget as aw


def page(text: str) -> str:
    return aw.show(text, layer=3, head=5, progress=False).as_html(height=900)


with gr.Blocks() as app:
    gr.Markdown("## Gradio")
    text = gr.Textbox("the cat sat on the mat", label="Text")
    picture = gr.HTML()
    text.submit(page, text, picture)
    app.load(page, text, picture)
    gr.Markdown("below the page")

app.launch(server_port=int(os.environ.get("PORT", "7860")))

"""A widget on a bare page: the built bundle in Chromium, its questions answered by the real protocol.

Quicker than a notebook where no notebook is needed: pictures, timings, hostile texts.
"""

from __future__ import annotations

import base64
import json
from typing import Any

from playwright.sync_api import Page

from attn_widget import AttentionWidget
from attn_widget.widget import protocol
from attn_widget.widget.widget import bundle

# A stand-in for the host's model, with what anywidget gives a module: get, set, on, off, save_changes.
MOUNT = """async ({source, css, traits, paint, width}) => {
  const bytes = Uint8Array.from(atob(paint), c => c.charCodeAt(0));
  const values = {...traits, first_paint: new DataView(bytes.buffer)};
  const listeners = new Map();
  const fire = name => (listeners.get(`change:${name}`) ?? []).forEach(f => f());
  const model = {
    get: name => values[name],
    set: (name, value) => { values[name] = value; fire(name); },
    save_changes() {},
    on: (event, f) => listeners.set(event, [...(listeners.get(event) ?? []), f]),
    off: (event, f) => listeners.set(event, (listeners.get(event) ?? []).filter(g => g !== f)),
    send() {},
  };
  window.aw = {model, values};
  const invoke = async (name, request) => {
    const [reply, buffers] = JSON.parse(await window.answer(JSON.stringify(request)));
    const decode = text => new DataView(Uint8Array.from(atob(text), c => c.charCodeAt(0)).buffer);
    return [reply, buffers.map(decode)];
  };
  document.documentElement.lang = "en";
  document.title = "attn_widget";
  document.body.style.margin = "0";
  const style = document.createElement("style");
  style.textContent = css;
  document.head.append(style);
  const cell = document.createElement("main");
  cell.style.width = `${width}px`;
  document.body.append(cell);
  const url = URL.createObjectURL(new Blob([source], {type: "text/javascript"}));
  const {default: widget} = await import(url);
  const signal = new AbortController().signal;
  const experimental = {invoke};
  await widget.initialize?.({model, experimental, signal});
  performance.mark("reply");
  await widget.render({model, el: cell, experimental, signal});
}"""
DRAWN = "() => performance.getEntriesByName('aw:drawn').length > 0"
PAGE_TRAITS = (
    "layer", "head", "token", "pair", "metric", "view", "special", "words", "scale", "theme",
    "height", "quantity", "group", "top_k", "depth", "chrome", "text", "text_pair", "status", "error",
)  # fmt: skip


def mount(page: Page, widget: AttentionWidget, *, width: int = 1000) -> None:
    """Draw ``widget`` on ``page`` and wait until its matrix stands there."""

    def answer(request: str) -> str:
        reply, buffers = protocol.answer(widget.analysis, json.loads(request))
        return json.dumps([reply, [base64.b64encode(data).decode() for data in buffers]])

    page.goto("about:blank")
    page.expose_function("answer", answer)
    traits: dict[str, Any] = {name: getattr(widget, name) for name in PAGE_TRAITS}
    page.evaluate(
        MOUNT,
        {
            "source": bundle("widget.js"),
            "css": bundle("widget.css"),
            "traits": traits,
            "paint": base64.b64encode(widget.first_paint).decode(),
            "width": width,
        },
    )
    page.wait_for_function(DRAWN)


def milliseconds_to_drawn(page: Page) -> float:
    """From the data at hand to the first drawn matrix, ms."""
    return page.evaluate(
        "() => performance.getEntriesByName('aw:drawn')[0].startTime"
        " - performance.getEntriesByName('reply')[0].startTime"
    )

"""A widget on a bare page: the built bundle in Chromium, its questions answered by the real protocol.

Quicker than a notebook where no notebook is needed: pictures, timings, hostile texts.
"""

from __future__ import annotations

import base64
import json
from queue import SimpleQueue
from typing import Any

from playwright.sync_api import Page

from attn_widget import AttentionWidget
from attn_widget.widget.profile import ProfileWidget
from attn_widget.widget.widget import bundle

# A stand-in for the host's model, with what anywidget gives a module: get, set, on, off, save_changes.
MOUNT = """async ({source, css, traits, paint, width, pollMs}) => {
  const bytes = Uint8Array.from(atob(paint), c => c.charCodeAt(0));
  const values = {...traits, first_paint: new DataView(bytes.buffer)};
  const listeners = new Map();
  const unsaved = new Set();
  const fire = name => (listeners.get(`change:${name}`) ?? []).forEach(f => f());
  const model = {
    get: name => values[name],
    set: (name, value) => { values[name] = value; unsaved.add(name); fire(name); },
    save_changes() {
      const names = [...unsaved];
      unsaved.clear();
      window.save(JSON.stringify(Object.fromEntries(names.map(name => [name, values[name]]))));
    },
    on: (event, f) => listeners.set(event, [...(listeners.get(event) ?? []), f]),
    off: (event, f) => listeners.set(event, (listeners.get(event) ?? []).filter(g => g !== f)),
    send() {},
  };
  window.aw = {model, values};
  const decode = text => new DataView(Uint8Array.from(atob(text), c => c.charCodeAt(0)).buffer);
  const invoke = async (name, request) => {
    const [reply, buffers] = JSON.parse(await window.answer(name, JSON.stringify(request)));
    return [reply, buffers.map(decode)];
  };
  const take = async () => {
    for (const [name, value] of JSON.parse(await window.changes())) {
      values[name] = name === "first_paint" ? decode(value) : value;
      fire(name);
    }
    setTimeout(take, pollMs);
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
  void take();
}"""
# A view without a matrix of its own is there when nothing is on its way.
DRAWN = """() => performance.getEntriesByName('aw:drawn').length > 0
  || document.querySelector('.aw-view:not([aria-busy="true"]) > :not([data-view="attention"])')"""
FIGURES = "() => document.querySelector('.aw-card-value')?.textContent.length > 0"
PAGE_TRAITS = (
    "layer", "head", "token", "pair", "metric", "view", "special", "words", "scale", "theme",
    "height", "quantity", "group", "top_k", "depth", "chrome", "text", "text_pair", "status", "error",
    "progress", "history", "masked",
)  # fmt: skip
POLL_MS = 40  # between two looks at what Python changed


def mount(page: Page, widget: AttentionWidget, *, width: int = 1000) -> None:
    """Draw ``widget`` on ``page`` and wait until it stands there.

    Traits go both ways and commands reach the widget, as in a notebook; what Python changes arrives
    while Playwright waits for anything.
    """
    changed: SimpleQueue[tuple[str, Any]] = SimpleQueue()
    sent: dict[str, Any] = {}

    def answer(name: str, request: str) -> str:
        reply, buffers = getattr(widget, name)(json.loads(request), [])
        return json.dumps([reply, [base64.b64encode(data).decode() for data in buffers]])

    def save(state: str) -> None:
        sent.clear()
        sent.update(json.loads(state))
        widget.set_state(dict(sent))
        sent.clear()

    def changes() -> str:
        found: list[tuple[str, Any]] = []
        while not changed.empty():
            name, value = changed.get()
            encoded = isinstance(value, bytes)
            found.append((name, base64.b64encode(value).decode() if encoded else value))
        return json.dumps(found)

    def note(change: Any) -> None:
        # What the page itself has just said is not said to it again.
        if change.name not in sent or sent[change.name] != change.new:
            changed.put((change.name, change.new))

    names = [name for name in PAGE_TRAITS if widget.has_trait(name)]
    page.goto("about:blank")
    for function in (answer, save, changes):
        page.expose_function(function.__name__, function)
    page.evaluate(
        MOUNT,
        {
            "source": bundle("widget.js"),
            "css": bundle("widget.css"),
            "traits": {name: getattr(widget, name) for name in names},
            "paint": base64.b64encode(widget.first_paint).decode(),
            "width": width,
            "pollMs": POLL_MS,
        },
    )
    widget.observe(note, names=[*names, "first_paint"])
    page.once("close", lambda _: widget.unobserve(note, names=[*names, "first_paint"]))
    page.wait_for_function(DRAWN)


def milliseconds_to_drawn(page: Page) -> float:
    """From the data at hand to the first drawn matrix, ms."""
    return page.evaluate(
        "() => performance.getEntriesByName('aw:drawn')[0].startTime"
        " - performance.getEntriesByName('reply')[0].startTime"
    )

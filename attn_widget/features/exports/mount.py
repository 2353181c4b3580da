"""The built page without a notebook: a stand-in for the host's model, in a page of a browser.

`save_png` draws with it, and so do the tests and the pictures of the documentation.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from attn_widget.protocol.built import bundle

if TYPE_CHECKING:
    from playwright.sync_api import Page

# With what anywidget gives a module: get, set, on, off, save_changes, invoke. `window.answer` must be
# there; `window.save` and `window.changes` are used where they are.
MOUNT = """async ({source, traits, paint, width, pollMs}) => {
  // A loop: `Uint8Array.from` with a function takes ten times as long.
  const decode = text => {
    const units = atob(text);
    const bytes = new Uint8Array(units.length);
    for (let i = 0; i < units.length; i++) bytes[i] = units.charCodeAt(i);
    return new DataView(bytes.buffer);
  };
  const values = {...traits, first_paint: decode(paint)};
  const listeners = new Map();
  const unsaved = new Set();
  const fire = name => (listeners.get(`change:${name}`) ?? []).forEach(f => f());
  const model = {
    get: name => values[name],
    set: (name, value) => { values[name] = value; unsaved.add(name); fire(name); },
    save_changes() {
      const names = [...unsaved];
      unsaved.clear();
      window.save?.(JSON.stringify(Object.fromEntries(names.map(name => [name, values[name]]))));
    },
    on: (event, f) => listeners.set(event, [...(listeners.get(event) ?? []), f]),
    off: (event, f) => listeners.set(event, (listeners.get(event) ?? []).filter(g => g !== f)),
    send() {},
  };
  window.aw = {model, values, asking: 0, asked: performance.now()};
  const invoke = async (name, request) => {
    window.aw.asking++;
    try {
      const [reply, buffers] = JSON.parse(await window.answer(name, JSON.stringify(request)));
      return [reply, buffers.map(decode)];
    } finally {
      window.aw.asking--;
      window.aw.asked = performance.now();
    }
  };
  const take = async () => {
    // As in a notebook: all of them, then their listeners.
    const changes = new Map(JSON.parse(await window.changes()));
    for (const [name, value] of changes) {
      values[name] = name === "first_paint" ? decode(value) : value;
    }
    for (const name of changes.keys()) fire(name);
    setTimeout(take, pollMs);
  };
  document.documentElement.lang = "en";
  document.title = "attn_widget";
  document.body.style.margin = "0";
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
  if (window.changes !== undefined) void take();
}"""
POLL_MS = 40  # between two looks at what Python changed


def encode_reply(reply: object, buffers: list[bytes]) -> str:
    """Result of ``window.answer``."""
    return json.dumps([reply, [base64.b64encode(data).decode() for data in buffers]])


def mount_page(page: Page, traits: Mapping[str, Any], paint: bytes, *, width: int) -> None:
    """Put the bundle on ``page`` (where ``window.answer`` is exposed) and render one view of it.

    ``traits``: what the model of the widget has, by name. ``paint``: the packed first paint. ``width``: of the
    widget, CSS px.
    """
    page.evaluate(
        MOUNT,
        {
            "source": bundle("widget.js"),
            "traits": dict(traits),
            "paint": base64.b64encode(paint).decode(),
            "width": width,
            "pollMs": POLL_MS,
        },
    )

/** The notebook's part, played by a page: a model with traits, `invoke` over HTTP. `?run=cat&theme=dark&width=700`. */

import widget from "/static/widget.js";

const query = new URLSearchParams(location.search);
const run = query.get("run") ?? "cat";

class Traits {
  #values;
  #listeners = new Map();
  constructor(values) {
    this.#values = values;
  }
  get(name) {
    return this.#values[name];
  }
  set(name, value) {
    this.#values[name] = value;
    for (const listener of this.#listeners.get(`change:${name}`) ?? []) listener();
  }
  save_changes() {}
  on(event, listener) {
    this.#listeners.set(event, (this.#listeners.get(event) ?? new Set()).add(listener));
  }
  off(event, listener) {
    this.#listeners.get(event)?.delete(listener);
  }
}

async function invoke(_name, request, { signal }) {
  const response = await fetch(`/slice/${run}`, {
    method: "POST",
    body: JSON.stringify(request),
    signal,
  });
  const bytes = new Uint8Array(await response.arrayBuffer());
  const length = new DataView(bytes.buffer).getUint32(0, true);
  const { reply, sizes } = JSON.parse(new TextDecoder().decode(bytes.subarray(4, 4 + length)));
  let offset = 4 + length;
  const buffers = sizes.map((size) => {
    offset += size;
    return new DataView(bytes.buffer, offset - size, size);
  });
  return [reply, buffers];
}

const number = (name) => (query.has(name) ? Number(query.get(name)) : undefined);
const pack = await (await fetch(`/dev/fixtures/${run}/pack.awp`)).arrayBuffer();
const host = document.getElementById("host");
host.style.width = `${query.get("width") ?? 1200}px`;
document.body.classList.toggle("dark", query.get("theme") === "dark");
const traits = new Traits({
  layer: number("layer") ?? 0,
  head: query.get("head") === "mean" ? "mean" : (number("head") ?? 0),
  token: number("token") ?? null,
  pair: query.has("pair") ? query.get("pair").split("-").map(Number) : null,
  metric: query.get("metric") ?? "thumbnails",
  view: query.get("view") ?? "attention",
  special: query.get("special") !== "0",
  words: query.get("words") === "1",
  scale: query.get("scale") ?? "head",
  theme: query.get("theme") ?? "auto",
  height: null,
  status: "ready",
  error: {},
  first_paint: new DataView(pack),
});
if (query.get("host") === "jupyter-dark") {
  document.body.dataset.jpThemeLight = "false";
  const variables = {
    "--jp-layout-color0": "#111111",
    "--jp-content-font-color0": "rgba(255, 255, 255, 1)",
    "--jp-ui-font-family": "system-ui, -apple-system, sans-serif",
    "--jp-code-font-family": "Menlo, Consolas, 'DejaVu Sans Mono', monospace",
  };
  for (const [name, value] of Object.entries(variables)) {
    document.documentElement.style.setProperty(name, value);
  }
}
window.traits = traits;
performance.mark("aw:data");
window.stop = widget.render({ model: traits, el: host, experimental: { invoke } });

/**
 * The module that a host loads for every widget. It unpacks the page once and shares it with all widgets of the
 * same build: nothing in it is bound to one of them.
 *
 * The page's modules import what they share under one name (`./chunk-….js`, by its content). A blob has no folder to
 * look in, so the name becomes the address of the shared one; views that come later find the same.
 */

/* global PACKED, VERSION */

import { decode85 } from "./src/protocol/saved/inflate";

const shared = Symbol.for(`attn_widget ${VERSION}`);
const addressOf = (script) => URL.createObjectURL(new Blob([script], { type: "text/javascript" }));

async function inflate(bytes) {
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
  return await new Response(stream).text();
}

async function unpack() {
  const [name, common, script, first, last] = (await inflate(decode85(PACKED))).split("\0");
  const base = addressOf(common);
  const load = async (text) => {
    if (!text.includes(name)) throw new Error(`it does not use ${name}`);
    const address = addressOf(text.replaceAll(`"./${name}"`, JSON.stringify(base)));
    try {
      return await import(address);
    } finally {
      URL.revokeObjectURL(address);
    }
  };
  const styles = new Set();
  // Views that come later bring their styles, which stand between those of the frame and those of paper.
  let css = first + last;
  const link = async (code) => {
    const [text, middle] = (await inflate(code)).split("\0");
    css = first + middle + last;
    for (const style of styles) style.textContent = css;
    return load(text);
  };
  const dress = (style) => {
    styles.add(style);
    style.textContent = css;
    return () => styles.delete(style);
  };
  return { page: (await load(script)).default, dress, link };
}

async function render(host) {
  globalThis[shared] ??= unpack();
  const { page, dress, link } = await globalThis[shared];
  // In the element, and not in the document: a host may keep it in a shadow root.
  const style = document.createElement("style");
  const undress = dress(style);
  host.el.append(style);
  const { model, el, experimental, signal } = host;
  const dispose = page.render({ model, el, experimental, signal, link });
  return () => {
    dispose();
    undress();
    style.remove();
  };
}

// Synchronous and empty: a slow `initialize` loses later updates (anywidget 0.11).
export default { initialize() {}, render };

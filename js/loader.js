/**
 * The module that a host loads for every widget. It unpacks the page once and shares it with all widgets of the
 * same build: nothing in it is bound to one of them.
 */

/* global PACKED, VERSION */

const shared = Symbol.for(`attn_widget ${VERSION}`);

async function unpack() {
  const bytes = Uint8Array.from(atob(PACKED), (c) => c.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
  const { script, css } = await new Response(stream).json();
  const address = URL.createObjectURL(new Blob([script], { type: "text/javascript" }));
  try {
    return { page: (await import(address)).default, css };
  } finally {
    URL.revokeObjectURL(address);
  }
}

async function render(host) {
  globalThis[shared] ??= unpack();
  const { page, css } = await globalThis[shared];
  // In the element, and not in the document: a host may keep it in a shadow root.
  const style = document.createElement("style");
  style.textContent = css;
  host.el.append(style);
  const dispose = page.render(host);
  return () => {
    dispose();
    style.remove();
  };
}

// Synchronous and empty: a slow `initialize` loses later updates (anywidget 0.11).
export default { initialize() {}, render };

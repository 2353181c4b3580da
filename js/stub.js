/**
 * State of each widget of a kernel: a reference to the one model that has the page (`_code`). A host stores
 * every widget's module, and the page would otherwise stand in a saved notebook as often as there are widgets.
 */

/* global VERSION */

const shared = Symbol.for(`attn_widget page ${VERSION}`);
const REFERENCE = "IPY_MODEL_"; // how ipywidgets writes a model that another one refers to

async function load(model) {
  const id = model.get("_code").slice(REFERENCE.length);
  const code = await model.widget_manager.get_model(id);
  const address = URL.createObjectURL(new Blob([code.get("_esm")], { type: "text/javascript" }));
  try {
    return (await import(address)).default;
  } finally {
    URL.revokeObjectURL(address);
  }
}

async function render(host) {
  try {
    globalThis[shared] ??= load(host.model);
    return (await globalThis[shared]).render(host);
  } catch (error) {
    delete globalThis[shared];
    host.el.textContent = `attn_widget: its page is not in this notebook (${error}). Run the cell again.`;
  }
}

export default { initialize() {}, render };

/** Entry for notebooks: an anywidget module. State lives per view; nothing is shared between widgets. */

import { createFrame } from "./frame/frame";
import { isComplete } from "./frame/tabs";
import { explain } from "./protocol/failure";
import { invokeWith, type Messages } from "./protocol/invoke";
import { type Invoke, KernelSource, readReply } from "./protocol/kernel";
import { readPack } from "./protocol/pack";
import type { Meta } from "./protocol/types";
import { bindState, type Model, readActivity } from "./state/binding";
import { fit } from "./state/state";
import { acceptCode, CODE, type Link, linkWith } from "./views/lazy-views";

/** Delay after the first picture before the other views are preloaded, ms. */
const FETCH_MS = 1500;
/** Whether a widget of this page is at it. */
let fetching = false;

interface RenderProps {
  readonly model: Model & Messages;
  readonly el: HTMLElement;
  readonly experimental: { readonly invoke: Invoke };
  /** Missing in hosts older than anywidget 0.11. */
  readonly signal?: AbortSignal;
  /** From the loader. */
  readonly link: Link;
}

function render({ model, el, experimental, signal, link }: RenderProps): () => void {
  linkWith(link);
  const { state, release } = bindState(model);
  const frame = createFrame(state);
  const invoke = invokeWith(model, experimental.invoke);
  el.append(frame.element);

  const life = new AbortController();
  let waiting: ReturnType<typeof setTimeout> | undefined;
  /** Without a message: a busy or lost kernel is reported once the reader asks for something. */
  const fetchLater = (meta: Meta) => {
    clearTimeout(waiting);
    waiting = setTimeout(async () => {
      if (fetching || isComplete(meta)) return;
      fetching = true;
      try {
        await acceptCode(readReply(...(await invoke("slice", CODE, { signal: life.signal }))));
      } catch (error) {
        console.debug("attn-widget:", error);
      } finally {
        fetching = false;
      }
    }, FETCH_MS);
  };

  const showRun = () => {
    const bytes = model.get("first_paint");
    if (!(ArrayBuffer.isView(bytes) || bytes instanceof ArrayBuffer) || bytes.byteLength === 0)
      return;
    try {
      const pack = readPack(bytes);
      state.set(fit(state.get(), pack.meta));
      const source = new KernelSource(pack, invoke, { contact: frame.contact });
      // Tensors from outside have no model to run.
      const runs = pack.meta.model.family !== null && pack.meta.profile === null;
      frame.show(source, runs ? (action) => source.act(action) : null);
      fetchLater(pack.meta);
    } catch (error) {
      const { message, hint } = explain(error);
      frame.report(message, hint);
    }
  };
  const showActivity = () => frame.activity(readActivity(model));

  const listeners: Readonly<Record<string, () => void>> = {
    first_paint: showRun,
    error: showActivity,
    status: showActivity,
    progress: showActivity,
    history: showActivity,
  };
  for (const [trait, listener] of Object.entries(listeners)) model.on(`change:${trait}`, listener);
  showRun();
  showActivity();

  let done = false;
  const dispose = () => {
    if (done) return;
    done = true;
    clearTimeout(waiting);
    life.abort();
    for (const [trait, listener] of Object.entries(listeners))
      model.off(`change:${trait}`, listener);
    release();
    frame.dispose();
  };
  signal?.addEventListener("abort", dispose, { once: true });
  return dispose;
}

/** Synchronous and empty: a slow `initialize` loses later updates (anywidget 0.11). */
function initialize(): void {}

export default { initialize, render };

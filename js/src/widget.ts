/** Entry for notebooks: an anywidget module. State lives per view; nothing is shared between widgets. */

import { createFrame } from "./frame/frame";
import { preloading } from "./frame/preload";
import { onAbort } from "./protocol/abort";
import { type Comm, connect } from "./protocol/comm/connection";
import { type Invoke, invokeWith, type Messages } from "./protocol/comm/invoke";
import { restoreMessages } from "./protocol/comm/restore";
import { KernelSource } from "./protocol/kernel";
import { readPack } from "./protocol/pack";
import type { Meta } from "./protocol/types";
import { bindState, type Model, onTraits, readActivity, readSelection } from "./state/binding";
import type { Selection } from "./state/selection";
import { fit } from "./state/state";
import { FEATURES } from "./views";
import type { WidgetContext } from "./views/feature";
import { type Link, linkWith } from "./views/lazy-views";

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
  restoreMessages(model);
  const lifetime = new AbortController();
  const { signal: until } = lifetime;
  let drawn: unknown;
  let shown: Meta | null = null;
  const state = bindState(model, until, () => model.get("first_paint") !== drawn);
  const frame = createFrame(state);
  el.append(frame.element);
  const ask = invokeWith(model, experimental.invoke);
  const invoke = connect(ask, {
    contact(notice) {
      frame.kernel.value = notice;
    },
    comm: model.get("layout") as Comm | undefined,
    signal: until,
  });
  const preload = preloading(ask, until);
  const context: WidgetContext = {
    host: el,
    frame: frame.element,
    state,
    invoke,
    kernel: frame.kernel,
    report: frame.report,
    history: () => readActivity(model).history,
    shown: preload,
    signal: until,
  };
  const parts = FEATURES.flatMap(({ widget }) => widget?.(context) ?? []);
  const buttons = parts.flatMap(({ button }) => button ?? []);

  /** The head that was chosen since a run was shown: a busy kernel may not know of it yet, and have opened the next text on another one. */
  function chosenHead(): Pick<Selection, "layer" | "head"> | null {
    if (!state.touched.has("layer") && !state.touched.has("head")) return null;
    // Later than the kernel's change, within which the model sends nothing that is as it was.
    queueMicrotask(() => {
      const { layer, head } = state.get();
      model.set("layer", layer);
      model.set("head", head);
      model.save_changes();
    });
    const { layer, head } = state.get();
    return { layer, head };
  }

  function showRun(): void {
    const bytes = model.get("first_paint");
    drawn = bytes;
    if (!(ArrayBuffer.isView(bytes) || bytes instanceof ArrayBuffer) || bytes.byteLength === 0)
      return;
    try {
      const pack = readPack(bytes);
      const { meta } = pack;
      const chosen = shown?.part === meta.part ? chosenHead() : null;
      // Not the part: another one may have been chosen since, and both would be asked for in turns without end.
      const { part: _, ...selection } = fit({ ...readSelection(model), ...chosen }, meta);
      const source = new KernelSource(pack, invoke);
      const act = parts.map(({ actOf }) => actOf?.(source)).find((found) => found != null);
      if (act != null) frame.show(source, act, [], selection);
      // Tensors from outside have no model to run.
      else if (meta.model.family === null) frame.show(source, null, [], selection);
      else frame.show(source, (action) => source.act(action), buttons, selection);
      shown = meta;
      state.touched.clear();
      for (const { renew } of parts) renew?.(source);
      preload(meta);
    } catch (error) {
      frame.report(error);
    }
  }
  const showActivity = () => frame.activity(readActivity(model));
  const traits = parts.flatMap(({ traits = {} }) => Object.entries(traits));
  const ofParts = Object.fromEntries(
    traits.map(([name, follow]) => [name, () => follow(model.get(name))]),
  );
  const shows: Readonly<Record<string, () => void>> = {
    first_paint: showRun,
    error: showActivity,
    status: showActivity,
    progress: showActivity,
    history: showActivity,
    ...ofParts,
  };
  onTraits(model, shows, until);
  showRun();
  showActivity();
  for (const follow of Object.values(ofParts)) follow();

  function dispose(): void {
    if (until.aborted) return;
    lifetime.abort();
    for (const part of parts) part.dispose();
    frame.dispose();
  }
  onAbort(signal, dispose);
  return dispose;
}

/** Synchronous and empty: a slow `initialize` loses later updates (anywidget 0.11). */
function initialize(): void {}

export default { initialize, render };

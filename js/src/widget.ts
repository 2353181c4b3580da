/** Entry for notebooks: an anywidget module. State lives per view; nothing is shared between widgets. */

import { createFrame, type Frame } from "./frame/frame";
import { isComplete } from "./frame/tabs";
import { type Comm, connect } from "./protocol/comm/connection";
import { type Invoke, invokeWith, type Messages } from "./protocol/comm/invoke";
import { explain } from "./protocol/failure";
import { KernelSource, readReply } from "./protocol/kernel";
import { readPack } from "./protocol/pack";
import { arrayOf, required } from "./protocol/required";
import type { Action, Meta, Source } from "./protocol/types";
import { bindState, type Model, readActivity } from "./state/binding";
import { createState, fit } from "./state/state";
import {
  acceptCode,
  askCode,
  CODE,
  type Link,
  type LiveComparison,
  lazyComparison,
  linkWith,
} from "./views/lazy-views";

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
  let example: Frame | null = null;
  el.append(frame.element);

  const life = new AbortController();
  const ask = invokeWith(model, experimental.invoke);
  const invoke = connect(ask, {
    contact: frame.contact,
    comm: model.get("layout") as Comm | undefined,
    signal: life.signal,
  });
  let waiting: ReturnType<typeof setTimeout> | undefined;
  /** Outside of the connection, without a message: the reader has not asked for it. */
  const fetchLater = (meta: Meta) => {
    clearTimeout(waiting);
    waiting = setTimeout(async () => {
      if (fetching || isComplete(meta)) return;
      fetching = true;
      try {
        await acceptCode(readReply(...(await ask("slice", CODE, { signal: life.signal }))));
      } catch (error) {
        console.debug("attn-widget:", error);
      } finally {
        fetching = false;
      }
    }, FETCH_MS);
  };

  let comparison: LiveComparison | null = null;
  /** The comparison of this widget; its code comes with that of the lazy views. */
  const comparisonOf = async (source: Source): Promise<LiveComparison> => {
    await askCode(source);
    const { element, report } = frame;
    comparison ??= required(
      lazyComparison(),
      "The code of comparisons",
    )({
      host: el,
      frame: element,
      source,
      state,
      invoke,
      report,
      history: () => readActivity(model).history,
    });
    return comparison;
  };
  const failed = (error: unknown) => {
    const { message, hint } = explain(error);
    frame.report(message, hint);
  };
  let present: KernelSource | null = null;
  /** Python has compared this run with another one. */
  const openCompared = () => {
    if (present === null || !model.get("_compared")) return;
    comparisonOf(present)
      .then((found) => found.open())
      .catch(failed);
  };

  const showRun = () => {
    const bytes = model.get("first_paint");
    if (!(ArrayBuffer.isView(bytes) || bytes instanceof ArrayBuffer) || bytes.byteLength === 0)
      return;
    try {
      const pack = readPack(bytes);
      state.set(fit(state.get(), pack.meta));
      const source = new KernelSource(pack, invoke);
      // Tensors from outside have no model to run.
      const runs = pack.meta.model.family !== null && pack.meta.profile === null;
      const compare = (anchor: HTMLElement) => {
        comparisonOf(source)
          .then((found) => found.choose(anchor))
          .catch(failed);
      };
      present = source;
      const act = runs
        ? (action: Action) => source.act(action)
        : pack.meta.profile
          ? openExample
          : null;
      frame.show(source, act, runs ? compare : null);
      comparison?.renew(source);
      fetchLater(pack.meta);
    } catch (error) {
      failed(error);
    }
  };
  /** A text of a profile, in a frame of its own below. */
  const openExample = async (action: Action) => {
    if (action.kind !== "open_example") return;
    const { index, query, key, layer, head } = action;
    const [reply, buffers] = await invoke(
      "slice",
      { kind: "example_paint", index, layer, head },
      { signal: life.signal },
    );
    const bytes = arrayOf(readReply(reply, buffers), "paint").data;
    const pack = readPack(bytes);
    const pair = query === null || key === null ? null : ([query, key] as const);
    const own = createState({ layer, head, token: query, pair, theme: state.get().theme });
    own.set(fit(own.get(), pack.meta));
    example?.dispose();
    example?.element.remove();
    example = createFrame(own);
    el.append(example.element);
    const ofExample: Invoke = (name, request, options) =>
      invoke(name, { ...(request as object), example: index }, options);
    example.show(new KernelSource(pack, ofExample), null);
    fetchLater(pack.meta);
    example.element.scrollIntoView({ block: "nearest" });
  };
  const showActivity = () => frame.activity(readActivity(model));

  const listeners: Readonly<Record<string, () => void>> = {
    first_paint: showRun,
    error: showActivity,
    status: showActivity,
    progress: showActivity,
    history: showActivity,
    _compared: openCompared,
  };
  for (const [trait, listener] of Object.entries(listeners)) model.on(`change:${trait}`, listener);
  showRun();
  showActivity();
  openCompared();

  let done = false;
  const dispose = () => {
    if (done) return;
    done = true;
    clearTimeout(waiting);
    life.abort();
    for (const [trait, listener] of Object.entries(listeners))
      model.off(`change:${trait}`, listener);
    release();
    comparison?.dispose();
    frame.dispose();
    example?.dispose();
  };
  signal?.addEventListener("abort", dispose, { once: true });
  return dispose;
}

/** Synchronous and empty: a slow `initialize` loses later updates (anywidget 0.11). */
function initialize(): void {}

export default { initialize, render };

/** A saved run in its place on a page of the site; one of the site's own model goes on with what is typed. */

import type { Frame } from "../../../frame/frame";
import { drawSaved } from "../../../frame/saved";
import type { Action, Meta } from "../../../protocol/types";
import { openSaved } from "../../../state/saved";
import type { State } from "../../../state/selection";
import { codeInPage } from "../../../views/lazy-views";
import { attachEngine, type Facts } from "../attach";
import type { GivenFile } from "../client";
import { besideScript, runOnce } from "./files";

/** Put here by js/site.mjs: facts of the model, its name, and the views that the engine computes. */
declare const MODEL: Facts & { readonly name: string; readonly views: readonly string[] };

type Engine = { open(file: GivenFile): Promise<unknown> };
type WithEngine = { attnWidgetEngine?: Engine };

const { name: modelName, views, ...facts } = MODEL;

/** Loads the views besides the first one; pages get them, and the engine, when they are first needed. */
export const runViews = runOnce("attn-widget-views.js");
codeInPage(runViews);
const runEngine = runOnce("engine.js");
const waiting: Engine = {
  async open(file) {
    await runEngine();
    const { attnWidgetEngine: engine } = globalThis as WithEngine;
    return engine === waiting || engine === undefined
      ? Promise.reject(new Error("No engine."))
      : engine.open(file);
  },
};
(globalThis as WithEngine).attnWidgetEngine = waiting;

const typed = attachEngine(
  { ...facts, beside: facts.beside && { ...facts.beside, src: besideScript(facts.beside.src) } },
  views,
);

/** A run that has been drawn. */
export interface SiteRun {
  readonly frame: Frame;
  readonly state: State;
  /** The run that is shown now. */
  meta(): Meta;
  /** Run another text; null where this run's model is not on the site. */
  readonly type: ((text: string, pair: string | null) => Promise<void>) | null;
  close(): void;
}

/** Draw a run into `place`; `shown` is called with each further one that the reader types. */
export async function openRun(
  place: HTMLElement,
  chunk: Parameters<typeof openSaved>[0],
  shown: (meta: Meta) => void = () => undefined,
): Promise<SiteRun> {
  const opened = await openSaved(chunk);
  const { source, state, free } = opened;
  // A typed run has all heads; a saved one may have some.
  let limited = state;
  const selected: State = { ...free, set: (change) => limited.set(change) };
  const frame = drawSaved(place, opened, selected);
  let meta: Meta = source.meta;
  let act: ((action: Action) => Promise<void>) | null = null;
  let stop = (): void => undefined;
  // A profile of the same model has no text to change.
  if (meta.model.name === modelName && meta.profile === null) {
    const show: Frame["show"] = (next, nextAct, ...rest) => {
      act = nextAct;
      if (next !== source) limited = free;
      frame.show(next, nextAct, ...rest);
      meta = next.meta;
      if (next !== source) shown(meta);
    };
    stop = typed({ source, frame: { ...frame, show }, state: selected });
  }
  return {
    frame,
    state: selected,
    meta: () => meta,
    type:
      act &&
      (async (text, text_pair) => {
        try {
          await act?.({ kind: "run", text, text_pair });
        } catch (error) {
          frame.report(error, "Typing is not possible here. ");
        }
      }),
    close() {
      stop();
      frame.dispose();
    },
  };
}

/** One fake source, and the context of a view around it. */

import { explain } from "../src/protocol/failure";
import type {
  Action,
  Meta,
  NdArray,
  Slice,
  SliceOptions,
  SliceRequest,
  Source,
} from "../src/protocol/types";
import type { Selection, State } from "../src/state/selection";
import { createState } from "../src/state/state";
import type { DrawView, ViewContext, ViewHandle } from "../src/views/contract";

export interface Fake {
  readonly context: ViewContext;
  readonly source: Source;
  readonly state: State;
  /** Questions in their order. */
  readonly asked: SliceRequest[];
  /** Failures that the reader is told. */
  readonly reports: string[];
  /** Words for screen readers. */
  readonly said: string[];
  readonly acts: Action[];
  /** Abort the context's signal. */
  stop(): void;
}

type Answer = (request: SliceRequest, options: SliceOptions) => Slice | Promise<Slice>;
interface Change extends Partial<Pick<Source, "live" | "precision" | "has">> {
  readonly arrays?: ReadonlyMap<string, NdArray>;
  readonly selection?: Partial<Selection>;
  /** A state that is there already. */
  readonly state?: State;
  /** Whether a kernel takes actions. */
  readonly acts?: boolean;
  readonly overlay?: ViewContext["overlay"];
}

/** `answer` throws what a source rejects with. */
export function fakeRun(meta: Meta, answer: Answer, change: Change = {}): Fake {
  const { arrays = new Map<string, NdArray>(), live = true, precision, has } = change;
  const asked: SliceRequest[] = [];
  const reports: string[] = [];
  const said: string[] = [];
  const acts: Action[] = [];
  const source: Source = {
    meta,
    arrays,
    live,
    ...(precision === undefined ? {} : { precision }),
    ...(has === undefined ? {} : { has }),
    async ask(request, options = {}) {
      asked.push(request);
      return answer(request, options);
    },
  };
  const state = change.state ?? createState(change.selection ?? {});
  const stopped = new AbortController();
  const context: ViewContext = {
    source,
    state,
    act: change.acts === true ? async (action) => void acts.push(action) : null,
    report: (error) => void reports.push(explain(error).message),
    announce: (message) => void said.push(message),
    signal: stopped.signal,
    matrix: { get: () => null, on: () => () => undefined },
    ...(change.overlay === undefined ? {} : { overlay: change.overlay }),
  };
  return { context, source, state, asked, reports, said, acts, stop: () => stopped.abort() };
}

/** Let promises and the answers behind them settle. */
export const settled = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 0));

/** Draw a view as its tab does: the context's signal is aborted before the view is disposed of. */
export function opened(
  draw: DrawView,
  element: HTMLElement,
  { stop }: Pick<Fake, "stop">,
  context: ViewContext,
): ViewHandle {
  const handle = draw(element, context);
  return {
    ...handle,
    dispose() {
      stop();
      handle.dispose();
    },
  };
}

/** A text of a profile, opened below it in a frame of its own. */

import type { Invoke } from "../protocol/comm/invoke";
import { KernelSource, readReply } from "../protocol/kernel";
import { readPack } from "../protocol/pack";
import { arrayOf } from "../protocol/required";
import type { Action, Meta } from "../protocol/types";
import type { State } from "../state/selection";
import { createState, fit } from "../state/state";
import { createFrame, type Frame } from "./frame";

interface Below {
  /** Element that holds the profile's frame. */
  readonly host: HTMLElement;
  /** Selection of the profile. */
  readonly state: State;
  readonly invoke: Invoke;
  /** Receives the text that is shown. */
  readonly shown: (meta: Meta) => void;
  readonly signal: AbortSignal;
}

/** Takes a profile's actions; each text replaces the one before. */
export function exampleBelow({ host, state, invoke, shown, signal }: Below) {
  let frame: Frame | null = null;
  return {
    async open(action: Action): Promise<void> {
      if (action.kind !== "open_example") return;
      const { index, query, key, layer, head } = action;
      const request = { kind: "example_paint", index, layer, head };
      const reply = readReply(...(await invoke("slice", request, { signal })));
      const pack = readPack(arrayOf(reply, "paint").data);
      const pair = query === null || key === null ? null : ([query, key] as const);
      const selection = createState({ layer, head, token: query, pair, theme: state.get().theme });
      selection.set(fit(selection.get(), pack.meta));
      frame?.dispose();
      frame = createFrame(selection);
      host.append(frame.element);
      frame.show(new KernelSource(pack, invoke, { address: { example: index } }), null);
      shown(pack.meta);
      frame.element.scrollIntoView({ block: "nearest" });
    },
    dispose: () => frame?.dispose(),
  };
}

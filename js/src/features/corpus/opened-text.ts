/** A text of a profile, opened below it in a frame of its own. */

import { createFrame, type Frame } from "../../frame/frame";
import { KernelSource, readReply } from "../../protocol/kernel";
import { readPack } from "../../protocol/pack";
import { arrayOf } from "../../protocol/required";
import type { Action } from "../../protocol/types";
import { createState, fit } from "../../state/state";
import type { WidgetContext } from "../../views/feature";

/** Opens texts of a profile; each replaces the one before. */
export function textBelow({ host, state, invoke, shown, signal }: WidgetContext) {
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

declare module "../../views/contract" {
  interface LazyCode {
    readonly textBelow: typeof textBelow;
  }
}

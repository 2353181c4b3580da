/** The panels of the difference, by the names of the views, and the one that only two runs have. */

import { VIEWS } from "../../../views";
import { attention } from "./attention";
import type { Panel, PanelContext } from "./contract";
import { heads } from "./heads";
import { pairOf } from "./pair";
import { patching } from "./patching";
import { predictions } from "./predictions";
import { sentences } from "./sentences";
import { states } from "./states";
import { task } from "./task";

const PANELS: Readonly<Record<string, Panel>> = {
  attention,
  heads,
  tree: pairOf("tree"),
  sentences,
  predictions,
  inside: states,
  task,
  why: pairOf("why"),
  patching,
};

export const PATCHING = "patching";

/** Label of a tab. */
export const labelOfPanel = (name: string): string =>
  name === PATCHING ? "Patching" : (VIEWS[name]?.label ?? name);

export const panelNamed = (name: string): Panel => PANELS[name] ?? attention;

/** Panels that two runs have something for. */
export function panelsOf({
  sources,
  compared,
}: Pick<PanelContext, "sources" | "compared">): string[] {
  const metas = [sources.a.meta, sources.b.meta];
  return Object.keys(PANELS).filter((name) => {
    if (name === PATCHING) return compared.reasons.patching === undefined;
    if (name === "inside") return true;
    return metas.every(
      (meta) =>
        VIEWS[name]?.available(meta) === true && meta.snapshot?.views.includes(name) !== false,
    );
  });
}

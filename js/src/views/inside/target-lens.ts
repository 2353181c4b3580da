/** Below the map: the target by layer, that of Why or the first word that the text proposes. */

import { h } from "../../draw/dom";
import { lensPanel } from "../../draw/lens/lens";
import { tokenLabel } from "../../figures/format";
import { schemeOf } from "../../figures/names";
import { askLens, askTargets } from "../../figures/targets";
import { itemAt } from "../../protocol/required";
import type { ViewContext } from "../contract";

export function targetLens({ source, state, signal }: ViewContext): HTMLElement {
  const element = h("section", {
    class: "aw-inside-lens",
    "data-aw-part": "inside-lens",
    hidden: true,
  });
  const { text, surface } = source.meta.tokens;
  const scheme = schemeOf(source.meta.tokens);
  const placeOf = (at: number | undefined): string =>
    at === undefined ? "" : `${tokenLabel(itemAt(text, at), scheme, surface[at]).text} ${at}`;
  let asking: AbortController | null = null;

  async function show(): Promise<void> {
    asking?.abort();
    asking = new AbortController();
    const wanted = AbortSignal.any([signal, asking.signal]);
    try {
      const { layer, target: chosen } = state.get();
      const target =
        chosen ?? (await askTargets(source, wanted)).find(({ of }) => of === "token")?.target;
      const lens = target && (await askLens(source, target, wanted));
      if (wanted.aborted) return;
      element.hidden = lens === undefined;
      if (lens) element.replaceChildren(lensPanel(lens, placeOf(target?.position), layer));
    } catch {
      // A class, a head that cannot be taken by itself, a page that did not record it: nothing of the map is wrong.
      if (!wanted.aborted) element.hidden = true;
    }
  }

  state.on(["target", "layer"], () => void show(), signal);
  void show();
  return element;
}

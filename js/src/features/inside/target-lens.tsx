/** Below the map, folded: the focus token by layer, as the chosen target there, else the text's token that the head predicts there. */

import { schemeOf, tokenName } from "../../figures/names";
import { askLens, type Lens } from "../../figures/targets";
import { asking } from "../../protocol/asking";
import type { Target } from "../../protocol/types";
import { Disclosure } from "../../ui/disclosure";
import { LensPanel } from "../../ui/lens";
import type { ViewContext } from "../../views/contract";

interface TargetLens {
  readonly lens: Lens;
  readonly place: string;
  readonly layer: number;
}

/** A component that follows the target, the layer and the focus token, which `focus` reads. */
export function createTargetLens(
  { source, state, signal: until }: ViewContext,
  focus: () => number,
) {
  const { tokens } = source.meta;
  const { id, special } = tokens;
  const next = source.meta.model.predicts === "next";
  const scheme = schemeOf(tokens);
  const placeOf = (at: number): string => `${tokenName(tokens, at, scheme)} ${at}`;
  const { answer, failure, ask } = asking<TargetLens | null>(until);

  /** Null for a special token, and where the page has no answer. */
  function targetAt(token: number): Target | null {
    const { target } = state.get();
    if (target !== null && target.position === token) return target;
    const answered = id[next ? token + 1 : token];
    if (special[token] === true || answered === undefined) return null;
    const own = { position: token, token: answered };
    const there = source.has?.({ kind: "logit_lens", target: own }) ?? source.live;
    return there ? own : null;
  }

  const load = (): Promise<void> =>
    ask(async (signal) => {
      const { layer } = state.get();
      const token = focus();
      const target = targetAt(token);
      if (target === null) return null;
      return { lens: await askLens(source, target, signal), place: placeOf(token), layer };
    });
  state.on(["target", "layer", "token"], () => void load(), until);
  void load();

  return () => {
    // A class, a head that cannot be applied to a layer, or a page without the answer: there is no lens.
    const shown = failure.value === null ? answer.value : null;
    return (
      <section class="aw-inside-lens" data-aw-part="inside-lens" hidden={shown === null}>
        {shown !== null && (
          <Disclosure
            summary={
              next
                ? `“${shown.lens.word}” after ${shown.place}, layer by layer (logit lens)`
                : `${shown.lens.word}, layer by layer (logit lens)`
            }
            label="Layer by layer"
          >
            {() => <LensPanel {...shown} next={next} />}
          </Disclosure>
        )}
      </section>
    );
  };
}

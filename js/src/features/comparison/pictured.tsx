/** Two runs of inputs that are no texts: their pictures, with what the chosen token looks at in each. */

import { computed, type ReadonlySignal, signal } from "@preact/signals-core";
import { matrixName, schemeOf, tokenName } from "../../figures/names";
import { asking } from "../../protocol/asking";
import { arrayOf, itemAt } from "../../protocol/required";
import type { HeadIndex, Source } from "../../protocol/types";
import type { Selection } from "../../state/selection";
import { watch } from "../../ui/mount";
import { type DrawnInput, lazyCode } from "../../views/contract";
import { type Compared, partnerToken, type Side } from "./data";
import type { PanelContext } from "./panels/contract";

interface Row {
  readonly place: string;
  readonly values: ArrayLike<number>;
}

/** The row of a token in a head; the head of B is that of its own selection. */
async function askRow(
  source: Source,
  { layer, head }: { readonly layer: number; readonly head: HeadIndex },
  token: number,
  options: { readonly signal: AbortSignal },
): Promise<Row> {
  const rows = [token, token + 1] as const;
  const slice = await source.ask({ kind: "weights", layer, head, rows }, options);
  const { tokens } = source.meta;
  const name = tokenName(tokens, token, schemeOf(tokens));
  return {
    place: `${name} looks at · ${matrixName({ layer, head, quantity: "weights" })}`,
    values: arrayOf(slice, "weights").data,
  };
}

/** Null where one of the two is a text, or no feature draws it. */
export function createPictures(
  host: Element,
  { sources, states, compared }: Omit<PanelContext, "signal" | "give">,
  selections: Readonly<Record<Side, ReadonlySignal<Selection>>>,
  until: AbortSignal,
) {
  if (!sources.a.meta.wordless || !sources.b.meta.wordless) return null;
  /** A token that is pointed at, of either run. */
  const pointed = signal<{ readonly side: Side; readonly token: number } | null>(null);
  const drawn = (side: Side): DrawnInput | null => {
    const source = sources[side];
    const { tokens, note = "" } = source.meta;
    const token = computed(() => {
      const at = pointed.value;
      if (at === null) return selections[side].value.token;
      return at.side === side ? at.token : partnerOf(compared, at);
    });
    const rows = asking<Row>(until);
    watch(() => {
      const { layer, head } = selections[side].value;
      const of = token.value ?? 0;
      void rows.ask((signal) => askRow(source, { layer, head }, of, { signal }));
    }, until);
    return (
      lazyCode.peek()?.drawInput?.({
        ...{ meta: source.meta, names: tokens.text, special: tokens.special, host, signal: until },
        title: `${side.toUpperCase()}: ${note}`,
        ask: (kind, signal) => source.ask({ kind } as Parameters<Source["ask"]>[0], { signal }),
        painted: computed(() => {
          const row = rows.answer.value;
          return row && { values: row.values, caption: `What ${row.place}`, signed: false };
        }),
        at: token,
        pinned: computed(() => pointed.value === null && selections[side].value.token !== null),
        outlined: signal([]),
        point(at) {
          pointed.value = at === null ? null : { side, token: at };
        },
        pin(at) {
          const now = states[side].get().token;
          states[side].set({ token: now === at ? null : at });
        },
      }) ?? null
    );
  };
  const both = { a: drawn("a"), b: drawn("b") };
  if (both.a === null || both.b === null) return null;
  const sides = (["a", "b"] as const).map((side) => [side, itemAt([both[side]], 0)] as const);
  return function Pictures() {
    return (
      <div class="aw-compare-pictures">
        {sides.map(
          ([side, input]) =>
            input !== null && (
              <figure key={side} data-side={side}>
                <figcaption>
                  <b>{side.toUpperCase()}</b> <bdi class="aw-muted">{sources[side].meta.note}</bdi>
                </figcaption>
                <input.View />
              </figure>
            ),
        )}
      </div>
    );
  };
}

function partnerOf(compared: Compared, at: { readonly side: Side; readonly token: number }) {
  return partnerToken(compared, at.token, at.side === "a" ? "b" : "a");
}

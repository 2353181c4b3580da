/** Attention between sentences, B − A, where both texts have a sentence; then that of each run. */

import { formatNumber, shorten } from "../../../figures/format";
import { createSaidCells } from "../../../marks/cells";
import { asking } from "../../../protocol/asking";
import { arrayOf, itemAt } from "../../../protocol/required";
import { largestAbsolute } from "../../../protocol/ties";
import type { Slice } from "../../../protocol/types";
import { Answered } from "../../../ui/answered";
import { modeSignal, mount } from "../../../ui/mount";
import { signed } from "../../../ui/signs";
import type { Compared } from "../data";
import { ChangeLegend } from "../figures";
import { finite, Note, type Panel } from "./contract";
import { pairOf } from "./pair";

const SHAPE = { rowHeight: null, cellMost: 56, heightMost: 400 } as const;
/** Letters of a sentence next to its row. */
const LONGEST = 26;

/** Sentences of A and B that share the most matched tokens, each in one pair. */
export function matchSentences(
  tokens: Compared["tokens"],
  a: readonly (readonly number[])[],
  b: readonly (readonly number[])[],
): [number, number][] {
  const sentenceOf = (all: typeof a, position: number): number =>
    all.findIndex((positions) => positions.includes(position));
  const shared = new Map<string, { pair: [number, number]; count: number }>();
  for (const [i, j] of tokens) {
    const pair: [number, number] = [sentenceOf(a, i), sentenceOf(b, j)];
    if (pair.includes(-1)) continue;
    const entry = shared.get(String(pair)) ?? { pair, count: 0 };
    entry.count++;
    shared.set(String(pair), entry);
  }
  const pairs: [number, number][] = [];
  for (const { pair } of [...shared.values()].sort((x, y) => y.count - x.count)) {
    if (!pairs.some(([x, y]) => x === pair[0] || y === pair[1])) pairs.push(pair);
  }
  return pairs.sort((x, y) => x[0] - y[0]);
}

export const sentences: Panel = (element, context) => {
  const { compared, sources, give, signal: until } = context;
  const mode = modeSignal(element, until);
  const asked = asking<ReturnType<typeof changesOf>>(until);
  let found: ReturnType<typeof changesOf> | null = null;
  const cells = createSaidCells(
    { shape: SHAPE, part: "sentence-map", pick: () => undefined },
    (row, column, value) => {
      const { pairs, keys, at } = found as ReturnType<typeof changesOf>;
      const [from, to] = [itemAt(pairs, row)[0], itemAt(keys, column)[0]];
      const [a, b] = [formatNumber(at(0, row, column)), formatNumber(at(1, row, column))];
      return { text: `S${from} looks at S${to}: A ${a}, B ${b}, B − A ${signed(value, 3)}` };
    },
    until,
  );
  const ask = async (): Promise<void> => {
    await asked.ask(async (signal) => {
      const request = { kind: "sentences", aggregation: "mass" } as const;
      const both = [sources.a, sources.b].map((source) => source.ask(request, { signal }));
      return changesOf(compared, await Promise.all(both));
    });
    found = asked.answer.peek();
    if (found === null || !someOf(found)) return;
    const { pairs, keys, texts, keyTexts, values, at } = found;
    cells.show({
      values,
      rowLabels: pairs.map(([i]) => `S${i} ${shorten(texts[i] ?? "", LONGEST)}`),
      columnLabels: keys.map(([i]) => `S${i}`),
      name: "Mass between sentences, B minus A",
      signed: true,
    });
    const name = (k: number): string => texts[itemAt(pairs, k)[0]] ?? "";
    const keyName = (k: number): string => keyTexts[itemAt(keys, k)[0]] ?? "";
    give(() => ({
      columns: ["sentence", "to", "a", "b", "difference"],
      rows: Array.from(values, (value, k) => {
        const [i, j] = [Math.floor(k / keys.length), k % keys.length];
        return [name(i), keyName(j), ...[at(0, i, j), at(1, i, j), value].map(finite)];
      }),
    }));
  };
  const place = document.createElement("div");
  element.append(place);
  function Change() {
    const { value } = asked.answer;
    const some = value !== null && someOf(value);
    return (
      <>
        <div class="aw-panel-head">
          <h3 class="aw-title">Mass between sentences, all layers and heads, B − A</h3>
          {some && <ChangeLegend top={largestAbsolute(value.values)} mode={mode.value} />}
        </div>
        {some ? (
          [cells.Reading({}), cells.Map()]
        ) : (
          <Note
            text={
              compared.keys
                ? "Both sources and both outputs need a sentence with a partner, and one of them two."
                : "Both texts need two sentences with a partner."
            }
          />
        )}
      </>
    );
  }
  mount(
    place,
    () => (
      <section data-aw-part="sentence-change" aria-label="Difference">
        <Answered asked={asked} class="" waiting="Comparing the sentences …" again={ask}>
          {Change()}
        </Answered>
      </section>
    ),
    until,
  );
  pairOf("sentences")(element, context);
  void ask();
};

/** True if there is more than one cell to compare. */
const someOf = ({ pairs, keys }: Pick<ReturnType<typeof changesOf>, "pairs" | "keys">): boolean =>
  pairs.length * keys.length >= 2;

/** Changes between sentences that have a partner, `[pairs, keys]`; keys are other sentences in cross-attention. */
function changesOf(compared: Compared, slices: readonly Slice[]) {
  const [a, b] = [itemAt(slices, 0).data, itemAt(slices, 1).data];
  const match = (matched: Compared["tokens"], column: "tokens" | "key_tokens") =>
    matchSentences(matched, a[column] as number[][], b[column] as number[][]);
  const texts = a.texts as readonly string[];
  const keyTexts = (a.key_texts ?? texts) as readonly string[];
  const pairs = match(compared.tokens, "tokens");
  const keys = compared.keys ? match(compared.keys, "key_tokens") : pairs;
  const matrices = slices.map((slice) => arrayOf(slice, "matrix"));
  const at = (side: 0 | 1, i: number, j: number): number => {
    const { data, shape } = itemAt(matrices, side);
    return itemAt(data, itemAt(pairs, i)[side] * itemAt(shape, 1) + itemAt(keys, j)[side]);
  };
  const values = Float32Array.from({ length: pairs.length * keys.length }, (_, k) => {
    const [i, j] = [Math.floor(k / keys.length), k % keys.length];
    return at(1, i, j) - at(0, i, j);
  });
  return { pairs, keys, texts, keyTexts, values, at };
}

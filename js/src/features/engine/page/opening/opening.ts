/** The link that a typed text opens on: the rule of attn_widget/analysis/opening.py, which gives the reasons, in the page. */

import { itemAt } from "../../../../protocol/required";
import { firstLargest, TIE } from "../../../../protocol/ties";
import type { Meta } from "../../../../protocol/types";
import { type Unit, wordsOf } from "./words";

const ROWS = 64;
const PRONOUN_ROWS = 24;
const [CHANCE, MORE] = [2, 1.01] as const;
const COLUMN = 3;
const OFFSET = 0.4;
const FEW_ROWS = 2;
const OF_WORDS = 0.4;
const WORTH = { mask: 2.5, refers: 2, pronoun: 0.6, subject: 2.2, verb: 1.3 } as const;
const TO_PRONOUN = 0.5;
const OF_NEIGHBORS = 0.5;
const ACROSS = 0.85;
const OF_LAST = 0.5;
const [TOLD, PIECES, WEAK, LAST] = [4, 3, 2, 1] as const;

export interface Opening {
  readonly layer: number;
  readonly head: number;
  /** The query of the link; null where there is none. */
  readonly token: number | null;
  /** Its key. */
  readonly key: number | null;
  /** True if the link is read with words merged. */
  readonly words: boolean;
}

/** At most `count` of the items, the first and the last among them. */
function evenly(items: readonly number[], count: number): number[] {
  if (items.length <= count) return [...items];
  return Array.from({ length: count }, (_, i) =>
    itemAt(items, Math.floor((i * (items.length - 1)) / Math.max(1, count - 1))),
  );
}

/** Words whose rows are read, in order: masks, pronouns and then others, each evenly over the text. */
function rowsToRead(units: readonly Unit[]): number[] {
  const of = (...kinds: Unit["kind"][]): number[] =>
    units.flatMap(({ kind }, u) => (kinds.includes(kind) ? [u] : []));
  const words = of("function", "person", "content", "pronoun", "copula", "mask");
  if (words.length <= ROWS) return words;
  const chosen = evenly(of("mask"), ROWS);
  chosen.push(...evenly(of("pronoun"), Math.min(PRONOUN_ROWS, ROWS - chosen.length)));
  const rest = words.filter((u) => !chosen.includes(u));
  return [...chosen, ...evenly(rest, ROWS - chosen.length)].sort((a, b) => a - b);
}

/** Factor of the link of two units, and its level; `together`: no mark stands between them; `next`: no verb does. */
function pair(
  query: Unit,
  key: Unit,
  back: boolean,
  together: boolean,
  next: boolean,
): { worth: number; level: 0 | 1 | 2 } {
  const says = (kind: Unit["kind"]): boolean =>
    kind === "content" || kind === "pronoun" || kind === "mask";
  const some = (kind: Unit["kind"]): boolean => says(kind) || kind === "person";
  const full = (kind: Unit["kind"]): boolean => kind === "content" || kind === "mask";
  const { kind, role } = query;
  const noun = key.role === "noun";
  const refers = kind === "pronoun" && back && noun;
  const subject = kind === "copula" && back && noun && together;
  const relates =
    (noun && (role === "verb" || (role === "predicate" && back))) ||
    (role === "noun" && (key.role === "verb" || (key.role === "predicate" && !back)));
  const verb = relates && together && next;
  const told = full(kind) || refers || subject || (kind === "pronoun" && key.role === "verb");
  const weak =
    (some(kind) || kind === "copula") && some(key.kind) && (full(kind) || full(key.kind));
  let worth = 1;
  if (kind === "mask") worth = WORTH.mask;
  else if (refers) worth = WORTH.refers;
  else if (kind === "pronoun") worth = WORTH.pronoun;
  else if (subject) worth = WORTH.subject;
  else if (verb) worth = WORTH.verb;
  if (key.kind === "pronoun") worth *= TO_PRONOUN;
  if (kind === "content" && key.kind === "content" && !together) worth *= ACROSS;
  const level = query.name === key.name ? 0 : told && says(key.kind) ? 2 : weak ? 1 : 0;
  return { worth, level };
}

/** The strongest key of each row in the heads of one layer, `[H, r]`, a unit; its weight; and what the layer's heads give. */
interface Strongest {
  readonly keys: Int32Array;
  readonly weights: Float64Array;
  /** Sum and largest of the layer's heads at that link. */
  readonly total: Float64Array;
  readonly most: Float64Array;
  /** Mean attention of each head to the other words. */
  readonly share: Float64Array;
}

/** A function that gives the strongest keys of a layer; all calls share its array of weights. */
function layerReader(
  attention: Float32Array,
  heads: number,
  n: number,
  units: readonly Unit[],
  rows: readonly number[],
): (layer: number) => Strongest {
  const [size, count] = [units.length, rows.length];
  const pieces = units.map((unit) => unit.pieces);
  const whole = pieces.every(({ length }) => length === 1);
  const first = Int32Array.from(pieces, (own) => itemAt(own, 0));

  /** `[head][row][unit]` */
  const weights = new Float32Array(heads * count * size);

  // No iterators here: this runs over every cell of every head at every key.
  return (layer) => {
    const keys = new Int32Array(heads * count);
    const largest = new Float64Array(heads * count);
    const share = new Float64Array(heads);
    for (let head = 0; head < heads; head++) {
      const start = (layer * heads + head) * n * n;
      let shared = 0;
      for (let r = 0; r < count; r++) {
        const row = rows[r] as number;
        const queries = pieces[row] as readonly number[];
        const from = (head * count + r) * size;
        const line = start + (first[row] as number) * n;
        let most = 0;
        for (let u = 0; u < size; u++) {
          let weight = 0;
          if (u !== row) {
            if (whole) weight = attention[line + (first[u] as number)] as number;
            else {
              for (const query of queries)
                for (const key of pieces[u] as readonly number[])
                  weight += attention[start + query * n + key] as number;
              weight = Math.fround(weight / queries.length);
            }
          }
          weights[from + u] = weight;
          shared += weight / count;
          if (weight > most) most = weight;
        }
        let best = 0;
        while ((weights[from + best] as number) < most * (1 - TIE)) best++;
        keys[head * count + r] = best;
        largest[head * count + r] = most;
      }
      share[head] = shared;
    }
    const total = new Float64Array(heads * count);
    const most = new Float64Array(heads * count);
    for (let i = 0; i < keys.length; i++) {
      const cell = (i % count) * size + (keys[i] as number);
      let [sum, top] = [0, 0];
      for (let head = 0; head < heads; head++) {
        const weight = weights[head * count * size + cell] as number;
        sum += weight;
        if (weight > top) top = weight;
      }
      total[i] = sum;
      most[i] = top;
    }
    return { keys, weights: largest, total, most, share };
  };
}

/**
 * The opening of a text.
 *
 * @param attention `[L, H, n, n]`
 */
export function openingOf(
  attention: Float32Array,
  [layers, heads]: readonly [number, number],
  tokens: Meta["tokens"],
): Opening {
  const units = wordsOf(tokens);
  const rows = rowsToRead(units);
  const [n, size, count] = [tokens.id.length, units.length, rows.length];
  const strongest = layerReader(attention, heads, n, units, rows);
  const found = Array.from({ length: layers }, (_, layer) => strongest(layer));
  /** Heads whose strongest key this is. */
  const known = new Float64Array(count * size);
  for (const { keys } of found)
    keys.forEach((key, i) => {
      const at = (i % count) * size + key;
      known[at] = (known[at] as number) + 1;
    });
  let marks = 0;
  const clauses = units.map(({ kind }) => {
    if (kind === "outside") marks++;
    return marks;
  });
  const pieces = units.reduce((sum, { pieces }) => sum + pieces.length, 0);
  const verbs: number[] = [];
  for (const { role } of units) verbs.push((verbs.at(-1) ?? 0) + (role === "verb" ? 1 : 0));
  const pairs = new Map<number, ReturnType<typeof pair>>();
  const read = new Set(rows);
  const levels = new Uint8Array(layers * heads * count);
  const values = new Float64Array(layers * heads * count);
  for (const [layer, { keys, weights, total, most, share }] of found.entries()) {
    for (let head = 0; head < heads; head++) {
      const shown = Math.min((share[head] as number) / OF_WORDS, 1);
      const inColumn = new Int32Array(size);
      const atOffset = new Int32Array(2 * size);
      for (const [r, row] of rows.entries()) {
        const key = keys[head * count + r] as number;
        inColumn[key] = (inColumn[key] as number) + 1;
        atOffset[key - row + size] = (atOffset[key - row + size] as number) + 1;
      }
      for (const [r, row] of rows.entries()) {
        const i = head * count + r;
        const key = keys[i] as number;
        const cell = r * size + key;
        let two = pairs.get(cell);
        if (two === undefined) {
          two = pair(
            itemAt(units, row),
            itemAt(units, key),
            key < row,
            clauses[row] === clauses[key],
            (verbs[Math.max(row, key) - 1] ?? 0) <= itemAt(verbs, Math.min(row, key)),
          );
          pairs.set(cell, two);
        }
        const weight = weights[i] as number;
        const even = itemAt(units, key).pieces.length / pieces;
        const over = weight / even / (1 - TIE);
        if (two.level === 0 || over < MORE) continue;
        const seenBy = count - (read.has(key) ? 1 : 0);
        const [column, offset] = [inColumn[key] as number, atOffset[key - row + size] as number];
        const free =
          (column <= FEW_ROWS || column * COLUMN <= seenBy) &&
          (offset <= FEW_ROWS || offset <= OFFSET * count);
        const far = Math.abs(row - key) > 1;
        const alone = free && over >= CHANCE && weight >= (most[i] as number) * (1 - TIE);
        const single = [row, key].every((u) => itemAt(units, u).pieces.length === 1);
        const told = two.level === 2 && alone && far;
        const place = layer * heads * count + i;
        levels[place] = told ? (single ? TOLD : PIECES) : free && single ? WEAK : LAST;
        const rare =
          itemAt(units, row).kind === "pronoun"
            ? 1
            : 1 - (known[cell] as number) / (layers * heads);
        const beyond = weight - ((total[i] as number) - weight) / Math.max(1, heads - 1);
        const early = size > ROWS ? 1 - (OF_LAST * row) / size : 1;
        values[place] = beyond * two.worth * rare * (far ? 1 : OF_NEIGHBORS) * shown * early;
      }
    }
  }
  const top = levels.reduce((a, b) => Math.max(a, b), 0);
  if (top === 0) return { layer: 0, head: 0, token: null, key: null, words: false };
  const best = firstLargest(
    values.map((value, i) => (levels[i] === top ? value : Number.NEGATIVE_INFINITY)),
  );
  const place = Math.floor(best / count);
  const [layer, head] = [Math.floor(place / heads), place % heads];
  const query = itemAt(units, itemAt(rows, best % count)).pieces;
  const target = found[layer]?.keys[best % (heads * count)] as number;
  const key = itemAt(units, target).pieces;
  const cells = query.flatMap((i) => key.map((j) => attention[(place * n + i) * n + j] as number));
  const at = firstLargest(cells);
  return {
    layer,
    head,
    token: itemAt(query, Math.floor(at / key.length)),
    key: itemAt(key, at % key.length),
    words: cells.length > 1,
  };
}

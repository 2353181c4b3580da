/**
 * Inputs that are no texts: what a feature draws in place of their words, and the score in terms of its places.
 *
 * `data-aw-part`: similarity-drawn, place.
 */

import { computed } from "@preact/signals-core";
import { formatNumber } from "../../figures/format";
import { itemAt } from "../../protocol/required";
import { Button } from "../../ui/controls";
import { quoted } from "../../ui/sentence";
import { type DrawnInput, type DrawnPlace, type InputToDraw, lazyCode } from "../../views/contract";
import {
  type Matrix,
  type Pair,
  type Shown,
  SIDES,
  type SideName,
  type Similar,
  type Term,
  wordlessOf,
} from "./data";
import type { SimilarityModel } from "./model";
import { other, shadesOf, type UnitOfText } from "./texts";

/** Drawing of each side; null of a text. */
export type Drawings = Readonly<Record<SideName, DrawnInput | null>>;

/** Names of both sides, where neither is a text. */
const ORDINAL: Readonly<Record<SideName, string>> = { a: "the first", b: "the second" };

const NONE: Drawings = { a: null, b: null };

/** Sums of what the units of a side add with some units of the other side. */
function addedUp(now: Shown, side: SideName, units: readonly number[]): Float64Array {
  const sums = new Float64Array(now[side].names.length);
  for (const unit of units)
    shadesOf(now, side, { side: other(side), unit }).forEach((value, i) => {
      sums[i] = itemAt(sums, i) + value;
    });
  return sums;
}

/** Contributions of the tokens of a side: with what is pointed at on the other side, or with all of it. */
function paintedOf(
  now: Shown,
  side: SideName,
  at: UnitOfText | null,
  row: ArrayLike<number> | null,
  place: Term["place"] | null,
): NonNullable<InputToDraw["painted"]["value"]> {
  const values = side === "a" ? now.valuesA : now.valuesB;
  const paired = at !== null && at.side !== side;
  const with_ = paired ? (now.matrix === null ? row : shadesOf(now, side, at)) : null;
  if (at === null && place != null && place.side !== side && now.matrix !== null)
    return {
      values: addedUp(now, side, place.tokens),
      signed: true,
      caption: `What each patch adds with the ${place.name} of ${ORDINAL[place.side]} picture`,
    };
  if (at === null || with_ === null)
    return { values, caption: "What each patch adds to the score", signed: true };
  const name = itemAt(now[at.side].names, at.unit);
  const wordless = now.similar[at.side].meta !== undefined;
  return {
    values: with_,
    signed: true,
    caption: `What each patch adds with ${wordless ? `${name} of ${ORDINAL[at.side]} picture` : `“${name}”`}`,
  };
}

/** The drawings of the answer that is shown; each is made once. */
export function createDrawings(host: HTMLElement, model: SimilarityModel) {
  const { similar, shown, pointAt, pinned, row, outlined, point, pin, ranking, context } = model;
  const { source, signal: until } = context;
  const made = new Map<string, DrawnInput | null>();

  function draw(side: SideName, found: Similar, passage: number | undefined): DrawnInput | null {
    const { meta, title = "", names, special } = found[side];
    if (meta?.wordless !== true) return null;
    const address = passage === undefined ? {} : { passage };
    const unit = (token: number | null): UnitOfText | null =>
      token === null ? null : { side, unit: token };
    const drawn = lazyCode.peek()?.drawInput?.({
      ...{ meta, title, names, special, host, signal: until },
      ask: (of, signal) =>
        source.ask({ kind: "similar_drawing", side, of, ...address }, { signal }),
      painted: computed(
        () =>
          shown.value &&
          paintedOf(
            ...([shown.value, side, pointAt.value] as const),
            row.value?.values ?? null,
            outlined.value,
          ),
      ),
      at: computed(() => (pointAt.value?.side === side ? pointAt.value.unit : null)),
      pinned: computed(() => pinned.value?.side === side),
      outlined: computed(() => (outlined.value?.side === side ? outlined.value.tokens : [])),
      point: (token) => point(unit(token)),
      pin: (token) => pin(unit(token)),
    });
    return drawn ?? null;
  }
  return computed((): Drawings => {
    const answer = similar.answer.value;
    if (answer === null) return NONE;
    const { found, at } = answer;
    const of = (side: SideName): DrawnInput | null => {
      // The query of a ranking is the same for all passages.
      const passage = side === "a" ? ranking?.passages[0]?.index : at.passage;
      const key = `${side} ${passage}`;
      if (!made.has(key)) made.set(key, draw(side, found, passage));
      return made.get(key) ?? null;
    };
    return { a: of("a"), b: of("b") };
  });
}

/** The side that is no text, or the first of both; null of two texts. */
export const drawnSide = (drawings: Drawings): SideName | null =>
  SIDES.find((side) => drawings[side] !== null) ?? null;

/** The pictures, each below its name; the words of a text stand next to them. */
export function Pictures({
  similar,
  drawings,
}: {
  readonly similar: Similar;
  readonly drawings: Drawings;
}) {
  return (
    <>
      {SIDES.map((side) => {
        const drawn = drawings[side];
        return (
          drawn !== null && (
            <figure
              key={side}
              class="aw-sim-drawn"
              data-aw-part="similarity-drawn"
              data-side={side}
            >
              <figcaption class="aw-muted aw-small">
                <bdi>{similar[side].title}</bdi>
              </figcaption>
              <drawn.View />
            </figure>
          )
        );
      })}
    </>
  );
}

const sumOver = (values: ArrayLike<number>, tokens: readonly number[]): number =>
  tokens.reduce((sum, token) => sum + (values[token] ?? 0), 0);

/** Sums over the units of the other side that are not special, one for each unit of `side`. */
export function sumsOf({ a, b }: Shown, { values }: Matrix, side: SideName): Float64Array {
  const sums = new Float64Array(side === "a" ? a.names.length : b.names.length);
  for (let i = 0; i < a.names.length; i++) {
    for (let j = 0; j < b.names.length; j++) {
      if (a.special[i] || b.special[j]) continue;
      const at = side === "a" ? i : j;
      sums[at] = itemAt(sums, at) + itemAt(values, i * b.names.length + j);
    }
  }
  return sums;
}

/** Contributions of a unit with the other side but for some pairs: with all others that are not special, with the special ones, and with the biases. */
export function restOf(
  now: Shown,
  { side, unit }: UnitOfText,
  but: readonly Pair[],
): readonly (readonly [name: string, value: number])[] {
  const { matrix, similar } = now;
  if (matrix === null) return [];
  const across = other(side);
  const { special } = now[across];
  const values = shadesOf(now, across, { side, unit });
  const own = values.reduce((sum, value, i) => (special[i] ? sum : sum + value), 0);
  const specials = values.reduce((sum, value) => sum + value, 0) - own;
  const left = own - but.reduce((sum, { value }) => sum + value, 0);
  const units = special.filter((each) => !each).length;
  const plural = similar[across].meta === undefined ? "words" : "patches";
  const biases = side === "a" ? matrix.biasesA : matrix.biasesB;
  return [
    ...(but.length === 0
      ? [[`all ${plural}`, left] as const]
      : units > but.length
        ? [[`other ${plural}`, left] as const]
        : []),
    ...(special.includes(true) ? [["special tokens", specials] as const] : []),
    ...(matrix.pairs.kind === "input" ? [["biases", itemAt(biases, unit)] as const] : []),
  ];
}

/** A word and the place that it adds most with, or two places; without the matrix one place. */
export interface Strongest {
  readonly word: { readonly side: SideName; readonly unit: number } | null;
  readonly places: readonly { readonly side: SideName; readonly place: DrawnPlace }[];
  readonly value: number;
}

export function strongestOf(now: Shown, drawings: Drawings): Strongest | null {
  const side = drawnSide(drawings);
  const drawn = side && drawings[side];
  if (side === null || drawn === null) return null;
  const { matrix } = now;
  if (matrix === null) {
    const values = side === "a" ? now.valuesA : now.valuesB;
    const place = drawn.strongest(values);
    return place && { word: null, places: [{ side, place }], value: sumOver(values, place.tokens) };
  }
  const across = other(side);
  const second = drawings[across];
  if (second !== null) {
    const first = drawn.strongest(sumsOf(now, matrix, side));
    const values = first && addedUp(now, across, first.tokens);
    const place = values && second.strongest(values);
    if (first === null || values === null || place === null) return null;
    const places = [
      { side, place: first },
      { side: across, place },
    ];
    return { word: null, places, value: sumOver(values, place.tokens) };
  }
  let best: Strongest | null = null;
  now[across].names.forEach((_, unit) => {
    if (now[across].special[unit]) return;
    const values = addedUp(now, side, [unit]);
    const place = drawn.strongest(values);
    const value = place === null ? 0 : sumOver(values, place.tokens);
    if (place !== null && Math.abs(value) > Math.abs(best?.value ?? 0))
      best = { word: { side: across, unit }, places: [{ side, place }], value };
  });
  return best;
}

/** **on** and the **patches around r7 c10** add 0.031 to the score of 0.219 */
export function StrongestPlace({
  now,
  strongest: { word, places, value },
  model: { outlined, point },
}: {
  readonly now: Shown;
  readonly strongest: Strongest;
  readonly model: Pick<SimilarityModel, "outlined" | "point">;
}) {
  const several = places.length > 1;
  const verb = value < 0 ? "take" : "add";
  return (
    <>
      {word !== null && (
        <>
          <em dir="auto">{quoted(itemAt(now[word.side].names, word.unit))}</em>
          {" and the "}
        </>
      )}
      {places.map(({ side, place }, i) => {
        const show = (): void => {
          outlined.value = { side, ...place };
          if (word !== null) point(word);
        };
        const hide = (): void => {
          outlined.value = null;
          if (word !== null) point(null);
        };
        return (
          <span key={side}>
            {i > 0 ? " and the " : word === null && "The "}
            <Button
              class="aw-flat aw-focus-word"
              part="place"
              title="Shows the place in the picture"
              onPointerEnter={show}
              onPointerLeave={hide}
              onFocus={show}
              onBlur={hide}
            >
              <b>{place.name}</b>
            </Button>
            {several && ` of ${ORDINAL[side]} picture`}
          </span>
        );
      })}
      {` ${several ? "together " : word === null ? "alone " : ""}${verb} ${formatNumber(Math.abs(value))} ${value < 0 ? "from" : "to"} the score of ${formatNumber(now.similar.score)}`}
    </>
  );
}

/**
 * The score by words where one side has them, else by the areas of the first picture, each with all of the other side; it closes.
 * The numbers are those of the words and the patches.
 */
export function placedTerms(now: Shown, drawings: Drawings, count: number): readonly Term[] {
  const side = drawnSide(drawings);
  const drawn = side && drawings[side];
  if (side === null || drawn === null) return [];
  const by = wordlessOf(now.similar).length === 1 ? other(side) : side;
  const values = by === "a" ? now.valuesA : now.valuesB;
  const { names, special } = now[by];
  const specials = special.flatMap((each, i) => (each ? [i] : []));
  const rest: readonly Term[] = [
    { name: "special tokens", value: sumOver(values, specials) },
    { name: "biases", value: now.similar[by].bias },
  ];
  if (by === side) {
    const areas = drawn.areas.map(({ name, tokens }) => ({
      ...{ name, place: { side, tokens, name }, value: sumOver(values, tokens) },
    }));
    return [...areas, ...rest];
  }
  const words = names.flatMap((name, unit) =>
    special[unit] ? [] : [{ name, [by]: unit, value: itemAt(values, unit) }],
  );
  words.sort((word, next) => Math.abs(next.value) - Math.abs(word.value));
  const left = words.slice(count);
  const others = {
    name: `${left.length} other ${left.length === 1 ? "word" : "words"}`,
    value: left.reduce((sum, { value }) => sum + value, 0),
  };
  return [...words.slice(0, count), ...(left.length > 0 ? [others] : []), ...rest];
}

/** The two texts, one above the other: every word shaded by its part of the score, with threads to its partners. */

import type { ReadonlySignal, Signal } from "@preact/signals-core";
import { inkOn, type Mode, ramp } from "../../draw/color/ramp";
import { signedIndex } from "../../draw/color/scale";
import { consume } from "../../draw/dom";
import { directionOf } from "../../draw/text-line";
import { isSecondClick } from "../../draw/touch";
import { exact } from "../../figures/format";
import { itemAt } from "../../protocol/required";
import { Button } from "../../ui/controls";
import { signed } from "../../ui/signs";
import type { Matrix, Pair, Shown, SideName, Units } from "./data";

/** A word that is pointed at. */
export interface UnitOfText {
  readonly side: SideName;
  readonly unit: number;
}

/** Threads that are drawn at first, and from a word that is pointed at. */
const THREADS = 5;
/** Least share of the largest number that is written below its word, and that has a thread. */
const WRITTEN = 0.1;
/** Texts that are higher have paler threads, which pass many words, px. */
const FAR = 600;
/** Longer texts have numbers below the words of the strongest pairs alone. */
const CROWDED = 60;

/** Names of the lines of words. */
export interface TextNames
  extends Readonly<Record<SideName, readonly [mark: string, name: string]>> {
  readonly both: string;
  readonly part: string;
}
const NAMES: TextNames = {
  both: "The two texts",
  part: "similarity-texts",
  a: ["A", "First text"],
  b: ["B", "Second text"],
};

/** Two lines of words, the number of each, and their pairs. */
export interface Linked extends Pick<Shown, SideName | "valuesA" | "valuesB"> {
  readonly matrix: Pick<Matrix, "values" | "ranked"> | null;
}

export const other = (side: SideName): SideName => (side === "a" ? "b" : "a");
export const sameUnit = (a: UnitOfText | null, b: UnitOfText | null): boolean =>
  a?.side === b?.side && a?.unit === b?.unit;

/** Pairs with a thread: the strongest of all, or those of a word; by size, the largest first. */
export function threadsOf({ matrix }: Linked, place: UnitOfText | null): readonly Pair[] {
  if (matrix === null) return [];
  const own =
    place === null
      ? matrix.ranked
      : matrix.ranked.filter((pair) => pair[place.side] === place.unit);
  const least = WRITTEN * Math.abs(matrix.ranked[0]?.value ?? 0);
  return own.slice(0, THREADS).filter(({ value }) => Math.abs(value) >= least);
}

/** Numbers that shade the words of a side: their parts of the score, or their pairs with the word that is pointed at. */
export function shadesOf(shown: Linked, side: SideName, place: UnitOfText | null): Float64Array {
  const values = side === "a" ? shown.valuesA : shown.valuesB;
  const { matrix } = shown;
  if (place === null || place.side === side || matrix === null) return values;
  const columns = shown.b.names.length;
  return Float64Array.from(values, (_, i) =>
    itemAt(matrix.values, side === "b" ? place.unit * columns + i : i * columns + place.unit),
  );
}

/** Least share of the largest number whose sign is drawn. */
const SIGNED = 0.01;
const signOf = (value: number, top: number): string =>
  Math.abs(value) < SIGNED * top ? "" : value < 0 ? " is-less" : " is-more";

const largest = (values: Float64Array, { special }: Units): number =>
  values.reduce((most, value, i) => (special[i] ? most : Math.max(most, Math.abs(value))), 0);

export interface Editing {
  /** The text that is being edited, null for none, and what is typed. */
  readonly side: Signal<SideName | null>;
  readonly run: (side: SideName, text: string) => void;
  /** True if every key runs what is typed, so that the words stay in sight. */
  readonly follows: boolean;
  /** Why what was typed cannot be run; empty otherwise. */
  readonly refused: Signal<string>;
  /** The texts as they were given, without prompts. */
  readonly given: () => Readonly<Record<SideName, string>>;
}

interface TextsProps {
  readonly shown: Linked;
  /** One of the two alone, next to an input that is no text: its numbers have their own end. */
  readonly alone?: SideName | null;
  readonly names?: TextNames;
  readonly place: ReadonlySignal<UnitOfText | null>;
  readonly pinned: boolean;
  readonly mode: Mode;
  readonly editing: Editing | null;
  readonly point: (place: UnitOfText | null) => void;
  readonly pin: (place: UnitOfText | null) => void;
}

/** Both texts; the threads are drawn behind them by `drawThreads`, once the words have their places. */
export function Texts(props: TextsProps) {
  const { shown, place, point, pin, pinned, names = NAMES, alone = null } = props;
  const at = place.value;
  const top = Math.max(largest(shown.valuesA, shown.a), largest(shown.valuesB, shown.b));
  const followed = props.editing?.follows ? props.editing.side.value : null;
  function key(event: KeyboardEvent): void {
    const target = (event.target as Element).closest<HTMLElement>("[data-unit]");
    if (target === null || event.ctrlKey || event.metaKey || event.altKey) return;
    const side = target.dataset.side as SideName;
    const unit = Number(target.dataset.unit);
    const words = (of: SideName) =>
      shown[of].names.flatMap((_, i) => (shown[of].special[i] ? [] : [i]));
    const own = words(side);
    const k = own.indexOf(unit);
    const partner = shown.matrix?.ranked.find((pair) => pair[side] === unit)?.[other(side)];
    const go = (of: SideName, to: number | undefined): boolean => {
      if (to === undefined) return false;
      const root = (event.currentTarget as Element).closest(".aw-sim-texts");
      root?.querySelector<HTMLElement>(`[data-side="${of}"][data-unit="${to}"]`)?.focus();
      return true;
    };
    const take = (to: UnitOfText | null): boolean => {
      pin(to);
      return true;
    };
    const moves: Readonly<Record<string, () => boolean>> = {
      ArrowLeft: () => go(side, own[Math.max(0, k - 1)]),
      ArrowRight: () => go(side, own[Math.min(own.length - 1, k + 1)]),
      Home: () => go(side, own[0]),
      End: () => go(side, own.at(-1)),
      // To the partner in the other text.
      ArrowDown: () => side === "a" && go("b", partner ?? words("b")[0]),
      ArrowUp: () => side === "b" && go("a", partner ?? words("a")[0]),
      Enter: () => take({ side, unit }),
      " ": () => take({ side, unit }),
      Escape: () => pinned && take(null),
    };
    if (moves[event.key]?.()) consume(event);
  }
  return (
    <div
      class="aw-sim-texts"
      role="group"
      aria-label={alone === null ? names.both : names[alone][1]}
      data-aw-part={names.part}
      onKeyDown={key}
      onPointerLeave={() => point(null)}
      onFocusOut={({ relatedTarget, currentTarget }) => {
        if (!(relatedTarget instanceof Node && currentTarget.contains(relatedTarget))) point(null);
      }}
    >
      <svg
        class="aw-sim-threads"
        aria-hidden="true"
        onPointerOver={({ target }) => {
          const { a } = (target as SVGElement).dataset;
          if (a !== undefined) point({ side: "a", unit: Number(a) });
        }}
        onClick={(event) => {
          const { a } = (event.target as SVGElement).dataset;
          if (a !== undefined && !isSecondClick(event)) pin({ side: "a", unit: Number(a) });
        }}
      />
      {followed === "a" && <Editor side="a" editing={props.editing} />}
      {alone !== "b" && <Line {...props} side="a" at={at} top={top} />}
      {alone !== "a" && <Line {...props} side="b" at={at} top={top} />}
      {followed === "b" && <Editor side="b" editing={props.editing} />}
    </div>
  );
}

function Line({
  shown,
  names = NAMES,
  alone = null,
  side,
  at,
  top,
  mode,
  editing,
  point,
  pin,
}: TextsProps & {
  readonly side: SideName;
  readonly at: UnitOfText | null;
  readonly top: number;
}) {
  if (editing?.side.value === side && !editing.follows)
    return <Editor side={side} editing={editing} />;
  const units = shown[side];
  const [mark, called] = names[side];
  const values = shadesOf(shown, side, at);
  // Pairs are smaller than whole words: their own scale, where a word is pointed at.
  const paired = at !== null && at.side !== side && shown.matrix !== null;
  const ofPairs = paired ? Math.abs(shown.matrix?.ranked[0]?.value ?? 0) : top;
  const end = alone === null ? ofPairs : largest(values, units);
  const partners = new Set(alone === null ? threadsOf(shown, at).map((pair) => pair[side]) : []);
  const crowded = units.names.length > CROWDED;
  const { css, rgb } = ramp("signed", mode);
  const first = units.special.indexOf(false);
  const entry = at?.side === side ? at.unit : first;
  return (
    <div
      class={`aw-sim-line${alone === null ? "" : " is-alone"}`}
      dir={directionOf(units.names.join(" "))}
    >
      {alone === null && <span class="aw-sim-name aw-muted aw-small">{mark}</span>}
      <p class="aw-sim-words" role="group" aria-label={called}>
        {units.names.map((name, i) => {
          if (units.special[i]) return null;
          const value = itemAt(values, i);
          const index = signedIndex(value, end);
          const partner = partners.has(i);
          const written = partner || (!crowded && Math.abs(value) >= WRITTEN * end);
          const word = (
            <span
              key={i}
              role="button"
              tabIndex={i === entry ? 0 : -1}
              class={`aw-sim-word${signOf(value, end)}${partner ? " is-partner" : ""}`}
              data-side={side}
              data-unit={i}
              data-aw-value={exact(value)}
              aria-pressed={at?.side === side && at.unit === i}
              title={signed(value, 4)}
              onPointerEnter={() => point({ side, unit: i })}
              onFocus={() => point({ side, unit: i })}
              onClick={(event) => !isSecondClick(event) && pin({ side, unit: i })}
            >
              <bdi
                class="aw-sim-face"
                style={{ background: itemAt(css, index), color: inkOn(itemAt(rgb, index)) }}
              >
                {name}
              </bdi>{" "}
              <span class="aw-sim-number aw-number">
                {written && value !== 0 ? signed(value, end < 0.01 ? 4 : end < 0.1 ? 3 : 2) : ""}
              </span>
            </span>
          );
          return [
            units.breaks[i] ? <br key={`line ${i}`} /> : i > first && units.apart[i] ? " " : null,
            word,
          ];
        })}
      </p>
      {editing !== null && editing.side.value !== side && (
        <Button
          class="aw-plain-button aw-small"
          part={`edit-${side}`}
          label={`Edit the ${called.toLowerCase()}`}
          onClick={() => {
            editing.side.value = side;
          }}
        >
          Edit
        </Button>
      )}
    </div>
  );
}

/** The same function at each render: a ref that is another one is called again, and would take the focus back. */
const focusOnce = (element: HTMLElement | null): void => element?.focus({ preventScroll: true });

/** The text as it was given, to change. What was typed stays until its picture is there. */
function Editor({ side, editing }: { readonly side: SideName; readonly editing: Editing | null }) {
  if (editing === null) return null;
  const close = () => {
    editing.side.value = null;
    editing.refused.value = "";
  };
  const run = (from: Element) =>
    editing.run(side, from.closest(".aw-sim-line")?.querySelector("textarea")?.value ?? "");
  return (
    <div class="aw-sim-line">
      <span class="aw-sim-name aw-muted aw-small">{side.toUpperCase()}</span>
      <textarea
        class="aw-sim-input"
        data-aw-part={`text-${side}`}
        aria-label={NAMES[side][1]}
        rows={2}
        spellcheck={false}
        defaultValue={editing.given()[side]}
        ref={focusOnce}
        onInput={({ currentTarget }) => editing.follows && run(currentTarget)}
        onKeyDown={(event) => {
          if (event.isComposing) return;
          if (event.key === "Enter" && !event.shiftKey)
            editing.follows ? close() : run(event.currentTarget);
          else if (event.key === "Escape") close();
          else return;
          consume(event);
        }}
      />
      {editing.refused.value !== "" && (
        <p class="aw-sim-refused" role="alert" data-aw-part="refused">
          {editing.refused.value}
        </p>
      )}
      <span class="aw-cluster">
        {!editing.follows && (
          <Button
            class="aw-plain-button aw-small"
            part={`run-${side}`}
            onClick={({ currentTarget }) => run(currentTarget)}
          >
            Run
          </Button>
        )}
        <Button class="aw-plain-button aw-small" onClick={close}>
          {editing.follows ? "Done" : "Cancel"}
        </Button>
      </span>
    </div>
  );
}

/** Draw the threads behind the words of `root`: solid for what adds to the score, dashed for what takes from it. */
export function drawThreads(root: Element, pairs: readonly Pair[], top: number): void {
  const box = root.querySelector(".aw-sim-texts");
  const canvas = box?.querySelector<SVGSVGElement>(".aw-sim-threads");
  if (box == null || canvas == null) return;
  const outer = box.getBoundingClientRect();
  canvas.classList.toggle("is-far", outer.height > FAR);
  canvas.setAttribute("viewBox", `0 0 ${outer.width} ${outer.height}`);
  const middle = (side: SideName, unit: number) => {
    const word = box.querySelector(`[data-side="${side}"][data-unit="${unit}"]`);
    if (word === null) return null;
    const { left, width, top: y, bottom } = word.getBoundingClientRect();
    return { x: left + width / 2 - outer.left, y: (side === "a" ? bottom : y) - outer.top };
  };
  const name = (side: SideName, unit: number): string =>
    box.querySelector(`[data-side="${side}"][data-unit="${unit}"] > bdi`)?.textContent ?? "";
  const paths = pairs.flatMap(({ a, b, value }) => {
    const [from, to] = [middle("a", a), middle("b", b)];
    if (from === null || to === null) return [];
    const path = document.createElementNS(canvas.namespaceURI, "path");
    const half = (to.y - from.y) / 2;
    path.setAttribute(
      "d",
      `M${from.x.toFixed(1)} ${from.y.toFixed(1)}c0 ${half.toFixed(1)} ${(to.x - from.x).toFixed(1)} ${half.toFixed(1)} ${(to.x - from.x).toFixed(1)} ${(2 * half).toFixed(1)}`,
    );
    path.setAttribute("class", value < 0 ? "is-less" : "is-more");
    path.setAttribute("stroke-width", (1 + (5 * Math.abs(value)) / (top || 1)).toFixed(2));
    path.setAttribute("data-aw-value", String(value));
    path.setAttribute("data-a", String(a));
    const title = document.createElementNS(canvas.namespaceURI, "title");
    title.textContent = `${name("a", a)} · ${name("b", b)}: ${signed(value, 4)}`;
    path.append(title);
    return [path];
  });
  canvas.replaceChildren(...paths);
}

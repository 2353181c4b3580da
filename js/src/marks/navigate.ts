/** Pointer and keyboard over marks: one is pointed at, and Tab enters one. */
import { type Signal, signal } from "@preact/signals-core";
import { consume, step } from "../draw/dom";

export interface Place {
  readonly row: number;
  readonly column: number;
}
export const samePlace = (a: Place | null, b: Place | null): boolean =>
  a?.row === b?.row && a?.column === b?.column;

interface Options<P> {
  /** The mark under an event's target, and the place that its data attributes name. */
  readonly placeOf: (element: HTMLElement) => P | null;
  readonly selector: (place: P | null) => string;
  readonly entry: Signal<P>;
  readonly pick: (place: P) => void;
  /** The place that a key leads to; null if it has acted, undefined if it does nothing. */
  readonly next: (event: KeyboardEvent, at: P) => P | null | undefined;
  /** Once a mark is pointed at or has the focus. */
  readonly reach?: ((mark: HTMLElement, place: P) => void) | undefined;
  /** Bring a mark that gets the focus into sight. */
  readonly reveal?: ((mark: HTMLElement, root: HTMLElement) => void) | undefined;
}
function navigation<P>({ placeOf, selector, entry, pick, next, reach, reveal }: Options<P>) {
  let root: HTMLElement | null = null;
  const pointed = signal<P | null>(null);
  const markOf = (place: P) => root?.querySelector<HTMLElement>(selector(place)) ?? null;
  const focusOn = (mark: HTMLElement | null): void =>
    (mark?.matches("[tabindex]") ? mark : mark?.querySelector<HTMLElement>("[tabindex]"))?.focus({
      preventScroll: true,
    });
  function found({ target }: Event): readonly [HTMLElement, P] | null {
    const mark = (target as Element).closest<HTMLElement>(selector(null));
    const place = mark === null || mark === root ? null : placeOf(mark);
    return mark === null || place === null ? null : [mark, place];
  }
  function go(place: P): void {
    entry.value = place;
    const mark = markOf(place);
    focusOn(mark);
    if (mark !== null && root !== null) reveal?.(mark, root);
  }
  function point(event: Event): void {
    const at = found(event);
    pointed.value = at?.[1] ?? null;
    if (at !== null) reach?.(...at);
  }
  const leave = (): void => {
    pointed.value = null;
  };
  const props = {
    ref(element: HTMLElement | null) {
      root = element;
    },
    onPointerOver: point,
    onFocusIn: point,
    onPointerLeave: leave,
    onFocusOut: leave,
    onClick(event: MouseEvent) {
      const at = found(event);
      if (at === null) return;
      go(at[1]);
      pick(at[1]);
    },
    onKeyDown(event: KeyboardEvent) {
      const at = found(event);
      if (at === null || event.metaKey || event.altKey) return;
      const to = next(event, at[1]);
      if (to === undefined) return;
      consume(event);
      if (to !== null) go(to);
    },
  };
  /** Bring the entry into sight, and leave the focus where it is. */
  function show(): void {
    const mark = markOf(entry.peek());
    if (mark !== null && root !== null) reveal?.(mark, root);
  }
  return { entry, pointed, go, show, props, focus: () => focusOn(markOf(entry.peek())) };
}

interface GridOptions extends Pick<Options<Place>, "pick" | "reach" | "reveal"> {
  /** Data attributes of a mark that hold its row and its column. */
  readonly attributes: readonly [row: string, column: string];
  readonly extent: () => readonly [rows: number, columns: number];
  /** Further keys. */
  readonly keys?: (key: string, at: Place) => Place | null | undefined;
}
/** A grid: arrows go to a neighbor, Home and End to the ends of the row (with Ctrl of the column); Enter and Space pick. */
export const navigateGrid = ({ attributes: [row, column], extent, keys, ...more }: GridOptions) =>
  navigation<Place>({
    ...more,
    entry: signal({ row: 0, column: 0 }),
    placeOf: ({ dataset }) => ({ row: Number(dataset[row]), column: Number(dataset[column]) }),
    selector: (at) =>
      at
        ? `[data-${row}="${at.row}"][data-${column}="${at.column}"]`
        : `[data-${row}][data-${column}]`,
    next(event, at) {
      const own = keys?.(event.key, at);
      if (own !== undefined) return own;
      const [rows, columns] = extent();
      const down = /^Arrow(Up|Down)$/.test(event.key) || event.ctrlKey;
      const to = down ? step(event.key, at.row, rows) : step(event.key, at.column, columns);
      if (to !== null) return down ? { ...at, row: to } : { ...at, column: to };
      if (event.key !== "Enter" && event.key !== " ") return undefined;
      more.pick(at);
      return null;
    },
  });

interface ListOptions extends Pick<Options<number>, "pick" | "reveal"> {
  /** Data attribute of a mark that holds its number. */
  readonly attribute: string;
  /** Numbers in the order in which arrows go through them, or where an arrow leads; Enter is the mark's own. */
  readonly order: () => readonly number[];
  readonly towards?: (key: string, at: number) => number | null;
  /** Radio buttons: where an arrow leads is picked. */
  readonly follows?: boolean;
}
export const navigateList = ({ attribute, order, towards, follows, ...more }: ListOptions) =>
  navigation<number>({
    ...more,
    entry: signal(-1),
    placeOf: ({ dataset }) => Number(dataset[attribute]),
    selector: (at) => (at === null ? `[data-${attribute}]` : `[data-${attribute}="${at}"]`),
    next({ key, ctrlKey }, at) {
      if (ctrlKey) return undefined;
      const all = order();
      if (towards && key.startsWith("Arrow")) return towards(key, at);
      const to = step(key, all.indexOf(at), all.length);
      const next = to === null ? undefined : all[to];
      if (follows && next !== undefined) more.pick(next);
      return next;
    },
  });

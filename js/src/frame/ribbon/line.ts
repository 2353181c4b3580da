/** The ribbon's line: a button a unit, of a long text those near the reader alone, and what of them is in sight. */

import { setAttributes } from "../../draw/dom";
import { buildLine, sameUnits, type Tags } from "../../draw/text-line";
import { type Unit, unitOfToken } from "../../figures/derive/units";
import { chunksAround, tokensOf } from "../../figures/long/chunks";
import type { Sections } from "../../figures/sections";
import { isLong } from "../../protocol/meta";
import { itemAt } from "../../protocol/required";
import type { Meta } from "../../protocol/types";
import type { State } from "../../state/selection";

/** Height of a line of the ribbon (px): the last one in sight is faded. */
const LINE = 28;

export class RibbonLine {
  /** Set once it is in the page. */
  element!: HTMLElement;
  units: readonly Unit[] = [];
  /** The first unit in the page, and a button for each unit from there on. */
  first = 0;
  buttons: HTMLElement[] = [];
  /** Painted colors, so that only changes touch the page; empty on new buttons. */
  colors: string[] = [];
  /** The chunks of a long text that are in the page. */
  chunks: readonly [number, number];
  readonly long: boolean;
  readonly n: number;
  #marked: HTMLElement[] = [];

  constructor(
    readonly meta: Meta,
    readonly state: State,
    /** The tags to be shown in the line. */
    readonly tags: () => Tags | null,
    readonly sections: Sections | null = null,
  ) {
    this.long = isLong(meta);
    this.n = meta.tokens.text.length;
    this.chunks = chunksAround(state.get().token ?? 0, this.n);
  }

  buttonOf(index: number): HTMLElement | undefined {
    return this.buttons[index - this.first];
  }

  /** The unit whose button an event is about; -1 for none. */
  indexOf(target: EventTarget | null): number {
    const button = (target as Element | null)?.closest<HTMLElement>(".aw-ribbon-token");
    const at = button == null ? -1 : this.buttons.indexOf(button);
    return at < 0 ? -1 : this.first + at;
  }

  unitAt(token: number | null): number {
    const { units } = this;
    return token !== null && units[token]?.token === token ? token : unitOfToken(units, token);
  }

  build(next: readonly Unit[], anyway = false, around = this.chunks): void {
    const { meta, long, n, element } = this;
    const moved = around[0] !== this.chunks[0] || around[1] !== this.chunks[1];
    const some = this.buttons.length > 0;
    const same = !anyway && !moved && some && sameUnits(this.units, next);
    this.units = next;
    if (same) return;
    // The line of a long text that is read stays where it is.
    const anchor = long && some ? this.firstInSight() : null;
    const top = anchor === null ? 0 : (this.buttonOf(anchor)?.getBoundingClientRect().top ?? 0);
    this.chunks = around;
    const [from, to] = long
      ? [tokensOf(around[0], n)[0], tokensOf(around[1] - 1, n)[1]]
      : [0, next.length];
    const focused = this.indexOf(element.ownerDocument.activeElement);
    this.colors = [];
    this.#marked = [];
    const tags = this.tags();
    const { buttons, nodes } = buildLine(next.slice(from, to), meta, tags, this.sections);
    this.first = from;
    this.buttons = buttons;
    element.replaceChildren(...nodes);
    element.classList.toggle("aw-tagged", tags !== null);
    const { written } = meta;
    if (written !== undefined) this.buttonOf(this.unitAt(written))?.classList.add("aw-written");
    const now = anchor === null ? undefined : this.buttonOf(anchor);
    if (now !== undefined) element.scrollTop += now.getBoundingClientRect().top - top;
    if (focused >= 0) this.buttonOf(focused)?.focus({ preventScroll: true });
    this.settleLater();
  }

  /** Takes the marks off that `mark` has set. */
  unmark(off: Parameters<typeof setAttributes>[1]): void {
    for (const button of this.#marked) setAttributes(button, off);
    this.#marked = [];
  }

  mark(index: number, attributes: Parameters<typeof setAttributes>[1]): void {
    const button = this.buttonOf(index);
    if (button === undefined) return;
    this.#marked.push(button);
    setAttributes(button, attributes);
  }

  /** The first unit whose line is in sight. */
  firstInSight(): number {
    const top = this.element.getBoundingClientRect().top;
    let [low, high] = [0, this.buttons.length - 1];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (itemAt(this.buttons, middle).getBoundingClientRect().bottom <= top + 2) low = middle + 1;
      else high = middle;
    }
    return this.first + Math.max(low, 0);
  }

  inSight(): readonly [number, number] {
    const from = this.firstInSight();
    const bottom = this.element.getBoundingClientRect().bottom - LINE / 2;
    let to = from + 1;
    while ((this.buttonOf(to)?.getBoundingClientRect().top ?? Infinity) <= bottom) to++;
    return [from, to];
  }

  /** Scroll the ribbon, and never the page, to a token. */
  reveal(button: HTMLElement | undefined): void {
    if (button === undefined) return;
    const [box, frame] = [button.getBoundingClientRect(), this.element.getBoundingClientRect()];
    const [above, below] = [box.top - frame.top, box.bottom - frame.bottom + LINE];
    if (above >= 0 && below <= 0) return;
    this.element.scrollTop += this.long ? above - frame.height / 2 : above < 0 ? above : below;
  }

  /** After layout: whether there is more text below, and the focus token in sight. */
  settle(): void {
    const { element } = this;
    if (!this.long)
      element.classList.toggle("aw-long", element.scrollHeight > element.clientHeight + 4);
    this.reveal(this.buttonOf(this.unitAt(this.state.get().token)));
  }

  settleLater(): void {
    requestAnimationFrame(() => this.settle());
  }
}

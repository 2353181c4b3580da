/** The open stage: its numbers for the focus token. */

import { type Band, Bands } from "../../../draw/bands";
import { modeOf } from "../../../draw/color/theme";
import { h } from "../../../draw/dom";
import {
  largestAbsolute,
  length,
  windowAround,
  windowAt,
} from "../../../figures/derive/dimensions";
import type { Step } from "../../../figures/derive/stages";
import { ABSENT, exact, formatNumber, held } from "../../../figures/format";
import { itemAt } from "../../../protocol/required";
import { type Content, errorsOf, type Place, type Strip, type Term } from "../content";
import { panelLegend } from "./legend";
import { WindowControl } from "./window";

/** One scale for a stage's strips, or the same one in all stages. */
export type Shared = "stage" | "walk";

export interface PanelEvents {
  step(by: number): void;
  share(shared: Shared): void;
}

const MINUS = "−";

/** `a + b = c` at the cursor, each number with all its digits behind it. */
function chain(terms: readonly Term[]): HTMLElement[] {
  return terms.map(({ sign, label, value, error }) =>
    h(
      "span",
      { class: "aw-term" },
      sign === "" ? null : h("span", { class: "aw-sign", "aria-hidden": "true" }, sign),
      h(
        "span",
        { class: "aw-term-figure" },
        h("span", { class: "aw-term-label" }, label),
        h(
          "span",
          {
            class: "aw-number",
            "data-aw-value": value === null ? null : exact(value, error),
            title: value === null ? null : exact(value, error),
          },
          value === null ? ABSENT : formatNumber(value, undefined, error),
        ),
      ),
    ),
  );
}

const spoken = (name: string, terms: readonly Term[]): string =>
  `${name}: ${terms.map(({ label, value, error }) => `${label} ${value === null ? "not there" : formatNumber(value, undefined, error).replace(MINUS, "minus ")}`).join(", ")}`;

const absentLine = (reason: string): HTMLElement =>
  h("p", { class: "aw-inside-absent" }, h("span", { "aria-hidden": "true" }, "– "), reason);

const PLURAL = { dimension: "dimensions", unit: "units", key: "keys" } as const;

export class StagePanel {
  readonly element: HTMLElement;
  #title = h("h3", { class: "aw-title aw-inside-title" });
  #count = h("span", { class: "aw-muted aw-number aw-inside-count" });
  #about = h("p", { class: "aw-view-note" });
  #notice = h("p", { class: "aw-view-note aw-inside-notice", role: "status", hidden: true });
  #legend = h("div", { class: "aw-inside-legend" });
  #tools: HTMLElement;
  #chain = h("div", { class: "aw-inside-chain", "data-aw-part": "chain" });
  #sum = h("div", {});
  #below = h("div", { class: "aw-inside-below" });
  #previous: HTMLButtonElement;
  #next: HTMLButtonElement;
  #shared: readonly HTMLButtonElement[];
  #scaleChoice: HTMLElement;
  #bands: Bands;
  #window: WindowControl;
  #place: Place | null = null;
  #content: Content | null = null;
  #range: readonly [number, number] = [0, 1];
  #cursor = 0;
  /** The scale of all stages, while it is asked for. */
  #common: number | null = null;
  #root = false;
  /** Window and cursor by kind of row, so that a walk keeps its dimensions. */
  #kept = new Map<string, { range: readonly [number, number]; cursor: number }>();

  constructor(events: PanelEvents, signal: AbortSignal) {
    const button = (text: string, label: string, by: number): HTMLButtonElement => {
      const element = h("button", { class: "aw-button", "aria-label": label, title: label }, text);
      element.addEventListener("click", () => events.step(by), { signal });
      return element;
    };
    this.#previous = button("‹", "Previous stage (p)", -1);
    this.#next = button("›", "Next stage (n)", 1);
    this.#shared = (["stage", "walk"] as const).map((shared) => {
      const element = h(
        "button",
        { "data-shared": shared },
        shared === "stage" ? "this stage" : "all stages",
      );
      element.addEventListener("click", () => events.share(shared), { signal });
      return element;
    });
    this.#bands = new Bands((index) => this.goTo(index), signal);
    this.#window = new WindowControl(
      {
        start: (index) => this.#show(windowAt(index, this.#range[1] - this.#range[0], this.#have)),
        size: (size) =>
          this.#show(windowAt(Math.max(0, this.#cursor - size / 2), size, this.#have)),
        goTo: (index) => {
          this.goTo(index);
          this.#bands.element.focus({ preventScroll: true });
        },
      },
      signal,
    );
    this.#scaleChoice = h(
      "div",
      { class: "aw-inside-shared" },
      h("span", { class: "aw-muted" }, "scale of "),
      h(
        "div",
        { class: "aw-segmented", role: "group", "aria-label": "Color scale" },
        ...this.#shared,
      ),
    );
    this.#tools = h("div", { class: "aw-inside-tools" }, this.#legend, this.#scaleChoice);
    this.element = h(
      "section",
      { class: "aw-inside-panel", "aria-label": "The open stage", "data-aw-part": "stage-panel" },
      h(
        "header",
        { class: "aw-inside-head" },
        h("div", { class: "aw-inside-steps", "data-aw-part": "walk" }, this.#previous, this.#next),
        this.#title,
        this.#count,
      ),
      this.#about,
      this.#notice,
      this.#tools,
      this.#window.element,
      this.#bands.element,
      this.#chain,
      this.#sum,
      this.#below,
    );
  }

  get #have(): number {
    return this.#content?.have ?? 1;
  }

  get #key(): string {
    return `${this.#content?.unit} ${this.#content?.size}`;
  }

  resize(width: number): void {
    this.#bands.resize(width);
    this.#align();
  }

  /** Whose stage it is, above its numbers. */
  head(
    title: readonly (Node | string)[],
    about: string,
    notice: string,
    walk: readonly Step[],
    step: number,
    ends: { readonly first: boolean; readonly last: boolean },
  ): void {
    this.#title.replaceChildren(...title);
    this.#about.textContent = about;
    this.#notice.textContent = notice;
    this.#notice.hidden = notice === "";
    this.#count.textContent = step < 0 ? "" : `step ${step + 1} of ${walk.length}`;
    this.#previous.disabled = ends.first;
    this.#next.disabled = ends.last;
  }

  /** Nothing to show, and why. */
  absent(reason: string): void {
    this.#content = null;
    for (const part of [this.#tools, this.#window.element, this.#bands.element, this.#chain]) {
      part.hidden = true;
    }
    this.#sum.replaceChildren();
    this.#below.replaceChildren(absentLine(reason));
  }

  /** A way on from what is absent. */
  offer(link: HTMLElement): void {
    this.#below.firstElementChild?.append(" ", link);
  }

  fill(place: Place, content: Content, common: number | null, root: boolean): void {
    const { strips } = content;
    const reason = strips.every(({ values }) => values === null) ? strips[0]?.missing : null;
    if (reason != null) {
      this.absent(`${reason} ${itemAt(strips, 0).hint ?? ""}`.trim());
      this.element.dataset.stage = place.box.id;
      this.#below.append(...content.below);
      return;
    }
    this.#place = place;
    this.#content = content;
    this.#common = common;
    this.#root = root;
    this.element.dataset.stage = place.box.id;
    const kept = this.#kept.get(this.#key);
    const { have, first } = content;
    this.#range = kept?.range ?? windowAt(0, first, have);
    this.#cursor = kept?.cursor ?? this.#standing(content);
    const empty = content.strips.length === 0;
    for (const part of [this.#tools, this.#window.element, this.#bands.element, this.#chain]) {
      part.hidden = empty;
    }
    const shared = content.unit === "dimension";
    for (const button of this.#shared) {
      button.setAttribute(
        "aria-pressed",
        String((button.dataset.shared === "walk") === (common !== null)),
      );
    }
    this.#scaleChoice.hidden = !shared;
    this.#below.replaceChildren(...content.below);
    this.#show(this.#range);
  }

  /** Where the cursor stands at first: at what is largest in the open stage's strip, in the window. */
  #standing({ strips, first }: Content): number {
    const highlighted =
      strips.find((strip) => this.#isLit(strip)) ?? strips.find(({ values }) => values !== null);
    if (highlighted?.values == null) return 0;
    let best = 0;
    for (let i = 0; i < Math.min(first, highlighted.values.length); i++) {
      const value = Math.abs(itemAt(highlighted.values, i));
      if (Number.isFinite(value) && !(value <= Math.abs(itemAt(highlighted.values, best))))
        best = i;
    }
    return best;
  }

  #isLit({ tensor, layer }: Strip): boolean {
    const place = this.#place;
    if (place === null) return false;
    const { id } = place.box;
    if (id === "hidden") return layer === place.layer + 1;
    return tensor === id;
  }

  goTo(index: number): void {
    if (this.#content === null) return;
    this.#cursor = Math.min(Math.max(index, 0), this.#have - 1);
    const range = windowAround(this.#cursor, this.#range, this.#have);
    if (range[0] === this.#range[0] && range[1] === this.#range[1]) {
      this.#bands.point(this.#cursor);
      this.#read();
    } else this.#show(range);
    this.#keep();
  }

  #keep(): void {
    this.#kept.set(this.#key, { range: this.#range, cursor: this.#cursor });
  }

  recolor(): void {
    if (this.#content !== null) this.#show(this.#range);
  }

  #tops({ strips }: Content): Map<string, number> {
    const tops = new Map<string, number>();
    for (const { group, values } of strips) {
      if (values !== null) tops.set(group, Math.max(tops.get(group) ?? 0, largestAbsolute(values)));
    }
    return tops;
  }

  #show(range: readonly [number, number]): void {
    const content = this.#content;
    if (content === null) return;
    const moved = range[0] !== this.#range[0] || range[1] !== this.#range[1];
    this.#range = range;
    if (this.#cursor < range[0] || this.#cursor >= range[1]) this.#cursor = range[0];
    if (moved) this.#keep();
    const mode = modeOf(this.element);
    const tops = this.#tops(content);
    const several = content.strips.length > 1;
    let group = content.strips[0]?.group;
    const bands = content.strips.map((one): Band => {
      const apart = one.group !== group;
      group = one.group;
      const shared = one.ramp === "signed" && content.unit === "dimension" ? this.#common : null;
      const size = one.values === null ? 0 : length(one.values);
      // A length is off by no more than the length of the errors.
      const off = length(errorsOf(one));
      return {
        key: one.tensor,
        label: one.label,
        aside:
          one.values === null || !one.whole || content.unit === "key"
            ? null
            : {
                text: `‖${formatNumber(size, undefined, off)}‖`,
                value: held(size, off),
                title: `Length of the whole row: ${exact(size, off)}`,
              },
        values: one.values,
        missing: one.missing,
        ...(one.error === undefined ? {} : { error: one.error }),
        ramp: one.ramp,
        top: shared ?? tops.get(one.group) ?? 0,
        lit: several && this.#isLit(one),
        apart,
      };
    });
    const called = (index: number): string =>
      content.unit === "key" ? `key ${index}, ${content.name(index)}` : `${content.unit} ${index}`;
    this.#bands.show(
      {
        bands,
        total: content.have,
        window: range,
        cursor: this.#cursor,
        root: this.#root,
        name: content.name,
        spoken: (index) => spoken(called(index), content.terms(index)),
        axis: `Values by ${content.unit}`,
      },
      mode,
    );
    this.#window.show({
      rows: content.strips.flatMap(({ values, ramp: kind }) =>
        values === null || (kind === "weight" && several) ? [] : [values],
      ),
      have: content.have,
      size: content.size,
      window: range,
      first: content.first,
      one: content.unit,
      plural: PLURAL[content.unit],
    });
    this.#align();
    this.#legend.replaceChildren(
      ...panelLegend(content, tops, { common: this.#common, root: this.#root, mode }),
    );
    this.#read();
  }

  #align(): void {
    const { left, width } = this.#bands.cells;
    this.#window.align(left, width);
  }

  /** Readout at the cursor. */
  #read(): void {
    const content = this.#content;
    if (content === null) return;
    const at = this.#cursor;
    const name = h(
      "span",
      { class: "aw-inside-at" },
      `${content.unit} `,
      h("span", { class: "aw-number" }, String(at)),
    );
    if (content.unit === "key") name.append(" ", h("bdi", { dir: "ltr" }, content.name(at)));
    this.#chain.replaceChildren(name, ...chain(content.terms(at)));
    const line = content.atCursor?.(at) ?? null;
    this.#sum.replaceChildren(...(line === null ? [] : [line]));
  }
}

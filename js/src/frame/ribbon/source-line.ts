/** The source of an encoder-decoder, above the text that is written from it. */

import { consume, h, setAttributes, step } from "../../draw/dom";
import { buildLine, directionOf, sameUnits } from "../../draw/text-line";
import { toggled } from "../../figures/derive/group";
import { type Unit, unitOfToken, unitsOf } from "../../figures/derive/units";
import { formatNumber } from "../../figures/format";
import { schemeOf, unitLabel } from "../../figures/names";
import type { TokenRow } from "../../figures/row";
import { itemAt } from "../../protocol/required";
import type { ViewContext } from "../../views/contract";
import { paintLine, rowPaint, type Signed, signedPaint } from "./paint";

export interface SourceLine {
  readonly element: HTMLElement;
  /** The source's units, as the matrix has them where they are its keys. */
  unitsOf(shown: TokenRow | null): readonly Unit[];
  paint(shown: TokenRow | null, signed: Signed | null): void;
}

/** Null for a run of one text, and for the encoder, whose own text is the source. */
export function createSourceLine(
  { source, state, announce }: ViewContext,
  mode: () => "light" | "dark",
): SourceLine | null {
  const { meta } = source;
  const tokens = meta.keys ?? meta.source_tokens;
  if (!tokens || meta.part === "encoder") return null;
  const text = meta.source_text ?? "";
  const about = { ...meta, tokens, text, text_pair: null, masked: [] };
  const scheme = schemeOf(tokens);
  /** True where the focus token's row is over these tokens. */
  const keys = meta.keys != null;
  let units: readonly Unit[] = [];
  let buttons: HTMLElement[] = [];
  let colors: string[] = [];
  let row: TokenRow | null = null;
  let painted: Signed | null = null;
  const line = h("div", {
    class: "aw-ribbon-line aw-source-line",
    role: "group",
    "aria-label": keys ? "Source tokens: pin the link from the focus token" : "Source tokens",
    "data-aw-part": "source",
    dir: directionOf(text),
  });

  const unitsNow = (shown: TokenRow | null): readonly Unit[] =>
    keys && shown !== null ? shown.keys : unitsOf(tokens, { special: state.get().special });
  const indexOf = (target: EventTarget | null): number =>
    buttons.indexOf((target as Element | null)?.closest(".aw-ribbon-token") as HTMLElement);

  function build(next: readonly Unit[]): void {
    if (buttons.length > 0 && sameUnits(units, next)) return;
    units = next;
    const built = buildLine(next, about, null);
    buttons = built.buttons;
    colors = [];
    // Without a row over them they lead nowhere.
    if (!keys)
      for (const button of buttons)
        setAttributes(button, { role: null, tabindex: null, "aria-pressed": null });
    line.replaceChildren(...built.nodes);
  }

  function mark(): void {
    if (!keys) return;
    const { pair, group } = state.get();
    const pinned = unitOfToken(units, pair?.[1] ?? null);
    buttons.forEach((button, i) => {
      const { token, end } = itemAt(units, i);
      setAttributes(button, {
        "data-aw-pair": i === pinned || null,
        "data-aw-gathered": group.some((gathered) => gathered >= token && gathered < end) || null,
        tabindex: i === Math.max(pinned, 0) ? 0 : -1,
      });
    });
  }

  function describe({ target }: Event): void {
    const unit = units[indexOf(target)];
    if (unit === undefined) return;
    const name = unitLabel(unit, scheme);
    const at = units.indexOf(unit);
    const value =
      painted !== null
        ? (painted.source.values[at] ?? null)
        : keys && row !== null && row.query >= 0
          ? (row.values[at] ?? null)
          : null;
    const error = painted === null && value !== null ? (row?.error(value) ?? 0) : 0;
    const number = value === null ? null : formatNumber({ value, error });
    const does =
      number === null
        ? ""
        : painted === null
          ? `receives ${number} of the focus token`
          : `${painted.verb} ${number}`;
    const lines = [`${name}   source, position ${unit.token}, id ${tokens?.id[unit.token]}`, does];
    setAttributes(itemAt(buttons, at), {
      title: lines.filter(Boolean).join("\n"),
      "aria-label": [name, "source", does].filter(Boolean).join(", "),
    });
  }

  /** Pin the link from the focus token, or take it away. */
  function pin(unit: Unit): void {
    const { token, pair } = state.get();
    if (token === null) announce("Choose a token of the text that is written first.");
    else state.set({ pair: pair?.[1] === unit.token ? null : [token, unit.token] });
  }

  const addToSum = (unit: Unit): void => state.set({ group: toggled(state.get().group, unit) });

  line.addEventListener("pointerover", describe);
  line.addEventListener("focusin", describe);
  if (keys) {
    line.addEventListener("click", (event) => {
      const unit = units[indexOf(event.target)];
      if (unit === undefined) return;
      if (event.ctrlKey || event.metaKey) addToSum(unit);
      else pin(unit);
    });
    line.addEventListener("keydown", (event) => {
      const index = indexOf(event.target);
      const unit = units[index];
      if (unit === undefined || event.altKey) return;
      const turned = { ArrowLeft: "ArrowRight", ArrowRight: "ArrowLeft" }[event.key];
      const key = line.dir === "rtl" && turned ? turned : event.key;
      const next = step(key, index, units.length);
      const control = event.ctrlKey || event.metaKey;
      if ((event.key === "Enter" && control) || (event.key === " " && event.shiftKey))
        addToSum(unit);
      else if (control) return;
      else if (next !== null) {
        buttons.forEach((button, i) => {
          button.tabIndex = i === next ? 0 : -1;
        });
        itemAt(buttons, next).focus({ preventScroll: true });
      } else if (event.key === "Enter" || event.key === " ") pin(unit);
      else if (event.key === "Escape") state.set({ pair: null });
      else return;
      consume(event);
    });
  }

  return {
    element: line,
    unitsOf: unitsNow,
    paint(shown, signed) {
      [row, painted] = [shown, signed];
      build(unitsNow(shown));
      if (signed !== null) paintLine(buttons, 0, colors, signedPaint(signed.source, signed));
      else if (shown !== null && keys) {
        const focused = shown.query >= 0 && shown.query === shown.queryOf(state.get().token);
        paintLine(buttons, 0, colors, rowPaint(shown, focused, state.get().scale, mode()));
      } else for (const button of buttons) button.style.backgroundColor = button.style.color = "";
      mark();
    },
  };
}

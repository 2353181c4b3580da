/** Colors, marks and events of the source of an encoder-decoder. */

import { consume, setAttributes, step } from "../../draw/dom";
import { toggled, type Unit, unitOfToken } from "../../figures/derive/units";
import { formatNumber } from "../../figures/format";
import { schemeOf, unitLabel } from "../../figures/names";
import type { TokenRow } from "../../figures/row";
import { itemAt } from "../../protocol/required";
import type { ViewContext } from "../../views/contract";
import { isGathered } from "../ribbon/input";
import { paintLine, rowPaint, type Signed, signedPaint } from "../ribbon/paint";
import type { SourceLine } from "../ribbon/source-line";

/** Listens to a line; the result paints it. */
export function sourcePainter(
  line: SourceLine,
  context: ViewContext,
  mode: () => "light" | "dark",
): SourceLine["paint"] {
  const { element, keys } = line;
  const { state } = context;
  let shown: TokenRow | null = null;
  let painted: Signed | null = null;
  const indexOf = (target: EventTarget | null): number =>
    line.buttons.indexOf((target as Element | null)?.closest(".aw-ribbon-token") as HTMLElement);
  const describeAt = ({ target }: Event): void => describe(line, indexOf(target), shown, painted);

  element.addEventListener("pointerover", describeAt);
  element.addEventListener("focusin", describeAt);
  if (keys) listen(line, context, indexOf);

  return (row, signed) => {
    [shown, painted] = [row, signed];
    const { buttons, colors } = line;
    if (signed !== null) paintLine(buttons, 0, colors, signedPaint(signed.source, signed));
    else if (row !== null && keys) {
      const focused = row.query >= 0 && row.query === row.queryOf(state.get().token);
      paintLine(buttons, 0, colors, rowPaint(row, focused, state.get().scale, mode()));
    } else for (const button of buttons) button.style.backgroundColor = button.style.color = "";
    if (keys) mark(line, context);
  };
}

function mark({ units, buttons }: SourceLine, { state }: ViewContext): void {
  const { pair, group } = state.get();
  const pinned = unitOfToken(units, pair?.[1] ?? null);
  buttons.forEach((button, i) => {
    setAttributes(button, {
      "data-aw-pair": i === pinned || null,
      "data-aw-gathered": isGathered(itemAt(units, i), group) || null,
      tabindex: i === Math.max(pinned, 0) ? 0 : -1,
    });
  });
}

/** Names and titles are written on focus or hover, as in the text below. */
function describe(
  { units, buttons, tokens, keys }: SourceLine,
  at: number,
  row: TokenRow | null,
  painted: Signed | null,
): void {
  const unit = units[at];
  if (unit === undefined) return;
  const name = unitLabel(unit, schemeOf(tokens));
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
  const lines = [`${name}   source, position ${unit.token}, id ${tokens.id[unit.token]}`, does];
  setAttributes(itemAt(buttons, at), {
    title: lines.filter(Boolean).join("\n"),
    "aria-label": [name, "source", does].filter(Boolean).join(", "),
  });
}

function listen(
  line: SourceLine,
  { state, announce }: ViewContext,
  indexOf: (target: EventTarget | null) => number,
): void {
  const { element } = line;
  /** Pin the link from the focus token, or take it away. */
  function pin(unit: Unit): void {
    const { token, pair } = state.get();
    if (token === null) announce("Choose a token of the text that is written first.");
    else state.set({ pair: pair?.[1] === unit.token ? null : [token, unit.token] });
  }
  const addToSum = (unit: Unit): void => state.set({ group: toggled(state.get().group, unit) });

  element.addEventListener("click", (event) => {
    const unit = line.units[indexOf(event.target)];
    if (unit === undefined) return;
    if (event.ctrlKey || event.metaKey) addToSum(unit);
    else pin(unit);
  });
  element.addEventListener("keydown", (event) => {
    const index = indexOf(event.target);
    const unit = line.units[index];
    if (unit === undefined || event.altKey) return;
    const turned = { ArrowLeft: "ArrowRight", ArrowRight: "ArrowLeft" }[event.key];
    const key = element.dir === "rtl" && turned ? turned : event.key;
    const next = step(key, index, line.units.length);
    const control = event.ctrlKey || event.metaKey;
    if ((event.key === "Enter" && control) || (event.key === " " && event.shiftKey)) addToSum(unit);
    else if (control) return;
    else if (next !== null) {
      line.buttons.forEach((button, i) => {
        button.tabIndex = i === next ? 0 : -1;
      });
      itemAt(line.buttons, next).focus({ preventScroll: true });
    } else if (event.key === "Enter" || event.key === " ") pin(unit);
    else if (event.key === "Escape") state.set({ pair: null });
    else return;
    consume(event);
  });
}

declare module "../../views/contract" {
  interface LazyCode {
    readonly sourcePainter: typeof sourcePainter;
  }
}

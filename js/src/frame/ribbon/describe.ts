/** A token of the ribbon in words. */

import { setAttributes } from "../../draw/dom";
import { spokenUnit } from "../../draw/text-line";
import type { Unit } from "../../figures/derive/units";
import { formatNumber, visible } from "../../figures/format";
import type { RowStore } from "../../figures/row";
import { itemAt } from "../../protocol/required";
import type { Meta } from "../../protocol/types";
import type { Tagging } from "./corner";
import { isGathered } from "./input";
import type { RibbonLine } from "./line";
import type { Painter } from "./painter";

const writtenFrom = (unit: Unit, { written }: Meta): string =>
  unit.token === written ? "from here on the model wrote" : "";

/** A row of a text that is written reads one token and writes the next. */
function writing({ token, end }: Unit, { part, tokens, next_token }: Meta): string {
  if (part !== "decoder" && part !== "cross") return "";
  const next = tokens.text[end] ?? next_token;
  return `reads ${visible(itemAt(tokens.text, token))}${next == null ? "" : `, writes ${visible(next)}`}`;
}

/** Accessible names and titles are written on focus or hover: writing hundreds at every head change is slow. */
export function describe(
  index: number,
  rows: RowStore,
  line: RibbonLine,
  { overlaid, rowHere }: Painter,
  tagging: Tagging,
): void {
  const { meta, state } = line;
  const unit = line.units[index];
  const button = line.buttonOf(index);
  const shown = rows.get();
  if (unit === undefined || button === undefined || shown === null) return;
  const name = spokenUnit(unit, meta, visible(unit.text));
  const signed = overlaid();
  const row = shown.query < 0 || !rowHere ? null : shown;
  const value = (signed ?? row)?.values[index] ?? null;
  const number =
    value === null ? null : formatNumber({ value, error: signed ? 0 : shown.error(value) });
  const verb = signed?.verb ?? "weight";
  const tagged = tagging.wordsOf(unit);
  const gives = signed ? `${verb} ${number}` : `receives ${number} of the focus token`;
  const parts = [
    name,
    number === null ? "" : `${verb} ${number}`,
    index === line.unitAt(state.get().token) ? "focus" : "",
    writtenFrom(unit, meta),
    isGathered(unit, state.get().group) ? "gathered" : "",
    tagged,
  ];
  const lines = [
    `${name}   position ${unit.token}, id ${meta.tokens.id[unit.token]}`,
    writing(unit, meta),
    writtenFrom(unit, meta),
    tagged,
    number === null ? "" : gives,
  ];
  setAttributes(button, {
    "aria-label": parts.filter(Boolean).join(", "),
    title: lines.filter(Boolean).join("\n"),
  });
}

/** The sums of both sides as a table, for a file. */

import type { Table } from "../../figures/table";
import { itemAt } from "../../protocol/required";
import { type Effects, type Found, SIDES } from "./data";
import type { Names } from "./names";

export function sumsTable(found: Found, effects: Effects | null, names: Names): Table {
  const more = effects === null ? [] : ["total", "weight_without"];
  const rows = SIDES.flatMap((side) => {
    const ofPart = new Map(effects?.[side].map((effect) => [effect.part, effect]));
    return found.parts[side].map((part, i) => {
      const effect = ofPart.get(i);
      const { kind, layer, head, token, source } = part;
      return [
        ...[side, kind, names.part(side, part), layer, head, token, source],
        itemAt(found.sums[side], i),
        ...(effects === null ? [] : [effect?.total ?? null, effect?.weight ?? null]),
      ];
    });
  });
  return {
    columns: ["side", "kind", "name", "layer", "head", "token", "source", "value", ...more],
    rows,
  };
}

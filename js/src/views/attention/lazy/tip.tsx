/** The card at the pointer: a pair of tokens, or a label. */

import { render } from "preact";
import { opensBelow } from "../pair-hint";
import type { Tip } from "../tip";
import { LabelCard } from "./label-card";
import { LinkCard } from "./link-card";
import { placeAtPointer, placeCard } from "./place-card";

/** False where there is no card to show. */
export function showTip({ element, pointer, model, pictures }: Tip): boolean {
  const { matrix, cursor, labels, numbers, facts } = model;
  const { map, box, width } = pictures;
  const shown = matrix.value;
  if (shown === null || cursor === null || numbers === null) return false;
  const { row, column } = cursor;
  const [pinnedRow, pinnedColumn] = model.pinned(shown);
  const pinned = row === pinnedRow && column === pinnedColumn;
  const of = { matrix: shown, row, column, labels };
  const card =
    row >= 0 && column >= 0 ? (
      <LinkCard
        {...of}
        {...{ link: numbers.of(shown, row, column), facts }}
        below={pinned ? opensBelow(model.context) : null}
      />
    ) : (
      <LabelCard {...of} />
    );
  render(card, element);
  element.hidden = false;
  const size = { width: element.offsetWidth, height: element.offsetHeight };
  const room = {
    width: box.current?.clientWidth ?? width,
    height: box.current?.clientHeight ?? 0,
  };
  const cell = map.boxOf(cursor);
  if (cell === null) return true;
  const { x, y } =
    pointer === null ? placeCard(cell, size, room) : placeAtPointer(pointer, size, room);
  element.style.transform = `translate(${x}px, ${y}px)`;
  return true;
}

declare module "../../contract" {
  interface LazyCode {
    readonly showTip: typeof showTip;
  }
}

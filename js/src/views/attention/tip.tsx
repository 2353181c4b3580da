/** The card at the pointer: a pair of tokens, or a label. */

import { render } from "preact";
import { h } from "../../draw/dom";
import { lazyCode } from "../contract";
import { type Point, placeAtPointer, placeCard } from "./layout";
import type { AttentionModel } from "./model";
import type { Pictures } from "./pictures";

export class Tip {
  readonly element = h("div", { class: "aw-tip", role: "presentation", hidden: true });
  /** The pointer in the flow, whose card is there; null beside the map's cell. */
  pointer: Point | null = null;

  constructor(
    readonly model: AttentionModel,
    readonly pictures: Pictures,
  ) {}

  /** Show the card of the cell under the cursor, or none. */
  show(): void {
    const { element, pointer } = this;
    const { matrix, cursor, labels, numbers, facts } = this.model;
    const { map, box, width } = this.pictures;
    const shown = matrix.value;
    const { row, column } = cursor ?? { row: -1, column: -1 };
    const { LabelCard, LinkCard } = lazyCode.peek() ?? {};
    if (shown === null || cursor === null || !LabelCard || !LinkCard) {
      element.hidden = true;
      return;
    }
    const of = { matrix: shown, row, column, labels };
    const card =
      row >= 0 && column >= 0 ? (
        <LinkCard {...of} {...{ link: numbers.of(shown, row, column), facts }} />
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
    if (cell === null) return;
    const { x, y } =
      pointer === null ? placeCard(cell, size, room) : placeAtPointer(pointer, size, room);
    element.style.transform = `translate(${x}px, ${y}px)`;
  }
}

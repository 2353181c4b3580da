/** The card at the pointer; what it says comes later. */

import { h } from "../../draw/dom";
import { lazyCode } from "../contract";
import type { Point } from "./layout";
import type { AttentionModel } from "./model";
import type { Pictures } from "./pictures";

export class Tip {
  readonly element = h("div", { class: "aw-tip", role: "presentation", hidden: true });
  /** The pointer in the flow, whose card is there; null for a card next to the map's cell. */
  pointer: Point | null = null;

  constructor(
    readonly model: AttentionModel,
    readonly pictures: Pictures,
  ) {}

  /** Show the card of the cell under the cursor, or none. */
  show(): void {
    this.element.hidden = lazyCode.peek()?.showTip(this) !== true;
  }
}

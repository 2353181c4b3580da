/** A run of a saved page in its frame, and the parts of it that the reader chooses. */

import type { openSaved } from "../state/saved";
import type { State } from "../state/selection";
import { createFrame, type Frame } from "./frame";

/** Draw it into `place`, with the selection of the page or another one in front of it. */
export function drawSaved(
  place: HTMLElement,
  { source, state, followParts }: Awaited<ReturnType<typeof openSaved>>,
  selected: State = state,
): Frame {
  const frame = createFrame(selected);
  place.append(frame.element);
  frame.show(source, null);
  followParts((part, select) => frame.show(part, null, [], select), frame.report);
  return frame;
}

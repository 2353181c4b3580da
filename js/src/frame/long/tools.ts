/** The corner of a long text's ribbon: tags under the words that are in the page, and what a click does. */

import { h, setAttributes } from "../../draw/dom";
import type { Tags } from "../../draw/text-line";
import type { ViewContext } from "../../views/contract";
import type { Masking } from "../ribbon/masking";
import { askForTags } from "../ribbon/tags";
import { cornerToggle, type RibbonMemory } from "../ribbon/tools";

/** `tagged` gets the tags to draw, null for none. */
export function ribbonTools(
  stage: ViewContext,
  memory: RibbonMemory,
  masking: Masking,
  tagged: (tags: Tags | null) => void,
): HTMLElement {
  const corner = h("div", { class: "aw-ribbon-corner", role: "group", "aria-label": "Ribbon" });
  /** Undefined until they were asked for; null when there are none. */
  let tags: Tags | null | undefined;
  const wanted = memory.tags === true;
  // A tagger needs seconds for thousands of words: it starts only on request.
  const toggle = cornerToggle("tags", "tags", "Parts of speech and entities", wanted, (on) => {
    memory.tags = on;
    if (tags === undefined) ask();
    else if (tags === null) toggle.setAttribute("aria-pressed", "false");
    else tagged(on ? tags : null);
  });
  let asked = false;
  function ask(): void {
    if (asked) return;
    asked = true;
    toggle.setAttribute("aria-busy", "true");
    askForTags(stage, (found, reason) => {
      tags = found;
      setAttributes(toggle, {
        "aria-busy": null,
        "aria-disabled": found === null ? "true" : null,
        title: found === null ? reason : `Parts of speech and entities, by ${found.tagger}`,
        "aria-pressed": String(found !== null && memory.tags === true),
      });
      if (found === null) stage.announce(reason);
      else if (memory.tags === true) tagged(found);
    });
  }
  corner.append(toggle);
  if (wanted) ask();
  corner.append(...masking.tools);
  return corner;
}

/** The corner of a long text's ribbon: tags under the words that are in the page, and what a click does. */

import { h, setAttributes } from "../../draw/dom";
import type { Tags } from "../../draw/text-line";
import type { ViewContext } from "../../views/contract";
import { askForTags } from "../ribbon/tags";
import { cornerToggle, type RibbonMemory } from "../ribbon/tools";

export interface RibbonChanges {
  /** The tags to draw, null for none. */
  tagged(tags: Tags | null): void;
  masks(tokens: readonly number[]): void;
}

export function ribbonTools(
  ribbon: HTMLElement,
  stage: ViewContext,
  memory: RibbonMemory,
  changes: RibbonChanges,
): HTMLElement {
  const { act, source } = stage;
  const corner = h("div", { class: "aw-ribbon-corner", role: "group", "aria-label": "Ribbon" });
  /** Undefined until they were asked for; null when there are none. */
  let tags: Tags | null | undefined;
  const wanted = memory.tags === true;
  // A tagger reads thousands of words in seconds: only a wish starts it.
  const toggle = cornerToggle("tags", "tags", "Parts of speech and entities", wanted, (on) => {
    memory.tags = on;
    if (tags === undefined) ask();
    else if (tags === null) toggle.setAttribute("aria-pressed", "false");
    else changes.tagged(on ? tags : null);
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
      else if (memory.tags === true) changes.tagged(found);
    });
  }
  corner.append(toggle);
  if (wanted) ask();
  if (act === null) return corner;
  const mask = cornerToggle(
    "mask",
    "mask",
    "A click on a token masks it and runs again (key x)",
    memory.masking,
    (on) => {
      memory.masking = on;
      ribbon.classList.toggle("aw-masking", on);
    },
  );
  ribbon.classList.toggle("aw-masking", memory.masking);
  corner.append(mask);
  if (source.meta.masked.length > 0) {
    const all = h("button", { class: "aw-corner", "data-aw-part": "unmask" }, "unmask all");
    all.addEventListener("click", () => changes.masks([]), { signal: stage.signal });
    corner.append(all);
  }
  return corner;
}

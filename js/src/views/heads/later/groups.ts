/** Kinds of figures to choose from: with the patterns of a profile the table of all heads is three screens wide. */

import { h } from "../../../draw/dom";
import type { GroupSwitch } from "../../contract";

const ALL = "All";
/** A kind that is always there. */
const ALWAYS = "Role";
/** Kinds that are shown together: the name of the choice. */
const TOGETHER: Readonly<Record<string, string>> = { Position: "Where it looks" };
/** Kinds of which one is shown at a time, or all. */
const MANY = 2;

const kindOf = ({ group }: { readonly group: string }): string => TOGETHER[group] ?? group;

export function createGroupSwitch(chosen: () => void): GroupSwitch {
  const element = h("div", { class: "aw-segmented", role: "group", "aria-label": "Figures" });
  /** The choice; before the first one, the kind that the table is sorted by. */
  let choice: string | null = null;
  let kinds: readonly string[] = [];

  function offer(next: readonly string[]): void {
    element.hidden = next.length === 0;
    if (next.join("\n") !== kinds.join("\n")) {
      kinds = next;
      const buttons = [...kinds, ...(kinds.length ? [ALL] : [])].map((kind) => {
        const button = h("button", { type: "button", "data-group": kind }, kind);
        // Paper has room for all, in several tables.
        if (kind === ALL) button.dataset.paper = "";
        button.addEventListener("click", () => {
          choice = kind;
          chosen();
        });
        return button;
      });
      element.replaceChildren(...buttons);
    }
    const shown = current();
    for (const button of element.querySelectorAll("button")) {
      button.setAttribute("aria-pressed", String(button.dataset.group === shown));
    }
  }

  function current(): string {
    if (choice !== null && [...kinds, ALL].includes(choice)) return choice;
    return kinds[0] ?? ALL;
  }

  return {
    element,
    shown(columns) {
      const all = [...new Set(columns.map(kindOf))].filter((kind) => kind !== ALWAYS);
      offer(all.length >= MANY ? all : []);
      const kind = current();
      return kind === ALL || kinds.length === 0
        ? columns
        : columns.filter((column) => column.group === ALWAYS || kindOf(column) === kind);
    },
    follow(column) {
      if (choice !== ALL && column !== undefined && column.group !== ALWAYS)
        choice = kindOf(column);
    },
  };
}

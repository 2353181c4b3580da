/**
 * Files of the open panel: its picture, and its figures where they are a table.
 *
 * `data-aw-save` on the buttons: png, csv, json. A panel of two views side by side has no table of its own: those of A
 * and B are in the menu Save of each run.
 */

import { h } from "../draw/dom";
import { cut } from "../export/caption";
import { toCsv } from "../export/csv";
import { download, downloadsBlocked } from "../export/deliver";
import { toJson } from "../export/json";
import { pictureOf } from "../export/picture";
import type { Table } from "../figures/table";
import { explain } from "../protocol/failure";
import type { Meta } from "../protocol/types";
import type { Selection } from "../state/selection";
import type { Sources } from "./data";

const TYPES = { png: "image/png", csv: "text/csv", json: "application/json" } as const;
type Format = keyof typeof TYPES;
const TITLES: Readonly<Record<Format, string>> = {
  png: "Picture of this view, twice the screen's size",
  csv: "Table, all digits",
  json: "Table, all digits, with both texts and models",
};
const NO_TABLE =
  "This view has no table of the difference. The Save menus of A and B have their tables.";

export interface OpenPanel {
  readonly name: string;
  readonly element: HTMLElement;
  readonly table: (() => Table | null) | null;
}

/** Caption of the files. */
function captionOf(sources: Sources, chosen: Selection, name: string) {
  const run = ({ text, text_pair, model }: Meta) => ({ text, text_pair, model: model.name });
  const { layer, head, quantity } = chosen;
  return {
    view: `compare-${name}`,
    a: run(sources.a.meta),
    b: run(sources.b.meta),
    layer,
    head,
    quantity,
    versions: sources.a.meta.versions,
  };
}

export function saveTools(
  sources: Sources,
  selection: () => Selection,
  open: () => OpenPanel,
): HTMLElement {
  const said = h("span", { class: "aw-hint", role: "status", "data-aw-part": "difference-saved" });
  async function blobOf(format: Format): Promise<Blob> {
    const { element, table, name } = open();
    const caption = captionOf(sources, selection(), name);
    if (format === "png") {
      const lines = [`B − A, ${name}`, `A: ${cut(caption.a.text)}`, `B: ${cut(caption.b.text)}`];
      const models = [...new Set([caption.a.model, caption.b.model])].join(" and ");
      return pictureOf(element, [...lines, models]);
    }
    const rows = table?.() ?? null;
    if (rows === null) throw new Error(NO_TABLE);
    const text =
      format === "csv"
        ? toCsv(rows)
        : toJson(caption as unknown as Parameters<typeof toJson>[0], rows);
    return new Blob([text], { type: TYPES[format] });
  }
  const button = (format: Format) => {
    const element = h(
      "button",
      { class: "aw-plain", "data-aw-save": format, title: TITLES[format] },
      format.toUpperCase(),
    );
    element.addEventListener("click", async () => {
      said.textContent = "";
      try {
        if (downloadsBlocked() === "blocked")
          throw new Error("This page's host does not allow downloads. Save from Python.");
        const name = `compare-${open().name}.${format}`;
        download(await blobOf(format), name);
        said.textContent = `Saved ${name}`;
      } catch (error) {
        said.textContent = Object.values(explain(error)).join(" ").trim();
      }
    });
    return element;
  };
  return h(
    "div",
    { class: "aw-compare-save", role: "group", "aria-label": "Save this view of the difference" },
    said,
    h("span", { class: "aw-hint" }, "Save"),
    ...(Object.keys(TYPES) as Format[]).map(button),
  );
}

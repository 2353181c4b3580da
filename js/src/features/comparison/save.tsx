/**
 * Files of the open panel: its picture, and its figures where they are a table.
 *
 * `data-aw-save` on the buttons: png, csv, json. A panel of two views side by side has no table of its own: those of A
 * and B are in the menu Save of each run.
 */

import { signal } from "@preact/signals-core";
import type { Table } from "../../figures/table";
import { messageOf } from "../../protocol/failure";
import type { Meta } from "../../protocol/types";
import type { Selection } from "../../state/selection";
import { Button } from "../../ui/controls";
import { cut } from "../exports/caption";
import { toCsv } from "../exports/csv";
import { download, downloadsBlocked } from "../exports/deliver";
import { toJson } from "../exports/json";
import { pictureOf } from "../exports/picture";
import type { Sources } from "./data";

const FORMATS = {
  png: ["image/png", "Picture of this view, twice the screen's size"],
  csv: ["text/csv", "Table, all digits"],
  json: ["application/json", "Table, all digits, with both texts and models"],
} as const;
type Format = keyof typeof FORMATS;
const NO_TABLE =
  "This view has no table of the difference. The Save menus of A and B have their tables.";

export interface OpenPanel {
  readonly name: string;
  readonly element: HTMLElement;
  readonly table: (() => Table | null) | null;
}

/** Caption of the files. */
function captionOf(sources: Sources, { layer, head, quantity }: Selection, name: string) {
  const run = ({ text, text_pair, model }: Meta) => ({ text, text_pair, model: model.name });
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

export function saveTools(sources: Sources, selection: () => Selection, open: () => OpenPanel) {
  const note = signal("");
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
    return new Blob([text], { type: FORMATS[format][0] });
  }
  async function save(format: Format): Promise<void> {
    note.value = "";
    try {
      if (downloadsBlocked() === "blocked")
        throw new Error("This page's host does not allow downloads. Save from Python.");
      const name = `compare-${open().name}.${format}`;
      download(await blobOf(format), name);
      note.value = `Saved ${name}`;
    } catch (error) {
      note.value = messageOf(error);
    }
  }
  return ({ hidden }: { readonly hidden: boolean }) => (
    <div
      class="aw-compare-save aw-cluster"
      role="group"
      aria-label="Save this view of the difference"
      hidden={hidden}
    >
      <span class="aw-hint" role="status" data-aw-part="difference-saved">
        {note.value}
      </span>
      <span class="aw-hint">Save</span>
      {(Object.keys(FORMATS) as Format[]).map((format) => (
        <Button
          key={format}
          class="aw-plain"
          data-aw-save={format}
          title={FORMATS[format][1]}
          onClick={() => save(format)}
        >
          {format.toUpperCase()}
        </Button>
      ))}
    </div>
  );
}

/**
 * The menu "Save" at the end of the tabs: every view gives away its picture and its table.
 *
 * Attributes that tests may rely on: `data-aw-part` save (the button), save-menu, save-note;
 * `data-aw-save` on an item: png, svg, csv, json, copy-picture, copy-csv, print.
 * The widget's root answers the event `aw:save` (`SaveRequest`), for hosts that save without a menu.
 */

import { ROOT_CLASS } from "../draw/color/theme";
import { consume, h, step } from "../draw/dom";
import { icon } from "../draw/icon";
import { explain, isAbort } from "../protocol/failure";
import { laterParts, type OpenView, type ViewContext } from "../views/contract";
import { canCopyPictures, copyPicture, copyText, download, downloadsBlocked } from "./deliver";
import { csvOf, FORMATS, type Format, fileOf, type SavedFile } from "./files";

const NOTE_MS = 4000;

/** `detail` of the event `aw:save`. */
export interface SaveRequest {
  readonly format: Format;
  /** Pixels to a CSS pixel, of a PNG. */
  readonly scale?: number;
  done(file: SavedFile): void;
  failed(message: string): void;
}

interface Item {
  readonly name: string;
  readonly label: string;
  readonly detail: string;
  readonly done: string;
  run(): Promise<void>;
}

export function saveMenu(
  stage: ViewContext,
  panel: HTMLElement,
  open: () => OpenView,
  print: () => Promise<void>,
): HTMLElement {
  const { announce, report, signal } = stage;
  const menu = h("div", {
    class: "aw-save-menu",
    role: "menu",
    "aria-label": "Save this view",
    "data-aw-part": "save-menu",
    hidden: true,
  });
  const button = h(
    "button",
    {
      class: "aw-button",
      "aria-label": "Save",
      title: "Save this view",
      "aria-haspopup": "menu",
      "aria-expanded": "false",
      "data-aw-part": "save",
    },
    icon("save"),
  );
  // Spoken by the widget's own live region.
  const note = h("span", {
    class: "aw-save-note",
    "aria-hidden": "true",
    "data-aw-part": "save-note",
    hidden: true,
  });
  const element = h("div", { class: "aw-save" }, note, button, menu);
  let fading: ReturnType<typeof setTimeout> | undefined;

  function say(text: string): void {
    announce(text);
    note.textContent = text;
    note.hidden = false;
    clearTimeout(fading);
    fading = setTimeout(() => {
      note.hidden = true;
    }, NOTE_MS);
  }

  async function save(format: Format): Promise<void> {
    const blocked = downloadsBlocked();
    if (blocked === "blocked") {
      report("This page's host does not allow downloads.", "Use Copy, or save from Python.");
      return;
    }
    const { name, blob } = await fileOf(format, stage, panel, open());
    download(blob, name);
    if (blocked === "unsure") {
      say(`${name}: if no file appears, this page's host blocks downloads; use Copy.`);
    } else say(`Saved ${name}`);
  }

  const file = (format: Format, detail: string): Item => ({
    name: format,
    label: format.toUpperCase(),
    detail,
    done: "",
    run: () => save(format),
  });

  function items(): Item[] {
    const { drawn } = open();
    // Some drawings in lines need code that may still be on its way: saving waits for it.
    const vector = drawn?.svg !== undefined && (laterParts() === null || drawn.svg() !== null);
    return [
      file("png", "picture, twice the screen's size"),
      ...(vector ? [file("svg", "drawing in lines")] : []),
      file("csv", "table, all digits"),
      file("json", "table and caption"),
      ...(canCopyPictures()
        ? [
            {
              name: "copy-picture",
              label: "Copy picture",
              detail: "",
              done: "Picture copied",
              run: () => copyPicture(fileOf("png", stage, panel, open()).then(({ blob }) => blob)),
            },
          ]
        : []),
      {
        name: "copy-csv",
        label: "Copy CSV",
        detail: "",
        done: "CSV copied",
        run: async () => copyText(await csvOf(open())),
      },
      { name: "print", label: "Print", detail: "on paper or to PDF", done: "", run: print },
    ];
  }

  async function choose({ run, done }: Item): Promise<void> {
    close(true);
    button.setAttribute("aria-busy", "true");
    try {
      await run();
      if (done !== "") say(done);
    } catch (error) {
      if (isAbort(error)) return;
      const { message, hint } = explain(error);
      report(message, hint);
    } finally {
      button.removeAttribute("aria-busy");
    }
  }

  const entries = (): HTMLElement[] => [...menu.querySelectorAll<HTMLElement>("[role=menuitem]")];

  function show(last = false): void {
    menu.replaceChildren(
      ...items().map((item) => {
        const entry = h(
          "button",
          { role: "menuitem", tabindex: -1, "data-aw-save": item.name },
          item.label,
          item.detail === "" ? null : h("small", {}, item.detail),
        );
        entry.addEventListener("click", () => void choose(item));
        return entry;
      }),
    );
    menu.hidden = false;
    button.setAttribute("aria-expanded", "true");
    entries()
      .at(last ? -1 : 0)
      ?.focus({ preventScroll: true });
  }

  function close(returnFocus = false): void {
    if (menu.hidden) return;
    menu.hidden = true;
    menu.replaceChildren();
    button.setAttribute("aria-expanded", "false");
    if (returnFocus) button.focus({ preventScroll: true });
  }

  function onKey(event: KeyboardEvent): void {
    if (menu.hidden) {
      if (event.key !== "ArrowDown" && event.key !== "ArrowUp") return;
      show(event.key === "ArrowUp");
    } else if (event.key === "Escape") close(true);
    else if (event.key === "Tab") {
      // Leaving goes on from the button, as from any closed menu.
      close(true);
      return;
    } else {
      const all = entries();
      const index = all.indexOf(event.target as HTMLElement);
      const sideways = event.key === "ArrowLeft" || event.key === "ArrowRight";
      const next = sideways ? null : step(event.key, index, all.length);
      if (next === null) return;
      // At its ends a menu goes round.
      const round = next === index && /^Arrow/.test(event.key) ? all.length - 1 - index : next;
      all[round]?.focus({ preventScroll: true });
    }
    consume(event);
  }

  button.addEventListener("click", () => (menu.hidden ? show() : close(true)), { signal });
  element.addEventListener("keydown", onKey, { signal });
  document.addEventListener(
    "pointerdown",
    (event) => {
      if (!event.composedPath().includes(element)) close();
    },
    { signal },
  );
  element.addEventListener(
    "focusout",
    (event) => {
      if (event.relatedTarget instanceof Node && !element.contains(event.relatedTarget)) close();
    },
    { signal },
  );

  panel.closest(`.${ROOT_CLASS}`)?.addEventListener(
    "aw:save",
    (event) => {
      const request = (event as CustomEvent<SaveRequest>).detail;
      if (!FORMATS.includes(request.format)) return;
      fileOf(request.format, stage, panel, open(), request.scale)
        .then(request.done)
        .catch((error: unknown) => {
          const { message, hint } = explain(error);
          request.failed(`${message} ${hint}`.trim());
        });
    },
    { signal },
  );
  signal.addEventListener("abort", () => {
    clearTimeout(fading);
    element.remove();
  });
  return element;
}

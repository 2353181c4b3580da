/**
 * The menu "Save": every view offers its picture and its table. `data-aw-save` on an item: png, svg, csv, json,
 * copy-picture, copy-csv.
 */

import { type Signal, signal } from "@preact/signals-core";
import { createRef, type RefObject } from "preact";
import { consume, step } from "../../draw/dom";
import { onAbort } from "../../protocol/abort";
import { isAbort } from "../../protocol/failure";
import { memo } from "../../ui/memo";
import { setTo } from "../../ui/mount";
import { lazyCode, type OpenView, type ViewContext } from "../../views/contract";
import { canCopyPictures, copyPicture, copyText, download, downloadsBlocked } from "./deliver";
import { csvOf, FORMATS, type Format, fileOf, type SavedFile } from "./files";

const NOTE_MS = 4000;

/** `detail` of the event `aw:save`. */
interface SaveRequest {
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

interface SaveTool {
  readonly context: ViewContext;
  readonly panel: HTMLElement;
  readonly open: () => OpenView;
  /** Element of the button and of the menu. */
  readonly element: HTMLElement;
  readonly button: RefObject<HTMLButtonElement | null>;
  readonly busy: Signal<boolean>;
}

/** Entries of the menu for the open view; `notify` says that a file was saved. */
function createItems(
  { context, panel, open }: Pick<SaveTool, "context" | "panel" | "open">,
  notify: (text: string) => void,
): () => Item[] {
  const { report } = context;
  async function save(format: Format): Promise<void> {
    const blocked = downloadsBlocked();
    if (blocked === "blocked") {
      report({
        message: "This page's host does not allow downloads.",
        hint: "Use Copy, or save from Python.",
      });
      return;
    }
    const { name, blob } = await fileOf(format, context, panel, open());
    download(blob, name);
    if (blocked === "unsure") {
      notify(`${name}: if no file appears, this page's host blocks downloads; use Copy.`);
    } else notify(`Saved ${name}`);
  }

  const file = (format: Format, detail: string): Item => ({
    name: format,
    label: format.toUpperCase(),
    detail,
    done: "",
    run: () => save(format),
  });

  return () => {
    const { drawn } = open();
    // Some drawings in lines need code that may still be on its way: saving waits for it.
    const vector = drawn?.svg !== undefined && (lazyCode.peek() === null || drawn.svg() !== null);
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
              run: () =>
                copyPicture(fileOf("png", context, panel, open()).then(({ blob }) => blob)),
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
    ];
  };
}

export function saveMenu({ context, panel, open, element, button, busy }: SaveTool) {
  const { announce, report, signal: until } = context;
  const menu = createRef<HTMLDivElement>();
  /** Entries of the open menu; null while it is closed. */
  const shown = signal<readonly Item[] | null>(null);
  const note = signal("");
  let fading: ReturnType<typeof setTimeout> | undefined;

  function notify(text: string): void {
    announce(text);
    note.value = text;
    clearTimeout(fading);
    fading = setTimeout(setTo(note, ""), NOTE_MS);
  }

  const items = createItems({ context, panel, open }, notify);

  async function choose({ run, done }: Item): Promise<void> {
    close(true);
    busy.value = true;
    try {
      await run();
      if (done !== "") notify(done);
    } catch (error) {
      if (isAbort(error)) return;
      report(error);
    } finally {
      busy.value = false;
    }
  }

  const entries = (): HTMLElement[] => [
    ...(menu.current?.querySelectorAll<HTMLElement>("[role=menuitem]") ?? []),
  ];

  function show(last = false): void {
    shown.value = items();
    entries()
      .at(last ? -1 : 0)
      ?.focus({ preventScroll: true });
  }

  function close(returnFocus = false): void {
    if (shown.value === null) return;
    shown.value = null;
    if (returnFocus) button.current?.focus({ preventScroll: true });
  }

  function onKey(event: KeyboardEvent): void {
    if (event.key === "Escape") close(true);
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

  function onFocusOut({ relatedTarget }: FocusEvent): void {
    if (relatedTarget instanceof Node && !element.contains(relatedTarget)) close();
  }

  // Spoken by the widget's own live region.
  const Note = memo(() => (
    <span class="aw-save-note" aria-hidden="true" data-aw-part="save-note" hidden={!note.value}>
      {note.value}
    </span>
  ));
  const Menu = memo(() => (
    <div
      class="aw-save-menu"
      role="menu"
      aria-label="Save this view"
      data-aw-part="save-menu"
      hidden={shown.value === null}
      ref={menu}
      onKeyDown={onKey}
      onFocusOut={onFocusOut}
    >
      {shown.value?.map((item) => (
        <button
          type="button"
          key={item.name}
          role="menuitem"
          tabIndex={-1}
          data-aw-save={item.name}
          onClick={() => void choose(item)}
        >
          {item.label}
          {item.detail !== "" && <small>{item.detail}</small>}
        </button>
      ))}
    </div>
  ));

  document.addEventListener(
    "pointerdown",
    (event) => {
      if (!event.composedPath().includes(element)) close();
    },
    { signal: until },
  );
  onAbort(until, () => clearTimeout(fading));

  return {
    shown,
    show,
    close,
    onKey,
    onFocusOut,
    Note,
    Menu,
    async answer({ format, scale, done }: SaveRequest): Promise<void> {
      if (FORMATS.includes(format)) done(await fileOf(format, context, panel, open(), scale));
    },
  };
}

declare module "../../views/contract" {
  interface LazyCode {
    readonly saveMenu: typeof saveMenu;
  }
}

/**
 * The menu "Save" at the end of the tabs: every view offers its picture and its table.
 *
 * Attributes that tests may rely on: `data-aw-part` save (the button), save-menu, save-note;
 * `data-aw-save` on an item: png, svg, csv, json, copy-picture, copy-csv, print.
 * The widget's root answers the event `aw:save` (`SaveRequest`), for hosts that save without a menu.
 */

import { signal } from "@preact/signals-core";
import { createRef } from "preact";
import { ROOT_CLASS } from "../draw/color/theme";
import { consume, h, step } from "../draw/dom";
import { onAbort } from "../protocol/abort";
import { isAbort, messageOf } from "../protocol/failure";
import { Button, Icon } from "../ui/controls";
import { mount, setTo } from "../ui/mount";
import { lazyCode, type OpenView, type ViewContext } from "../views/contract";
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

export function saveMenu(
  context: ViewContext,
  panel: HTMLElement,
  open: () => OpenView,
  print: () => Promise<void>,
): HTMLElement {
  const { announce, report, signal: until } = context;
  const element = h("div", { class: "aw-save" });
  const button = createRef<HTMLButtonElement>();
  const menu = createRef<HTMLDivElement>();
  /** Entries of the open menu; null while it is closed. */
  const shown = signal<readonly Item[] | null>(null);
  const busy = signal(false);
  const note = signal("");
  let fading: ReturnType<typeof setTimeout> | undefined;

  function notify(text: string): void {
    announce(text);
    note.value = text;
    clearTimeout(fading);
    fading = setTimeout(setTo(note, ""), NOTE_MS);
  }

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

  function items(): Item[] {
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
      { name: "print", label: "Print", detail: "on paper or to PDF", done: "", run: print },
    ];
  }

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
    if (shown.value === null) {
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

  const listeners = {
    onKeyDown: onKey,
    onFocusOut({ relatedTarget }: FocusEvent) {
      if (relatedTarget instanceof Node && !element.contains(relatedTarget)) close();
    },
  };
  const View = () => (
    <>
      {/* Spoken by the widget's own live region. */}
      <span class="aw-save-note" aria-hidden="true" data-aw-part="save-note" hidden={!note.value}>
        {note.value}
      </span>
      <Button
        ref={button}
        part="save"
        label="Save"
        title="Save this view"
        aria-haspopup="menu"
        aria-expanded={shown.value !== null}
        aria-busy={busy.value || undefined}
        onClick={() => (shown.value === null ? show() : close(true))}
        {...listeners}
      >
        <Icon name="save" />
      </Button>
      <div
        class="aw-save-menu"
        role="menu"
        aria-label="Save this view"
        data-aw-part="save-menu"
        hidden={shown.value === null}
        ref={menu}
        {...listeners}
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
    </>
  );
  mount(element, View, until);

  document.addEventListener(
    "pointerdown",
    (event) => {
      if (!event.composedPath().includes(element)) close();
    },
    { signal: until },
  );
  panel.closest(`.${ROOT_CLASS}`)?.addEventListener(
    "aw:save",
    (event) => {
      const request = (event as CustomEvent<SaveRequest>).detail;
      if (!FORMATS.includes(request.format)) return;
      fileOf(request.format, context, panel, open(), request.scale)
        .then(request.done)
        .catch((error: unknown) => request.failed(messageOf(error)));
    },
    { signal: until },
  );
  onAbort(until, () => {
    clearTimeout(fading);
    element.remove();
  });
  return element;
}

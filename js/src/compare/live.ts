/** Two runs in a live widget: the same kernel answers B's slices, whose requests name run B. */

import { ROOT_CLASS } from "../draw/color/theme";
import { consume, h } from "../draw/dom";
import { createPopover, type Popover } from "../draw/popover";
import type { Described } from "../figures/targets";
import { createFrame, type Frame } from "../frame/frame";
import { historyList } from "../frame/history";
import type { Invoke } from "../protocol/comm/invoke";
import { explain } from "../protocol/failure";
import { KernelSource } from "../protocol/kernel";
import { readPack } from "../protocol/pack";
import { arrayOf } from "../protocol/required";
import type { PastRun, Slice, SliceRequest, Source } from "../protocol/types";
import { createState, fit } from "../state/state";
import type { LiveComparison, LiveContext } from "../views/lazy-views";
import { comparedOf } from "./data";
import { type Mounted, mount, type Shown } from "./mount";
import type { Memory, Patching } from "./panels/contract";

const bytesOf = (slice: Slice, name: string): Uint8Array => arrayOf(slice, name).data as Uint8Array;

/** Requests to the kernel about run B. */
const ofB =
  (invoke: Invoke): Invoke =>
  (name, request, options) =>
    invoke(name, { ...(request as object), run: "b" }, options);

let turns = 0;
/** The answer depends on what the kernel compares, so no earlier one holds. */
const ask = (source: Source, request: SliceRequest, signal: AbortSignal): Promise<Slice> =>
  source.slice({ ...request, turn: ++turns } as unknown as SliceRequest, { signal });

export function liveComparison(context: LiveContext): LiveComparison {
  const { host, frame: first, state, invoke } = context;
  const memory: Memory = { patching: false, target: 0, of: "heads" };
  let popover: { readonly host: Element; readonly shown: Popover } | null = null;
  const life = new AbortController();
  let { source } = context;
  let request: SliceRequest | null = null;
  let mounted: Mounted | null = null;
  let frame: Frame | null = null;
  let place: HTMLElement | null = null;
  let turn = 0;
  /** The text of B. */
  let shownText = "";

  const another = h(
    "button",
    {
      class: "aw-plain",
      "data-aw-part": "compare-another",
      title: "Run another text as B; masking words and switching heads off applies to A",
    },
    "Another B",
  );
  another.addEventListener("click", () => choose(another));
  const close = h("button", { class: "aw-plain", "data-aw-part": "compare-close" }, "Close");
  close.addEventListener("click", end);

  /** Back to A alone; the kernel frees B. */
  function end(): void {
    turn++;
    request = null;
    drop();
    first.hidden = false;
    ask(source, { kind: "uncompare" }, life.signal).catch(() => undefined);
  }
  function drop(): void {
    mounted?.dispose();
    frame?.dispose();
    place?.remove();
    mounted = null;
    frame = null;
    place = null;
  }

  async function show(asked: SliceRequest, shown: Shown): Promise<void> {
    const mine = ++turn;
    const slice = await ask(source, asked, life.signal);
    if (mine !== turn || life.signal.aborted) return;
    const pack = readPack(bytesOf(slice, "paint"));
    const compared = comparedOf(bytesOf(slice, "compared"));
    drop();
    const b = new KernelSource(pack, ofB(invoke));
    shownText = b.meta.text;
    const stateB = createState({
      ...state.get(),
      token: null,
      pair: null,
      group: [],
      target: null,
    });
    stateB.set(fit(stateB.get(), b.meta));
    const home = h("section", { hidden: true });
    place = home;
    mounted = mount(host, {
      compared,
      a: { source, state, place: first, draw: () => undefined },
      b: {
        source: b,
        state: stateB,
        place: home,
        draw() {
          if (frame !== null) return;
          frame = createFrame(stateB);
          home.append(frame.element);
          frame.show(b, null);
        },
      },
      patching,
      memory,
      shown,
      tools: [another, close],
    });
    const [bar, panel] = mounted.elements;
    first.before(bar);
    first.after(home, panel);
    mounted.start();
  }

  const patching: Patching = {
    async recovery(target, of, options) {
      const slice = await source.slice({ kind: "recovery", target, of }, options);
      const { data } = slice;
      return {
        target: data.target as Described,
        of,
        source: Number(data.source),
        value: Number(data.value),
        values: arrayOf(slice, "values"),
      };
    },
    put: (sites, target) =>
      show({ kind: "patched", sites, target }, mounted?.shown() ?? "difference"),
  };

  async function start(asked: SliceRequest): Promise<void> {
    await show(asked, "difference");
    request = asked;
  }

  /** The popover in the part of the widget that holds `anchor`: the others may be hidden. */
  function popoverAt(anchor: HTMLElement): Popover {
    const host = anchor.closest<HTMLElement>(`.${ROOT_CLASS}`) ?? first;
    if (popover?.host !== host) {
      popover?.shown.dispose();
      popover = { host, shown: createPopover(host) };
    }
    return popover.shown;
  }

  function choose(anchor: HTMLElement): void {
    const box = popoverAt(anchor);
    const input = h("textarea", {
      class: "aw-run-input",
      rows: 1,
      spellcheck: "false",
      placeholder: "The other text",
      "aria-label": "The other text",
      "data-aw-part": "compare-text",
    });
    if (anchor === another) input.value = shownText;
    const go = h(
      "button",
      { class: "aw-plain aw-primary", "data-aw-part": "compare-go" },
      "Compare",
    );
    const status = h("p", { class: "aw-hint", role: "alert" });
    const run = ({ text, text_pair }: PastRun): void => {
      go.disabled = true;
      status.textContent = "Running the other text …";
      const pair = text_pair || null;
      start({ kind: "compared", text, text_pair: pair })
        .then(() => box.close())
        .catch((error: unknown) => {
          const { message, hint } = explain(error);
          status.textContent = `${message} ${hint}`.trim();
        })
        .finally(() => {
          go.disabled = false;
        });
    };
    const typed = (): void => run({ text: input.value, text_pair: source.meta.text_pair });
    go.addEventListener("click", typed);
    input.addEventListener("keydown", (event) => {
      if (event.isComposing || event.key !== "Enter" || event.shiftKey) return;
      consume(event);
      typed();
    });
    const now = source.meta;
    const past = context
      .history()
      .filter((one) => one.text !== now.text || (one.text_pair || null) !== now.text_pair);
    const content = h(
      "div",
      { class: "aw-compare-ask" },
      h("h3", { class: "aw-title" }, "Compare with another text"),
      h("div", { class: "aw-run-row" }, input, go),
      status,
      past.length === 0 ? null : historyList(past, () => false, run, "or with an earlier one"),
    );
    box.toggle(anchor, "Compare with another text", content);
    input.focus({ preventScroll: true });
  }

  return {
    choose,
    open: () => start({ kind: "compared" }),
    renew(next) {
      source = next;
      if (request === null) return;
      if (request.kind === "compared" && request.text === undefined) return end();
      show(request, mounted?.shown() ?? "a").catch((error: unknown) => {
        const { message, hint } = explain(error);
        end();
        context.report(message, hint);
      });
    },
    dispose() {
      turn++;
      life.abort();
      drop();
      popover?.shown.dispose();
    },
  };
}

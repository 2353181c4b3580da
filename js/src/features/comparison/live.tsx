/** Two runs in a live widget: the same kernel answers for A, for B and for both. */

import { signal } from "@preact/signals-core";
import { ROOT_CLASS } from "../../draw/color/theme";
import { consume, h } from "../../draw/dom";
import { createPopover, type Popover } from "../../draw/popover";
import type { Described } from "../../figures/targets";
import { createFrame, type Frame } from "../../frame/frame";
import { History } from "../../frame/lazy/history";
import { messageOf } from "../../protocol/failure";
import { KernelSource } from "../../protocol/kernel";
import { readPack } from "../../protocol/pack";
import { arrayOf } from "../../protocol/required";
import type { Meta, PastRun, Slice, SliceRequest, Source } from "../../protocol/types";
import type { Selection, State } from "../../state/selection";
import { createState, fit } from "../../state/state";
import { Button } from "../../ui/controls";
import { mount as draw } from "../../ui/mount";
import type { WidgetContext } from "../../views/feature";
import { comparedOf, type Recovery, type RecoveryOf } from "./data";
import { type Mounted, mount, type Shown } from "./mount";
import type { Memory, Patching } from "./panels/contract";

const bytesOf = (slice: Slice, name: string): Uint8Array => arrayOf(slice, name).data as Uint8Array;

const recoveryOf = (slice: Slice, of: RecoveryOf): Recovery => ({
  target: slice.data.target as Described,
  of,
  source: Number(slice.data.source),
  value: Number(slice.data.value),
  error: Number(slice.data.error),
  values: arrayOf(slice, "values"),
});

/** A live widget, for a second run in it. */
interface LiveContext extends Omit<WidgetContext, "shown" | "signal"> {
  readonly source: Source;
}

/** Opens a popover that asks for the other text; gives the field to type it into. */
function askForText(
  box: Popover,
  anchor: HTMLElement,
  now: Meta,
  history: readonly PastRun[],
  until: AbortSignal,
  start: (other: PastRun) => Promise<void>,
): HTMLTextAreaElement {
  const status = signal("");
  const running = signal(false);
  let input!: HTMLTextAreaElement;
  const run = async (other: PastRun): Promise<void> => {
    running.value = true;
    status.value = "Running the other text …";
    try {
      await start(other);
      box.close();
    } catch (error) {
      status.value = messageOf(error);
    }
    running.value = false;
  };
  async function typed(): Promise<void> {
    if (input.value === now.text) status.value = "This is the text that is shown. Change a word.";
    else await run({ text: input.value, text_pair: now.text_pair });
  }
  const past = history.filter(
    ({ text, text_pair }) => text !== now.text || (text_pair || null) !== now.text_pair,
  );
  const press = (event: KeyboardEvent): void => {
    if (event.isComposing || event.key !== "Enter" || event.shiftKey) return;
    consume(event);
    void typed();
  };
  const content = h("div", { class: "aw-compare-ask" });
  draw(
    content,
    () => (
      <>
        <h3 class="aw-title">Compare with another text</h3>
        <div class="aw-run-row">
          <textarea
            class="aw-run-input"
            rows={3}
            spellcheck={false}
            placeholder="The other text"
            aria-label="The other text"
            data-aw-part="compare-text"
            ref={(element) => {
              if (element !== null) input = element;
            }}
            onKeyDown={press}
          />
          <Button
            class="aw-plain aw-primary"
            part="compare-go"
            disabled={running.value}
            onClick={typed}
          >
            Compare
          </Button>
        </div>
        <p class="aw-hint" role="alert">
          {status.value}
        </p>
        {past.length > 0 && <History runs={past} again={run} title="or with an earlier one" />}
      </>
    ),
    until,
  );
  box.toggle(anchor, "Compare with another text", content);
  return input;
}

/** The state of B: A's selection without tokens, which are not those of B. */
function stateFor(meta: Meta, chosen: Selection): State {
  const state = createState({ ...chosen, token: null, pair: null, group: [], target: null });
  state.set(fit(state.get(), meta));
  return state;
}

interface ToolsProps {
  readonly another: (anchor: HTMLElement) => void;
  readonly close: () => void;
}

const Tools = ({ another, close }: ToolsProps) => (
  <>
    <Button
      class="aw-plain"
      part="compare-another"
      title="Run another text as B; masking words and switching heads off applies to A"
      onClick={({ currentTarget }) => another(currentTarget)}
    >
      Another B
    </Button>
    <Button class="aw-plain" part="compare-close" onClick={close}>
      Close
    </Button>
  </>
);

export function liveComparison(context: LiveContext) {
  const { host, frame: first, state, invoke } = context;
  const memory: Memory = { patching: false, target: 0, of: "heads" };
  let popover: { readonly host: Element; readonly shown: Popover } | null = null;
  const lifetime = new AbortController();
  let { source } = context;
  let request: SliceRequest | null = null;
  let mounted: Mounted | null = null;
  let frame: Frame | null = null;
  let place: HTMLElement | null = null;
  let turn = 0;
  /** The text of B. */
  let shownText = "";

  /** Both runs, as the kernel compares them now. */
  let both: Source = bothOf(source);
  /** The answer changes what the kernel compares: no earlier one holds. */
  const ask = (asked: SliceRequest): Promise<Slice> => {
    both = bothOf(source);
    return both.ask(asked, { signal: lifetime.signal });
  };
  function bothOf(run: Source): Source {
    return new KernelSource(run, invoke, { address: "both" });
  }

  /** Back to A alone; the kernel frees B. */
  function end(): void {
    turn++;
    request = null;
    drop();
    first.hidden = false;
    ask({ kind: "uncompare" }).catch(() => undefined);
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
    const own = ++turn;
    const slice = await ask(asked);
    if (own !== turn || lifetime.signal.aborted) return;
    const pack = readPack(bytesOf(slice, "paint"));
    const compared = comparedOf(bytesOf(slice, "compared"));
    drop();
    const b = new KernelSource(pack, invoke, { address: "b" });
    shownText = b.meta.text;
    const stateB = stateFor(b.meta, state.get());
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
      tools: <Tools another={(anchor) => choose(anchor, shownText)} close={end} />,
      kernel: context.kernel,
    });
    const [bar, panel] = mounted.elements;
    first.before(bar);
    first.after(home, panel);
    mounted.start();
  }

  const patching: Patching = {
    recovery: async (target, of, options) =>
      recoveryOf(await both.ask({ kind: "recovery", target, of }, options), of),
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

  /** Ask for B; without `text` the field has A's, to change a word of it. */
  function choose(anchor: HTMLElement, text = source.meta.text): void {
    const box = popoverAt(anchor);
    const input = askForText(box, anchor, source.meta, context.history(), lifetime.signal, (run) =>
      start({ kind: "compared", text: run.text, text_pair: run.text_pair || null }),
    );
    input.value = text;
    input.focus({ preventScroll: true });
  }

  return {
    /** Ask for the other text below `anchor`. */
    choose,
    /** Show the comparison that Python has made. */
    open: () => start({ kind: "compared" }),
    /** Another run has taken A's place. */
    renew(next: Source) {
      source = next;
      if (request === null) return;
      if (request.kind === "compared" && request.text === undefined) return end();
      show(request, mounted?.shown() ?? "a").catch((error: unknown) => {
        end();
        context.report(error);
      });
    },
    dispose() {
      turn++;
      lifetime.abort();
      drop();
      popover?.shown.dispose();
    },
  };
}

declare module "../../views/contract" {
  interface LazyCode {
    readonly liveComparison: typeof liveComparison;
  }
}

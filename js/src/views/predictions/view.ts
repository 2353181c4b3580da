/** Predictions of the masked-LM head at every position, and the softmax behind each. */

import { consume, h } from "../../draw/dom";
import { copyExactValues, formatCount, type TokenScheme, tokenScheme } from "../../figures/format";
import { isLong } from "../../figures/long/levels";
import { explain, isAbort } from "../../protocol/failure";
import { itemAt } from "../../protocol/required";
import type { DrawView, RunContext } from "../contract";
import {
  hitsOf,
  type Mode,
  openingMode,
  type Predictions,
  paintedPredictions,
  predictionsRequest,
  predictionsTable,
  slicedPredictions,
  softmaxOfRow,
  wholeSoftmax,
} from "./data";
import { createModeSwitch, legend, noHead, noteOf } from "./head";
import { panelsAbove } from "./intact";
import { createList, nextCell, rowsNear, scrollTo, watchRows } from "./list";
import { createMaskedProgress, createMaskedRun } from "./masked";
import { createMasks } from "./masks";
import { createRow, fillRow, fillWaiting, headerRow, type RowContext } from "./row";
import { drawSoftmax, type Opened, whyOf } from "./softmax";
import { maskedStrip } from "./strip";

const TOP_K = 5;
/** Position, token, mask, original, guesses. */
const COLUMNS = TOP_K + 4;
/** Why a run was aborted: by the reader, who keeps what has come. */
const CANCELED = "canceled";
/** Rows that get their cells at once, and then with every frame: more than fit on a screen. */
const ROWS_A_FRAME = 48;

export const predictions: DrawView<RunContext> = (element, context) => {
  const { source } = context;
  // The words are English and the bars run to the right, whatever the page around; tokens are isolated.
  const root = h("div", { class: "aw-predictions", dir: "ltr" });
  element.append(root);
  if (!source.meta.model.has.mlm) {
    root.append(noHead(source.meta.model.name));
    return { dispose: () => root.remove(), table: () => null };
  }
  const drawn = draw(root, context);
  return {
    dispose() {
      drawn.stop();
      root.remove();
    },
    table() {
      const shown = drawn.shown();
      const { special } = context.state.get();
      return shown && predictionsTable(shown, source.meta.tokens, special);
    },
    options: () => ({ mode: drawn.shown()?.mode ?? "as_is" }),
  };
};

interface Pick {
  readonly position: number;
  readonly tokenId: number;
}

function draw(
  root: HTMLElement,
  context: RunContext,
): { stop(): void; shown(): Predictions | null } {
  const { source, state, act, report, announce, signal } = context;
  const { tokens, model } = source.meta;
  const n = tokens.text.length;
  const stop = new AbortController();
  signal.addEventListener("abort", () => stop.abort(), { signal: stop.signal });
  copyExactValues(root, stop.signal);

  const note = h("p", { class: "aw-view-note" });
  const status = h("p", { class: "aw-predictions-status", role: "status" });
  const list = createList(n, COLUMNS, n > ROWS_A_FRAME);
  const switcher = createModeSwitch(source, TOP_K, (mode) => void show(mode), stop.signal);
  const progress = createMaskedProgress(n, {
    cancel: () => loading?.abort(CANCELED),
    resume: () => void show("masked"),
  });
  const strip = h("div", {});
  root.classList.toggle("aw-can-mask", act !== null);
  root.append(
    h("header", { class: "aw-predictions-head" }, switcher.element, note, legend()),
    strip,
    ...panelsAbove({ ...context, signal: stop.signal }),
    progress.element,
    status,
    list,
  );

  let current: Predictions | null = null;
  const maskedRun = createMaskedRun(source, TOP_K);
  const masks = createMasks(context);
  let scheme: TokenScheme = "plain";
  let rows: HTMLElement[] = [];
  let loading: AbortController | null = null;
  let opened: { pick: Pick; row: HTMLElement; anchor: HTMLElement; abort: AbortController } | null =
    null;

  /** Show `mode`: at once when it came with the first paint, else when the kernel has answered. */
  async function show(mode: Mode): Promise<void> {
    loading?.abort();
    const mine = new AbortController();
    loading = mine;
    stop.signal.addEventListener("abort", () => mine.abort(), { signal: mine.signal });
    switcher.set(mode);
    const painted = paintedPredictions(source);
    progress.hide();
    try {
      if (painted?.mode === mode) fill(painted);
      else if (mode === "masked" && source.live) await runMasked(mine.signal);
      else {
        root.setAttribute("aria-busy", "true");
        status.textContent = "Loading predictions …";
        const answer = await source.slice(predictionsRequest(mode, TOP_K), { signal: mine.signal });
        if (mine.signal.aborted) return;
        fill(slicedPredictions(answer));
      }
      root.removeAttribute("aria-busy");
    } catch (error) {
      if (stop.signal.aborted || loading !== mine) return;
      root.removeAttribute("aria-busy");
      const canceled = mine.signal.reason === CANCELED;
      if (isAbort(error) && !canceled) return;
      if (mode === "masked" && maskedRun.predictions !== null) {
        if (current?.mode !== "masked") fill(maskedRun.predictions);
        progress.stopped(maskedRun.predictions.done);
      } else {
        progress.hide();
        // The requested mode is unavailable: fall back to the predictions of the first paint.
        const painted = paintedPredictions(source);
        if (current === null && painted !== null) fill(painted);
        switcher.set(current?.mode ?? "as_is");
      }
      if (canceled) {
        summarize();
        return;
      }
      if (mode === "masked" && !source.live) {
        status.textContent =
          "Masked predictions are new forward passes and need a running kernel; the predictions saved with this " +
          "page stay on screen.";
      } else {
        summarize();
        const { message, hint } = explain(error);
        report(message, hint);
      }
    }
  }

  /** Ask piece by piece; each one is shown as it comes. */
  async function runMasked(wanted: AbortSignal): Promise<void> {
    if (maskedRun.predictions !== null) fill(maskedRun.predictions);
    while (!maskedRun.complete) {
      const before = maskedRun.predictions?.done ?? 0;
      progress.running(before);
      if (current?.mode !== "masked") {
        root.setAttribute("aria-busy", "true");
        status.textContent = `Running ${formatCount(n)} inputs, each with one token masked …`;
      }
      await maskedRun.next(wanted);
      const { predictions: come } = maskedRun;
      if (wanted.aborted || come === null) throw new DOMException("", "AbortError");
      root.removeAttribute("aria-busy");
      if (current?.mode !== "masked") fill(come);
      else extend(come, before);
    }
    progress.hide();
  }

  /** Put the answers from `start` on in their rows. */
  function extend(next: Predictions, start: number): void {
    current = next;
    scheme = tokenScheme([...tokens.text, ...Object.values(next.vocabulary)], tokens.surface);
    for (let position = start; position < next.done; position++) {
      const row = itemAt(rows, position);
      const held = row.contains(document.activeElement);
      row.replaceChildren();
      ready(position);
      if (held) {
        const cell = row.querySelector<HTMLElement>(".aw-position-token");
        cell?.focus({ preventScroll: true });
        rove(cell ?? undefined);
      }
    }
    follow();
  }

  function fill(next: Predictions): void {
    close();
    const first = current === null;
    current = next;
    note.textContent = noteOf(next.mode, n, source.meta.masked.length);
    scheme = tokenScheme([...tokens.text, ...Object.values(next.vocabulary)], tokens.surface);
    rows = tokens.text.map((_, position) => createRow(position, source.meta));
    list.replaceChildren(headerRow(next.topK, act !== null), ...rows);
    const lines = maskedStrip(next, source.meta, (token) => state.set({ token }));
    strip.replaceChildren(...(lines === null ? [] : [lines]));
    fillFrom(0);
    follow();
    if (!first) announce(`${next.mode === "masked" ? "Masked" : "As is"}: ${status.textContent}`);
  }

  /** Give `rows[position]` its cells, if it still lacks them. */
  function ready(position: number): HTMLElement {
    const row = itemAt(rows, position);
    if (current === null || row.childElementCount > 0) return row;
    const shown: RowContext = {
      meta: source.meta,
      scheme,
      masks: act === null ? null : masks.tokens(),
    };
    if (position < current.done) fillRow(row, current, position, shown);
    else fillWaiting(row, position, shown);
    const focused = String(position === state.get().token);
    row.querySelector(".aw-position-token")?.setAttribute("aria-pressed", focused);
    return row;
  }

  let filling = 0;
  const near = isLong(source.meta)
    ? rowsNear(list, ready, (row) => row === opened?.row.previousElementSibling)
    : null;
  stop.signal.addEventListener("abort", () => near?.disconnect());

  function fillFrom(start: number): void {
    cancelAnimationFrame(filling);
    if (near !== null) watchRows(near, rows);
    if (near !== null) return;
    const end = Math.min(n, start + ROWS_A_FRAME);
    for (let position = start; position < end; position++) ready(position);
    if (end < n) filling = requestAnimationFrame(() => fillFrom(end));
  }

  function summarize(): void {
    if (current === null) return;
    status.textContent = hitsOf(current, tokens, state.get().special);
  }

  /** Follow the selection: special tokens shown or not, the focus token marked and in sight. */
  function follow(): void {
    const { token, special } = state.get();
    rows.forEach((row, position) => {
      row.hidden = tokens.special[position] === true && !special;
      const focused = position === token;
      if (focused !== row.classList.contains("is-focus")) {
        row.classList.toggle("is-focus", focused);
        ready(position)
          .querySelector(".aw-position-token")
          ?.setAttribute("aria-pressed", String(focused));
      }
    });
    if (opened && itemAt(rows, opened.pick.position).hidden) close();
    summarize();
    const row = token === null ? undefined : rows[token];
    if (row && !row.hidden) reveal(row);
    rove();
  }

  let frame = 0;

  /** Bring `row` in sight with the next frame: measuring now would lay the page out once more. */
  function reveal(row: HTMLElement): void {
    cancelAnimationFrame(frame);
    frame = requestAnimationFrame(() => scrollTo(list, row));
  }

  /** One cell of the grid is reached with Tab: `focus`, else the focus token's, else the first. */
  function rove(focus?: HTMLElement): void {
    const { token } = state.get();
    const row =
      rows.find((r) => r.classList.contains("is-focus") && !r.hidden) ??
      rows.find((r) => !r.hidden);
    const cell =
      focus ?? row?.querySelector<HTMLElement>(token === null ? "button" : ".aw-position-token");
    list.querySelector('.aw-guess[tabindex="0"]')?.setAttribute("tabindex", "-1");
    cell?.setAttribute("tabindex", "0");
  }

  function close(returnFocus = false): void {
    if (opened === null) return;
    const { row, anchor, abort } = opened;
    opened = null;
    abort.abort();
    row.remove();
    anchor.setAttribute("aria-expanded", "false");
    if (returnFocus) {
      anchor.focus({ preventScroll: true });
      rove(anchor);
    }
  }

  /** Open the softmax of `pick` below its row. */
  function open(pick: Pick, anchor: HTMLElement): void {
    const { token } = state.get();
    close();
    if (token !== pick.position) state.set({ token: pick.position });
    const cell = h("div", { role: "gridcell", class: "aw-softmax", "aria-colspan": COLUMNS });
    const row = h("div", { role: "row", class: "aw-softmax-row" }, cell);
    itemAt(rows, pick.position).after(row);
    anchor.setAttribute("aria-expanded", "true");
    opened = { pick, row, anchor, abort: new AbortController() };
    void fillSoftmax(cell, pick);
  }

  const originalOf = (position: number): number =>
    source.meta.masked.find(({ token }) => token === position)?.id ?? itemAt(tokens.id, position);

  async function fillSoftmax(cell: HTMLElement, pick: Pick): Promise<void> {
    if (current === null || opened === null) return;
    const { mode } = current;
    const { signal: wanted } = opened.abort;
    const choose = (tokenId: number): void => {
      const next = { position: pick.position, tokenId };
      if (opened) opened = { ...opened, pick: next };
      void fillSoftmax(cell, next).then(() => {
        cell.querySelector<HTMLElement>(`button[data-token-id="${tokenId}"]`)?.focus();
      });
    };
    const drawIt = (shown: Omit<Opened, "originalId">): void => {
      const all = { ...shown, originalId: originalOf(pick.position) };
      drawSoftmax(cell, all, scheme, choose, whyOf(context, shown, mode));
      if (opened) reveal(opened.row);
    };
    const own = softmaxOfRow(current, pick.position, model.vocab_size);
    const known = own.entries.find(({ id }) => id === pick.tokenId);
    if (known) drawIt({ softmax: own, chosen: known });
    try {
      const full = await wholeSoftmax(source, mode, pick.position, pick.tokenId, wanted);
      if (!wanted.aborted && full !== null && opened?.pick.tokenId === pick.tokenId) drawIt(full);
    } catch (error) {
      if (isAbort(error) || wanted.aborted) return;
      const { message, hint } = explain(error);
      // The predictions themselves hold enough for the equation.
      if (known === undefined) {
        cell.replaceChildren(h("p", { class: "aw-view-note" }, `${message} ${hint}`.trim()));
      }
    }
  }

  list.addEventListener(
    "click",
    (event) => {
      const button = (event.target as Element).closest<HTMLElement>(".aw-guess");
      if (button === null) return;
      rove(button);
      const position = Number(button.dataset.position);
      if (button.classList.contains("aw-mask-token")) {
        masks.toggle(position, button);
        return;
      }
      if (button.dataset.tokenId === undefined) {
        state.set({ token: state.get().token === position ? null : position });
        return;
      }
      const tokenId = Number(button.dataset.tokenId);
      if (opened?.anchor === button) close();
      else open({ position, tokenId }, button);
    },
    { signal: stop.signal },
  );
  list.addEventListener("keydown", onKey, { signal: stop.signal });

  function onKey(event: KeyboardEvent): void {
    const target = event.target as HTMLElement;
    if (event.key === "Escape" && opened) {
      consume(event);
      close(true);
      return;
    }
    const cell = target.closest<HTMLElement>(".aw-guess");
    const row = cell?.closest<HTMLElement>(".aw-position");
    if (!cell || !row) return;
    const next = nextCell(event, cell, row, rows, ready);
    if (next === null) return;
    consume(event);
    rove(next);
    next.focus({ preventScroll: true });
    reveal(next.closest<HTMLElement>(".aw-position") as HTMLElement);
  }

  void show(openingMode(source, TOP_K));
  state.on(["token", "special"], follow, stop.signal);
  return {
    stop() {
      close();
      cancelAnimationFrame(frame);
      cancelAnimationFrame(filling);
      stop.abort();
    },
    shown: () => current,
  };
}

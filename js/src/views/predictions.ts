/** What the masked-LM head says at every position, and the softmax behind each answer. */

import { h, step } from "../draw/dom";
import {
  copyExactValues,
  exact,
  formatCount,
  formatOrdinal,
  formatPercent,
  spokenToken,
  type TokenScheme,
  tokenElement,
  tokenLabel,
  tokenScheme,
} from "../draw/format";
import { explain, isAbort } from "../source/failure";
import type { Context, View } from "../types";
import {
  type Mode,
  type Predictions,
  paintedPredictions,
  predictionsRequest,
  slicedPredictions,
  slicedSoftmax,
  softmaxOfRow,
  softmaxRequest,
} from "./predictions-data";
import { drawSoftmax, type Opened } from "./predictions-softmax";

const TOP_K = 5;

const MODES: readonly { mode: Mode; label: string; note: (n: number) => string }[] = [
  {
    mode: "as_is",
    label: "As is",
    note: () =>
      "The unmasked input: at each position the model also sees the token that stands there.",
  },
  {
    mode: "masked",
    label: "Masked",
    note: (n) =>
      `Each of the ${formatCount(n)} positions replaced by the mask token in turn: the model has to guess.`,
  },
];

export const predictions: View = (element, context) => {
  const { source } = context;
  const root = h("div", { class: "aw-predictions" });
  element.append(root);
  if (!source.meta.model.has.mlm) {
    root.append(noHead(source.meta.model.name));
    return () => root.remove();
  }
  const stop = draw(root, context);
  return () => {
    stop();
    root.remove();
  };
};

function noHead(model: string): HTMLElement {
  return h(
    "div",
    { class: "aw-empty" },
    h("p", { class: "aw-empty-title" }, "No predictions: this model has no masked-LM head"),
    h(
      "p",
      {},
      h("bdi", {}, model),
      " has an encoder, but nothing that turns its hidden states into words. A checkpoint trained for " +
        "masked-language modelling has that head; the embedded model does: ",
      h("code", {}, "show(text)"),
      ".",
    ),
  );
}

/** What identifies an opened softmax. */
interface Pick {
  readonly position: number;
  readonly tokenId: number;
}

function draw(root: HTMLElement, context: Context): () => void {
  const { source, state, report, announce, signal } = context;
  const { tokens, model } = source.meta;
  const n = tokens.text.length;
  const stop = new AbortController();
  signal.addEventListener("abort", () => stop.abort(), { signal: stop.signal });
  copyExactValues(root, stop.signal);

  const note = h("p", { class: "aw-view-note" });
  const status = h("p", { class: "aw-predictions-status", role: "status" });
  const list = h("div", {
    class: "aw-predictions-list",
    role: "grid",
    "aria-label": "Predictions by position",
    "aria-rowcount": n + 1,
    "aria-colcount": TOP_K + 3,
  });
  const switcher = modeSwitch();
  root.append(
    h("header", { class: "aw-predictions-head" }, switcher.element, note, legend()),
    status,
    list,
  );

  let current: Predictions | null = null;
  let scheme: TokenScheme = "plain";
  let rows: HTMLElement[] = [];
  let loading: AbortController | null = null;
  let opened: { pick: Pick; row: HTMLElement; anchor: HTMLElement; abort: AbortController } | null =
    null;

  function modeSwitch() {
    const name = `mode-${Math.random().toString(36).slice(2)}`;
    const fieldset = h("fieldset", { class: "aw-switch" });
    fieldset.append(h("legend", { class: "aw-hidden" }, "Input of the predictions"));
    const inputs = MODES.map(({ mode, label }) => {
      const input = h("input", { type: "radio", name, value: mode });
      input.addEventListener("change", () => void show(mode), { signal: stop.signal });
      const needsKernel = mode === "masked" && !source.live;
      fieldset.append(
        h(
          "label",
          {},
          input,
          h("span", {}, label, needsKernel ? h("small", {}, " needs a kernel") : null),
        ),
      );
      return { mode, input };
    });
    return {
      element: fieldset,
      set(wanted: Mode): void {
        for (const { mode, input } of inputs) input.checked = mode === wanted;
      },
    };
  }

  /** Show `mode`: at once when it came with the first paint, else when the kernel has answered. */
  async function show(mode: Mode): Promise<void> {
    loading?.abort();
    const mine = new AbortController();
    loading = mine;
    stop.signal.addEventListener("abort", () => mine.abort(), { signal: mine.signal });
    switcher.set(mode);
    const painted = paintedPredictions(source);
    try {
      if (painted?.mode === mode) fill(painted);
      else {
        root.setAttribute("aria-busy", "true");
        status.textContent =
          mode === "masked"
            ? `Running ${formatCount(n)} masked inputs …`
            : "Asking for predictions …";
        const answer = await source.slice(predictionsRequest(mode, TOP_K), { signal: mine.signal });
        if (mine.signal.aborted) return;
        fill(slicedPredictions(answer));
      }
      root.removeAttribute("aria-busy");
    } catch (error) {
      if (isAbort(error) || mine.signal.aborted) return;
      root.removeAttribute("aria-busy");
      switcher.set(current?.mode ?? "as_is");
      if (mode === "masked" && !source.live) {
        status.textContent =
          "Masked predictions are new forward passes and need a running kernel; what was saved with this " +
          "page stays shown.";
      } else {
        summarize();
        const { message, hint } = explain(error);
        report(message, hint);
      }
    }
  }

  function fill(next: Predictions): void {
    close();
    const first = current === null;
    current = next;
    note.textContent = MODES.find(({ mode }) => mode === next.mode)?.note(n) ?? "";
    scheme = tokenScheme([...tokens.text, ...Object.values(next.vocabulary)], tokens.surface);
    rows = Array.from({ length: n }, (_, position) => createRow(next, position, scheme, context));
    list.replaceChildren(headerRow(next.topK), ...rows);
    list.scrollTop = first ? 0 : list.scrollTop;
    follow();
    if (!first) announce(`${next.mode === "masked" ? "Masked" : "As is"}: ${status.textContent}`);
  }

  function summarize(): void {
    if (current === null) return;
    const { special } = state.get();
    const seen = tokens.special.flatMap((isSpecial, i) => (isSpecial && !special ? [] : [i]));
    const hits = seen.filter((i) => current?.originalRank.data[i] === 1).length;
    status.textContent = `First choice is the original token at ${formatCount(hits)} of ${formatCount(seen.length)} positions.`;
  }

  /** Follow the selection: special tokens shown or not, the focus token marked and in sight. */
  function follow(): void {
    const { token, special } = state.get();
    rows.forEach((row, position) => {
      row.hidden = tokens.special[position] && !special;
      const focused = position === token;
      if (focused !== row.classList.contains("is-focus")) {
        row.classList.toggle("is-focus", focused);
        row.querySelector(".aw-position-token")?.setAttribute("aria-pressed", String(focused));
      }
    });
    if (opened && rows[opened.pick.position].hidden) close();
    summarize();
    const row = token === null ? undefined : rows[token];
    if (row && !row.hidden) reveal(row);
    rove();
  }

  /** Scroll the list alone: `scrollIntoView` would move the notebook. */
  function reveal(row: HTMLElement): void {
    const header = (list.firstElementChild as HTMLElement | null)?.offsetHeight ?? 0;
    const top = row.offsetTop - list.offsetTop - header;
    const bottom = row.offsetTop - list.offsetTop + row.offsetHeight;
    if (top < list.scrollTop) list.scrollTop = top;
    else if (bottom > list.scrollTop + list.clientHeight)
      list.scrollTop = bottom - list.clientHeight;
  }

  /** One cell of the grid is reached with Tab: `focus`, else the focus token's, else the first. */
  function rove(focus?: HTMLElement): void {
    const { token } = state.get();
    const row =
      rows.find((r) => r.classList.contains("is-focus") && !r.hidden) ??
      rows.find((r) => !r.hidden);
    const cell =
      focus ?? row?.querySelector<HTMLElement>(token === null ? "button" : ".aw-position-token");
    list.querySelector('.aw-cell[tabindex="0"]')?.setAttribute("tabindex", "-1");
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
    const cell = h("div", { role: "gridcell", class: "aw-softmax", "aria-colspan": TOP_K + 3 });
    const row = h("div", { role: "row", class: "aw-softmax-row" }, cell);
    rows[pick.position].after(row);
    anchor.setAttribute("aria-expanded", "true");
    opened = { pick, row, anchor, abort: new AbortController() };
    void fillSoftmax(cell, pick);
  }

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
      drawSoftmax(cell, { ...shown, originalId: tokens.id[pick.position] }, scheme, choose);
      const { row } = opened ?? {};
      if (row) reveal(row);
    };
    const own = softmaxOfRow(current, pick.position, model.vocab_size);
    const known = own.entries.find(({ id }) => id === pick.tokenId);
    if (known) drawIt({ softmax: own, chosen: known });
    try {
      // Equal requests are cached: choosing another term asks nothing anew.
      const full = slicedSoftmax(
        await source.slice(softmaxRequest(mode, pick.position), { signal: wanted }),
      );
      const chosen =
        full.entries.find(({ id }) => id === pick.tokenId) ??
        slicedSoftmax(
          await source.slice(softmaxRequest(mode, pick.position, pick.tokenId), { signal: wanted }),
        ).entries[0];
      if (!wanted.aborted && opened?.pick.tokenId === pick.tokenId)
        drawIt({ softmax: full, chosen });
    } catch (error) {
      if (isAbort(error) || wanted.aborted) return;
      const { message, hint } = explain(error);
      // What the predictions carry themselves is enough for the equation.
      if (known === undefined) {
        cell.replaceChildren(h("p", { class: "aw-view-note" }, `${message} ${hint}`.trim()));
      }
    }
  }

  list.addEventListener(
    "click",
    (event) => {
      const button = (event.target as Element).closest<HTMLElement>(".aw-cell");
      if (button === null) return;
      rove(button);
      const position = Number(button.dataset.position);
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
      event.preventDefault();
      event.stopPropagation();
      close(true);
      return;
    }
    const cell = target.closest<HTMLElement>(".aw-cell");
    const row = cell?.closest<HTMLElement>(".aw-position");
    if (!cell || !row) return;
    const cells = [...row.querySelectorAll<HTMLElement>(".aw-cell")];
    const column = cells.indexOf(cell);
    let next: HTMLElement | undefined;
    if (/^Arrow(Up|Down)$/.test(event.key) || (event.ctrlKey && /^(Home|End)$/.test(event.key))) {
      const shownRows = rows.filter((r) => !r.hidden);
      const at = step(event.key, shownRows.indexOf(row), shownRows.length);
      if (at === null) return;
      next = shownRows[at].querySelectorAll<HTMLElement>(".aw-cell")[column];
    } else {
      const at = step(event.key, column, cells.length);
      if (at === null) return;
      next = cells[at];
    }
    event.preventDefault();
    event.stopPropagation();
    rove(next);
    next.focus({ preventScroll: true });
    reveal(next.closest<HTMLElement>(".aw-position") as HTMLElement);
  }

  void show(paintedPredictions(source)?.mode ?? "as_is");
  const off = state.on(["token", "special"], follow);
  return () => {
    off();
    close();
    stop.abort();
  };
}

function legend(): HTMLElement {
  return h(
    "p",
    { class: "aw-legend" },
    h(
      "span",
      { class: "aw-key" },
      h("i", { class: "aw-key-bar", "aria-hidden": "true" }),
      "probability, 0 to 100%",
    ),
    h(
      "span",
      { class: "aw-key" },
      h("i", { class: "aw-key-original", "aria-hidden": "true" }),
      "the original token",
    ),
  );
}

function headerRow(topK: number): HTMLElement {
  const head = (text: string, className = ""): HTMLElement =>
    h("span", { role: "columnheader", class: className }, text);
  return h(
    "div",
    { role: "row", class: "aw-position-head" },
    head("#", "aw-index"),
    head("token"),
    head("original: rank, prob.", "aw-original-head"),
    ...Array.from({ length: topK }, (_, rank) => head(formatOrdinal(rank + 1))),
  );
}

function createRow(
  predictions: Predictions,
  position: number,
  scheme: TokenScheme,
  { source }: Context,
): HTMLElement {
  const { tokens } = source.meta;
  const { topK, ids, probabilities, vocabulary, originalRank, originalProbability } = predictions;
  const originalId = tokens.id[position];
  const label = tokenLabel(tokens.text[position], scheme, tokens.surface[position]);
  const probability = originalProbability.data[position];
  const rank = originalRank.data[position];
  const cell = (attributes: Parameters<typeof h>[1], ...children: Node[]): HTMLElement =>
    h(
      "span",
      { role: "gridcell" },
      h(
        "button",
        { type: "button", tabindex: -1, "data-position": position, ...attributes },
        ...children,
      ),
    );
  const bar = (share: number): string => `--share: ${share.toFixed(4)}`;
  const cells = Array.from({ length: topK }, (_, k) => {
    const id = ids.data[position * topK + k];
    const share = probabilities.data[position * topK + k];
    const predicted = tokenLabel(vocabulary[id] ?? String(id), scheme);
    const same = id === originalId;
    return cell(
      {
        class: same ? "aw-cell aw-prediction is-original" : "aw-cell aw-prediction",
        style: bar(share),
        title: `${predicted.text}${predicted.word === null ? "" : ` (${predicted.word})`}, id ${id}: ${exact(share)}`,
        "data-rank": k + 1,
        "data-token-id": id,
        "data-aw-value": exact(share),
        "aria-expanded": "false",
        "aria-label": `${formatOrdinal(k + 1)}: ${spokenToken(predicted)}, ${formatPercent(share)}${same ? ", the original token" : ""}`,
      },
      tokenElement(predicted),
      h("span", { class: "aw-share" }, formatPercent(share)),
    );
  });
  return h(
    "div",
    {
      role: "row",
      class: tokens.special[position] ? "aw-position is-special" : "aw-position",
      "data-position": position,
      "aria-rowindex": position + 2,
    },
    h("span", { role: "rowheader", class: "aw-index" }, String(position)),
    cell(
      {
        class: "aw-cell aw-position-token",
        "aria-pressed": "false",
        title: `${label.text}, id ${originalId}`,
        "aria-label": `Position ${position}: ${spokenToken(label)}`,
      },
      tokenElement(label),
    ),
    cell(
      {
        class: rank === 1 ? "aw-cell aw-original is-first" : "aw-cell aw-original",
        style: bar(probability),
        title: `${label.text}: rank ${rank}, probability ${exact(probability)}`,
        "data-token-id": originalId,
        "data-aw-rank": rank,
        "data-aw-value": exact(probability),
        "aria-expanded": "false",
        "aria-label": `Original ${spokenToken(label)}: ${formatOrdinal(rank)}, ${formatPercent(probability)}`,
      },
      h("span", { class: "aw-rank" }, formatCount(rank)),
      h("span", { class: "aw-share" }, formatPercent(probability)),
    ),
    ...cells,
  );
}

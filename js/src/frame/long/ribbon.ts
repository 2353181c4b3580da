/** A long text as a ribbon: a few chunks of it in the page at a time, with a minimap of the whole. */

import { inkOn, type Ramp, ramp } from "../../draw/color/ramp";
import { rampIndex } from "../../draw/color/scale";
import { modeOf, onTheme } from "../../draw/color/theme";
import { consume, h, setAttributes } from "../../draw/dom";
import { minimap } from "../../draw/long/minimap";
import { onResize } from "../../draw/resize";
import { buildLine, directionOf, type Tags } from "../../draw/text-line";
import { exact, formatNumber } from "../../figures/format";
import {
  type Chunks,
  chunkOf,
  chunksAround,
  shiftChunks,
  tokensOf,
} from "../../figures/long/chunks";
import { outlineOf } from "../../figures/long/labels";
import { unitLabelOf } from "../../figures/long/names";
import { unitOf } from "../../figures/long/pair";
import { type LongRow, longStore, topOfLong } from "../../figures/long/store";
import { isAbort } from "../../protocol/failure";
import { itemAt } from "../../protocol/required";
import type { State } from "../../state/selection";
import type { ViewContext } from "../../views/contract";
import { createMasking } from "../ribbon/masking";
import { newMemory, type RibbonMemory } from "../ribbon/tools";
import { ribbonTools } from "./tools";

/** Nearer to an end than this (px) the next chunk is put in. */
const NEAR = 60;
const LINE = 28;

/** Choices of the reader, kept as long as the widget lives. */
const memories = new WeakMap<State, RibbonMemory>();

export function longRibbon(element: HTMLElement, stage: ViewContext): () => void {
  const { source, state, signal, act } = stage;
  const { meta } = source;
  const { tokens } = meta;
  const memory = memories.get(state) ?? newMemory();
  memories.set(state, memory);
  memory.wanted = null;
  let tags: Tags | null = null;
  const n = tokens.text.length;
  const store = longStore(source, state, stage);
  const name = unitLabelOf(tokens);
  const breaks = outlineOf(tokens).paragraphs.map(({ from }) => from);
  const line = h("div", {
    class: "aw-ribbon-line",
    role: "group",
    "aria-label": "Tokens: choose the focus token (query row)",
    dir: directionOf(meta.text),
  });
  const overview = minimap(
    "Part of the text in sight",
    {
      moved: (_, [from, to]) => goTo(Math.round((from + to) / 2)),
      brushed: ([from, to]) => goTo(Math.round((from + to) / 2)),
    },
    signal,
  );
  const box = h("div", { class: "aw-long-ribbon" }, overview.element, line);
  const masking = createMasking(element, stage, memory);
  const tools = ribbonTools(stage, memory, masking, (found) => {
    tags = found;
    line.classList.toggle("aw-tagged", found !== null);
    build(chunks, true);
    const { token } = state.get();
    if (token !== null && buttons.has(token)) goTo(token);
  });
  element.append(box, tools);
  let chunks: Chunks = [0, 0];
  /** Buttons by token. */
  let buttons = new Map<number, HTMLElement>();
  let row: LongRow | null = null;
  let frame = 0;
  /** Looks of each button: one that stays as it is is not touched. */
  const painted = new WeakMap<HTMLElement, string>();

  function build(next: Chunks, anyway = false): void {
    if (!anyway && next[0] === chunks[0] && next[1] === chunks[1] && buttons.size > 0) return;
    const before = firstInSight();
    const topBefore = before === null ? null : buttons.get(before)?.getBoundingClientRect().top;
    chunks = next;
    const [from, to] = [tokensOf(next[0], n)[0], tokensOf(next[1] - 1, n)[1]];
    const units = Array.from({ length: to - from }, (_, i) => unitOf(tokens, from + i));
    const built = buildLine(units, meta, tags);
    const held = line.ownerDocument.activeElement as HTMLElement | null;
    const focused = held !== null && line.contains(held) ? Number(held.dataset.token) : -1;
    buttons = new Map(built.buttons.map((button, i) => [from + i, button]));
    line.replaceChildren(...built.nodes);
    // The line that was read stays where it was.
    const now = before === null ? undefined : buttons.get(before)?.getBoundingClientRect().top;
    if (topBefore !== null && topBefore !== undefined && now !== undefined)
      line.scrollTop += now - topBefore;
    buttons.get(focused)?.focus({ preventScroll: true });
    paint();
  }

  /** The first token whose line is in sight. */
  function firstInSight(): number | null {
    const top = line.getBoundingClientRect().top;
    const entries = [...buttons];
    let [low, high] = [0, entries.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (itemAt(entries, middle)[1].getBoundingClientRect().bottom <= top + 2) low = middle + 1;
      else high = middle;
    }
    return entries[low]?.[0] ?? null;
  }

  function sight(): readonly [number, number] {
    const first = firstInSight() ?? 0;
    const bottom = line.getBoundingClientRect().bottom - LINE / 2;
    let last = first;
    for (const [token, button] of buttons) {
      if (token < first) continue;
      if (button.getBoundingClientRect().top > bottom) break;
      last = token;
    }
    return [first, last + 1];
  }

  function goTo(token: number): void {
    const at = Math.max(0, Math.min(n - 1, token));
    build(chunksAround(at, n));
    const button = buttons.get(at);
    if (button === undefined) return;
    const [inner, outer] = [button.getBoundingClientRect(), line.getBoundingClientRect()];
    const middle = outer.top + outer.height / 2;
    if (inner.top < outer.top || inner.bottom > outer.bottom - LINE) {
      line.scrollTop += inner.top - middle;
    }
    showOverview();
  }

  function showOverview(): void {
    cancelAnimationFrame(frame);
    frame = requestAnimationFrame(() => {
      const matrix = store.get();
      const values = row?.values ?? matrix?.received ?? new Float32Array(n);
      overview.show({
        size: n,
        values,
        base: matrix?.received ?? values,
        top: matrix?.wordMax ?? 0,
        breaks,
        hits: store.hits.get().hits.map(([from]) => from),
        focus: state.get().token ?? -1,
        lanes: [{ name: "", window: sight() }],
      });
    });
  }

  function paint(): void {
    const { token, pair, group, scale } = state.get();
    const matrix = store.get();
    const shown = row !== null && row.token === token && matrix?.quantity !== "scores" ? row : null;
    const colors: Ramp = ramp("weight", modeOf(element));
    const top = matrix === null ? 0 : topOfLong(matrix, scale);
    const { hits, at } = store.hits.get();
    const edges = new Map<number, boolean>();
    const [from, to] = [tokensOf(chunks[0], n)[0], tokensOf(chunks[1] - 1, n)[1]];
    hits.forEach(([a, b], i) => {
      for (let one = Math.max(a, from); one < Math.min(b, to); one++) edges.set(one, i === at);
    });
    const gathered = new Set(group);
    const entered = token !== null && buttons.has(token) ? token : (firstInSight() ?? 0);
    for (const [index, button] of buttons) {
      const weight = shown === null ? null : (shown.values[index] ?? null);
      const known = weight !== null && !Number.isNaN(weight);
      const entry = known ? rampIndex(weight, top, scale) : null;
      const hit = edges.has(index) ? (edges.get(index) ? "here" : "") : null;
      const marks = [
        index === token,
        pair?.[1] === index,
        gathered.has(index),
        hit,
        index === entered,
      ];
      const looks = `${known ? weight : ""} ${entry === null ? "" : colors.css[entry]} ${marks}`;
      if (painted.get(button) === looks) continue;
      painted.set(button, looks);
      button.style.backgroundColor = entry === null ? "" : itemAt(colors.css, entry);
      button.style.color = entry === null ? "" : inkOn(itemAt(colors.rgb, entry));
      setAttributes(button, {
        "data-aw-value": known ? exact(weight) : null,
        "aria-pressed": String(index === token),
        "data-aw-pair": pair !== null && pair[1] === index,
        "data-aw-gathered": gathered.has(index),
        "data-aw-hit": hit,
        tabindex: index === entered ? 0 : -1,
      });
    }
    showOverview();
  }

  function askRow(): void {
    const matrix = store.get();
    const { token } = state.get();
    if (matrix === null || token === null) {
      row = null;
      paint();
      return;
    }
    paint();
    store
      .row(matrix, token, signal)
      .then((found) => {
        if (store.get() !== matrix || state.get().token !== token) return;
        row = found;
        paint();
      })
      .catch((error: unknown) => {
        if (!isAbort(error)) console.debug("attn-widget:", error);
      });
  }

  function chosen(): void {
    const { token } = state.get();
    if (token !== null) goTo(token);
    askRow();
  }

  const tokenOf = (target: EventTarget | null): number | null => {
    const button = (target as Element | null)?.closest<HTMLElement>(".aw-ribbon-token");
    const token = button?.dataset.token;
    return token === undefined ? null : Number(token);
  };
  function describe(event: Event): void {
    const token = tokenOf(event.target);
    const button = token === null ? undefined : buttons.get(token);
    if (token === null || button === undefined) return;
    const value = button.dataset.awValue;
    const weight = value === undefined ? "" : `, weight ${formatNumber(Number(value))}`;
    setAttributes(button, {
      "aria-label": `${name(token)}${weight}${state.get().token === token ? ", focus" : ""}`,
      title: `${name(token)}   position ${token}, id ${tokens.id[token]}${weight}`,
    });
  }
  line.addEventListener("focusin", describe, { signal });
  line.addEventListener("pointerover", describe, { signal });
  line.addEventListener(
    "click",
    (event) => {
      const token = tokenOf(event.target);
      if (token === null) return;
      const { group } = state.get();
      if (event.ctrlKey || event.metaKey) {
        const others = group.filter((one) => one !== token);
        const next = others.length < group.length ? others : [...group, token];
        state.set({ group: next.sort((a, b) => a - b) });
      } else if (memory.masking && act !== null) mask(token);
      else state.set({ token: state.get().token === token ? null : token });
      buttons.get(token)?.focus({ preventScroll: true });
    },
    { signal },
  );
  line.addEventListener(
    "keydown",
    (event) => {
      const token = tokenOf(event.target);
      if (token === null || event.altKey || event.ctrlKey || event.metaKey || event.shiftKey)
        return;
      const back = line.dir === "rtl" ? 1 : -1;
      const next = {
        ArrowLeft: token + back,
        ArrowRight: token - back,
        ArrowUp: token - 1,
        ArrowDown: token + 1,
        PageUp: tokensOf(Math.max(0, chunkOf(token) - 1), n)[0],
        PageDown: Math.min(n - 1, tokensOf(chunkOf(token) + 1, n)[0]),
        Home: 0,
        End: n - 1,
      }[event.key];
      if (next !== undefined) {
        const to = Math.max(0, Math.min(n - 1, next));
        state.set({ token: to });
        goTo(to);
        buttons.get(to)?.focus({ preventScroll: true });
      } else if (event.key === "Enter" || event.key === " ") buttons.get(token)?.click();
      else if (event.key === "Escape") state.set({ token: null });
      else if (event.key === "x" && act !== null) mask(token);
      else return;
      consume(event);
    },
    { signal },
  );
  function mask(token: number): void {
    masking.flip([token], tokens.special[token] === true, name(token));
  }

  let scrolling = 0;
  line.addEventListener(
    "scroll",
    () => {
      cancelAnimationFrame(scrolling);
      scrolling = requestAnimationFrame(() => {
        const below = line.scrollHeight - line.scrollTop - line.clientHeight;
        if (line.scrollTop < NEAR) build(shiftChunks(chunks, -1, n));
        else if (below < NEAR) build(shiftChunks(chunks, 1, n));
        showOverview();
      });
    },
    { signal },
  );

  build(chunksAround(state.get().token ?? 0, n));
  store.on(askRow, signal);
  store.hits.on(() => {
    const { hits, at } = store.hits.get();
    const hit = hits[at];
    if (hit !== undefined) goTo(hit[0]);
    paint();
  }, signal);
  state.on(["token"], chosen, signal);
  state.on(["scale", "pair", "group"], paint, signal);
  onTheme(
    element,
    () => {
      overview.recolor();
      paint();
    },
    signal,
  );
  onResize(
    box,
    (width) => {
      overview.resize(width);
      const { token } = state.get();
      if (token !== null) goTo(token);
      showOverview();
    },
    signal,
  );
  return () => {
    cancelAnimationFrame(frame);
    cancelAnimationFrame(scrolling);
    element.classList.remove("aw-masking");
    element.replaceChildren();
  };
}

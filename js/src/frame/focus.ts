/** The focus token's row as a short list: its strongest keys, or, without one, the keys that receive most. */

import { ramp } from "../draw/color/ramp";
import { rampIndex } from "../draw/color/scale";
import { modeOf, onTheme } from "../draw/color/theme";
import { h } from "../draw/dom";
import { refill, rove } from "../draw/roving";
import { largest, rowOf } from "../figures/derive/matrix";
import { repeated, sumsOf } from "../figures/derive/units";
import { exact, formatNumber } from "../figures/format";
import { errorOf, type Matrix, topOf } from "../figures/matrix";
import { schemeOf, unitLabel } from "../figures/names";
import { explain, isAbort } from "../protocol/failure";
import { arrayOf, itemAt } from "../protocol/required";
import type { ViewContext } from "../views/contract";

const KEYS = 10;
/** A bar paler than this is lost on the ground; its width still tells. */
const PALEST = 48;

/** Attention flow of the focus token: `waiting`, refused with a reason, or one value a token of the text. */
type Flow = { readonly token: number } & (
  | { readonly state: "waiting" }
  | { readonly state: "refused"; readonly reason: string }
  | { readonly state: "known"; readonly values: Float32Array }
);

/** Sum of the values that are not listed. */
export function restOf(values: ArrayLike<number>, listed: readonly number[]): number {
  const sum = listed.reduce((total, i) => total + itemAt(values, i), 0);
  const all = Array.from(values).reduce((total, value) => total + value, 0);
  return Math.max(0, all - sum);
}

export function focus(element: HTMLElement, stage: ViewContext): () => void {
  const { source, state, matrix, signal } = stage;
  const scheme = schemeOf(source.meta.tokens);
  const title = h("h3", { class: "aw-title" });
  const list = h("ol", { class: "aw-rowkeys", "data-aw-part": "focus-keys" });
  const rest = h("p", { class: "aw-hint" });
  const flowBox = h("div", { class: "aw-focus-flow", "data-aw-part": "focus-flow" });
  element.append(h("div", { class: "aw-panel-head" }, title), list, rest, flowBox);
  rove(list, signal);
  /** Asked for by a button, since it takes a maximum flow for every token; then kept up for other tokens. */
  let wanted = false;
  let flow: Flow | null = null;

  /** The focus token if flow is available (in rollout). */
  const flowToken = (shown: Matrix): number | null =>
    shown.quantity === "rollout" && shown.unitOf(state.get().token) >= 0 ? state.get().token : null;

  function askFlow(token: number): void {
    flow = { token, state: "waiting" };
    source
      .slice({ kind: "flow", token }, { signal })
      .then(
        (slice): Flow => ({
          token,
          state: "known",
          values: arrayOf(slice, "flow").data as Float32Array,
        }),
      )
      .catch((error: unknown): Flow | null => {
        if (isAbort(error)) return null;
        const { message, hint } = explain(error);
        return { token, state: "refused", reason: `${message} ${hint}`.trim() };
      })
      .then((found) => {
        if (found === null || signal.aborted || flow?.token !== token) return;
        flow = found;
        draw();
      });
  }

  /** The legend of the second bar, the offer to make it, or why there is none. */
  function showFlow(token: number | null): void {
    flowBox.hidden = token === null;
    if (token === null) return;
    if (source.has?.({ kind: "flow", token }) === false) {
      flowBox.replaceChildren(h("p", { class: "aw-hint" }, "Flow (max-flow) needs a kernel."));
      return;
    }
    if (!wanted) {
      const offer = h("button", { class: "aw-button aw-text-button" });
      offer.textContent = "Compare with flow (max-flow)";
      offer.title =
        "Attention flow (Abnar & Zuidema 2020): the maximum flow from this token in the last layer to " +
        "each input token, through all layers";
      offer.addEventListener("click", () => {
        wanted = true;
        draw();
      });
      flowBox.replaceChildren(offer);
      return;
    }
    const line = (...content: (Node | string)[]): HTMLElement =>
      h("p", { class: "aw-hint aw-flow-key" }, ...content);
    if (flow?.state === "refused") flowBox.replaceChildren(line(`Flow N/A: ${flow.reason}`));
    else {
      const mark = (name: string): HTMLElement =>
        h("i", { class: `aw-flow-mark ${name}`, "aria-hidden": "true" });
      flowBox.replaceChildren(
        line(mark("is-rollout"), "rollout"),
        line(
          mark("is-flow"),
          flow?.state === "known" ? "flow (max-flow), all layers" : "flow (max-flow) …",
        ),
      );
    }
  }

  function draw(): void {
    const shown = matrix.get();
    if (shown === null) return;
    const { token, pair, scale } = state.get();
    const row = shown.unitOf(token);
    const query = shown.units[row]?.token;
    const name = (i: number): string => unitLabel(itemAt(shown.units, i), scheme);
    const rolled = shown.quantity !== "weights";
    const values = row >= 0 ? rowOf(shown.weights, row, shown.size) : shown.received;
    const top = row >= 0 ? shown.max : values.reduce((a, b) => Math.max(a, b), 0);
    const heading =
      row >= 0
        ? [h("bdi", { dir: "ltr" }, name(row)), rolled ? " comes from" : " attends to"]
        : [rolled ? "Most taken from" : "Most received"];
    title.replaceChildren(...heading);

    const flowAsked = flowToken(shown);
    if (wanted && flowAsked !== null && flow?.token !== flowAsked) askFlow(flowAsked);
    showFlow(flowAsked);
    const flows =
      flowAsked !== null && flow?.state === "known" && flow.token === flowAsked
        ? sumsOf(flow.values, shown.units)
        : null;
    const flowTop = flows?.reduce((a, b) => Math.max(a, b), 0) ?? 0;

    const { css } = ramp("weight", modeOf(element));
    // A cell that the mask forbids has no weight, not a weight of 0.
    const possible = (i: number): boolean =>
      row < 0 || shown.allowed === null || shown.allowed[row * shown.size + i] !== 0;
    const chosen = largest(values, KEYS).filter(possible);
    const twice = repeated(chosen.map(name));
    const masked = shown.units.filter((_, i) => !possible(i)).length;
    const ramps = topOf(shown, scale);
    const bar = (value: number, most: number, flowing: boolean): HTMLElement => {
      const made = h("span", {
        class: `aw-rowkey-bar${flowing ? " aw-rowkey-flow" : ""}`,
        "aria-hidden": "true",
      });
      made.style.width = `${most > 0 ? (100 * value) / most : 0}%`;
      // Only weights have the color of a weight.
      if (row >= 0 && !flowing) {
        made.style.background = itemAt(css, Math.max(PALEST, rampIndex(value, ramps, scale)));
      }
      return made;
    };
    const figure = (value: number, error = 0): HTMLElement =>
      h(
        "span",
        { class: "aw-number", "data-aw-value": exact(value, error), title: exact(value, error) },
        formatNumber(value, undefined, error),
      );
    list.classList.toggle("aw-with-flow", flows !== null);
    refill(
      list,
      chosen.map((i) => {
        const value = itemAt(values, i);
        const unit = itemAt(shown.units, i);
        const pressed = pair !== null && pair[0] === query && shown.unitOf(pair[1]) === i;
        const flowing = flows === null ? [] : [itemAt(flows, i)];
        const button = h(
          "button",
          {
            class: "aw-rowkey",
            "data-token": unit.token,
            "aria-pressed": String(pressed),
            title: `position ${unit.token}`,
          },
          h(
            "span",
            { class: "aw-rowkey-name" },
            h("bdi", { dir: "ltr" }, name(i)),
            twice.has(name(i)) ? h("span", { class: "aw-muted aw-nth" }, String(unit.token)) : null,
          ),
          h(
            "span",
            { class: "aw-rowkey-track" },
            bar(value, top, false),
            ...flowing.map((amount) => bar(amount, flowTop, true)),
          ),
          h(
            "span",
            { class: "aw-rowkey-numbers" },
            figure(value, errorOf(shown, value)),
            ...flowing.map((one) => figure(one)),
          ),
        );
        button.addEventListener("click", () => {
          state.set(query === undefined ? { token: unit.token } : { pair: [query, unit.token] });
        });
        return h("li", {}, button);
      }),
    );
    const others = shown.size - chosen.length - masked;
    const remains = restOf(values, chosen);
    const shared = formatNumber(remains, undefined, errorOf(shown, remains, others));
    rest.textContent =
      (others > 0 ? `${others === 1 ? "1 other has" : `${others} others share`} ${shared}. ` : "") +
      (masked > 0 ? `${masked} masked: this query cannot see them. ` : "") +
      (row >= 0 ? "" : "Choose a token above to see its row.");
  }

  matrix.on(draw, signal);
  state.on(["token", "pair", "scale"], draw, signal);
  onTheme(element, draw, signal);
  return () => element.replaceChildren();
}

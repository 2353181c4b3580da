/** Texts of a profile that are examples of the selected head, as ribbons. */

import { inkOn, ramp } from "../../../draw/color/ramp";
import { largestOf, rampIndex } from "../../../draw/color/scale";
import { modeOf } from "../../../draw/color/theme";
import { h } from "../../../draw/dom";
import { exact, formatNumber } from "../../../figures/format";
import { headName, metricName } from "../../../figures/names";
import { explain, isAbort } from "../../../protocol/failure";
import { itemAt } from "../../../protocol/required";
import type { Slice } from "../../../protocol/types";
import type { RunContext } from "../../contract";

/** Figure that a list opens with; a saved page has its examples. */
const FIRST = "link";

interface Example {
  readonly index: number;
  readonly value: number | null;
  readonly query: number | null;
  readonly key: number | null;
  readonly weight: number | null;
  readonly text: readonly string[];
  readonly before: readonly string[];
  readonly special: readonly boolean[];
}

interface Answer {
  readonly examples: readonly Example[];
  readonly names: readonly string[];
}

const NAMES: Readonly<Record<string, string>> = {
  link: "largest link between two words",
  sample: "drawn at random",
  "same word": "weight on the same word elsewhere",
};
const nameOf = (by: string): string => NAMES[by] ?? metricName(by);

export function headExamples(host: HTMLElement, stage: RunContext): void {
  const { source, state, signal, act, announce } = stage;
  const by = h("select", {
    class: "aw-select",
    "aria-label": "Figure that chooses the texts",
    "data-aw-part": "examples-by",
  });
  by.append(h("option", { value: FIRST }, nameOf(FIRST)));
  const least = h("button", { class: "aw-toggle", "aria-pressed": "false" }, "lowest first");
  const title = h("h4", {});
  const list = h("ol", { class: "aw-examples", "data-aw-part": "examples" });
  const note = h("p", { class: "aw-muted aw-examples-note", role: "status" });
  host.append(h("div", { class: "aw-heads-bar aw-examples-bar" }, title, by, least), note, list);

  let asked: AbortController | null = null;
  async function fill(): Promise<void> {
    asked?.abort();
    const { layer, head } = state.get();
    title.textContent = `Examples of ${headName(layer, head)}`;
    if (head === "mean") {
      note.textContent = "Choose a head: the mean of a layer has no examples.";
      list.replaceChildren();
      return;
    }
    const mine = new AbortController();
    asked = mine;
    signal.addEventListener("abort", () => mine.abort(), { signal: mine.signal });
    const lowest = least.getAttribute("aria-pressed") === "true";
    const request = { kind: "examples", layer, head, by: by.value, lowest } as const;
    list.setAttribute("aria-busy", "true");
    try {
      const slice = await source.slice(request, { signal: mine.signal });
      const { examples, names } = slice.data as unknown as Answer;
      if (by.options.length === 1 && source.live) {
        by.append(
          ...names
            .filter((name) => name !== FIRST)
            .map((name) => h("option", { value: name }, nameOf(name))),
        );
      }
      note.textContent =
        examples.length === 0
          ? "No text has this figure."
          : "Colored by the row of the outlined word; the underlined word receives most of it.";
      list.replaceChildren(...examples.map((one, place) => row(one, place, slice)));
    } catch (error) {
      if (isAbort(error) || mine.signal.aborted) return;
      const { message, hint } = explain(error);
      note.textContent = `${message} ${hint}`;
      list.replaceChildren();
    } finally {
      if (asked === mine) list.removeAttribute("aria-busy");
    }
  }

  function row(example: Example, place: number, slice: Slice): HTMLElement {
    const { index, value, query, key, weight } = example;
    const line = h(
      "span",
      { class: "aw-example-line", dir: "auto" },
      ...tokens(example, place, slice),
    );
    const shown = value ?? weight;
    const number = h("span", { class: "aw-number" }, shown === null ? "" : formatNumber(shown, 3));
    if (shown !== null) number.dataset.awValue = exact(shown);
    const pair =
      query === null || key === null
        ? ""
        : `${itemAt(example.text, query)} → ${itemAt(example.text, key)}${weight === value ? "" : ` ${formatNumber(weight ?? Number.NaN, 3)}`}`;
    const details = h(
      "span",
      { class: "aw-muted aw-example-pair" },
      h("bdi", {}, pair),
      ` · text ${index}`,
    );
    const item = h("li", { "data-aw-index": index }, number, h("div", {}, line, details));
    if (act !== null) {
      const open = h("button", { class: "aw-button", "data-aw-part": "open-example" }, "Open");
      open.addEventListener("click", () => {
        const { layer, head } = state.get();
        if (head === "mean") return;
        announce(`Text ${index} is opened below.`);
        act({ kind: "open_example", index, layer, head, query, key }).catch((error: unknown) => {
          const { message, hint } = explain(error);
          stage.report(message, hint);
        });
      });
      item.append(open);
    }
    return item;
  }

  function tokens(example: Example, place: number, slice: Slice): (HTMLElement | string)[] {
    const weights = Array.from(slice.arrays.get(`row:${place}`)?.data ?? []);
    const top = largestOf(weights, example.special);
    const { css, rgb } = ramp("weight", modeOf(host));
    return example.text.flatMap((text, i) => {
      const token = h("span", { class: "aw-example-token" }, text);
      token.classList.toggle("aw-special", example.special[i] === true);
      token.classList.toggle("is-query", i === example.query);
      token.classList.toggle("is-key", i === example.key);
      const weight = weights[i];
      if (weight !== undefined) {
        const at = rampIndex(weight, top, "words");
        token.style.backgroundColor = itemAt(css, at);
        token.style.color = inkOn(itemAt(rgb, at));
        token.title = formatNumber(weight);
        token.dataset.awValue = exact(weight);
      }
      return [itemAt(example.before, i), token];
    });
  }

  by.addEventListener("change", () => void fill(), { signal });
  least.addEventListener(
    "click",
    () => {
      least.setAttribute("aria-pressed", String(least.getAttribute("aria-pressed") !== "true"));
      void fill();
    },
    { signal },
  );
  least.hidden = !source.live;
  state.on(["layer", "head", "theme"], () => void fill(), signal);
  void fill();
}

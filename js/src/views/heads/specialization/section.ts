/** Where the heads look: the radar of the seven specializations, its heads, and the table of numbers. */

import { h } from "../../../draw/dom";
import { onResize } from "../../../draw/resize";
import { standalone } from "../../../draw/vector";
import { fillWhenAnswered } from "../../../draw/wait";
import { PATTERNS, SPECIALIZATIONS } from "../../../figures/catalog/cards";
import type { Aim } from "../../../figures/catalog/types";
import { formatNumber } from "../../../figures/format";
import {
  askPatterns,
  askSpecialization,
  type Form,
  type Patterns,
  type Specialization,
} from "../../../figures/head-figures";
import { headName, metricName } from "../../../figures/names";
import { isAbort } from "../../../protocol/failure";
import { itemAt } from "../../../protocol/required";
import { aimExplanation } from "../explain";
import { summarize } from "../figures";
import type { HeadsStage } from "../parts";
import { headChips } from "./chips";
import { createRadar, spokenRadar } from "./radar";
import { radarScale } from "./radar-geometry";
import { type AimRow, createAimTable } from "./table";

const FORMS: readonly (readonly [Form, string])[] = [
  ["scaled", "Per layer"],
  ["raw", "Raw"],
  ["z", "z-scores"],
];
const SAME = "The heads of this layer do not differ.";

interface Answers {
  /** null if unavailable. */
  readonly specialization: Specialization | null;
  /** null where a profile of an older version has none. */
  readonly patterns: Patterns | null;
}

type Answered = Answers & { readonly specialization: Specialization };

export interface RadarSection {
  readonly element: HTMLElement;
  /** The drawing, once it is there. */
  svg(): SVGSVGElement | null;
}

/** The radar as a file has it, with room for the names that stand out of its box on screen. */
function alone(radar: SVGSVGElement): SVGSVGElement {
  const copy = standalone(radar);
  const { x, y, width, height } = radar.getBBox();
  copy.setAttribute("viewBox", [x, y, width, height].join(" "));
  copy.setAttribute("width", String(width));
  copy.setAttribute("height", String(height));
  return copy;
}

/** `known` receives the answers, so that the table of all heads has them too. */
export function radarSection(stage: HeadsStage, known: (answers: Answers) => void): RadarSection {
  const { source, signal } = stage;
  const body = h("div", { class: "aw-aims-body" });
  const element = h(
    "section",
    { class: "aw-aims-section", "aria-label": "Where the heads look" },
    body,
  );
  let drawing: SVGElement | null = null;
  void fillWhenAnswered(body, {
    waiting: "Tagging the words of the text …",
    ask: async () => {
      const patterns = await askPatterns(source, { signal }).catch((error: unknown) => {
        if (isAbort(error)) throw error;
        return null;
      });
      try {
        return { specialization: await askSpecialization(source, { signal }), patterns };
      } catch (error) {
        // Positions need no language: they are known whatever the tagger says.
        known({ specialization: null, patterns });
        throw error;
      }
    },
    fill: (answers) => {
      drawing = fill(body, stage, answers);
      known(answers);
    },
    signal,
  });
  return { element, svg: () => drawing && alone(drawing as SVGSVGElement) };
}

function fill(body: HTMLElement, stage: HeadsStage, answers: Answered): SVGElement {
  const { source, state, signal, nHeads, profile } = stage;
  const { specialization, patterns } = answers;
  const aims = SPECIALIZATIONS.filter(({ key }) => specialization.keys.includes(key));
  let form: Form = "scaled";
  let all = true;
  let width = 0;

  const forms = h(
    "div",
    {
      class: "aw-segmented",
      role: "group",
      "aria-label": "Scale of the radar",
      "data-aw-part": "radar-form",
    },
    ...FORMS.map(([value, label]) => h("button", { "data-form": value }, label)),
  );
  const whole = h(
    "button",
    { class: "aw-toggle", "aria-pressed": "true", "data-aw-part": "radar-all" },
    "all heads of the layer",
  );
  const readout = h("p", { class: "aw-radar-readout", "aria-hidden": "true" });
  const chips = headChips(stage, (head) => point(head));
  const radar = createRadar({
    select: (head) => stage.select(state.get().layer, head),
    point: (head) => point(head),
    explain: (key) =>
      table.element.querySelector<HTMLElement>(`button[data-key="${key}"]`)?.click(),
  });
  const legend = h("p", { class: "aw-marks aw-radar-legend" });
  const plot = h("div", { class: "aw-radar-plot" }, radar.element, readout, chips.element, legend);
  const table = createAimTable(profile, (aim, anchor) =>
    stage.explain(aim.key, aim.name, anchor, () =>
      aimExplanation(aim, {
        chance: aim.key in chances ? (chances[aim.key] as number) : Number.NaN,
        scaled: specialization.keys.includes(aim.key),
        profile,
      }),
    ),
  );
  const chances: Record<string, number> = Object.fromEntries([
    ...aims.map(({ key }) => [key, specialization.chance(key)]),
    ...PATTERNS.map(({ key }) => [key, patterns?.chance ?? Number.NaN]),
  ]);
  body.append(
    h("div", { class: "aw-heads-bar" }, h("h4", {}, "Where they look"), forms, whole),
    h(
      "div",
      { class: "aw-aims-parts" },
      plot,
      h("div", { class: "aw-aims-numbers" }, table.element, ...notes()),
    ),
  );

  function notes(): HTMLElement[] {
    const reasons = new Set(Object.values(specialization.reasons));
    const items = specialization.notes
      .filter((note) => !reasons.has(note))
      .map((note) => h("li", {}, note.replace(/^[a-z_]+(?=:)/, metricName)));
    return items.length === 0
      ? []
      : [h("ul", { class: "aw-aim-notes", "data-aw-part": "specialization-notes" }, ...items)];
  }

  const at = (values: ArrayLike<number>, head: number): number =>
    values[state.get().layer * nHeads + head] ?? Number.NaN;
  const heads = Array.from({ length: nHeads }, (_, head) => head);
  /** A head's figure, or the mean of the figures of the layer's heads. */
  const figure = (values: ArrayLike<number>): number => {
    const { head } = state.get();
    return head === "mean" ? summarize(heads.map((k) => at(values, k))).mean : at(values, head);
  };

  function absent(aim: Aim, by: Form): string | null {
    const raw = specialization.values("raw", aim.key);
    const reason = specialization.reasons[aim.key];
    if (heads.every((head) => Number.isNaN(at(raw, head)))) return reason ?? "Not defined here.";
    const values = specialization.values(by, aim.key);
    return heads.every((head) => Number.isNaN(at(values, head))) ? SAME : null;
  }

  function draw(): void {
    if (width === 0) return;
    const { layer, head } = state.get();
    const rows = heads.map((k) => aims.map(({ key }) => at(specialization.values(form, key), k)));
    const chance = aims.map(({ key }) => (form === "raw" ? (chances[key] as number) : Number.NaN));
    const chosen = aims.map(({ key }) => figure(specialization.values(form, key)));
    radar.draw(
      {
        aims,
        scale: radarScale(form, [...rows.flat(), ...chance].filter(Number.isFinite)),
        layer,
        heads: rows,
        chosen,
        chosenHead: head === "mean" ? -1 : head,
        all,
        chance,
        absent: aims.map((aim) => absent(aim, form)),
        spoken: spokenRadar(layer, head === "mean" ? -1 : head, aims, chosen),
      },
      width,
    );
    legend.replaceChildren(
      mark("aw-mark-this-line", headName(layer, head)),
      ...(all ? [mark("aw-mark-layer-line", "other heads of its layer")] : []),
      ...(form === "raw" && chance.some(Number.isFinite)
        ? [mark("aw-mark-chance", "chance level")]
        : []),
      h("span", {}, SCALES[form]),
    );
    point(null);
  }

  function fillTable(): void {
    const { layer, head } = state.get();
    const index = layer * nHeads + (head === "mean" ? 0 : head);
    const interval = (key: string): readonly [number, number] | null => {
      const low = source.arrays.get(`low:${key}`)?.data;
      const high = source.arrays.get(`high:${key}`)?.data;
      if (low === undefined || high === undefined) return null;
      return head === "mean" ? [Number.NaN, Number.NaN] : [itemAt(low, index), itemAt(high, index)];
    };
    const rows: AimRow[] = aims.map((aim) => ({
      aim,
      raw: figure(specialization.values("raw", aim.key)),
      chance: chances[aim.key] as number,
      interval: interval(aim.key),
      scaled: figure(specialization.values("scaled", aim.key)),
      z: figure(specialization.values("z", aim.key)),
      absent: absent(aim, "raw"),
    }));
    const beside = PATTERNS.flatMap((aim): AimRow[] => {
      if (patterns === null || !patterns.keys.includes(aim.key)) return [];
      const raw = figure(patterns.values(aim.key));
      return [
        {
          aim,
          raw,
          chance: chances[aim.key] as number,
          interval: interval(aim.key),
          scaled: null,
          z: null,
          absent: Number.isNaN(raw)
            ? "No token has a neighbor on that side that the mask lets it see."
            : null,
        },
      ];
    });
    table.fill([
      { name: "Specialization", rows },
      ...(beside.length > 0 ? [{ name: "Position", rows: beside }] : []),
    ]);
    table.setChosen(state.get().metric);
  }

  function point(head: number | null): void {
    radar.point(head);
    chips.point(head);
    const { layer, head: own } = state.get();
    readout.textContent = head === null ? headName(layer, own) : strongest(layer, head);
  }

  /** Strongest specialization of the pointed head within its layer. */
  function strongest(layer: number, head: number): string {
    let best: Aim | null = null;
    let most = Number.NEGATIVE_INFINITY;
    for (const aim of aims) {
      const z = at(specialization.values("z", aim.key), head);
      if (z > most) [best, most] = [aim, z];
    }
    const name = headName(layer, head);
    if (best === null) return name;
    const raw = formatNumber(at(specialization.values("raw", best.key), head));
    return `${name}: most of all ${best.name}, ${raw} (z ${formatNumber(most, 2)})`;
  }

  function press(): void {
    for (const button of forms.querySelectorAll("button")) {
      button.setAttribute("aria-pressed", String(button.dataset.form === form));
    }
    whole.setAttribute("aria-pressed", String(all));
  }
  forms.addEventListener("click", (event) => {
    const wanted = (event.target as Element).closest<HTMLElement>("[data-form]")?.dataset.form;
    if (wanted === undefined) return;
    form = wanted as Form;
    press();
    draw();
  });
  whole.addEventListener("click", () => {
    all = !all;
    press();
    draw();
  });
  const follow = (): void => {
    chips.follow();
    draw();
    fillTable();
  };
  state.on(["layer", "head"], follow, signal);
  state.on(["metric"], ({ metric }) => table.setChosen(metric), signal);
  press();
  follow();
  onResize(
    plot,
    (available) => {
      width = available;
      draw();
    },
    signal,
  );
  return radar.element;
}

const SCALES: Readonly<Record<Form, string>> = {
  scaled: "Center: lowest head of this layer. Rim: highest (may still be small).",
  raw: "One scale for all axes, from 0 by the square root.",
  z: "Strong ring: mean of all heads of the model; in standard deviations.",
};

const mark = (className: string, text: string): HTMLElement =>
  h("span", { class: "aw-mark" }, h("i", { class: className, "aria-hidden": "true" }), text);

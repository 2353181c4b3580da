/** Specializations of the heads: the radar of the specializations, the heads of the layer, and the table of numbers. */
import { type ReadonlySignal, signal } from "@preact/signals-core";
import type { ComponentType } from "preact";
import { standalone } from "../../draw/vector";
import { headName, spokenHead } from "../../figures/names";
import { cls } from "../../marks/plot";
import { Button, Segmented } from "../../ui/controls";
import { Mark } from "../../ui/legend";
import { memo } from "../../ui/memo";
import { setter } from "../../ui/mount";
import { Toggle } from "../../ui/toggle";
import { answeredSection } from "./answered";
import { createLooksModel, type LooksModel } from "./looks";
import { looksNumbers } from "./looks-numbers";
import type { HeadsModel } from "./model";
import { Radar } from "./radar";
import type { RadarForm } from "./radar-geometry";

const FORMS = [
  ["scaled", "Per layer"],
  ["raw", "Raw"],
] as const;
const SCALES: Readonly<Record<RadarForm, string>> = {
  scaled: "Center: lowest head of this layer. Rim: highest (may still be small).",
  raw: "One scale for all axes, from 0 by the square root.",
};

/** The radar for a file, with space for the names that stand out of its box on screen. */
export function radarFile(host: Element): SVGSVGElement | null {
  const radar = host.querySelector<SVGSVGElement>(".aw-radar");
  if (radar === null) return null;
  const copy = standalone(radar);
  const { x, y, width, height } = radar.getBBox();
  const box = { viewBox: `${x} ${y} ${width} ${height}`, width, height };
  for (const [name, value] of Object.entries(box)) copy.setAttribute(name, String(value));
  return copy;
}

/** The radar, for the first screen, and the figures in numbers, null before they are known. */
export function createLooks(model: HeadsModel) {
  if (!model.source.meta.wordless) void model.askLooks();
  const numbers = signal<ComponentType | null>(null);
  const Section = answeredSection(
    model.looks,
    (found) => {
      const looks = createLooksModel(model, found);
      numbers.value = looksNumbers(looks);
      return () => <Looks looks={looks} />;
    },
    {
      until: model.until,
      section: { class: "aw-specialization-section", "aria-label": "Where the heads look" },
      class: "aw-specialization-body",
      waiting: "Tagging the words of the text …",
      again: () => void model.askLooks(),
    },
  );
  return { Section, numbers: numbers as ReadonlySignal<ComponentType | null> };
}

const Plot = memo(function Plot({ looks }: { readonly looks: LooksModel }) {
  const { selection, pointed, radar, all, form, select, explain, strongest, width, measure } =
    looks;
  const { layer, head } = selection.value;
  const index = pointed.value;
  return (
    <div class="aw-radar-plot" ref={measure}>
      {width.value > 0 && (
        <Radar
          {...radar.value}
          {...{ width: width.value, pointed: index, select, explain }}
          point={setter(pointed)}
        />
      )}
      <p class="aw-radar-readout" aria-hidden="true">
        {index === null ? headName(layer, head) : strongest(layer, index)}
      </p>
      <Chips looks={looks} />
      <p class="aw-marks aw-radar-legend">
        <Mark kind="this-line" text={headName(layer, head)} />
        {all.value && <Mark kind="layer-line" text="other heads of its layer" />}
        {radar.value.chance.some(Number.isFinite) && <Mark kind="chance" text="chance level" />}
        <span>{SCALES[form.value]}</span>
      </p>
    </div>
  );
});

const Chips = memo(function Chips({ looks }: { readonly looks: LooksModel }) {
  const { selection, heads, pointed, entry, props } = looks;
  const { layer, head } = selection.value;
  return (
    <div
      class="aw-chips"
      role="radiogroup"
      aria-label="Head of the layer"
      data-aw-part="radar-heads"
      {...props}
    >
      {heads.map((index) => (
        <Button
          key={index}
          role="radio"
          class={cls("aw-chip", { pointed: index === pointed.value })}
          aria-checked={index === head}
          label={`H${index}, ${spokenHead(layer, index)}`}
          tabIndex={index === entry.value ? 0 : -1}
          data-head={index}
        >
          {`H${index}`}
        </Button>
      ))}
    </div>
  );
});

const Looks = memo(function Looks({ looks }: { readonly looks: LooksModel }) {
  const { form, all, refusals } = looks;
  return (
    <>
      <div class="aw-heads-bar">
        <h4>Where it looks</h4>
        <Segmented
          {...{ label: "Scale of the radar", part: "radar-form", name: "form", options: FORMS }}
          value={form.value}
          choose={setter(form)}
        />
        <Toggle text="all heads of the layer" part="radar-all" on={all.value} set={setter(all)} />
      </div>
      <Plot looks={looks} />
      {refusals.length > 0 && (
        <p class="aw-view-note aw-radar-refusals" data-aw-part="specialization-refusals">
          {refusals.join(" ")}
        </p>
      )}
    </>
  );
});

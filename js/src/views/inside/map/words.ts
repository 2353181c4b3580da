/** Texts of the map: the layer that changes the token most, and names of stages and layers. */

import { h } from "../../../draw/dom";
import { argmax } from "../../../figures/derive/dimensions";
import type { Architecture, StageBox } from "../../../figures/derive/stages";
import { exact, formatCount, formatNumber } from "../../../figures/format";
import { itemAt } from "../../../protocol/required";
import type { ModelMeta } from "../../../protocol/types";
import type { Bars, MapData } from "./map";
import { formatParameters } from "./parameters";

/** Names of the map's zones while a layer is open. */
export function zoneNames(layer: number, layers: number, preNorm: boolean): MapData["headings"] {
  return {
    embeddings: "Embeddings",
    layers: `${layers} layers`,
    attention: `Layer ${layer} · attention (${preNorm ? "pre-norm" : "post-norm"})`,
    ffn: `Layer ${layer} · feed-forward`,
    output: "Output",
  };
}

const number = (value: number): HTMLElement =>
  h(
    "span",
    { class: "aw-number", "data-aw-value": exact(value), title: exact(value) },
    formatNumber(value),
  );

/** Which layer changes the most; `turns`: 1 minus the cosine of the token's states around each layer. */
export function changeWords(
  { change, attention, ffn }: Bars,
  turns: readonly number[],
  token: string,
): (Node | string)[] {
  const parts: (Node | string)[] = [];
  const changing = argmax(change);
  if (changing >= 0) {
    parts.push(
      `Attention changes most from L${changing} to L${changing + 1} (`,
      number(itemAt(change, changing)),
      "). ",
    );
  }
  const both = [...attention, ...ffn];
  const layers = attention.length;
  const top = argmax(both);
  if (top >= 0) {
    parts.push(
      "“",
      h("bdi", { dir: "ltr" }, token),
      `” changes most in the ${top < layers ? "attention" : "FFN"} of L${top % layers} (`,
      number(itemAt(both, top)),
      "). ",
    );
  }
  const turn = argmax(turns);
  if (turn >= 0) {
    parts.push(
      `Its hidden state turns most in L${turn}, between the states ${turn} and ${turn + 1} (cosine `,
      number(1 - itemAt(turns, turn)),
      ").",
    );
  }
  return parts;
}

/** Legend of the map's bars, with their range. */
export function changeLegend({ change, attention, ffn }: Bars, token: string): HTMLElement[] {
  const both = [...attention, ...ffn];
  const most = both[argmax(both)] ?? 0;
  const mark = (kind: string, ...content: (Node | string)[]): HTMLElement =>
    h("span", { class: "aw-mark" }, h("i", { class: `aw-key-${kind}` }), ...content);
  return [
    mark("attention", "attention"),
    mark("ffn", "FFN"),
    h(
      "span",
      {},
      "‖out − in‖ / ‖in‖ of “",
      h("bdi", { dir: "ltr" }, token),
      "”, 0 to ",
      number(most),
    ),
    ...(change.length === 0
      ? []
      : [
          mark(
            "change",
            "attention to the next layer, Jensen–Shannon, 0 to ",
            number(itemAt(change, argmax(change))),
          ),
        ]),
  ];
}

/** A layer's bars, for the line below the map. */
export function layerWords(layer: number, bars: Bars | null, token: string): string {
  if (bars === null) return `Layer ${layer}.`;
  const change = bars.change[layer];
  return (
    `Layer ${layer}: attention changes “${token}” by ${formatNumber(itemAt(bars.attention, layer))}, ` +
    `FFN by ${formatNumber(itemAt(bars.ffn, layer))}` +
    (change === undefined
      ? "."
      : `; attention changes by ${formatNumber(change)} to L${layer + 1}.`)
  );
}

/** A stage with its size and parameters, for the line below the map. */
export function stageWords(box: StageBox, arch: Architecture, model: ModelMeta): string {
  if (box.missing !== null) return `${box.title}: – ${box.missing}`;
  const count = box.part === null ? 0 : (arch.parameters[box.part] ?? 0);
  return `${box.title}: ${box.about}${count > 0 ? ` ${counted(box, count, model)}` : ""}`;
}

function counted(box: StageBox, count: number, { family, n_layers }: ModelMeta): string {
  const part = {
    embeddings: "The embeddings have",
    attention: "Attention has",
    feed_forward: "The FFN has",
    norms: "The norms have",
    other: "This and others have",
    pooler: "The pooler has",
    heads: "The heads on top have",
  }[box.part ?? "other"];
  const whole = `${part} ${formatParameters(count)} parameters`;
  if (box.zone !== "attention" && box.zone !== "ffn") return `${whole}.`;
  if (family === "albert") return `${whole}, shared by all layers.`;
  return count % n_layers === 0
    ? `${whole}, ${formatCount(count / n_layers)} in each layer.`
    : `${whole} in all layers.`;
}

/** Texts of the map: the layer that changes the token most, its legend, and names of stages and layers. */

import { formatCount, formatNumber } from "../../../figures/format";
import { itemAt } from "../../../protocol/required";
import type { ModelMeta } from "../../../protocol/types";
import { Num } from "../../../ui/number";
import type { Architecture, StageBox } from "../architecture";
import { Name } from "../bars";
import { argmax, scaleEnd } from "../dimensions";
import type { Bars, MapData } from "./map";
import { formatParameters } from "./parameters";

/** Names of the map's zones while a layer is open. */
export const zoneNames = (
  layer: number,
  layers: number,
  preNorm: boolean,
): MapData["headings"] => ({
  embeddings: "Embeddings",
  layers: `${layers} layers`,
  attention: `Layer ${layer} · attention (${preNorm ? "pre-norm" : "post-norm"})`,
  ffn: `Layer ${layer} · feed-forward`,
  output: "Output",
});

interface ChangeProps {
  readonly bars: Bars;
  readonly token: string;
}

/** Which layer changes the most; `turns`: 1 minus the cosine of the token's states around each layer. */
export function ChangeWords({
  bars: { change },
  turns,
  token,
}: ChangeProps & { readonly turns: readonly number[] }) {
  const [changing, turn] = [argmax(change), argmax(turns)];
  return (
    <>
      {changing >= 0 && (
        <>
          {`Attention changes most from L${changing} to L${changing + 1} (`}
          <Num value={itemAt(change, changing)} />
          {"). "}
        </>
      )}
      {turn >= 0 && (
        <>
          {"The hidden state of “"}
          <Name text={token} />
          {`” changes direction most in L${turn} (cosine `}
          <Num value={1 - itemAt(turns, turn)} />
          ).
        </>
      )}
    </>
  );
}

/** Legend of the map's bars, with their range. */
export function ChangeLegend({ bars: { change, attention, ffn }, token }: ChangeProps) {
  const both = [...attention, ...ffn];
  const [most, end] = [both[argmax(both)] ?? 0, scaleEnd(both)];
  return (
    <>
      <span class="aw-mark">
        <i class="aw-residual-attention" />
        attention
      </span>
      <span class="aw-mark">
        <i class="aw-residual-ffn" />
        FFN
      </span>
      <span>
        {"‖out − in‖ / ‖in‖ of “"}
        <Name text={token} />
        {"”, 0 to "}
        <Num value={end} />
        {most > end && (
          <>
            {"; longer bars are broken, the longest is "}
            <Num value={most} />
          </>
        )}
      </span>
      {change.length > 0 && (
        <span class="aw-mark">
          <i class="aw-key-change" />
          {"attention to the next layer, Jensen–Shannon, 0 to "}
          <Num value={itemAt(change, argmax(change))} />
        </span>
      )}
    </>
  );
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

const HAVE = {
  embeddings: "The embeddings have",
  attention: "Attention has",
  feed_forward: "The FFN has",
  norms: "The norms have",
  other: "This and others have",
  decoder: "The decoder has",
  pooler: "The pooler has",
  heads: "The heads on top have",
} as const;

/** A stage with its size and parameters, for the line below the map. */
export function stageWords(
  { title, about, missing, part, zone }: StageBox,
  { parameters }: Architecture,
  { family, n_layers }: ModelMeta,
): string {
  if (missing !== null) return `${title}: – ${missing}`;
  const count = part === null ? 0 : (parameters[part] ?? 0);
  if (count <= 0) return `${title}: ${about}`;
  const each =
    zone !== "attention" && zone !== "ffn"
      ? ""
      : family === "albert"
        ? ", shared by all layers"
        : count % n_layers === 0
          ? `, ${formatCount(count / n_layers)} in each layer`
          : " in all layers";
  return `${title}: ${about} ${HAVE[part ?? "other"]} ${formatParameters(count)} parameters${each}.`;
}

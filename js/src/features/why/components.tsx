/** A next token's logit as a sum over the parts of the network: every head, every MLP, the embedding and the biases. */

import { type Mode, ramp, rampImage } from "../../draw/color/ramp";
import { signedIndex } from "../../draw/color/scale";
import { largest } from "../../figures/derive/matrix";
import { formatNumber, formatSigned } from "../../figures/format";
import { headName } from "../../figures/names";
import { itemAt } from "../../protocol/required";
import { largestAbsolute } from "../../protocol/ties";
import type { State } from "../../state/selection";
import { Disclosure } from "../../ui/disclosure";
import { memo } from "../../ui/memo";
import { Num } from "../../ui/number";
import { Headings } from "../../ui/table";
import type { Components } from "./data";
import { HeadBars } from "./head-bars";

const LISTED = 6;
/** A layer's column at most, the ends' columns in columns of a layer, and the row of a head, px. */
const COLUMN = 20;
const END = 4.4;
const ROW = { few: 14, many: 7 } as const;
const FEW = 16;
/** Height of the bars, px, and of a bar of the largest size in it. */
const BARS = 52;
const HALF = 0.92;
/** Width of a layer's number, and the narrowest picture that has all of them, px. */
const LABEL = 24;
const NARROW = 300;
const STEPS = [1, 2, 5, 10, 20];
const RAMP = 18;

interface Props {
  readonly found: Components;
  readonly heads: number;
  readonly state: State;
  readonly mode: Mode;
}

/** Biases below this share of all parts are rounding: the model has none. */
const ROUNDING = 1e-6;

const sum = (values: ArrayLike<number>): number =>
  Array.from(values).reduce((total, value) => total + value, 0);

/** `Of all heads L23 · H3 counts most, +2.86; all parts together make the 6.12 logits by which Mary leads John.` */
function Sentence({ found, heads, first }: Pick<Props, "found" | "heads"> & { first: number }) {
  const { names, value } = found;
  const [plus = "", minus] = names;
  const part = itemAt(found.heads, first);
  const whole = minus === undefined ? value : Math.abs(value);
  return (
    <p class="aw-sentence" data-aw-part="why-components-said">
      {`Of all heads ${headName(Math.floor(first / heads), first % heads)} counts most, `}
      <Num value={part} text={formatSigned(part)} />
      {"; all parts together make the "}
      {minus === undefined && (
        <>
          {"logit of "}
          <bdi>{plus}</bdi>
          {", "}
        </>
      )}
      <Num value={value} text={formatNumber(whole)} />
      {minus !== undefined && (
        <>
          {" logits by which "}
          <bdi>{plus}</bdi>
          {value < 0 ? " trails " : " leads "}
          <bdi>{minus}</bdi>
        </>
      )}
      .
    </p>
  );
}

/** Layers from left to right; above, every head as a cell, below, embedding, MLPs and biases as bars. */
function Picture({ found, heads, state, mode }: Props) {
  const layers = found.mlps.length;
  const width = layers + 2 * END;
  const row = heads <= FEW ? ROW.few : ROW.many;
  const { css } = ramp("signed", mode);
  const strongest = largestAbsolute(found.heads);
  const longest = largestAbsolute([...found.mlps, found.embedding, found.bias]);
  const bars = [
    { name: "embedding", at: (END - 1) / 2, value: found.embedding },
    ...Array.from(found.mlps, (value, layer) => ({
      name: `MLP of layer ${layer}`,
      at: END + layer,
      value,
    })),
    { name: "biases", at: END + layers + (END - 1) / 2, value: found.bias },
  ];
  const step = STEPS.find((layersApart) => (layersApart * NARROW) / width >= LABEL) ?? layers;
  const left = (column: number) => ({ insetInlineStart: `${(100 * column) / width}%` });
  const choose = ({ target }: MouseEvent): void => {
    const { layer, head } = (target as SVGElement).dataset;
    if (layer !== undefined) state.set({ layer: Number(layer), head: Number(head) });
  };
  const scale = (size: number) => `± ${formatNumber(size, 2)}`;
  return (
    <div class="aw-why-parts" style={{ "--aw-parts-width": `${COLUMN * width}px` }} dir="ltr">
      <span class="aw-why-parts-name">
        heads
        <small>{scale(strongest)}</small>
      </span>
      <svg
        class="aw-why-parts-heads"
        viewBox={`0 0 ${width} ${heads}`}
        preserveAspectRatio="none"
        style={{ blockSize: `${row * heads}px` }}
        role="img"
        aria-label="Contribution of every head, by layer from left to right"
        onClick={choose}
      >
        {Array.from(found.heads, (value, index) => {
          const [layer, head] = [Math.floor(index / heads), index % heads];
          return (
            <rect
              key={index}
              x={END + layer}
              y={head}
              width={0.94}
              height={0.92}
              data-layer={layer}
              data-head={head}
              fill={itemAt(css, signedIndex(value, strongest))}
            >
              <title>{`${headName(layer, head)}: ${formatSigned(value)}`}</title>
            </rect>
          );
        })}
      </svg>
      <span class="aw-why-parts-name">
        MLPs
        <small>{scale(longest)}</small>
      </span>
      <svg
        class="aw-why-parts-bars"
        viewBox={`0 -1 ${width} 2`}
        preserveAspectRatio="none"
        style={{ blockSize: `${BARS}px` }}
        role="img"
        aria-label="Contribution of the embedding, of the MLP of every layer, and of the biases"
      >
        <path d={`M0 0H${width}`} vector-effect="non-scaling-stroke" />
        {bars.map(({ name, at, value }) => {
          const size = longest > 0 ? (HALF * Math.abs(value)) / longest : 0;
          return (
            <g key={name}>
              <title>{`${name}: ${formatSigned(value)}`}</title>
              <rect class="is-space" x={at} y={-1} width={1} height={2} />
              <rect
                x={at + 0.12}
                y={value > 0 ? -size : 0}
                width={0.76}
                height={size}
                fill={itemAt(css, signedIndex(value, Math.abs(value) * 1.6))}
              />
            </g>
          );
        })}
      </svg>
      <span class="aw-why-parts-name">layer</span>
      <span class="aw-why-parts-axis" aria-hidden="true">
        <small style={left(END / 2)}>emb.</small>
        {Array.from({ length: layers }, (_, layer) =>
          layer % step === 0 ? (
            <small key={layer} style={left(END + layer + 0.5)}>
              {layer}
            </small>
          ) : null,
        )}
        <small style={left(END + layers + END / 2)}>bias</small>
      </span>
    </div>
  );
}

/** Every number of the picture. */
const Numbers = ({ found, heads }: Pick<Props, "found" | "heads">) => (
  <table class="aw-table">
    <Headings of={["layer", ...Array.from({ length: heads }, (_, head) => `H${head}`), "MLP"]} />
    <tbody>
      {Array.from(found.mlps, (mlp, layer) => (
        <tr key={layer}>
          <th scope="row">{`L${layer}`}</th>
          {Array.from(found.heads.subarray(layer * heads, (layer + 1) * heads), (value, head) => (
            <Num key={head} tag="td" value={value} />
          ))}
          <Num tag="td" value={mlp} />
        </tr>
      ))}
    </tbody>
  </table>
);

export const ComponentsPanel = memo(function ComponentsPanel(props: Props) {
  const { found, heads, state, mode } = props;
  const listed = largest(Array.from(found.heads, Math.abs), LISTED);
  const sizes = sum([...found.heads, ...found.mlps].map(Math.abs));
  const terms = [
    ["heads", sum(found.heads)],
    ["MLPs", sum(found.mlps)],
    ["embedding", found.embedding],
    ["biases", Math.abs(found.bias) < ROUNDING * sizes ? 0 : found.bias],
  ] as const;
  return (
    <div class="aw-why-components" data-aw-part="why-components">
      <h4>Components</h4>
      <Sentence {...{ found, heads }} first={listed[0] ?? 0} />
      <div class="aw-why-parts-row">
        <Picture {...props} />
        <HeadBars values={found.heads} {...{ listed, heads, state, mode }} />
      </div>
      <p class="aw-why-sum aw-cluster" data-aw-part="why-components-sum">
        {terms.map(([name, value]) => (
          <span key={name} class="aw-why-term">
            {`${name} `}
            <Num value={value} text={formatSigned(value)} />
          </span>
        ))}
        <span class="aw-why-total">
          {"= "}
          <Num value={found.value} />
          {found.gap < 1e-3 ? "" : `, gap ${formatNumber(100 * found.gap, 2)}%`}
        </span>
        <span class="aw-muted aw-small aw-why-scale">
          against
          <i aria-hidden="true" style={{ background: rampImage("signed", mode, RAMP) }} />
          for
        </span>
      </p>
      <p class="aw-hint">
        What each part writes into the residual stream, as the head reads it with the divisor of the
        final norm held (direct logit attribution).
      </p>
      <Disclosure summary="All components as numbers" label="Components">
        {() => <Numbers {...{ found, heads }} />}
      </Disclosure>
    </div>
  );
});

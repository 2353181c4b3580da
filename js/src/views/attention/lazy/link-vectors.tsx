/** Query and key of a pinned pair as strips of their values, and the products that their dot is the sum of. */

import { type ReadonlySignal, signal } from "@preact/signals-core";
import { Component } from "preact";
import { type Mode, ramp } from "../../../draw/color/ramp";
import { signedIndex } from "../../../draw/color/scale";
import { formatNumber } from "../../../figures/format";
import { itemAt } from "../../../protocol/required";
import { largestAbsolute } from "../../../protocol/ties";
import { Disclosure } from "../../../ui/disclosure";
import { memo } from "../../../ui/memo";
import { Num } from "../../../ui/number";
import { Headings } from "../../../ui/table";

/** A row of cells as a CSS gradient of hard stops: sharp at any width. */
function gradientOf(values: Float32Array, most: number, mode: Mode): string {
  const { css } = ramp("signed", mode);
  const width = 100 / values.length;
  const stops = Array.from(values, (value, i) => {
    const color = itemAt(css, signedIndex(value, most));
    return `${color} ${(i * width).toFixed(3)}% ${((i + 1) * width).toFixed(3)}%`;
  });
  return `linear-gradient(to right, ${stops.join(", ")})`;
}

/** Name, strip, and the ends of its colors. */
export const Strip = ({
  name,
  values,
  mode,
  most = largestAbsolute(values),
}: {
  readonly name: string;
  readonly values: Float32Array;
  readonly mode: Mode;
  readonly most?: number;
}) => (
  <>
    <span class="aw-muted">{name}</span>
    <span
      class="aw-vector"
      role="img"
      aria-label={`${name}: ${values.length} values between ±${formatNumber(most)}`}
      style={{ background: gradientOf(values, most, mode) }}
    />
    <span class="aw-number aw-muted" title="the colors' ends">
      ±{formatNumber(most)}
    </span>
  </>
);

/** Query and key of a pair, `[head_dim]` each. */
interface VectorProps {
  readonly mode: Mode;
  readonly q: Float32Array;
  readonly k: Float32Array;
}

export class VectorStrips extends Component<VectorProps> {
  /** The dimension at the pointer. */
  readonly #at = signal(-1);

  render() {
    const { q, k, mode } = this.props;
    const products = q.map((value, i) => value * itemAt(k, i));
    const shared = Math.max(largestAbsolute(q), largestAbsolute(k));
    const rows = { q, k, "q × k": products };
    return (
      <div>
        <div
          class="aw-vectors"
          data-aw-part="vectors"
          onPointerMove={({ currentTarget, clientX }) => {
            const box = currentTarget.querySelector(".aw-vector")?.getBoundingClientRect();
            if (box) this.#at.value = Math.floor(((clientX - box.left) / box.width) * q.length);
          }}
          onPointerLeave={() => {
            this.#at.value = -1;
          }}
        >
          <Strip name="q" values={q} most={shared} mode={mode} />
          <Strip name="k" values={k} most={shared} mode={mode} />
          <Strip name="q × k" values={products} mode={mode} />
        </div>
        <Readout q={q} k={k} at={this.#at} />
        <Disclosure summary="Values" label="Values of q and k">
          {() => (
            <table class="aw-table" data-aw-part="vector-values">
              <Headings of={["dimension", ...Object.keys(rows)]} />
              <tbody>
                {Array.from(q, (_, i) => (
                  <tr key={i}>
                    <th scope="row">{i}</th>
                    {Object.values(rows).map((values, row) => (
                      <Num key={row} tag="td" value={itemAt(values, i)} />
                    ))}
                  </tr>
                ))}
              </tbody>
            </table>
          )}
        </Disclosure>
      </div>
    );
  }
}

const Readout = memo(function Readout({
  q,
  k,
  at: { value: i },
}: Pick<VectorProps, "q" | "k"> & { readonly at: ReadonlySignal<number> }) {
  const [a, b] = [q[i], k[i]];
  return (
    <p class="aw-muted aw-vector-readout">
      {a === undefined || b === undefined
        ? `${q.length} dimensions: blue below zero, orange above; their products add up to q · k.`
        : `dimension ${i}: ${formatNumber(a)} × ${formatNumber(b)} = ${formatNumber(a * b)}`}
    </p>
  );
});

/** Alignment of two texts by a head of cross-attention: where in the source each target token looks, and whether in order. */

import { ALIGNMENT_DEFINITIONS } from "../../figures/catalog/cards";
import { rankOf } from "../../figures/derive/matrix";
import { exact, formatCount, formatNumber, formatOrdinal, tokenLabel } from "../../figures/format";
import { headName, schemeOf } from "../../figures/names";
import { keysOf } from "../../protocol/meta";
import { itemAt } from "../../protocol/required";
import { selectionOf } from "../../ui/mount";
import { Num } from "../../ui/number";
import type { RunContext } from "../contract";
import type { HeadsModel } from "./model";

/** Sizes of the picture, px. */
const PLOT = { column: 28, height: 132, left: 72, right: 12, top: 10, bottom: 24, dot: 4 } as const;
/** Source tokens that are written along the axis, at most. */
const LABELS = 8;
/** In the words of the catalog. */
const DEFINITION = ALIGNMENT_DEFINITIONS.join(" ");

/** Component of the section; it draws nothing for a run of one text. */
export function createAlignment(
  { source, state, signal: until }: RunContext,
  { alignment: found }: Pick<HeadsModel, "alignment">,
) {
  const { meta } = source;
  const selection = selectionOf(state, ["layer", "head", "token"], until);

  function Said({ monotony, at }: { readonly monotony: ArrayLike<number>; readonly at: number }) {
    const { layer, head } = selection.value;
    const value = itemAt(monotony, at);
    if (Number.isNaN(value))
      return <>{`${headName(layer, head)} goes through the source in no order.`}</>;
    const rank = rankOf(
      Array.from(monotony, (value) => (Number.isNaN(value) ? Number.NEGATIVE_INFINITY : value)),
      at,
    );
    return (
      <>
        {`${headName(layer, head)} ${
          value > 0.7
            ? "goes through the source in order"
            : value < -0.7
              ? "goes through the source backwards"
              : "does not go through the source in order"
        }: monotony `}
        <Num value={value} />
        {`, ${formatOrdinal(rank)} of ${formatCount(monotony.length)} heads.`}
      </>
    );
  }

  return function Alignment() {
    const { layer, head, token } = selection.value;
    const { places, monotony } = found.value ?? {};
    if (places === undefined || monotony === undefined || head === "mean") return null;
    const [target, sources] = [meta.tokens, keysOf(meta)];
    const [n, m] = [target.text.length, sources.text.length];
    const at = layer * meta.model.n_heads + head;
    const { column, height, left, right, top, bottom, dot } = PLOT;
    const width = left + n * column + right;
    const x = (i: number): number => left + (i + 0.5) * column;
    const y = (place: number): number =>
      top + (m > 1 ? place / (m - 1) : 0) * (height - top - bottom);
    const own = Array.from({ length: n }, (_, i) => itemAt(places, at * n + i));
    const name = (i: number, { text }: typeof target, scheme = schemeOf(target)): string =>
      tokenLabel(itemAt(text, i), scheme).text;
    const step = Math.ceil(m / LABELS);
    const sourceScheme = schemeOf(sources);
    return (
      <section class="aw-divided" aria-label="Alignment" data-aw-part="alignment">
        <h3 class="aw-title">Alignment</h3>
        <p>
          <Said monotony={monotony} at={at} />
        </p>
        <p class="aw-view-note">{DEFINITION}</p>
        <div class="aw-scroll">
          <svg
            class="aw-source-places"
            width={width}
            height={height}
            role="img"
            aria-label="Expected source place of each target token"
            onClick={({ target: hit }) => {
              const dot = (hit as Element).closest<SVGElement>("circle");
              if (dot !== null) state.set({ token: Number(dot.dataset.token) });
            }}
          >
            {Array.from({ length: m }, (_, j) =>
              j % step === 0 ? (
                <g key={j} class="aw-source-places-line">
                  <path d={`M${left} ${y(j)}H${width - right}`} />
                  <text x={left - 6} y={y(j)} dy="0.35em" text-anchor="end">
                    {name(j, sources, sourceScheme)}
                  </text>
                </g>
              ) : null,
            )}
            <path
              class="aw-source-places-way"
              d={`M${own.map((place, i) => `${x(i)} ${y(place).toFixed(1)}`).join("L")}`}
            />
            {own.map((place, i) => (
              <circle
                key={i}
                class={i === token ? "is-this" : ""}
                cx={x(i)}
                cy={y(place).toFixed(1)}
                r={dot}
                data-token={i}
                data-aw-value={exact(place)}
              >
                <title>{`${name(i, target)} ${i}: expected place ${formatNumber(place)} of 0 to ${m - 1}`}</title>
              </circle>
            ))}
            {own.map((_, i) => (
              <text key={i} x={x(i)} y={height - 8} text-anchor="middle">
                {name(i, target)}
              </text>
            ))}
          </svg>
        </div>
      </section>
    );
  };
}

/** Alignment of two texts by a head of cross-attention: where in the source each target token looks, and whether in order. */
import { ALIGNMENT_DEFINITIONS } from "../../figures/catalog/cards";
import { rankOf } from "../../figures/derive/matrix";
import { exact, formatCount, formatNumber, formatOrdinal } from "../../figures/format";
import { headName, schemeOf, tokenName } from "../../figures/names";
import { line } from "../../marks/plot";
import { keysOf } from "../../protocol/meta";
import { itemAt } from "../../protocol/required";
import type { TokenColumns } from "../../protocol/types";
import { selectionOf } from "../../ui/mount";
import { Num } from "../../ui/number";
import type { RunContext } from "../contract";
import type { HeadsModel } from "./model";

/** Sizes of the picture, px. */
const PLOT = { column: 28, height: 132, left: 72, right: 12, top: 10, bottom: 24, dot: 4 } as const;
/** Source tokens that are written along the axis, at most. */
const LABELS = 8;
/** Least monotony of a head that goes through the source in order. */
const IN_ORDER = 0.7;
const DEFINITION = ALIGNMENT_DEFINITIONS.join(" ");

/** Component of the section; it draws nothing for a run of one text. */
export function createAlignment(
  { source, state, signal: until }: RunContext,
  { alignment: found }: Pick<HeadsModel, "alignment">,
) {
  const [target, sources] = [source.meta.tokens, keysOf(source.meta)];
  const selection = selectionOf(state, ["layer", "head", "token"], until);
  const namer = (tokens: TokenColumns) => {
    const scheme = schemeOf(tokens);
    return (i: number): string => tokenName(tokens, i, scheme);
  };
  const [targetName, sourceName] = [namer(target), namer(sources)];
  const [n, m] = [target.text.length, sources.text.length];

  function said(name: string, monotony: ArrayLike<number>, at: number) {
    const value = itemAt(monotony, at);
    if (Number.isNaN(value)) return `${name} goes through the source in no order.`;
    const known = Array.from(monotony, (each) => (Number.isNaN(each) ? -Infinity : each));
    const how =
      value > IN_ORDER
        ? "goes through the source in order"
        : value < -IN_ORDER
          ? "goes through the source backwards"
          : "does not go through the source in order";
    return [
      `${name} ${how}: monotony `,
      <Num key="monotony" value={value} />,
      `, ${formatOrdinal(rankOf(known, at))} of ${formatCount(monotony.length)} heads.`,
    ];
  }
  return function Alignment() {
    const { layer, head, token } = selection.value;
    const { places, monotony } = found.value ?? {};
    if (places === undefined || monotony === undefined || head === "mean") return null;
    const at = layer * source.meta.model.n_heads + head;
    const { column, height, left, right, top, bottom, dot } = PLOT;
    const width = left + n * column + right;
    const x = (i: number): number => left + (i + 0.5) * column;
    const y = (place: number): number =>
      top + (m > 1 ? place / (m - 1) : 0) * (height - top - bottom);
    const own = Array.from({ length: n }, (_, i) => itemAt(places, at * n + i));
    const step = Math.ceil(m / LABELS);
    const labeled = Array.from({ length: Math.ceil(m / step) }, (_, k) => k * step);
    return (
      <section class="aw-divided" aria-label="Alignment" data-aw-part="alignment">
        <h3 class="aw-title">Alignment</h3>
        <p>{said(headName(layer, head), monotony, at)}</p>
        <p class="aw-view-note">{DEFINITION}</p>
        <div class="aw-scroll">
          <svg
            class="aw-source-places"
            {...{ width, height }}
            role="img"
            aria-label="Expected source place of each target token"
            onClick={({ target: hit }) => {
              const dot = (hit as Element).closest<SVGElement>("circle");
              if (dot !== null) state.set({ token: Number(dot.dataset.token) });
            }}
          >
            {labeled.map((j) => (
              <g key={j} class="aw-source-places-line">
                <path d={`M${left} ${y(j)}H${width - right}`} />
                <text x={left - 6} y={y(j)} dy="0.35em" text-anchor="end">
                  {sourceName(j)}
                </text>
              </g>
            ))}
            <path class="aw-source-places-way" d={line(own.map((place, i) => [x(i), y(place)]))} />
            {own.map((place, i) => (
              <circle
                key={i}
                class={i === token ? "is-this" : ""}
                {...{ cx: x(i), cy: y(place).toFixed(1), r: dot, "data-token": i }}
                data-aw-value={exact(place)}
              >
                <title>{`${targetName(i)} ${i}: expected place ${formatNumber(place)} of 0 to ${m - 1}`}</title>
              </circle>
            ))}
            {own.map((_, i) => (
              <text key={i} x={x(i)} y={height - 8} text-anchor="middle">
                {targetName(i)}
              </text>
            ))}
          </svg>
        </div>
      </section>
    );
  };
}

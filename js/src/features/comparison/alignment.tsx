/** Both texts one above the other, with a line between matched tokens. */

import { consume } from "../../draw/dom";
import { visible } from "../../figures/format";
import { itemAt } from "../../protocol/required";
import type { TokenColumns } from "../../protocol/types";
import { type Compared, partnerToken, type Side } from "./data";

/** Width of a character of 13 px monospace (px); scripts of East Asia take two. */
const CHARACTER = 8;
const GAP = 6;
const PADDING = 5;
const LINE = 24;
/** Height between both texts, px. */
const BETWEEN = 44;
const LEFT = 20;
const TOP = { a: 2, b: 2 + LINE + BETWEEN } as const;
const WIDE = /[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60]/u;

const widthOf = (text: string): number =>
  [...text].reduce((sum, letter) => sum + (WIDE.test(letter) ? 2 : 1), 0) * CHARACTER + 2 * PADDING;

/** Mark in the middle of a line that was set by hand. */
const Knot = ({ x, y }: { readonly x: number; readonly y: number }) => (
  <path class="aw-compare-knot" d={`M${x} ${y - 5}l5 5l-5 5l-5 -5Z`} />
);

/** Key of the lines and borders; empty where all of them are the usual ones. */
function Key({ hand, alone }: { readonly hand: boolean; readonly alone: boolean }) {
  if (!hand && !alone) return null;
  const sample = { width: 30, height: 12 };
  const line = { x1: 1, x2: 29, y1: 6, y2: 6 };
  return (
    <p class="aw-compare-lines aw-cluster aw-hint" data-aw-part="alignment-legend">
      <span class="aw-inline">
        <svg aria-hidden="true" {...sample}>
          <line {...line} />
        </svg>
        matched by the words
      </span>
      {hand && (
        <span class="aw-inline">
          <svg aria-hidden="true" {...sample}>
            <line {...line} class="aw-by-hand" />
            <Knot x={15} y={6} />
          </svg>
          matched by hand
        </span>
      )}
      {alone && (
        <span class="aw-inline">
          <svg aria-hidden="true" {...sample}>
            <g class="aw-compare-token aw-alone">
              <rect x={4} y={1} width={22} height={10} rx={3} />
            </g>
          </svg>
          no partner
        </span>
      )}
    </p>
  );
}

/** `texts`: the tokens of each run; `chosen`: one of them; `choose` gets a position of A. */
export function Alignment({
  compared,
  texts,
  name,
  chosen,
  choose,
}: {
  readonly compared: Pick<Compared, "tokens" | "hand">;
  readonly texts: Readonly<Record<Side, TokenColumns>>;
  readonly name: string;
  readonly chosen: Readonly<Record<Side, number | null>>;
  readonly choose: (token: number) => void;
}) {
  const hand = new Set((compared.hand ?? []).map(String));
  let right = 0;
  let alone = false;
  const row = (side: Side) => {
    let end = LEFT;
    return texts[side].text.map((token, i) => {
      const text = visible(token);
      const [x, width] = [end, widthOf(text)];
      end += width + GAP;
      right = Math.max(right, end);
      const matched = compared.tokens.some((pair) => pair[side === "a" ? 0 : 1] === i);
      alone ||= !matched;
      return { text, x, width, middle: x + width / 2, matched };
    });
  };
  const rows = { a: row("a"), b: row("b") };
  const token = (side: Side) => (box: (typeof rows)["a"][number], i: number) => {
    const { text, x, width, middle, matched } = box;
    const act = (): void => {
      const inA = side === "a" ? i : partnerToken(compared, i, "a");
      if (inA !== null) choose(inA);
    };
    const marks = `${matched ? "" : " aw-alone"}${chosen[side] === i ? " aw-chosen" : ""}`;
    return (
      <g
        key={`${side}${i}`}
        role="button"
        tabIndex={0}
        class={`aw-compare-token${marks}`}
        data-side={side}
        data-token={i}
        aria-label={matched ? text : `${text}: no partner`}
        onClick={act}
        onKeyDown={(event) => {
          if (event.key !== "Enter") return;
          consume(event);
          act();
        }}
      >
        <rect x={x} y={TOP[side]} width={width} height={LINE} rx={4} />
        <text x={middle} y={TOP[side] + 16} text-anchor="middle">
          {text}
        </text>
      </g>
    );
  };
  const side = (name: Side) => (
    <>
      <text x={2} y={TOP[name] + 16} class="aw-compare-side">
        {name.toUpperCase()}
      </text>
      {rows[name].map(token(name))}
    </>
  );
  const line = ([a, b]: readonly [number, number]) => {
    const byHand = hand.has(String([a, b]));
    const [from, to] = [itemAt(rows.a, a).middle, itemAt(rows.b, b).middle];
    const marks = `${byHand ? "aw-by-hand" : ""}${chosen.a === a ? " aw-chosen" : ""}`.trim();
    return (
      <>
        <line
          class={marks || undefined}
          data-a={a}
          data-b={b}
          x1={from}
          y1={TOP.a + LINE}
          x2={to}
          y2={TOP.b}
        />
        {byHand && <Knot x={(from + to) / 2} y={TOP.a + LINE + BETWEEN / 2} />}
      </>
    );
  };
  return (
    <div>
      <div class="aw-compare-scroll aw-scroll">
        <svg role="group" aria-label={name} width={right} height={2 * LINE + BETWEEN + 4}>
          {side("a")}
          {side("b")}
          {compared.tokens.map(line)}
        </svg>
      </div>
      <Key hand={hand.size > 0} alone={alone} />
    </div>
  );
}

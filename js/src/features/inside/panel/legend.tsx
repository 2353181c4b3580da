/** Legend of the colors in the open stage's strips. */

import type { ComponentChild } from "preact";
import { type Mode, rampImage } from "../../../draw/color/ramp";
import { formatNumber } from "../../../figures/format";
import { Num } from "../../../ui/number";
import { type Content, errorsOf } from "../content";

const MINUS = "−";
const STOPS = 9;

/** `tops`: the largest value of each group; `common`: the scale of all stages; `root`: whether by square root. */
export function Legend({
  content: { strips, unit },
  tops,
  common,
  root,
  mode,
}: {
  readonly content: Content;
  readonly tops: ReadonlyMap<string, number>;
  readonly common: number | null;
  readonly root: boolean;
  readonly mode: Mode;
}) {
  const key = (name: "signed" | "weight", low: string, high: string, middle: ComponentChild) => (
    <span class="aw-ramp">
      <span>{low}</span>
      <span class="aw-ramp-track">
        <span class="aw-ramp-bar" style={{ background: rampImage(name, mode, STOPS) }} />
        {middle}
      </span>
      <span>{high}</span>
    </span>
  );
  const zero = <span class="aw-ramp-middle">0</span>;
  const scaled = root ? ", by square root" : "";
  const groups = [...tops].filter(([name]) =>
    strips.some((strip) => strip.group === name && strip.ramp === "signed"),
  );
  const weights = strips.find((strip) => strip.ramp === "weight");
  const shared = unit === "dimension" ? common : null;
  /** A group's largest value, its error, and both as text. */
  const topOf = (group: string) => {
    const value = tops.get(group) ?? 0;
    const errors = strips
      .filter((strip) => strip.group === group)
      .flatMap((strip) =>
        errorsOf(strip).filter((_, i) => Math.abs(strip.values?.[i] ?? 0) === value),
      );
    const error = Math.max(0, ...errors);
    return { value, error, text: formatNumber({ value, error }) };
  };
  const figure = (value: number, error = 0) => (
    <Num value={value} error={error} text={`± ${formatNumber({ value, error })}`} />
  );
  const [only] = groups.length === 1 && shared === null ? groups : [];
  const most = only && topOf(only[0]).text;
  return (
    <>
      {most !== undefined && key("signed", `${MINUS}${most}`, `${most}${scaled}`, zero)}
      {most === undefined && groups.length > 0 && key("signed", MINUS, "+", zero)}
      {groups.length > 0 && shared !== null && (
        <span>
          {figure(shared)}
          {` everywhere: the largest of its hidden states${scaled}`}
        </span>
      )}
      {groups.length > 1 &&
        shared === null &&
        groups.map(([name], i) => (
          <span key={name}>
            {`${name} `}
            {figure(topOf(name).value, topOf(name).error)}
            {i === groups.length - 1 && scaled}
          </span>
        ))}
      {weights !== undefined && key("weight", "0", `${topOf(weights.group).text}${scaled}`, null)}
    </>
  );
}

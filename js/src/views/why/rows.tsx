/** Heading of the view, and one method's row: its name, which chooses it, its strip, and its dot in the masking test. */

import type { Mode } from "../../draw/color/ramp";
import type { Unit } from "../../figures/derive/units";
import { exact, formatNumber } from "../../figures/format";
import type { Described } from "../../figures/targets";
import type { Method, Trust } from "./data";
import type { Stage } from "./model";
import { Strip } from "./strips";
import { FallDot } from "./trust";

/** The question, and the number that is explained. */
export function Title({
  titled,
  label,
}: {
  readonly titled: { readonly of: Described; readonly value: number } | null;
  readonly label: (token: number) => string;
}) {
  const [first, second] = titled?.of.names ?? [];
  const value = titled?.value ?? 0;
  const sign = value > 0 && second !== undefined ? "+" : "";
  const { position, masked } = titled?.of.target ?? {};
  return (
    <div class="aw-panel-head">
      <h3 class="aw-title">
        {titled === null ? "Why" : "Why "}
        {titled !== null && <bdi class="aw-why-name">{first}</bdi>}
        {second !== undefined && <span class="aw-muted"> rather than </span>}
        {second !== undefined && <bdi class="aw-why-name">{second}</bdi>}
        {titled !== null && "?"}
      </h3>
      <p
        class="aw-why-value aw-number"
        data-aw-part="why-value"
        data-aw-value={titled === null ? undefined : exact(value)}
        title={titled === null ? undefined : exact(value)}
      >
        {titled !== null &&
          `${second === undefined ? "logit" : "difference of logits"} ${sign}${formatNumber(value)}`}
        {position !== undefined && (
          <>
            {" at "}
            <bdi>{label(position)}</bdi>
            {` ${position}${masked ? ", masked" : ""}`}
          </>
        )}
      </p>
    </div>
  );
}

export const Link = ({ words, act }: { readonly words: string; readonly act: () => void }) => (
  <button type="button" class="aw-why-link" onClick={act}>
    {words}
  </button>
);

export function MethodRow({
  method: { key, name, short, about },
  stage,
  pressed,
  units,
  width,
  mode,
  trust,
  start,
}: {
  readonly method: Method;
  readonly stage: Stage;
  readonly pressed: boolean;
  readonly units: readonly Unit[];
  /** Width of the strips, px; 0 before anything has been laid out. */
  readonly width: number;
  readonly mode: Mode;
  readonly trust: Trust | null;
  readonly start: () => void;
}) {
  const prefix = name.endsWith(` ${short}`) ? name.slice(0, -short.length) : "";
  const fall = trust?.comprehensiveness[trust.methods.indexOf(key)];
  return (
    <>
      <button
        type="button"
        class="aw-why-method"
        aria-pressed={pressed}
        data-method={key}
        title={about}
        disabled={stage.of !== "known"}
      >
        {prefix !== "" && <span class="aw-why-prefix">{prefix}</span>}
        {name.slice(prefix.length)}
      </button>
      <div class="aw-why-strip" data-method={key}>
        {stage.of === "known" && width > 0 && (
          <Strip values={stage.found.values} units={units} width={width} mode={mode} />
        )}
        {stage.of === "running" && (
          <span class="aw-muted">
            {`computing${stage.share === null ? "" : ` ${Math.round(100 * stage.share)}%`} … `}
          </span>
        )}
        {stage.of === "running" && stage.share !== null && (
          <Link words="cancel" act={stage.cancel} />
        )}
        {stage.of === "failed" && (
          <span class="aw-muted" title={stage.reason}>
            {`N/A: ${stage.reason}`}
          </span>
        )}
        {stage.of === "waiting" && <Link words="compute (takes seconds)" act={start} />}
      </div>
      <div
        class="aw-why-fall"
        title={
          trust === null || fall === undefined
            ? undefined
            : `Mean fall of the probability: ${fall.toFixed(3)}; 95% of random orders: ${trust.random.low.toFixed(3)} to ${trust.random.high.toFixed(3)}`
        }
      >
        {trust !== null && <FallDot trust={trust} method={key} />}
      </div>
    </>
  );
}

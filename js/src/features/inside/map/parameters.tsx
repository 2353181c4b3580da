/** Number of parameters of each part of the model, as one bar. */

import { formatCount, formatNumber } from "../../../figures/format";
import { PARTS, type Part } from "../architecture";

const THOUSAND = 1e3;
const MILLION = 1e6;

/** `11.9 M`, `148 k`, `512`. */
export function formatParameters(count: number): string {
  if (count >= MILLION) return `${formatNumber(count / MILLION)} M`;
  return count >= 10 * THOUSAND ? `${formatNumber(count / THOUSAND)} k` : formatCount(count);
}

/** The bar and its legend; one part may be highlighted. */
export function Parameters({
  parameters,
  marked,
}: {
  readonly parameters: Readonly<Record<string, number>>;
  readonly marked: Part | null;
}) {
  const parts = PARTS.filter(([part]) => (parameters[part] ?? 0) > 0);
  const total = parameters.total ?? 0;
  const mark = (part: Part): string =>
    marked === null ? "" : part === marked ? "is-marked" : "is-dimmed";
  const count = (value: number) => (
    <dd class="aw-number" data-aw-value={value} title={formatCount(value)}>
      {formatParameters(value)}
    </dd>
  );
  return (
    <section
      class="aw-parameters aw-cluster aw-muted aw-small"
      aria-label="Parameters"
      data-aw-part="parameters"
    >
      <h3 class="aw-parameters-name">Parameters</h3>
      <div class="aw-parameters-bar" aria-hidden="true">
        {parts.map(([part]) => (
          <i
            key={part}
            class={mark(part)}
            data-part={part}
            style={{ flexGrow: String((parameters[part] ?? 0) / total) }}
          />
        ))}
      </div>
      <dl class="aw-parameters-list">
        {parts.map(([part, label]) => (
          <div key={part} class={`aw-inline ${mark(part)}`} data-part={part}>
            <dt>{label}</dt>
            {count(parameters[part] ?? 0)}
          </div>
        ))}
        <div class="aw-inline aw-parameters-total">
          <dt>total</dt>
          {count(total)}
        </div>
      </dl>
    </section>
  );
}

/** Patterns of the selected head in two dimensions, against chance. */

import { formatPercent } from "../../figures/format";
import { headName } from "../../figures/names";
import { itemAt } from "../../protocol/required";
import { memo } from "../../ui/memo";
import { Num } from "../../ui/number";
import type { ImageModel } from "./model";

/** Bars end at the largest share, or at twice the chance. */
const endOf = (shares: ArrayLike<number>, chance: ArrayLike<number>): number =>
  Math.max(...Array.from(shares), ...Array.from(chance, (value) => 2 * value), 0) || 1;

export const createPatterns = ({ patterns, selection, source }: ImageModel) =>
  memo(function PatternsOf() {
    const found = patterns.answer.value;
    const { layer, head } = selection.value;
    if (found === null || head === "mean" || found.names.length === 0) return null;
    const { names, shares, chance } = found;
    const at = (layer * source.meta.model.n_heads + head) * names.length;
    const row = shares.data.subarray(at, at + names.length);
    const end = endOf(
      row.filter((value) => !Number.isNaN(value)),
      chance,
    );
    const percent = (value: number): string => `${Math.min(100, (100 * value) / end)}%`;
    return (
      <section class="aw-patterns" aria-label="Where the head looks" data-aw-part="patterns">
        <h3 class="aw-title">Where {headName(layer, head)} looks</h3>
        <dl class="aw-patterns-list">
          {names.map((name, i) => {
            const value = itemAt(row, i);
            return (
              <div key={name} class="aw-patterns-row">
                <dt>{name.replaceAll("_", " ")}</dt>
                <dd>
                  <span class="aw-patterns-bar" aria-hidden="true">
                    <i style={{ width: percent(value || 0) }} />
                    <b style={{ left: percent(itemAt(chance, i)) }} />
                  </span>
                  <Num value={value} text={formatPercent(value, 2)} />
                  <span class="aw-muted aw-tiny">
                    chance{" "}
                    <Num value={itemAt(chance, i)} text={formatPercent(itemAt(chance, i), 2)} />
                  </span>
                </dd>
              </div>
            );
          })}
        </dl>
        <p class="aw-hint aw-tiny">Means over the rows of all patches.</p>
      </section>
    );
  });

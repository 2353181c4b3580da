/** Classes as one table: logit, exponential, probability with its bar, and the sum; the equation of one; classes compared. */

import { type Signal, signal } from "@preact/signals-core";
import type { ComponentChildren } from "preact";
import { step } from "../draw/dom";
import { scrollDown } from "../draw/scroll";
import {
  CLASS_SIGMOID,
  CLASS_SIGMOID_SPOKEN,
  CLASS_SOFTMAX,
  CLASS_SOFTMAX_SPOKEN,
  CLASS_VALUE,
  CLASS_VALUE_SPOKEN,
  SIGMOID_REFERENCES,
  SOFTMAX_REFERENCES,
  sigmoidWithNumbers,
} from "../figures/class-formulas";
import {
  type ColumnDigits,
  closingColumn,
  closingSigmoids,
  oddsOf,
  type SoftmaxColumn,
  type SoftmaxTerm,
  termOf,
  withTerms,
} from "../figures/classes";
import { largest } from "../figures/derive/matrix";
import { exact, formatCount, formatNumber, formatPercent, visible } from "../figures/format";
import { softmaxWithNumbers } from "../figures/formulas";
import { itemAt } from "../protocol/required";
import { inOrder } from "../protocol/ties";
import { Button } from "./controls";
import { Equation, Formula, References } from "./math";
import { memo } from "./memo";
import { Num } from "./number";
import { followKey } from "./roving";
import { type Heading, Headings } from "./table";

/** Digits of a value that nothing is computed from. */
const VALUE_DIGITS = 4;
const TICKS = ["vs", "Select classes to compare them", "aw-class-tick"] as const;
/** A longer name would tear the equation apart. */
const MAX_NAME = 14;

/** The class of the equation, those that are compared, and the Tab stop. */
interface ClassChoice {
  readonly chosen: number;
  readonly compared: readonly number[];
  readonly entry: { readonly index: number; readonly tick: boolean };
}

/** At first the largest class, compared with the next one. */
export const classChoice = (column: SoftmaxColumn): Signal<ClassChoice> =>
  signal({
    chosen: column.best,
    compared: largest(column.logits, 2),
    entry: { index: column.best, tick: false },
  });

interface Row extends SoftmaxTerm {
  readonly index: number;
}

interface ClassTableProps {
  readonly column: SoftmaxColumn;
  readonly caption: string;
  readonly choice: Signal<ClassChoice>;
  /** Kind of a term: a class, or a position. */
  readonly term: string;
  readonly part: string;
  /** Terms with their own line; the others share one. By default all. */
  readonly listed?: number;
  readonly compare?: boolean;
  /** True if the formula in symbols and its sources are shown next to the table. */
  readonly formula?: boolean;
  /** Below the table. */
  readonly children?: ComponentChildren;
}

/** The model's order, or the largest `listed` terms. */
function rowsOf(column: SoftmaxColumn, listed: number): Row[] {
  const { labels, logits } = column;
  const indices = labels.length <= listed ? [...labels.keys()] : largest(logits, listed);
  return indices.map((index) => ({ index, ...termOf(column, index) }));
}

export const ClassTable = memo(function ClassTable(props: ClassTableProps) {
  const { column, caption, choice, term, part, compare = false, formula = false } = props;
  const { activation, labels, sum, best } = column;
  const { chosen, compared, entry } = choice.value;
  const count = labels.length;
  const rows = rowsOf(column, props.listed ?? count);
  const others = count - rows.length;
  const rest = others === 0 ? 0 : sum - rows.reduce((total, { exp }) => total + exp, 0);
  const separate = activation === "sigmoid" && count > 1;
  const digits =
    activation === "sigmoid"
      ? closingSigmoids(withTerms(column, rows))
      : closingColumn(withTerms(column, rows), Math.max(0, rest));
  const marked = ({ index, probability }: Row): boolean =>
    separate ? probability >= 0.5 : index === best;
  const first = rows.find(marked)?.index;
  const tag = separate ? "50% or more" : count > 1 ? "largest" : null;

  function onClick({ target }: MouseEvent): void {
    const row = (target as Element).closest("tr");
    if (row === null || (target as Element).closest("input") !== null) return;
    if (document.getSelection()?.isCollapsed === false) return;
    const index = Number(row.dataset.index);
    choice.value = { ...choice.value, chosen: index, entry: { index, tick: false } };
  }

  function onTick(index: number, ticked: boolean): void {
    const rest = choice.value.compared.filter((other) => other !== index);
    choice.value = {
      ...choice.value,
      compared: ticked ? [...rest, index] : rest,
      entry: { index, tick: true },
    };
  }

  function onKey(event: KeyboardEvent): void {
    const { key, ctrlKey, metaKey, altKey, target } = event;
    const tick = target instanceof HTMLInputElement;
    const row = (target as Element).closest("tr");
    const at = rows.findIndex(({ index }) => String(index) === row?.dataset.index);
    const next = step(key, at, rows.length);
    if (row === null || ctrlKey || metaKey || altKey || next === null) return;
    const across = /^Arrow(Left|Right)$/.test(key);
    const { index } = itemAt(rows, across ? at : next);
    choice.value = {
      ...choice.value,
      entry: { index, tick: across ? compare && key === "ArrowLeft" : tick },
    };
    const body = row.parentElement as HTMLElement;
    followKey(event, body);
    const line = body.querySelector<HTMLElement>(`tr[data-index="${index}"]`);
    if (line !== null) reveal(line);
  }

  return (
    <div class="aw-classes-block">
      <div class="aw-classes-main">
        <div class="aw-scroll aw-classes-scroll">
          <table key={caption} class="aw-number-table aw-classes" role="grid" data-aw-part={part}>
            <caption class="aw-classes-caption aw-muted aw-small">{caption}</caption>
            <Headings of={[...(compare ? [TICKS] : []), ...headingsOf(column, term)]} />
            <tbody onClick={onClick} onKeyDown={onKey}>
              {rows.map((row) => {
                const { index, label } = row;
                const stop = (tick: boolean) =>
                  entry.index === index && entry.tick === tick ? 0 : -1;
                return (
                  <tr
                    key={index}
                    class={marked(row) ? "is-best" : undefined}
                    data-index={index}
                    aria-current={index === chosen ? "true" : undefined}
                    ref={index === first ? revealFirst : null}
                  >
                    {compare && (
                      <td class="aw-class-tick">
                        <input
                          type="checkbox"
                          tabIndex={stop(true)}
                          data-index={index}
                          aria-label={`Compare ${visible(label)}`}
                          checked={compared.includes(index)}
                          onChange={({ currentTarget }) => onTick(index, currentTarget.checked)}
                        />
                      </td>
                    )}
                    <th scope="row" class="aw-class-label">
                      <div class="aw-class-line">
                        <Button
                          class="aw-flat aw-class-button"
                          tabIndex={stop(false)}
                          data-index={index}
                          title={label}
                        >
                          <ClassName label={label} />
                        </Button>
                        {marked(row) && tag !== null && <span class="aw-class-best">{tag}</span>}
                      </div>
                    </th>
                    <Numbers row={row} column={column} digits={digits} />
                  </tr>
                );
              })}
            </tbody>
            <tfoot>
              {others > 0 && (
                <FootRow
                  name={others === 1 ? "1 other" : `${formatCount(others)} others`}
                  kind="aw-class-rest"
                  compare={compare}
                  exp={rest}
                  text={formatNumber(Math.max(0, rest), digits.exp)}
                  share={rest / sum}
                />
              )}
              {activation === "softmax" && (
                <FootRow
                  name="sum"
                  kind="aw-sum"
                  compare={compare}
                  exp={sum}
                  text={formatNumber(sum, digits.sum)}
                  share={1}
                />
              )}
            </tfoot>
          </table>
        </div>
        {props.children}
      </div>
      <div class="aw-classes-side">
        <div class="aw-classes-equation">
          {formula && <ClassFormula activation={activation} />}
          <WithNumbers column={column} index={chosen} />
        </div>
        {compare && (
          <div class="aw-odds" data-aw-part="odds">
            {activation === "softmax" && <Comparison column={column} compared={compared} />}
          </div>
        )}
        {formula && activation !== "identity" && (
          <details class="aw-disclosure">
            <summary>Sources</summary>
            <ClassReferences activation={activation} />
          </details>
        )}
      </div>
    </div>
  );
});

/** Scroll a row in sight, between the headings and the sum, which stay. */
function reveal(row: HTMLElement): void {
  const table = row.closest("table");
  const scroller = row.closest(".aw-classes-scroll");
  if (table === null || scroller === null) return;
  const [top, bottom] = [row.offsetTop, row.offsetTop + row.offsetHeight];
  const [head, foot] = [table.tHead?.offsetHeight ?? 0, table.tFoot?.offsetHeight ?? 0];
  scrollDown(scroller, top - head, bottom + foot);
}

const revealFirst = (row: HTMLElement | null): void => {
  if (row !== null) requestAnimationFrame(() => reveal(row));
};

/** A label as text that stays in its place, whatever it contains. */
export const ClassName = ({
  label,
  title,
}: {
  readonly label: string;
  readonly title?: string;
}) => (
  <bdi class="aw-class-name" dir="auto" title={title}>
    {visible(label)}
  </bdi>
);

/** Headings: the class, and how its probability comes about. */
function headingsOf(
  { activation, labels, logitMax }: SoftmaxColumn,
  term: string,
): readonly Heading[] {
  const softmax = activation === "softmax";
  const own: Heading = [
    term,
    `${formatCount(labels.length)} in the model's own order`,
    "aw-class-label",
  ];
  if (activation === "identity") return [own, ["value z", "the output itself"]];
  return [
    own,
    ["logit z", `largest: ${exact(logitMax)}`],
    softmax
      ? ["exp(z − max)", "exponential of the logit minus the largest logit"]
      : ["exp(−z)", "exponential of minus the logit"],
    ["probability", softmax ? "exponential over the sum" : "1 / (1 + exponential)"],
    ["0 to 100%", "probability as a bar", "aw-class-bars"],
  ];
}

/** Logit, exponential, probability and its bar; of a regression the value alone. */
function Numbers({
  row: { logit, exp, probability },
  column: { activation },
  digits,
}: {
  readonly row: Row;
  readonly column: SoftmaxColumn;
  readonly digits: ColumnDigits;
}) {
  if (activation === "identity")
    return <Num tag="td" value={logit} text={formatNumber(logit, VALUE_DIGITS)} />;
  return (
    <>
      <Num tag="td" value={logit} text={logit.toFixed(digits.logit).replace("-", "−")} />
      <Num tag="td" value={exp} text={formatNumber(exp, digits.exp)} />
      <Num tag="td" value={probability} text={formatPercent(probability)} />
      <td class="aw-class-bars">
        <ShareBar share={probability} />
      </td>
    </>
  );
}

/** A probability as a bar. */
export const ShareBar = ({ share }: { readonly share: number }) => (
  <span class="aw-class-track">
    <span class="aw-class-bar" aria-hidden="true" style={{ inlineSize: `${100 * share}%` }} />
  </span>
);

const FootRow = ({
  name,
  kind,
  compare,
  exp,
  text,
  share,
}: {
  readonly name: string;
  readonly kind: string;
  readonly compare: boolean;
  readonly exp: number;
  readonly text: string;
  readonly share: number;
}) => (
  <tr class={kind}>
    {compare && <td />}
    <th scope="row" class="aw-class-label">
      {name}
    </th>
    <td />
    <Num tag="td" value={exp} text={text} />
    <Num tag="td" value={share} text={share === 1 ? "100%" : formatPercent(share)} />
    <td class="aw-class-bars" />
  </tr>
);

const FORMULAS = {
  softmax: [CLASS_SOFTMAX, CLASS_SOFTMAX_SPOKEN, SOFTMAX_REFERENCES],
  sigmoid: [CLASS_SIGMOID, CLASS_SIGMOID_SPOKEN, SIGMOID_REFERENCES],
  identity: [CLASS_VALUE, CLASS_VALUE_SPOKEN, []],
} as const;

type ActivationOf = Pick<SoftmaxColumn, "activation">;

/** A class's probability in symbols. */
export const ClassFormula = ({ activation }: ActivationOf) => (
  <Formula node={FORMULAS[activation][0]} spoken={FORMULAS[activation][1]} />
);

export const ClassReferences = ({ activation }: ActivationOf) => (
  <References references={FORMULAS[activation][2]} />
);

/** The equation of one term with its numbers; nothing where nothing is computed. */
function WithNumbers({
  column,
  index,
}: {
  readonly column: SoftmaxColumn;
  readonly index: number;
}) {
  const { activation, logitMax, sum } = column;
  if (activation === "identity") return null;
  const { label, logit, exp, probability } = termOf(column, index);
  const letters = [...visible(label)];
  const token =
    letters.length > MAX_NAME ? `${letters.slice(0, MAX_NAME).join("")}…` : letters.join("");
  return (
    <Equation
      {...(activation === "softmax"
        ? softmaxWithNumbers({ token, logit, logitMax, exp, sumExp: sum, probability })
        : sigmoidWithNumbers(token, column, index))}
    />
  );
}

/** Odds of the likeliest of the compared classes against each of the others, in words. */
function Comparison({
  column,
  compared,
}: {
  readonly column: SoftmaxColumn;
  readonly compared: readonly number[];
}) {
  const { labels, logits } = column;
  const [first, ...others] = inOrder(logits, compared);
  return (
    <>
      <h4 class="aw-odds-title">Compared</h4>
      {first === undefined || others.length === 0 ? (
        <p class="aw-hint">Select two or more to compare them.</p>
      ) : (
        others.map((other) => {
          const { difference, ratio, digits } = oddsOf(column, first, other);
          const [times, logOdds] = [formatNumber(ratio), formatNumber(difference, digits)];
          return (
            <p key={other} class="aw-odds-line">
              <ClassName label={itemAt(labels, first)} />
              {" is "}
              {times !== "1.00" && (
                <>
                  <Num tag="strong" value={ratio} text={times} />
                  {" times "}
                </>
              )}
              {"as probable as "}
              <ClassName label={itemAt(labels, other)} />
              <span class="aw-odds-why aw-muted aw-small">
                {"logit difference "}
                <Num tag="strong" value={difference} text={logOdds} />
                {" = log odds, "}
                <span>e</span>
                <sup>{logOdds}</sup>
                {` = ${times}`}
              </span>
            </p>
          );
        })
      )}
    </>
  );
}

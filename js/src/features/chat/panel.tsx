/** Contributions of turns: for each of them a row of bars, one a written token, and the sum of the token that is chosen. */

import { type Mode, ramp } from "../../draw/color/ramp";
import { signedIndex } from "../../draw/color/scale";
import { exact, formatNumber, formatPercent, formatSigned } from "../../figures/format";
import { itemAt } from "../../protocol/required";
import { Button } from "../../ui/controls";
import { Disclosure } from "../../ui/disclosure";
import { memo } from "../../ui/memo";
import { Num } from "../../ui/number";
import { RovingList } from "../../ui/roving-list";
import { Share } from "../../ui/sentence";
import { Headings } from "../../ui/table";
import { type TurnContributions, turnTable, type Written } from "./data";
import { BIASES, pictureOf, termsOf } from "./rows";
import { TurnsSentence } from "./sentence";

/** Names of more written tokens than this stand upright. */
const MANY = 8;

interface Props {
  readonly found: TurnContributions;
  /** The written token whose sum is shown, by its place among them. */
  readonly chosen: number;
  readonly choose: (written: number) => void;
  readonly mode: Mode;
}

/** Bars of one written token, above and below the same zero in each row. */
function Column({
  of,
  names,
  ends: [low, high],
  chosen,
  choose,
  mode,
}: {
  readonly of: Written;
  readonly names: readonly string[];
  readonly ends: readonly [low: number, high: number];
  readonly chosen: boolean;
  readonly choose: () => void;
  readonly mode: Mode;
}) {
  const { css } = ramp("signed", mode);
  const terms = termsOf(of).slice(0, names.length);
  const said = terms.map((value, i) => `${itemAt(names, i)} ${formatSigned(value)}`);
  const percent = (part: number): string => `${(100 * part) / (high - low || 1)}%`;
  return (
    <Button
      class="aw-turns-column"
      aria-pressed={chosen}
      label={`${of.label.text}, logit ${formatNumber(of.logit)}: ${said.join(", ")}`}
      onClick={choose}
    >
      {terms.map((value, i) => (
        <span
          key={i}
          class="aw-turns-cell"
          title={said[i]}
          data-aw-value={exact(value)}
          style={{ "--zero": percent(-low) }}
        >
          <i
            style={{
              insetBlockEnd: percent(Math.min(value, 0) - low),
              blockSize: percent(Math.abs(value)),
              background: itemAt(css, signedIndex(value, Math.abs(value) * 1.5)),
            }}
          />
        </span>
      ))}
      <bdi class="aw-turns-token" dir="ltr">
        {of.label.text}
      </bdi>
    </Button>
  );
}

/** `Paris: system +0.41 user +3.2 assistant +8.1 biases +2.3 = 14.0`. */
const Sum = ({ of, names }: { readonly of: Written; readonly names: readonly string[] }) => (
  <p class="aw-turns-sum aw-cluster" data-aw-part="turns-sum" role="status">
    <bdi class="aw-turns-which" dir="ltr">
      {of.label.text}
    </bdi>
    {termsOf(of).map((value, i) => (
      <span key={i}>
        <bdi class="aw-muted">{names[i]}</bdi> <Num value={value} text={formatSigned(value)} />
      </span>
    ))}
    <strong>
      {"= "}
      <Num value={of.logit} />
    </strong>
  </p>
);

function Numbers({ found }: Pick<Props, "found">) {
  const { columns, rows } = turnTable(found);
  return (
    <table class="aw-table">
      <Headings of={columns} />
      <tbody>
        {rows.map(([position, token, ...numbers]) => (
          <tr key={position}>
            <td>{position}</td>
            <th scope="row">
              <bdi dir="ltr">{token}</bdi>
            </th>
            {numbers.map((number, i) => (
              <Num key={i} tag="td" value={Number(number)} />
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

export const TurnsPanel = memo(function TurnsPanel({ found, chosen, choose, mode }: Props) {
  const { written, means } = found;
  const { names, ends } = pictureOf(found);
  return (
    <>
      <TurnsSentence {...found} />
      <div class={`aw-turns-picture${written.length > MANY ? " is-dense" : ""}`} dir="ltr">
        <ul class="aw-turns-names">
          {names.map((name, i) => (
            <li key={i} title={name}>
              <bdi>{name}</bdi>
            </li>
          ))}
          <li class="aw-muted">token</li>
        </ul>
        <RovingList class="aw-turns-columns" part="turns-columns">
          {written.map((of, i) => (
            <li key={of.position}>
              <Column
                {...{ of, names, ends, mode }}
                chosen={i === chosen}
                choose={() => choose(i)}
              />
            </li>
          ))}
        </RovingList>
        <ul class="aw-turns-means" aria-label="Mean share of each turn">
          {means.map((mean, i) => (
            <li key={i} title={`Mean share of ${names[i]}: ${formatPercent(mean)}`}>
              <Share value={mean} />
            </li>
          ))}
          {names.length > means.length && <li />}
          <li class="aw-muted">share</li>
        </ul>
      </div>
      <Sum of={itemAt(written, chosen)} names={[...found.names, BIASES]} />
      <p class="aw-hint">
        Each written token’s logit as a sum over the turns and the biases, on one scale: bars up
        speak for the token, bars down against it. Shares are of the turns, by the size of
        contributions.
      </p>
      <Disclosure summary="All contributions of turns as numbers" label="Contributions of turns">
        {() => <Numbers found={found} />}
      </Disclosure>
    </>
  );
});

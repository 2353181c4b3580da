/** One softmax opened up: the equation with its numbers, its terms, and where the probability goes. */

import { signal } from "@preact/signals-core";
import {
  exact,
  formatCount,
  formatNumber,
  formatPercent,
  type TokenScheme,
  tokenLabel,
  visible,
} from "../../figures/format";
import { SOFTMAX, SOFTMAX_SPOKEN, softmaxWithNumbers } from "../../figures/formulas";
import { Button } from "../../ui/controls";
import { Formula } from "../../ui/math";
import { memo } from "../../ui/memo";
import { Headings } from "../../ui/table";
import { TokenText } from "../../ui/token";
import { WhyButton } from "../../ui/why-button";
import type { RunContext } from "../contract";
import { atTemperature, type Entry, type Mode, type Softmax, targetOf, terms } from "./data";

/** Terms written out above the line "others". */
const TERMS = 6;
/** A segment narrower than this share of the bar has no room for its name. */
const NAMED_SEGMENT = 0.09;

interface SoftmaxProps {
  readonly softmax: Softmax;
  readonly chosen: Entry;
  readonly originalId: number | null;
  readonly scheme: TokenScheme;
  readonly mode: Mode;
  readonly context: RunContext;
  /** Let another term be the numerator. */
  readonly choose: (tokenId: number) => void;
  /** Run the text up to a position and the chosen token after it; null without a kernel. */
  readonly goOn: ((position: number, tokenId: number) => void) | null;
}

/** The temperature of all softmaxes that are opened: 1 is the model's own. */
const temperature = signal(1);

export const SoftmaxPanel = memo(function SoftmaxPanel(own: SoftmaxProps) {
  const { mode, context, goOn } = own;
  const warm = own.softmax.temperatures.length > 0;
  const degrees = warm ? temperature.value : 1;
  const softmax = atTemperature(own.softmax, degrees);
  const chosen =
    atTemperature({ ...own.softmax, entries: [own.chosen] }, degrees).entries[0] ?? own.chosen;
  const props = { ...own, softmax, chosen };
  const numbers = softmaxWithNumbers({
    ...terms(softmax, chosen),
    token: visible(chosen.token),
  });
  return (
    <>
      <div class="aw-softmax-equation">
        <Formula node={SOFTMAX} spoken={SOFTMAX_SPOKEN} />
        <Formula node={numbers.node} spoken={numbers.spoken} />
        <p class="aw-view-note">
          {`z are logits, and the sum runs over all ${formatCount(softmax.vocabSize)} entries of the ` +
            `vocabulary. Uniform chance would be ${formatNumber(1 / softmax.vocabSize)}.`}
        </p>
        {warm && <Temperature softmax={own.softmax} />}
        {mode === "next" && goOn !== null && (
          <Button part="continue" onClick={() => goOn(softmax.position, chosen.id)}>
            Continue with <bdi dir="ltr">{visible(chosen.token)}</bdi>
          </Button>
        )}
        {/* Special tokens are not predicted. */}
        {!context.source.meta.tokens.special[softmax.position] && (
          <WhyButton
            context={context}
            target={targetOf(softmax, chosen, mode)}
            name={chosen.token}
          />
        )}
      </div>
      <TermTable {...props} degrees={degrees} />
      <MassBar {...props} />
    </>
  );
});

/** Divides the logits by a temperature: below 1 the likeliest tokens gain, above 1 all become alike. */
function Temperature({ softmax: { temperatures } }: Pick<SoftmaxProps, "softmax">) {
  const steps = temperatures.map(([one]) => one);
  const at = Math.max(0, steps.indexOf(temperature.value));
  return (
    <label class="aw-temperature aw-cluster aw-small" data-aw-part="temperature">
      Temperature
      <input
        type="range"
        min={0}
        max={steps.length - 1}
        step={1}
        value={at}
        aria-valuetext={formatNumber(temperature.value, 2)}
        onInput={({ currentTarget }) => {
          temperature.value = steps[Number(currentTarget.value)] ?? 1;
        }}
      />
      <output class="aw-number">{formatNumber(temperature.value, 2)}</output>
      {temperature.value !== 1 && <span class="aw-muted">z / T in place of z</span>}
    </label>
  );
}

const NumberCell = ({ value, text }: { readonly value: number; readonly text: string }) => (
  <td data-aw-value={exact(value)} title={exact(value)}>
    {text}
  </td>
);

function TermTable({
  softmax,
  chosen,
  originalId,
  scheme,
  choose,
  degrees,
}: SoftmaxProps & { readonly degrees: number }) {
  const { entries, logitMax, sumExp, vocabSize } = softmax;
  const listed = entries.slice(0, TERMS);
  if (!listed.some(({ id }) => id === chosen.id)) listed.splice(TERMS - 1, 1, chosen);
  const rest = sumExp - listed.reduce((total, { exp }) => total + exp, 0);
  const heads = [
    ["rank", "1 is the most probable"],
    ["entry", "entry of the vocabulary"],
    [degrees === 1 ? "logit z" : "z / T", `largest logit: ${exact(logitMax)}`],
    ["exp(z − max)", "exponential of the logit minus the largest logit"],
    ["probability", "exponential over the sum"],
  ] as const;
  return (
    <table class="aw-terms">
      <Headings of={heads} />
      <tbody>
        {listed.map(({ id, rank, token, logit, exp, probability }) => (
          <tr
            key={id}
            class={id === originalId ? "is-original" : undefined}
            aria-current={id === chosen.id ? "true" : undefined}
          >
            <td class="aw-rank">{formatCount(rank)}</td>
            <th scope="row">
              <Button
                class="aw-flat"
                data-token-id={id}
                aria-pressed={id === chosen.id}
                onClick={({ currentTarget }) => {
                  choose(id);
                  currentTarget.focus();
                }}
              >
                <TokenText {...tokenLabel(token, scheme)} />
              </Button>
            </th>
            <NumberCell value={logit} text={formatNumber(logit, 4)} />
            <NumberCell value={exp} text={formatNumber(exp)} />
            <NumberCell value={probability} text={formatPercent(probability)} />
          </tr>
        ))}
      </tbody>
      <tfoot>
        <tr>
          <td />
          <th scope="row">{formatCount(vocabSize - listed.length)} others</th>
          <td />
          <NumberCell value={rest} text={formatNumber(Math.max(0, rest))} />
          <NumberCell value={rest / sumExp} text={formatPercent(Math.max(0, rest / sumExp))} />
        </tr>
        <tr class="aw-sum">
          <td />
          <th scope="row">sum</th>
          <td />
          <NumberCell value={sumExp} text={formatNumber(sumExp)} />
          <NumberCell value={1} text="100%" />
        </tr>
      </tfoot>
    </table>
  );
}

function MassBar({ softmax: { entries, vocabSize }, chosen }: SoftmaxProps) {
  const mass = entries.reduce((total, { probability }) => total + probability, 0);
  const rest = Math.max(0, 1 - mass);
  const caption =
    `top ${entries.length}: ${formatPercent(mass)}; ` +
    `the other ${formatCount(vocabSize - entries.length)} entries: ${formatPercent(rest)}`;
  return (
    <figure class="aw-mass">
      <div class="aw-mass-bar" role="img" aria-label={`Probability: ${caption}`}>
        {entries.map(({ id, token, probability }) => (
          <span
            key={id}
            class={`aw-mass-part aw-ellipsis${id === chosen.id ? " is-chosen" : ""}`}
            title={`${visible(token)} ${formatPercent(probability)}`}
            data-token-id={id}
            data-aw-value={exact(probability)}
            style={{ width: `${(probability * 100).toFixed(4)}%` }}
          >
            {probability >= NAMED_SEGMENT && <bdi>{visible(token)}</bdi>}
          </span>
        ))}
        <span
          class="aw-mass-part is-rest"
          title={`other entries ${formatPercent(rest)}`}
          data-aw-value={exact(rest)}
        />
      </div>
      <figcaption>{caption}</figcaption>
    </figure>
  );
}

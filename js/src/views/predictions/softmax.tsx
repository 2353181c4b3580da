/** One softmax opened up: the equation with its numbers, its terms, and where the probability goes. */

import { whyRequest } from "../../draw/classes/why-button";
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
import { Formula } from "../../ui/math";
import { TokenText } from "../../ui/token";
import type { RunContext } from "../contract";
import { type Entry, type Mode, type Softmax, targetOf, terms } from "./data";

/** Terms written out above the line "others". */
const TERMS = 6;
/** A segment narrower than this share of the bar has no room for its name. */
const NAMED_SEGMENT = 0.09;

export interface SoftmaxProps {
  readonly softmax: Softmax;
  readonly chosen: Entry;
  readonly originalId: number;
  readonly scheme: TokenScheme;
  readonly mode: Mode;
  readonly context: RunContext;
  /** Let another term be the numerator. */
  readonly choose: (tokenId: number) => void;
}

export function SoftmaxPanel(props: SoftmaxProps) {
  const { softmax, chosen } = props;
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
        <WhyButton {...props} />
      </div>
      <TermTable {...props} />
      <MassBar {...props} />
    </>
  );
}

/** The way to the reasons for an entry; none at special tokens, which are not predicted. */
function WhyButton({ softmax, chosen, mode, context: { source, state } }: SoftmaxProps) {
  const target = targetOf(softmax, chosen, mode);
  const answered = source.has?.(whyRequest(target)) ?? source.live;
  if (source.meta.tokens.special[softmax.position] || !answered) return null;
  return (
    <button
      type="button"
      class="aw-button aw-text-button"
      data-aw-part="why-button"
      onClick={() => state.set({ target, view: "why" })}
    >
      Why <bdi>{visible(chosen.token)}</bdi>?
    </button>
  );
}

const NumberCell = ({ value, text }: { readonly value: number; readonly text: string }) => (
  <td data-aw-value={exact(value)} title={exact(value)}>
    {text}
  </td>
);

function TermTable({ softmax, chosen, originalId, scheme, choose }: SoftmaxProps) {
  const { entries, logitMax, sumExp, vocabSize } = softmax;
  const listed = entries.slice(0, TERMS);
  if (!listed.some(({ id }) => id === chosen.id)) listed.splice(TERMS - 1, 1, chosen);
  const rest = sumExp - listed.reduce((total, { exp }) => total + exp, 0);
  const heads = [
    ["rank", "1 is the most probable"],
    ["entry", "entry of the vocabulary"],
    ["logit z", `largest logit: ${exact(logitMax)}`],
    ["exp(z − max)", "exponential of the logit minus the largest logit"],
    ["probability", "exponential over the sum"],
  ];
  return (
    <table class="aw-terms">
      <thead>
        <tr>
          {heads.map(([text, title]) => (
            <th key={text} scope="col" title={title}>
              {text}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {listed.map(({ id, rank, token, logit, exp, probability }) => (
          <tr
            key={id}
            class={id === originalId ? "is-original" : undefined}
            aria-current={id === chosen.id ? "true" : undefined}
          >
            <td class="aw-rank">{formatCount(rank)}</td>
            <th scope="row">
              <button
                type="button"
                data-token-id={id}
                aria-pressed={id === chosen.id}
                onClick={({ currentTarget }) => {
                  choose(id);
                  currentTarget.focus();
                }}
              >
                <TokenText {...tokenLabel(token, scheme)} />
              </button>
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
            class={id === chosen.id ? "aw-mass-part is-chosen" : "aw-mass-part"}
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

/** Predictions at every matched token, before → after, with the change in log-odds. */

import { signal } from "@preact/signals-core";
import { formatPercent, visible } from "../../../figures/format";
import { itemAt } from "../../../protocol/required";
import { firstLargest, largestFirst } from "../../../protocol/ties";
import { Button, Select } from "../../../ui/controls";
import { mount, selectionOf, setTo, setter } from "../../../ui/mount";
import { Change } from "../../../ui/signs";
import { Both, Table } from "../figures";
import { Note, type Panel, pairNames } from "./contract";

/** A prediction that neither run gives this much is not called the largest change of its token. */
const LEAST = 0.01;
/** Rows of a long text, the most changed first; the others on demand. */
const LISTED = 24;
const ORDERS = [
  ["text", "in the order of the text"],
  ["change", "most changed first"],
] as const;

interface Guess {
  readonly token: string;
  readonly before: number;
  readonly after: number;
  readonly logOdds: number;
}

const Word = ({ text }: { readonly text: string }) => (
  <bdi class="aw-compare-word">{visible(text)}</bdi>
);

const most = (guesses: readonly Guess[], by: (guess: Guess) => number): Guess =>
  itemAt(guesses, firstLargest(guesses.map(by)));
function moved(guesses: readonly Guess[]): Guess {
  const likely = guesses.filter(({ before, after }) => Math.max(before, after) >= LEAST);
  return most(likely.length > 0 ? likely : guesses, ({ logOdds }) => Math.abs(logOdds));
}

export const predictions: Panel = (element, context) => {
  const { compared, states, signal: until } = context;
  const { predictions: found, arrays, reasons } = compared;
  if (found === null) {
    const why = reasons.predictions ?? "There are no predictions.";
    mount(element, () => <Note text={why} />, until);
    return;
  }
  const value = (name: string, i: number): number => Number(arrays.get(name)?.data[i]);
  const figures = ["before", "after", "log_odds"] as const;
  context.give(() => ({
    columns: ["position_a", "position_b", "prediction", ...figures],
    rows: found.token.map((token, i) => [
      itemAt(found.position_a, i),
      itemAt(found.position_b, i),
      token,
      ...figures.map((name) => value(name, i)),
    ]),
  }));
  const byPosition = new Map<number, Guess[]>();
  found.token.forEach((token, i) => {
    const position = itemAt(found.position_a, i);
    const [before = 0, after = 0, logOdds = 0] = figures.map((name) => value(name, i));
    const guesses = byPosition.get(position) ?? [];
    byPosition.set(position, [...guesses, { token, before, after, logOdds }]);
  });
  if (byPosition.size === 0) {
    const why = "No word has a partner, so no predictions can be compared.";
    mount(element, () => <Note text={why} />, until);
    return;
  }
  const names = new Map(
    pairNames(context).map((name, i) => [itemAt(compared.tokens, i)[0], name] as const),
  );
  const size = (guesses: readonly Guess[]): number => Math.abs(moved(guesses).logOdds);
  const top = Math.max(...[...byPosition.values()].map(size));
  const long = byPosition.size > LISTED;
  const order = signal<(typeof ORDERS)[number][0]>(long ? "change" : "text");
  const whole = signal(!long);
  const selection = selectionOf(states.a, ["token"], until);

  function row([position, guesses]: readonly [number, readonly Guess[]]) {
    const a = most(guesses, ({ before }) => before);
    const b = most(guesses, ({ after }) => after);
    const change = moved(guesses);
    return (
      <tr
        key={position}
        data-position={position}
        aria-current={position === selection.value.token ? "true" : "false"}
      >
        <th scope="row">
          <Button class="aw-link" onClick={() => states.a.set({ token: position })}>
            <bdi>{names.get(position)}</bdi>
          </Button>
        </th>
        <td>
          <Word text={a.token} /> {formatPercent(a.before)} →{" "}
          {a.token !== b.token && (
            <>
              <Word text={b.token} />{" "}
            </>
          )}
          {formatPercent(b.after)}
        </td>
        <td>
          <Word text={change.token} />
        </td>
        <Change value={change.logOdds} top={top} />
      </tr>
    );
  }

  function Details() {
    const { token } = selection.value;
    const guesses = token === null ? undefined : byPosition.get(token);
    if (token === null || guesses === undefined)
      return <p class="aw-hint">Choose a matched token to see all its predictions.</p>;
    const end = Math.max(...guesses.map(({ logOdds }) => Math.abs(logOdds)));
    const sorted = largestFirst(
      guesses.map(({ before, after }) => Math.max(before, after)),
      "weights",
    ).map((i) => itemAt(guesses, i));
    return (
      <>
        <h3 class="aw-title">
          At <Word text={names.get(token) ?? ""} />
        </h3>
        <Table
          label="Predictions at the chosen token"
          columns={["prediction", "A", "B", "change in log-odds"]}
        >
          {sorted.map(({ token: name, before, after, logOdds }) => (
            <tr key={name}>
              <th scope="row">
                <Word text={name} />
              </th>
              <Both a={before} b={after} change={logOdds} top={end} format={formatPercent} />
            </tr>
          ))}
        </Table>
      </>
    );
  }

  mount(
    element,
    () => {
      const inText = [...byPosition];
      const rows =
        order.value === "text"
          ? inText
          : largestFirst(inText.map(([, guesses]) => size(guesses))).map((i) => itemAt(inText, i));
      return (
        <>
          <div class="aw-panel-head">
            <h3 class="aw-title">
              {found.mode === "masked"
                ? "Predictions for each word, masked: A → B"
                : "Predictions, A → B"}
            </h3>
            <Select label="Order" options={ORDERS} value={order.value} choose={setter(order)} />
          </div>
          <div class="aw-compare-columns aw-wide">
            <div class="aw-scroll" data-aw-part="guesses">
              <Table
                label="Predictions at every matched token"
                columns={["token", "best of A → best of B", "moved most", "change in log-odds"]}
              >
                {rows.slice(0, whole.value ? undefined : LISTED).map(row)}
              </Table>
              {!whole.value && (
                <Button class="aw-button-text" onClick={setTo(whole, true)}>
                  Show all {rows.length}
                </Button>
              )}
            </div>
            <section aria-label="Predictions at the chosen token">
              <div data-aw-part="guess">{Details()}</div>
            </section>
          </div>
        </>
      );
    },
    until,
  );
};

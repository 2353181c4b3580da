/** Predictions at every matched token, before → after, with the change in log-odds. */

import { h } from "../../draw/dom";
import { formatPercent, visible } from "../../figures/format";
import { itemAt } from "../../protocol/required";
import { numberCell, signedCell, tableOf } from "../signs";
import { follow, type Panel, pairNames } from "./contract";

/** A prediction that neither run gives this much is not called the largest change of its token. */
const LEAST = 0.01;

interface Guess {
  readonly token: string;
  readonly before: number;
  readonly after: number;
  readonly logOdds: number;
}

const word = (text: string): HTMLElement => h("bdi", { class: "aw-compare-word" }, visible(text));

export const predictions: Panel = (element, context) => {
  const { compared, states } = context;
  const { predictions: known, arrays, reasons } = compared;
  if (known === null) {
    element.append(
      h("p", { class: "aw-view-note" }, reasons.predictions ?? "There are no predictions."),
    );
    return;
  }
  const value = (name: string, i: number): number => Number(arrays.get(name)?.data[i]);
  const { position_a: places, position_b: placesB, token: tokens } = known;
  context.give(() => ({
    columns: ["position_a", "position_b", "prediction", "before", "after", "log_odds"],
    rows: tokens.map((token, i) => [
      itemAt(places, i),
      itemAt(placesB, i),
      token,
      ...["before", "after", "log_odds"].map((name) => value(name, i)),
    ]),
  }));
  const byPosition = new Map<number, Guess[]>();
  known.token.forEach((token, i) => {
    const position = itemAt(known.position_a, i);
    const guess = {
      token,
      before: value("before", i),
      after: value("after", i),
      logOdds: value("log_odds", i),
    };
    byPosition.set(position, [...(byPosition.get(position) ?? []), guess]);
  });
  if (byPosition.size === 0) {
    element.append(
      h(
        "p",
        { class: "aw-view-note" },
        "No word has a partner, so no predictions can be compared.",
      ),
    );
    return;
  }
  const names = new Map(
    pairNames(context).map((name, i) => [itemAt(compared.tokens, i)[0], name] as const),
  );
  const best = (all: readonly Guess[], by: "before" | "after"): Guess =>
    all.reduce((most, one) => (one[by] > most[by] ? one : most));
  const moved = (all: readonly Guess[]): Guess => {
    const likely = all.filter(({ before, after }) => Math.max(before, after) >= LEAST);
    return (likely.length > 0 ? likely : all).reduce((most, one) =>
      Math.abs(one.logOdds) > Math.abs(most.logOdds) ? one : most,
    );
  };
  const top = Math.max(...[...byPosition.values()].map((all) => Math.abs(moved(all).logOdds)));
  const order = h(
    "select",
    { class: "aw-select", "aria-label": "Order" },
    h("option", { value: "text" }, "in the order of the text"),
    h("option", { value: "change" }, "most changed first"),
  );
  const list = h("div", { class: "aw-compare-scroll", "data-aw-part": "guesses" });
  const details = h("div", { "data-aw-part": "guess" });
  element.append(
    h(
      "div",
      { class: "aw-panel-head" },
      h(
        "h3",
        { class: "aw-title" },
        known.mode === "masked" ? "Predictions for each word, masked: A → B" : "Predictions, A → B",
      ),
      order,
    ),
    h(
      "div",
      { class: "aw-compare-columns aw-wide" },
      list,
      h("section", { "aria-label": "Predictions at the chosen token" }, details),
    ),
  );

  const drawList = (): void => {
    const positions = [...byPosition.keys()];
    if (order.value === "change") {
      const size = (position: number) =>
        Math.abs(moved(byPosition.get(position) as Guess[]).logOdds);
      positions.sort((x, y) => size(y) - size(x));
    }
    const rows = positions.map((position) => {
      const all = byPosition.get(position) as Guess[];
      const [a, b, change] = [best(all, "before"), best(all, "after"), moved(all)];
      const button = h(
        "button",
        { class: "aw-link-button" },
        h("bdi", {}, names.get(position) ?? ""),
      );
      button.addEventListener("click", () => states.a.set({ token: position }));
      const same = a.token === b.token;
      return h(
        "tr",
        { "data-position": position },
        h("th", { scope: "row" }, button),
        h(
          "td",
          {},
          word(a.token),
          ` ${formatPercent(a.before)} → `,
          same ? null : word(b.token),
          `${same ? "" : " "}${formatPercent(b.after)}`,
        ),
        h("td", {}, word(change.token)),
        signedCell(change.logOdds, top),
      );
    });
    list.replaceChildren(
      tableOf(
        ["token", "best of A → best of B", "moved most", "change in log-odds"],
        rows,
        "Predictions at every matched token",
      ),
    );
    mark();
  };
  const mark = (): void => {
    const { token } = states.a.get();
    for (const row of list.querySelectorAll<HTMLElement>("[data-position]")) {
      row.setAttribute("aria-current", String(Number(row.dataset.position) === token));
    }
    const all = token === null ? undefined : byPosition.get(token);
    if (token === null || all === undefined) {
      details.replaceChildren(
        h("p", { class: "aw-hint" }, "Choose a matched token to see all its predictions."),
      );
      return;
    }
    const most = Math.max(...all.map(({ logOdds }) => Math.abs(logOdds)));
    details.replaceChildren(
      h("h3", { class: "aw-title" }, "At ", word(names.get(token) ?? "")),
      tableOf(
        ["prediction", "A", "B", "change in log-odds"],
        [...all]
          .sort((x, y) => Math.max(y.before, y.after) - Math.max(x.before, x.after))
          .map(({ token: name, before, after, logOdds }) =>
            h(
              "tr",
              {},
              h("th", { scope: "row" }, word(name)),
              numberCell(before, formatPercent(before)),
              numberCell(after, formatPercent(after)),
              signedCell(logOdds, most),
            ),
          ),
        "Predictions at the chosen token",
      ),
    );
  };
  order.addEventListener("change", drawList);
  follow(context, ["token"], mark);
  drawList();
};

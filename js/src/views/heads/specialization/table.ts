/** Beside the radar: every axis of the selected head in numbers, raw and on both scales. */

import { h } from "../../../draw/dom";
import type { Aim } from "../../../figures/catalog/types";
import { ABSENT, exact, formatNumber } from "../../../figures/format";

export interface AimRow {
  readonly aim: Aim;
  readonly raw: number;
  /** NaN: no chance level. */
  readonly chance: number;
  /** 95% interval of a profile's mean; null for one text. */
  readonly interval: readonly [number, number] | null;
  /** null: this figure is not put on a scale. */
  readonly scaled: number | null;
  readonly z: number | null;
  /** Why it is N/A; null where it is not. */
  readonly absent: string | null;
}

export interface AimTable {
  readonly element: HTMLElement;
  fill(groups: readonly { readonly name: string; readonly rows: readonly AimRow[] }[]): void;
  setChosen(key: string): void;
}

type Cell = { readonly key: string; readonly head: string; readonly title: string };

/** `explain` opens what an axis means at its name. */
export function createAimTable(
  profile: boolean,
  explain: (aim: Aim, anchor: HTMLElement) => void,
): AimTable {
  const columns: Cell[] = [
    { key: "raw", head: profile ? "Mean" : "Raw", title: "As defined" },
    profile
      ? { key: "interval", head: "95%", title: "Bootstrap interval of the mean over texts" }
      : { key: "chance", head: "Chance", title: "Value of a head that attends everywhere equally" },
    ...(profile ? [] : [{ key: "times", head: "×", title: "Raw as a multiple of chance" }]),
    { key: "scaled", head: "Per layer", title: "0: lowest of the layer’s heads, 1: highest" },
    { key: "z", head: "z", title: "Standard deviations from the mean of all heads" },
  ];
  const body = h("tbody", {});
  const element = h(
    "table",
    { class: "aw-aims", "data-aw-part": "specialization" },
    h("caption", { class: "aw-live" }, "Where the selected head looks"),
    h(
      "thead",
      {},
      h(
        "tr",
        {},
        h("td", {}),
        ...columns.map(({ head, title }) => h("th", { scope: "col", title }, head)),
      ),
    ),
    body,
  );
  const names = new Map<string, HTMLButtonElement>();
  const rows = new Map<string, HTMLTableRowElement>();

  function nameOf(aim: Aim): HTMLButtonElement {
    const known = names.get(aim.key);
    if (known !== undefined) return known;
    const button = h(
      "button",
      {
        class: "aw-card-title",
        "aria-haspopup": "dialog",
        "aria-expanded": "false",
        "data-key": aim.key,
      },
      aim.name,
    );
    button.addEventListener("click", () => explain(aim, button));
    names.set(aim.key, button);
    return button;
  }

  function number(value: number | null, column: string): HTMLTableCellElement {
    if (value === null) return h("td", {});
    return h(
      "td",
      { "data-column": column, "data-aw-value": exact(value), title: exact(value) },
      formatNumber(value),
    );
  }

  function rowOf(row: AimRow): HTMLTableRowElement {
    const name = h("th", { scope: "row" }, nameOf(row.aim));
    const made = h("tr", { "data-key": row.aim.key }, name);
    rows.set(row.aim.key, made);
    if (row.absent !== null) {
      made.append(
        h("td", { "data-column": "raw", "data-aw-value": "NaN" }, ABSENT),
        h("td", { class: "aw-aim-absent", colspan: columns.length - 1 }, row.absent),
      );
      return made;
    }
    made.append(number(row.raw, "raw"));
    if (row.interval !== null) {
      const [low, high] = row.interval;
      const known = !Number.isNaN(low);
      made.append(
        h(
          "td",
          { "data-column": "interval", title: known ? `${exact(low)} to ${exact(high)}` : null },
          known ? `${formatNumber(low, 2)} – ${formatNumber(high, 2)}` : ABSENT,
        ),
      );
    } else {
      const times = row.raw / row.chance;
      made.append(
        number(row.chance, "chance"),
        h(
          "td",
          { "data-column": "times", title: exact(times) },
          Number.isFinite(times) ? `${formatNumber(times, 2)}×` : "",
        ),
      );
    }
    made.append(number(row.scaled, "scaled"), number(row.z, "z"));
    return made;
  }

  return {
    element,
    fill(groups) {
      const focused = document.activeElement;
      rows.clear();
      body.replaceChildren(
        ...groups.flatMap(({ name, rows: of }, index) => [
          ...(index === 0
            ? []
            : [
                h(
                  "tr",
                  { class: "aw-aim-group" },
                  h("th", { colspan: columns.length + 1, scope: "colgroup" }, name),
                ),
              ]),
          ...of.map(rowOf),
        ]),
      );
      // The names are kept, and with them the focus of the one that is explained.
      if (focused instanceof HTMLElement && body.contains(focused) && focused !== document.body) {
        focused.focus({ preventScroll: true });
      }
    },
    setChosen(key) {
      for (const [of, row] of rows) row.classList.toggle("is-chosen", of === key);
    },
  };
}

/** Classes before → after with the change in log-odds, then what each run shows of its task. */

import { h } from "../../draw/dom";
import { formatPercent } from "../../figures/format";
import { numberCell, signedCell, tableOf } from "../signs";
import { known, type Panel } from "./contract";
import { pairOf } from "./pair";

export const task: Panel = (element, context) => {
  const { classes, reasons, arrays } = context.compared;
  const section = h("section", { "data-aw-part": "classes", "aria-label": "Classes" });
  element.append(section);
  if (classes === undefined || classes === null) {
    section.append(
      h("p", { class: "aw-view-note" }, reasons.classes ?? "No classes are compared."),
    );
  } else {
    const value = (name: string, i: number): number => Number(arrays.get(`class_${name}`)?.data[i]);
    const top = Math.max(...classes.map((_, i) => Math.abs(value("log_odds", i))));
    context.give(() => ({
      columns: ["class", "a", "b", "log_odds"],
      rows: classes.map((label, i) => [
        label,
        ...["before", "after", "log_odds"].map((name) => known(value(name, i))),
      ]),
    }));
    const rows = classes.map((label, i) =>
      h(
        "tr",
        {},
        h("th", { scope: "row" }, h("bdi", {}, label)),
        numberCell(value("before", i), formatPercent(value("before", i))),
        numberCell(value("after", i), formatPercent(value("after", i))),
        signedCell(value("log_odds", i), top),
      ),
    );
    section.append(tableOf(["class", "A", "B", "change in log-odds"], rows, "Classes"));
  }
  pairOf("task")(element, context);
};

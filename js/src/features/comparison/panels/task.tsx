/** Classes before → after with the change in log-odds, then what each run shows of its task. */

import { formatPercent } from "../../../figures/format";
import { mount } from "../../../ui/mount";
import { Both, Table } from "../figures";
import { finite, Note, type Panel } from "./contract";
import { pairOf } from "./pair";

export const task: Panel = (element, context) => {
  const { classes, reasons, arrays } = context.compared;
  const value = (name: string, i: number): number => Number(arrays.get(`class_${name}`)?.data[i]);
  const rows = (classes ?? []).map((label, i) => ({
    label,
    a: value("before", i),
    b: value("after", i),
    change: value("log_odds", i),
  }));
  if (rows.length > 0)
    context.give(() => ({
      columns: ["class", "a", "b", "log_odds"],
      rows: rows.map(({ label, a, b, change }) => [label, ...[a, b, change].map(finite)]),
    }));
  const top = Math.max(...rows.map(({ change }) => Math.abs(change)));
  const place = document.createElement("div");
  element.append(place);
  mount(
    place,
    () => (
      <section data-aw-part="classes" aria-label="Classes">
        {classes == null ? (
          <Note text={reasons.classes ?? "No classes are compared."} />
        ) : (
          <Table label="Classes" columns={["class", "A", "B", "change in log-odds"]}>
            {rows.map(({ label, ...figures }) => (
              <tr key={label}>
                <th scope="row">
                  <bdi>{label}</bdi>
                </th>
                <Both {...figures} top={top} format={formatPercent} />
              </tr>
            ))}
          </Table>
        )}
      </section>
    ),
    context.signal,
  );
  pairOf("task")(element, context);
};

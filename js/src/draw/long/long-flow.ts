/** Links of a long text whose two ends are in view, and those that leave it. */

import { strongestOf } from "../../figures/derive/matrix";
import type { LinkList, LongRow } from "../../figures/long/store";
import type { Range } from "../heatmap/axis";
import type { FlowLink } from "../heatmap/flow";

/** Links of the focus token that are drawn whatever the list of the head has. */
const FOCUS_LINKS = 12;

/** The strongest of the focus token's row, and those of the head. */
export function flowLinks(row: LongRow | null, links: LinkList | null): FlowLink[] {
  const strong: FlowLink[] = [];
  if (row !== null) {
    const { token, values } = row;
    for (const key of strongestOf(values, FOCUS_LINKS)) {
      strong.push({ query: token, key, weight: values[key] as number });
    }
  }
  links?.queries.forEach((query, i) => {
    strong.push({ query, key: links.keys[i] as number, weight: links.weights[i] as number });
  });
  return strong;
}

/** Links with both ends in view, and those of the focus that leave it; weakest first. */
export function linksInView(
  links: readonly FlowLink[],
  { rows, columns }: { readonly rows: Range; readonly columns: Range },
  focus: number,
): { readonly inside: FlowLink[]; readonly leaving: FlowLink[] } {
  const within = (i: number, [from, to]: readonly [number, number]) =>
    i + 0.5 > from && i + 0.5 < to;
  const seen = new Set<string>();
  const inside: FlowLink[] = [];
  const leaving: FlowLink[] = [];
  for (const link of links) {
    const key = `${link.query} ${link.key}`;
    if (seen.has(key) || !within(link.query, rows)) continue;
    seen.add(key);
    if (within(link.key, columns)) inside.push(link);
    else if (link.query === focus) leaving.push(link);
  }
  const byWeight = (a: FlowLink, b: FlowLink): number => a.weight - b.weight;
  return { inside: inside.sort(byWeight), leaving: leaving.sort(byWeight) };
}

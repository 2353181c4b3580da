/** One query–key pair and its ends. */

import type { ComponentChild } from "preact";
import type { Matrix } from "../../../figures/matrix";
import type { AxisLabels } from "../../../figures/names";
import type { Link } from "../../../figures/pairs";
import { itemAt } from "../../../protocol/required";
import type { TokenFacts } from "../facts";

/** A query and a key of a matrix, and the numbers of their link. */
export interface Pair {
  readonly matrix: Matrix;
  readonly row: number;
  readonly column: number;
  readonly labels: AxisLabels;
  readonly facts: TokenFacts;
  readonly link: Link;
}

/** `cat · 2 · id 4937 · NOUN`: one end of a link. */
export const End = ({
  role,
  name,
  written = null,
  more = null,
  details,
}: {
  readonly role: "query" | "key";
  readonly name: string;
  /** Label of the token that is written after this one is read. */
  readonly written?: string | null;
  readonly more?: ComponentChild;
  readonly details: readonly string[];
}) => (
  <div class="aw-link-end">
    <span class="aw-muted aw-link-role">{role}</span>
    {written !== null && <span class="aw-muted">reads</span>}
    <bdi dir="ltr" class="aw-link-name">
      {name}
    </bdi>
    {more}
    {written !== null && (
      <>
        <span class="aw-muted">writes</span>
        <bdi dir="ltr" class="aw-link-name">
          {written}
        </bdi>
      </>
    )}
    <span class="aw-muted aw-link-at">{details.join(" · ")}</span>
  </div>
);

export function Ends({ matrix, row, column, labels, facts }: Pair) {
  const end = (index: number, role: "query" | "key") => {
    const axis = role === "query" ? "queries" : "keys";
    const [unit, label] = [itemAt(matrix[axis], index), itemAt(labels[axis], index)];
    const pieces = unit.end - unit.token;
    const details = [
      pieces > 1 ? `${unit.token}–${unit.end - 1}, ${pieces} pieces` : `${unit.token}`,
      // Tokens from outside have no ids.
      pieces > 1 || facts.id(unit.token, role) < 0 ? null : `id ${facts.id(unit.token, role)}`,
      facts.tags(unit.token, role),
      facts.window(unit.token, role),
    ].filter((part) => part !== null);
    const written = role === "query" ? (labels.written?.[index] ?? null) : null;
    const readable = unit.surface !== label && !unit.special && (
      <bdi class="aw-muted">{unit.surface}</bdi>
    );
    return <End {...{ role, name: label, written, details }} more={readable} />;
  };
  return (
    <div class="aw-link-ends">
      {end(row, "query")}
      {end(column, "key")}
    </div>
  );
}

export const isImpossible = ({ matrix: { allowed, keys }, row, column }: Pair): boolean =>
  allowed !== null && allowed[row * keys.length + column] === 0;

export function impossible({ matrix, row, facts }: Pair): string {
  const window = facts.window(itemAt(matrix.queries, row).token);
  return window === null
    ? "masked: this query cannot see this key"
    : `N/A: this key is outside of the query’s ${window}`;
}

export const Sign = ({ text }: { readonly text: string }) => (
  <span class="aw-muted" aria-hidden="true">
    {text}
  </span>
);

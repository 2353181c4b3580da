/** One query–key pair: its ends, and the strip where it is pinned. */

import type { ComponentChild } from "preact";
import type { Mode } from "../../draw/color/ramp";
import { byTouch } from "../../draw/touch";
import type { Matrix } from "../../figures/matrix";
import type { AxisLabels } from "../../figures/names";
import type { Link } from "../../figures/pairs";
import { isRolled } from "../../figures/quantities";
import { itemAt } from "../../protocol/required";
import { Button } from "../../ui/controls";
import { lazyCode, type ViewContext } from "../contract";
import type { TokenFacts } from "./facts";
import type { PairPlace } from "./pair-place";

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

/** The pinned pair: how the weight comes about. */
export function PinnedPair({
  mode,
  context,
  hold,
  ...pair
}: Pair & {
  readonly mode: Mode;
  readonly context: ViewContext;
  /** Takes the place of what features add. */
  readonly hold?: PairPlace["hold"];
}) {
  const { matrix, row, column, link } = pair;
  const { layer, head, quantity, queries, keys } = matrix;
  const { VectorStrips, Arithmetic, CarriedSum } = lazyCode.value ?? {};
  const summed = quantity !== "weights" && !isRolled(quantity) && CarriedSum !== undefined;
  const [query, key] = [itemAt(queries, row), itemAt(keys, column)];
  return (
    <div class="aw-pinned">
      <Ends {...pair} />
      {isImpossible(pair) ? (
        <p class="aw-muted">Masked: this query cannot see this key.</p>
      ) : (
        <>
          {link.q !== null && link.k !== null && VectorStrips && (
            <VectorStrips mode={mode} q={link.q} k={link.k} />
          )}
          {Arithmetic && <Arithmetic matrix={matrix} link={link} />}
          {summed && (
            <CarriedSum
              key={[mode, layer, head, quantity, query.token, query.end, key.token, key.end].join()}
              {...{ mode, context, matrix, row, column }}
            />
          )}
          {link.absent !== null && !summed && <p class="aw-muted">N/A: {link.absent}.</p>}
        </>
      )}
      <div ref={hold ?? null} />
      <Button
        label="Unpin this pair"
        title="Unpin"
        onClick={() => context.state.set({ pair: null })}
      >
        ×
      </Button>
    </div>
  );
}

/** Placeholder while no pair is pinned. */
export const PairHint = ({ empty }: { readonly empty: boolean }) => (
  <p class="aw-hint">
    {empty
      ? "The text has only special tokens, which are hidden. Switch them on in Display."
      : byTouch()
        ? "Tap a cell for its numbers; tap again to pin it and open its arithmetic; hold labels to sum tokens."
        : "Hover for numbers; click a cell to pin it and open its arithmetic; " +
          "Ctrl + click labels to sum tokens."}
  </p>
);

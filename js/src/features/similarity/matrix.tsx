/** The matrix of pairs of words. */

import { signal, untracked } from "@preact/signals-core";
import { formatNumber } from "../../figures/format";
import { createSaidCells } from "../../marks/cells";
import { itemAt } from "../../protocol/required";
import { shareOf } from "../../protocol/task";
import { Button, Segmented } from "../../ui/controls";
import { HoverCard } from "../../ui/hover-card";
import { RampLegend } from "../../ui/legend";
import { setTo, watch } from "../../ui/mount";
import { Num } from "../../ui/number";
import { markOf, signed } from "../../ui/signs";
import { beyondRamp, type MatrixKind, type Shown, type Similar } from "./data";
import type { SimilarityModel } from "./model";

const CELLS = { rowHeight: null, cellMost: 42, heightMost: 720 };
const KINDS: Readonly<Record<MatrixKind, readonly [label: string, meaning: string]>> = {
  input: [
    "Input",
    "Input: what the network carries from two input words into the score. With the biases it adds up to the score.",
  ],
  output: [
    "Output",
    "Output: products of the last hidden states at two positions, which have read the whole text. They add up to the score.",
  ],
  maxsim: [
    "MaxSim",
    "MaxSim: each token of the query counts with its largest cosine alone; the others are faint and do not count.",
  ],
};
/** Meaning of the entries of a matrix. */
function meaningOf(kind: MatrixKind, found: Similar): string {
  const [first, second] = [found.a, found.b].map(({ meta }) =>
    meta === undefined ? "word" : "patch",
  );
  const meaning = KINDS[kind][1];
  if (first === "word" && second === "word") return meaning;
  return meaning.replace(
    "two input words",
    first === second ? "two patches" : "a word and a patch",
  );
}
/** Least widths of a cell with a number of two digits and of three, px. */
const NUMBERED = 38;
const NUMBERED_FINELY = 46;
const BIASES = "biases";

/** The cells: with the biases of either text as a row and a column of their own they add up to the score. */
function createMatrixCells({ shown, selection, pin, context: { signal: until } }: SimilarityModel) {
  const describeCell = (row: number, column: number, value: number) => {
    const now = shown.peek();
    return { text: now === null ? "" : pairText(now, row, column, value), value };
  };
  const cells = createSaidCells(
    {
      shape: CELLS,
      part: "similarity-matrix",
      pick({ row }) {
        const units = shown.peek()?.a.names.length ?? 0;
        if (row < units) pin({ side: "a", unit: row });
      },
    },
    describeCell,
    until,
  );
  watch(() => {
    const now = shown.value;
    if (now?.matrix == null) return cells.clear();
    const { a, b, matrix } = now;
    const biased = matrix.pairs.kind === "input";
    const columns = b.names.length + (biased ? 1 : 0);
    const values = new Float32Array((a.names.length + (biased ? 1 : 0)) * columns);
    a.names.forEach((_, i) => {
      b.names.forEach((_, j) => {
        values[i * columns + j] = itemAt(matrix.values, i * b.names.length + j);
      });
      if (biased) values[i * columns + columns - 1] = itemAt(matrix.biasesA, i);
    });
    if (biased) {
      const last = a.names.length * columns;
      values.set(Float32Array.from(matrix.biasesB), last);
      values[last + columns - 1] = matrix.pairs.both;
    }
    const more = biased ? [BIASES] : [];
    untracked(() =>
      cells.show({
        values,
        rowLabels: [...a.names, ...more],
        columnLabels: [...b.names, ...more],
        name: `Contributions of pairs of ${selection.peek().words ? "words" : "tokens"} to the score`,
        signed: true,
        faint: matrix.faint,
        mark: numbered,
        // Biases and special tokens may pass the end: pairs of words have all of the colors.
        top: Math.abs(matrix.ranked[0]?.value ?? 0),
      }),
    );
  }, until);

  /** Numbers where there is room between them, three digits of small ones; none that are 0 when rounded. */
  function numbered(value: number, width: number): string | null {
    const top = Math.abs(shown.peek()?.matrix?.ranked[0]?.value ?? 0);
    if (width < NUMBERED) return markOf(top)(value, 0);
    const text = signed(value, top < 0.1 && width >= NUMBERED_FINELY ? 3 : 2);
    return text === "0" ? null : text;
  }

  function pairText(now: Shown, row: number, column: number, value: number): string {
    const [a, b] = [now.a.names[row] ?? BIASES, now.b.names[column] ?? BIASES];
    const faint = now.matrix?.faint;
    const aside =
      faint != null && value === 0
        ? `, ${selection.peek().words ? "largest " : ""}cosine ${formatNumber(itemAt(faint, row * now.b.names.length + column))}, which does not count`
        : "";
    return `${a} · ${b}: ${signed(value, 4)}${aside}`;
  }
  return cells;
}

/** Largest cell beyond the end of the legend. */
function Beyond({ matrix }: { readonly matrix: NonNullable<Shown["matrix"]> }) {
  const most = beyondRamp(matrix);
  return most === null ? null : (
    <span class="aw-muted aw-small" data-aw-part="beyond">
      {`beyond: ${matrix.pairs.kind === "input" ? "biases and special tokens" : "special tokens"}, up to `}
      <Num value={most} text={signed(most, 3)} />
    </span>
  );
}

/** The matrix with its kinds, its legend and the card at the pointer. */
export function createMatrix(host: HTMLElement, model: SimilarityModel) {
  const { task, kind, mode, forget, waits } = model;
  const cells = createMatrixCells(model);
  /** Place of the pointer over the matrix, for its card. */
  const pointer = signal<{ readonly x: number; readonly y: number } | null>(null);
  return function Matrix({ now: { similar: found, matrix } }: { readonly now: Shown }) {
    const running = task.value?.state.value;
    const share = running?.status === "running" && running.value === null ? shareOf(running) : null;
    const chosen = kind.value ?? found.matrices[0];
    return (
      <section class="aw-sim-matrix">
        {found.matrices.length > 0 && (
          <div class="aw-panel-head">
            <Segmented
              label="Matrix"
              part="matrix-kind"
              name="kind"
              options={found.matrices.map((each) => [each, KINDS[each][0]] as const)}
              value={kind.value ?? itemAt(found.matrices, 0)}
              choose={(next) => {
                forget();
                kind.value = next;
              }}
            />
            {matrix !== null && (
              <RampLegend max={Math.abs(matrix.ranked[0]?.value ?? 0)} mode={mode.value} signed />
            )}
            {matrix !== null && <Beyond matrix={matrix} />}
          </div>
        )}
        {found.matrices.length > 0 && (
          <p class="aw-view-note" data-aw-part="matrix-note">
            {meaningOf(matrix?.pairs.kind ?? itemAt(found.matrices, 0), found)}
          </p>
        )}
        {running?.failure != null && <p class="aw-view-note">{running.failure.message}</p>}
        {share !== null && (
          <p class="aw-muted aw-cluster" role="status">
            {matrix === null
              ? `Computing the matrix … ${Math.round(100 * share)}%`
              : `Shown meanwhile: ${KINDS[matrix.pairs.kind][0]}. Computing ${KINDS[chosen ?? "input"][0]} … ${Math.round(100 * share)}%`}
            <Button class="aw-link" onClick={() => task.peek()?.stop()}>
              cancel
            </Button>
          </p>
        )}
        {(running?.status === "stopped" || (running?.status === "idle" && waits(kind.value))) && (
          <Button class="aw-plain-button" onClick={() => void task.peek()?.start()}>
            Compute the matrix
          </Button>
        )}
        <div
          class="aw-sim-map"
          hidden={matrix === null}
          onPointerMove={(event) => {
            const area = event.currentTarget.getBoundingClientRect();
            pointer.value = { x: event.clientX - area.left, y: event.clientY - area.top };
          }}
          onPointerLeave={setTo(pointer, null)}
        >
          <cells.Map />
          <HoverCard at={pointer.value} area={() => host.querySelector(".aw-sim-map")}>
            <span data-aw-part="similarity-card">{cells.text()}</span>
          </HoverCard>
        </div>
        <cells.Reading part="pair" />
      </section>
    );
  };
}

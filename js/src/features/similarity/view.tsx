/**
 * Why two texts are similar: both texts with threads between their words, the matrix of pairs, the sum; or a ranking.
 *
 * `data-aw-part`: headline, similarity-texts, reading (the pair or word that is pointed at), matrix-kind, similarity-matrix,
 * similarity-sum, similarity-total, masking, switches, ranking, difference; `data-side` and `data-unit` on words.
 */

import { batch, computed, signal, untracked } from "@preact/signals-core";
import { render } from "preact";
import { ROOT_CLASS } from "../../draw/color/theme";
import { onResize } from "../../draw/resize";
import { copyExactValues, exact, formatNumber } from "../../figures/format";
import type { Table } from "../../figures/table";
import { asking } from "../../protocol/asking";
import { isAbort, messageOf } from "../../protocol/failure";
import { itemAt } from "../../protocol/required";
import { shareOf, Task } from "../../protocol/task";
import { NoAnswer } from "../../ui/answered";
import { createCells } from "../../ui/cells";
import { Button, Segmented, Toggle } from "../../ui/controls";
import { HoverCard } from "../../ui/hover-card";
import { RampLegend } from "../../ui/legend";
import { modeSignal, mount, selectionOf, setTo, watch } from "../../ui/mount";
import { Num } from "../../ui/number";
import { markOf, signed } from "../../ui/signs";
import type { DrawView, ViewContext } from "../../views/contract";
import { headSwitches, maskingTests } from "./checks";
import {
  type Asked,
  askDeletions,
  askPairs,
  askSimilar,
  beyondRamp,
  type Deletions,
  type MatrixKind,
  type Pairs,
  pairsRequest,
  type Shown,
  type SideName,
  type Similar,
  shownOf,
} from "./data";
import { Difference, Ranking } from "./ranking";
import { Headline, Sum, scoreName } from "./sum";
import {
  drawThreads,
  type Editing,
  other,
  sameUnit,
  Texts,
  threadsOf,
  type UnitOfText,
} from "./texts";
import { standaloneTexts } from "./vector";

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
/** Least widths of a cell with a number of two digits and of three, px. */
const NUMBERED = 38;
const NUMBERED_FINELY = 46;
const BIASES = "biases";
const BIAS = "(bias)";
/** Partners that are listed for a word. */
const LISTED = 3;

export const similarity: DrawView<ViewContext> = (host, context) => {
  const { source, state, act, report, signal: until } = context;
  const { meta } = source;
  const ranking = meta.similarity?.ranking ?? null;
  const selection = selectionOf(state, ["words"], until);
  const mode = modeSignal(host, until);
  const passage = signal<number | undefined>(ranking?.passages[0]?.index);
  /** Texts that were typed in a page whose model runs there. */
  const typed = signal<readonly [string, string] | null>(null);
  const asked = computed<Asked>(() => ({
    ...(passage.value !== undefined && { passage: passage.value }),
    ...(typed.value !== null && { texts: typed.value }),
  }));
  const against = signal<number | null>(null);
  const kind = signal<MatrixKind | null>(null);
  const place = signal<UnitOfText | null>(null);
  const pinned = signal<UnitOfText | null>(null);
  /** Place of the pointer over the matrix, for its card. */
  const pointer = signal<{ readonly x: number; readonly y: number } | null>(null);
  host.closest(`.${ROOT_CLASS}`)?.setAttribute("aria-label", "Similarity of two texts");

  /**
   * The answer, what it is about, and, where texts are typed, the matrix that takes a moment alone: until the next answer
   * is here, all that is shown is of this one.
   */
  const similar = asking<{
    readonly at: Asked;
    readonly found: Similar;
    readonly quick: Pairs | null;
  }>(until, report);
  const second = asking<{ readonly passage: number; readonly found: Similar }>(until, report);
  /** The matrix of the passage and kind that are shown. */
  const tasks = new Map<string, Task<Pairs>>();
  const task = computed<Task<Pairs> | null>(() => {
    const answer = similar.answer.value;
    const chosen = kind.value ?? answer?.found.matrices[0];
    if (answer === null || chosen === undefined) return null;
    const { at } = answer;
    const key = JSON.stringify(pairsRequest(chosen, at));
    let task = tasks.get(key);
    if (task === undefined) {
      task = new Task<Pairs>((step) => askPairs(source, chosen, at, step), until);
      tasks.set(key, task);
    }
    return task;
  });
  watch(() => {
    const now = task.value;
    if (now?.state.peek().status === "idle") untracked(() => void now.start());
  }, until);
  const shown = computed<Shown | null>(() => {
    const answer = similar.answer.value;
    if (answer === null) return null;
    const pairs = task.value?.state.value.value ?? answer.quick;
    return shownOf(answer.found, pairs, selection.value.words);
  });
  /** Scores without each word, for the answer that is shown; the matrix comes first. */
  const deletions = asking<{ readonly of: Similar; readonly found: Deletions | null }>(until);
  watch(() => {
    const answer = similar.answer.value;
    if (answer === null || shown.value?.matrix == null) return;
    untracked(() => {
      if (deletions.answer.peek()?.of === answer.found) return;
      void deletions.ask(async (signal) => ({
        of: answer.found,
        found: await askDeletions(source, answer.at, signal),
      }));
    });
  }, until);
  /** Another answer, or other units: what was pointed at is no more. */
  function forget(): void {
    batch(() => {
      place.value = null;
      pinned.value = null;
    });
  }
  state.on(["words"], forget, until);
  const pointAt = computed(() => pinned.value ?? place.value);

  const given = (): Record<SideName, string> => {
    const [a, b] = typed.peek() ?? [meta.text, meta.text_pair ?? ""];
    return { a, b };
  };
  const follows = source.has?.({ kind: "similar", texts: ["", ""] }) === true;
  const editing: Editing | null =
    ranking !== null || (act === null && !follows)
      ? null
      : {
          side: signal<SideName | null>(null),
          refused: signal(""),
          follows,
          given,
          run(side, text) {
            const texts = given();
            texts[side] = text;
            const { a, b } = texts;
            const refuse = (error: unknown) => {
              this.refused.value = messageOf(error);
            };
            this.refused.value = "";
            if (act !== null) act({ kind: "run", text: a, text_pair: b }).catch(refuse);
            else void follow([a, b], refuse);
          },
        };
  const Masking = maskingTests(context, asked);
  const Heads = headSwitches(context);

  // -- the matrix ------------------------------------------------------------------

  const describeCell = (row: number, column: number, value: number) => {
    const now = shown.peek();
    return { text: now === null ? "" : pairText(now, row, column, value), value };
  };
  const cells = createCells(CELLS, "similarity-matrix", until, describeCell, {
    pick({ row }) {
      const units = shown.peek()?.a.names.length ?? 0;
      if (row < units) pin({ side: "a", unit: row });
    },
  });
  watch(() => {
    const now = shown.value;
    if (now?.matrix == null) return cells.clear();
    const { a, b, matrix } = now;
    // The biases of either text are a row and a column of their own, so that the cells add up to the score.
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

  /** The word that is pointed at, and its partners. */
  function Reading() {
    const now = shown.value;
    const at = pointAt.value;
    if (now === null || at === null) return null;
    const { side, unit } = at;
    const name = now[side].names[unit];
    const value = (side === "a" ? now.valuesA : now.valuesB)[unit];
    if (name === undefined || value === undefined) return null;
    const partners = (now.matrix?.ranked ?? []).filter((pair) => pair[side] === unit);
    const number = (each: number) => (
      <span class="aw-number" data-aw-value={exact(each)} title={exact(each)}>
        {signed(each, 3)}
      </span>
    );
    return (
      <>
        <strong>
          <bdi>{name}</bdi>
        </strong>{" "}
        {number(value)}
        {partners.length > 0 && ": "}
        {partners.slice(0, LISTED).map((pair, i) => (
          <span key={i}>
            {i > 0 && ", "}
            <bdi>{now[other(side)].names[pair[other(side)]]}</bdi> {number(pair.value)}
          </span>
        ))}
      </>
    );
  }

  function point(next: UnitOfText | null): void {
    if (!sameUnit(place.peek(), next)) place.value = next;
  }
  function pin(next: UnitOfText | null): void {
    pinned.value = sameUnit(pinned.peek(), next) ? null : next;
  }

  // -- drawing ---------------------------------------------------------------------

  function View() {
    const now = shown.value;
    const failure = similar.failure.value;
    return (
      <div class="aw-sim" aria-busy={similar.busy.value ? "true" : undefined}>
        {ranking !== null && (
          <Ranking
            ranking={ranking}
            chosen={passage.value ?? -1}
            against={against.value}
            choose={choose}
            compare={compare}
          />
        )}
        {now === null && failure === null && <p class="aw-view-note">Comparing the texts …</p>}
        {failure !== null && <NoAnswer failure={failure} again={load} />}
        {now !== null && <Explained now={now} />}
      </div>
    );
  }

  function Explained({ now }: { readonly now: Shown }) {
    const { similar: found, matrix } = now;
    const running = task.value?.state.value;
    const share = running?.status === "running" && running.value === null ? shareOf(running) : null;
    const chosen = kind.value ?? found.matrices[0];
    const at = pointAt.value;
    const other = second.answer.value;
    const rank = (index: number | null | undefined) =>
      (ranking?.passages.findIndex((passage) => passage.index === index) ?? -1) + 1;
    return (
      <>
        {against.value !== null && other !== null && (
          <Difference
            one={found}
            two={other.found}
            ranks={[rank(similar.answer.value?.at.passage), rank(other.passage)]}
            words={selection.value.words}
          />
        )}
        <div class="aw-panel-head">
          <p class="aw-sim-score">
            <span class="aw-muted">{scoreName(now)}</span>{" "}
            <Num tag="strong" part="score" value={found.score} />
            {found.probability !== null && (
              <span class="aw-muted">
                {" (sigmoid "}
                <Num value={found.probability} />)
              </span>
            )}
          </p>
          <p class="aw-sim-headline" data-aw-part="headline">
            <Headline
              shown={now}
              deletions={
                selection.value.words && deletions.answer.value?.of === found
                  ? deletions.answer.value.found
                  : null
              }
            />
          </p>
          <Toggle
            text="words"
            part="words"
            on={selection.value.words}
            set={(words) => state.set({ words })}
            title="Pieces of a word added up; otherwise tokens as the model reads them"
          />
        </div>
        {found.notes.map((note) => (
          <p class="aw-view-note" key={note}>
            {note}
          </p>
        ))}
        <Texts
          shown={now}
          place={pointAt}
          pinned={pinned.value !== null}
          mode={mode.value}
          editing={editing}
          point={point}
          pin={pin}
        />
        <p class="aw-readout" role="status" data-aw-part="reading">
          {at === null ? (
            <span class="aw-muted">
              Point at a word, or move with the arrow keys, to see its partners.
            </span>
          ) : (
            <Reading />
          )}
        </p>
        <p class="aw-small aw-muted aw-cluster">
          <span class="aw-sim-key is-more">adds to the score</span>
          <span class="aw-sim-key is-less">takes from it</span>
          {found.by === "output" && found.matrices.includes("input") && (
            <span>by the last hidden states (Output)</span>
          )}
        </p>
        <div class="aw-sim-below">
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
                  <RampLegend
                    max={Math.abs(matrix.ranked[0]?.value ?? 0)}
                    mode={mode.value}
                    signed
                  />
                )}
                {matrix !== null && <Beyond matrix={matrix} />}
              </div>
            )}
            {found.matrices.length > 0 && (
              <p class="aw-view-note" data-aw-part="matrix-note">
                {KINDS[matrix?.pairs.kind ?? itemAt(found.matrices, 0)][1]}
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
            {running?.status === "stopped" && (
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
          <section>
            <h3 class="aw-title">The score as a sum</h3>
            <Sum
              shown={now}
              point={({ a, b }) => {
                if (a !== undefined) point({ side: "a", unit: a });
                else point(b === undefined ? null : { side: "b", unit: b });
              }}
            />
            {found.kind === "relevance" && (
              <p class="aw-view-note">
                A reranker reads both texts together: its score is a sum over words, not over pairs.
              </p>
            )}
          </section>
        </div>
        <Masking />
        <Heads score={found.score} />
      </>
    );
  }

  function threads(): void {
    const now = shown.peek();
    if (now?.matrix == null) {
      drawThreads(host, [], 1);
      return;
    }
    const at = pointAt.peek();
    drawThreads(host, threadsOf(now, at), Math.abs(now.matrix.ranked[0]?.value ?? 0));
  }

  async function load(): Promise<void> {
    const at = asked.peek();
    await similar.ask(async (signal) => {
      const found = await askSimilar(source, at, { signal });
      forget();
      return { at, found, quick: null };
    });
  }
  /** Show what is typed; of a text that cannot be read the last picture stays. */
  async function follow(
    texts: readonly [string, string],
    refuse: (error: unknown) => void,
  ): Promise<void> {
    for (const task of tasks.values()) task.stop();
    tasks.clear();
    typed.value = texts;
    const at = asked.peek();
    await similar.ask(async (signal) => {
      try {
        const found = await askSimilar(source, at, { signal });
        const quick = await askPairs(source, "output", at, { signal });
        forget();
        return { at, found, quick };
      } catch (error) {
        if (!isAbort(error)) refuse(error);
        throw new DOMException("Told where it was typed.", "AbortError");
      }
    });
  }
  function choose(next: number): void {
    batch(() => {
      passage.value = next;
      if (against.peek() === next) against.value = null;
    });
    void load();
  }
  function compare(next: number | null): void {
    against.value = next;
    if (next !== null)
      void second.ask(async (signal) => {
        const found = await askSimilar(source, { passage: next }, { signal });
        return { passage: next, found };
      });
  }

  mount(host, View, until, threads);
  onResize(host, threads, until);
  copyExactValues(host, until);
  void load();
  return {
    dispose: () => render(null, host),
    table() {
      const now = shown.peek();
      return ranking === null ? now && pairsTable(now) : rankingTable(ranking);
    },
    svg: () => (shown.peek() === null ? null : standaloneTexts(host)),
    part: (of) =>
      of === "svg"
        ? "A part of the view: the texts and their threads. The PNG has the whole view."
        : null,
    options: () => (kind.peek() === null ? {} : { matrix: kind.peek() }),
  };
};

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

type Row = Table["rows"][number];
type Ranked = NonNullable<NonNullable<ViewContext["source"]["meta"]["similarity"]>["ranking"]>;

/** One row a passage; `attn_widget/features/exports/tables.py` has the same. */
const rankingTable = ({ passages }: Ranked): Table => ({
  columns: ["rank", "index", "score", "passage"],
  rows: passages.map(({ index, score, text }, i) => [i + 1, index, score, text]),
});

/** One row a pair with the biases, or, where the score is no sum over pairs, one row a token. */
function pairsTable({ similar, a, b, matrix }: Shown): Table | null {
  if (similar.matrices.length === 0) {
    const sides = [similar.a, similar.b];
    const tokens = sides.flatMap(({ position, text, values }): Row[] =>
      position.map((at, i) => [at, itemAt(text, i), itemAt(values, i)]),
    );
    return {
      columns: ["position", "token", "value"],
      rows: [...tokens, [null, BIAS, similar.a.bias]],
    };
  }
  if (matrix === null) return null;
  const more = matrix.pairs.kind === "input" ? 1 : 0;
  const rows: Row[] = [];
  for (let i = 0; i < a.names.length + more; i++) {
    for (let j = 0; j < b.names.length + more; j++) {
      const [inA, inB] = [i < a.names.length, j < b.names.length];
      const value = inA
        ? inB
          ? itemAt(matrix.values, i * b.names.length + j)
          : itemAt(matrix.biasesA, i)
        : inB
          ? itemAt(matrix.biasesB, j)
          : matrix.pairs.both;
      const at = (inside: boolean, k: number) => (inside ? k : null);
      rows.push([at(inA, i), at(inB, j), a.names[i] ?? BIAS, b.names[j] ?? BIAS, value]);
    }
  }
  return { columns: ["a", "b", "a_text", "b_text", "value"], rows };
}

declare module "../../views/contract" {
  interface LazyCode {
    readonly similarity: typeof similarity;
  }
}

/**
 * Why two texts are similar: both texts with threads between their words, the matrix of pairs, the sum; or a ranking.
 *
 * `data-aw-part`: headline, similarity-texts, reading (the pair or word that is pointed at), matrix-kind, similarity-matrix,
 * similarity-sum, similarity-total, masking, switches, ranking, difference; `data-side` and `data-unit` on words.
 */

import { render } from "preact";
import { ROOT_CLASS } from "../../draw/color/theme";
import { onResize } from "../../draw/resize";
import { exact, formatSigned } from "../../figures/format";
import { NoAnswer } from "../../ui/answered";
import { copyExactValues } from "../../ui/copy-exact";
import { Disclosure } from "../../ui/disclosure";
import { mount, watch } from "../../ui/mount";
import { Num } from "../../ui/number";
import { signed } from "../../ui/signs";
import { Toggle } from "../../ui/toggle";
import type { DrawView, ViewContext } from "../../views/contract";
import { headSwitches, maskingTests } from "./checks";
import { type Shown, type SideName, wordlessOf } from "./data";

import { createMatrix } from "./matrix";
import { createSimilarityModel, type SimilarityModel } from "./model";
import {
  createDrawings,
  type Drawings,
  drawnSide,
  Pictures,
  placedTerms,
  restOf,
  StrongestPlace,
  strongestOf,
} from "./pictured";
import { Difference, Ranking } from "./ranking";
import { Headline, Sum, scoreName, TERMS } from "./sum";
import { pairsTable, rankingTable } from "./table";
import { drawThreads, other, Texts, threadsOf } from "./texts";
import { standaloneTexts } from "./vector";

/** Partners that are listed for a word. */
const LISTED = 3;
/** Names of two inputs, by how many of them are no texts. */
const NAMES = ["two texts", "a picture and a text", "two pictures"];

interface Drawing {
  readonly model: SimilarityModel;
  readonly parts: {
    readonly Matrix: ReturnType<typeof createMatrix>;
    readonly Masking: ReturnType<typeof maskingTests>;
    readonly Heads: ReturnType<typeof headSwitches>;
    readonly drawings: ReturnType<typeof createDrawings>;
  };
}

/** The word that is pointed at, and its partners. */
function Reading({ shown, pointAt }: SimilarityModel) {
  const now = shown.value;
  const at = pointAt.value;
  if (now === null || at === null) return null;
  const { side, unit } = at;
  const name = now[side].names[unit];
  const value = (side === "a" ? now.valuesA : now.valuesB)[unit];
  if (name === undefined || value === undefined) return null;
  const pictured = wordlessOf(now.similar);
  // Single patches say little: what all of them add together.
  const listed = pictured.includes(other(side)) ? 0 : LISTED;
  const partners = (now.matrix?.ranked ?? []).filter((pair) => pair[side] === unit);
  const rest = pictured.length === 0 ? [] : restOf(now, at, partners.slice(0, listed));
  const number = (each: number) => (
    <span class="aw-number" data-aw-value={exact(each)} title={exact(each)}>
      {pictured.length > 0 ? formatSigned(each) : signed(each, 3)}
    </span>
  );
  return (
    <>
      <strong>
        <bdi>{name}</bdi>
      </strong>{" "}
      {number(value)}
      {partners.length + rest.length > 0 && ": "}
      {partners.slice(0, listed).map((pair, i) => (
        <span key={i}>
          {i > 0 && ", "}
          <bdi>{now[other(side)].names[pair[other(side)]]}</bdi> {number(pair.value)}
        </span>
      ))}
      {rest.map(([name, value], i) => (
        <span key={name}>
          {(i > 0 || listed > 0) && ", "}
          {name} {number(value)}
        </span>
      ))}
    </>
  );
}

function View({ model, parts }: Drawing) {
  const { ranking, similar, shown, passage, against, choose, compare, load } = model;
  const now = shown.value;
  const failure = similar.failure.value;
  return (
    <div class="aw-sim" aria-busy={similar.busy.value ? "true" : undefined}>
      {ranking !== null && (
        <Ranking
          source={model.context.source}
          ranking={ranking}
          chosen={passage.value ?? -1}
          against={against.value}
          choose={choose}
          compare={compare}
        />
      )}
      {now === null && failure === null && <p class="aw-view-note">Comparing …</p>}
      {failure !== null && <NoAnswer failure={failure} again={load} />}
      {now !== null && <Explained {...{ model, parts, now }} />}
    </div>
  );
}

function Explained({ model, parts, now }: Drawing & { readonly now: Shown }) {
  const { similar, second, against, ranking, selection, deletions, context } = model;
  const { Matrix, Masking, Heads } = parts;
  const { similar: found } = now;
  const drawings = parts.drawings.value;
  const drawn = drawnSide(drawings);
  const strongest = drawn === null ? null : strongestOf(now, drawings);
  const wordless = wordlessOf(found);
  const versus = second.answer.value;
  const rank = (index: number | null | undefined) =>
    (ranking?.passages.findIndex((passage) => passage.index === index) ?? -1) + 1;
  return (
    <>
      {against.value !== null && versus !== null && (
        <Difference
          one={found}
          two={versus.found}
          ranks={[rank(similar.answer.value?.at.passage), rank(versus.passage)]}
          words={selection.value.words}
          areas={drawings.a?.areas ?? null}
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
          >
            {strongest !== null && <StrongestPlace {...{ now, strongest, model }} />}
          </Headline>
        </p>
        {wordless.length < 2 && (
          <Toggle
            text="words"
            part="words"
            on={selection.value.words}
            set={(words) => context.state.set({ words })}
            title="Pieces of a word added up; otherwise tokens as the model reads them"
          />
        )}
      </div>
      {found.notes.map((note) => (
        <p class="aw-view-note" key={note}>
          {note}
        </p>
      ))}
      {drawn === null ? (
        <>
          <Lines {...{ model, now }} />
          <div class="aw-sim-below">
            <Matrix now={now} />
            <ScoreSum {...{ model, now, drawings }} />
          </div>
        </>
      ) : (
        <>
          <div class={`aw-sim-sides${wordless.length > 1 ? " is-both" : ""}`}>
            <Pictures similar={found} drawings={drawings} />
            <div class="aw-sim-beside">
              <Lines {...{ model, now }} alone={wordless.length > 1 ? null : other(drawn)} />
              <ScoreSum {...{ model, now, drawings }} />
            </div>
          </div>
          <Disclosure
            summary={`Every patch with every ${wordless.length > 1 ? "patch" : "word"}`}
            part="similarity-pairs"
          >
            {() => <Matrix now={now} />}
          </Disclosure>
        </>
      )}
      <Masking testable={found.testable} />
      {wordless.length !== 1 && <Heads score={found.score} pictures={wordless.length > 0} />}
    </>
  );
}

/** The words of the sides that are texts, what is pointed at, and the key of the lines below words. */
function Lines({
  model,
  now,
  alone,
}: {
  readonly model: SimilarityModel;
  readonly now: Shown;
  /** The one side that is a text; null where none is. */
  readonly alone?: SideName | null;
}) {
  const { mode, pinned, pointAt, point, pin, editing } = model;
  const { similar: found } = now;
  const pictures = alone !== undefined;
  const what = alone === null ? "a patch" : pictures ? "a word or a patch" : "a word";
  const to = pictures ? "what it adds, and with what" : "its partners";
  return (
    <>
      {alone !== null && (
        <Texts
          shown={now}
          alone={alone ?? null}
          place={pointAt}
          pinned={pinned.value !== null}
          mode={mode.value}
          editing={editing}
          point={point}
          pin={pin}
        />
      )}
      <p class="aw-readout" role="status" data-aw-part="reading">
        {pointAt.value === null ? (
          <span class="aw-muted">
            {`Point at ${what}, or move with the arrow keys, to see ${to}.`}
          </span>
        ) : (
          Reading(model)
        )}
      </p>
      {alone !== null && (
        <p class="aw-small aw-muted aw-cluster">
          <span class="aw-sim-key is-more">adds to the score</span>
          <span class="aw-sim-key is-less">takes from it</span>
          {found.by === "output" && found.matrices.includes("input") && (
            <span>by the last hidden states (Output)</span>
          )}
        </p>
      )}
    </>
  );
}

function ScoreSum({
  model: { point, outlined },
  now,
  drawings,
}: {
  readonly model: SimilarityModel;
  readonly now: Shown;
  readonly drawings: Drawings;
}) {
  const drawn = drawnSide(drawings);
  const several = wordlessOf(now.similar).length > 1;
  return (
    <section>
      <h3 class="aw-title">The score as a sum</h3>
      {drawn !== null && (
        <p class="aw-view-note">
          {`Each ${several ? "area of the first picture, with the whole second one" : "word, with the whole picture"}.`}
        </p>
      )}
      <Sum
        shown={now}
        {...(drawn !== null && { terms: placedTerms(now, drawings, TERMS) })}
        point={({ a, b, place = null }) => {
          outlined.value = place;
          if (a !== undefined) point({ side: "a", unit: a });
          else point(b === undefined ? null : { side: "b", unit: b });
        }}
      />
      {now.similar.kind === "relevance" && (
        <p class="aw-view-note">
          A reranker reads both texts together: its score is a sum over words, not over pairs.
        </p>
      )}
    </section>
  );
}

export const similarity: DrawView<ViewContext> = (host, context) => {
  const { signal: until } = context;
  const model = createSimilarityModel(host, context);
  const { ranking, shown, similar, pointAt, kind, load } = model;
  watch(() => {
    const found = similar.answer.value?.found;
    const what = NAMES[found === undefined ? 0 : wordlessOf(found).length];
    host.closest(`.${ROOT_CLASS}`)?.setAttribute("aria-label", `Similarity of ${what}`);
  }, until);
  const parts = {
    Matrix: createMatrix(host, model),
    Masking: maskingTests(context, model.asked),
    Heads: headSwitches(context),
    drawings: createDrawings(host, model),
  };

  function threads(): void {
    const now = shown.peek();
    if (now?.matrix == null || wordlessOf(now.similar).length > 0) {
      drawThreads(host, [], 1);
      return;
    }
    const at = pointAt.peek();
    drawThreads(host, threadsOf(now, at), Math.abs(now.matrix.ranked[0]?.value ?? 0));
  }

  mount(host, () => View({ model, parts }), until, threads);
  onResize(host, threads, until);
  copyExactValues(host, until);
  void load();
  return {
    dispose: () => render(null, host),
    table() {
      const now = shown.peek();
      return ranking === null ? now && pairsTable(now) : rankingTable(ranking);
    },
    svg() {
      const now = shown.peek();
      return now === null || wordlessOf(now.similar).length > 0 ? null : standaloneTexts(host);
    },
    part: (of) =>
      of === "svg"
        ? "A part of the view: the texts and their threads. The PNG has the whole view."
        : null,
    options: () => (kind.peek() === null ? {} : { matrix: kind.peek() }),
  };
};

declare module "../../views/contract" {
  interface LazyCode {
    readonly similarity: typeof similarity;
  }
}

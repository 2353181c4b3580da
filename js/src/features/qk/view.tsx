/**
 * Why a head looks there: below a pinned pair, its score as a sum that closes, on the key side and on the query side.
 *
 * `data-aw-part`: qk, why-here, qk-back, qk-line, qk-by, qk-against, qk-keys, qk-key, qk-query (the sums), qk-key-total, qk-query-total,
 * qk-off, qk-without, qk-verdict, qk-two-questions, qk-opposite, qk-show-pairs, qk-texts, qk-matrix, qk-pairs, qk-show-heads, qk-heads, qk-start-trace, qk-trace, qk-stops, qk-csv, qk-notes, qk-absent.
 */

import { render } from "preact";
import { headName } from "../../figures/names";
import { linksAreHere } from "../../frame/head-grid/shadings";
import { onAbort } from "../../protocol/abort";
import { messageOf, NEEDS_KERNEL, needsKernel } from "../../protocol/failure";
import { Button, Segmented } from "../../ui/controls";
import { mount, setter } from "../../ui/mount";
import { Toggle } from "../../ui/toggle";
import type { PairPart, PinnedCell } from "../../views/contract";
import { AgainstControl, RowOfKeys } from "./against";
import { BYS, type By, type Found, SIDES, type SideName } from "./data";
import { Opposite, Verdict } from "./effects";
import { createHeads } from "./heads";
import { Line } from "./line";
import { createQkModel, type QkModel } from "./model";
import { SideToken } from "./names";
import { createPairs } from "./pairs";
import { createSight } from "./sight";
import { ONE_NUMBER, SideSum, topOf } from "./sums";
import { Waiting } from "./task-of";
import { createTrace } from "./trace-view";

const MERGED =
  "A word of several tokens has several queries and keys: switch off “words” in Display.";
/** In a note, until it is run, and where a saved page cannot run it. */
const TICK = /: 'run without each' shows that/;
/** The meaning of "without". */
const WITHOUT: Readonly<Record<By, string>> = {
  tokens:
    "Each listed token in turn is masked, in a model that writes replaced by the mean of the others, and the network runs on.",
  parts:
    "Each listed part in turn is replaced at this one token, at the key by its mean over the keys that it is compared with, at the query by nothing, and the network runs on.",
};
/** Below whatever of both has an answer: the answers differ. */
const TWO_QUESTIONS =
  "Two questions about a head: “switch off everywhere” leaves it out at every token, “run without each” replaces it at this one token only. The weights differ. Where one head makes up for another, only both off show what they hold.";
const TITLES: Readonly<Record<SideName, readonly [before: string, after: string]>> = {
  key: ["Key side: what ", " offers"],
  query: ["Query side: what ", " asks for"],
};
interface Of {
  readonly model: QkModel;
  readonly found: Found;
  readonly cell: PinnedCell;
}

function Controls({ model, found }: Of) {
  const { by, against } = found;
  const [first] = found.others;
  const ways = BYS.filter(
    ([each]) =>
      found.others.includes(each) &&
      (each === by || model.has(against, each === first ? null : each)),
  );
  return (
    <div class="aw-cluster aw-small">
      {ways.length > 1 && (
        <Segmented<By>
          label="The sum"
          part="qk-by"
          name="by"
          options={ways}
          value={by}
          choose={model.split}
        />
      )}
      <AgainstControl
        found={found}
        has={(each) => each === against || model.has(each, model.by.value)}
        live={model.live}
        names={model.names}
        choose={model.choose}
        listing={model.listing.value}
        list={model.list}
      />
    </div>
  );
}

/** The run that checks the sums, above the columns that it adds to them, and what it finds. */
function Checked({ model, found, cell }: Of) {
  const { checks, checking, names } = model;
  const [check, effects] = [model.check.value, model.effects.value];
  if (!checks.value) return null;
  return (
    <>
      <div class="aw-cluster">
        <Toggle
          text="run without each"
          part="qk-without"
          on={checking.value}
          set={setter(checking)}
          title="Run the network without each of the largest entries in turn"
        />
        {check !== null && (
          <Waiting task={check} doing="Running without the largest" start="Run" part="qk-check" />
        )}
      </div>
      {effects !== null && (
        <>
          <Verdict {...{ found, effects, cell, names }} />
          <p class="aw-view-note">{WITHOUT[found.by]}</p>
          <Opposite {...{ found, effects, names }} />
        </>
      )}
      {found.by === "parts" && (model.headsAreOff || (effects !== null && model.switches)) && (
        <p class="aw-view-note" data-aw-part="qk-two-questions">
          {TWO_QUESTIONS}
        </p>
      )}
    </>
  );
}

/** Switches of what opens below the sums. */
function Further({ model, found, cell }: Of) {
  const { traces, pairsOpen, traceOpen, headsOpen } = model;
  const trace = model.trace.value;
  return (
    <div class="aw-cluster">
      <Toggle
        text="pairs"
        part="qk-show-pairs"
        on={pairsOpen.value}
        set={setter(pairsOpen)}
        title={
          found.by === "tokens"
            ? "Every pair of tokens, as threads and cells"
            : "The largest pairs of parts"
        }
      />
      {found.parts.key.some(({ kind }) => kind === "head") && (
        <Toggle
          text="all heads"
          part="qk-show-heads"
          on={headsOpen.value}
          set={setter(headsOpen)}
          title="Every earlier head, shaded by what it brings"
        />
      )}
      {traces.value && found.others.includes("parts") && (
        <Toggle
          text="trace"
          part="qk-start-trace"
          on={traceOpen.value}
          set={setter(traceOpen)}
          title="Follow the heads that bring most, from cell to cell"
        />
      )}
      <Button class="aw-link" part="qk-csv" onClick={() => model.save(found, cell)}>
        Save the sums as CSV
      </Button>
      {trace !== null && (
        <Waiting task={trace} doing="Following heads" start="Trace" part="qk-tracing" />
      )}
    </div>
  );
}

function Sums({ model, found, cell }: Of) {
  const { names, choose, follow } = model;
  const [shown, effects] = [model.matrix.value, model.effects.value];
  const top = topOf(found, effects);
  return (
    <>
      <Line {...{ found, cell, names }} intact={model.intact.value} />
      <Controls {...{ model, found, cell }} />
      {model.listing.value && shown !== null && (
        <RowOfKeys
          matrix={shown}
          query={cell.query}
          pinned={cell.key}
          against={found.against}
          {...{ names, choose }}
        />
      )}
      {found.fallback !== null && <p class="aw-view-note">{found.fallback}</p>}
      <model.Off {...{ found, cell }} />
      <Checked {...{ model, found, cell }} />
      <div class={`aw-qk-sides${effects === null ? "" : " is-checked"}`}>
        {SIDES.map((side) => (
          <SideSum
            key={side}
            title={
              <>
                {TITLES[side][0]}
                <SideToken names={names} side={side} token={cell[side]} />
                {TITLES[side][1]}
              </>
            }
            effects={effects?.[side] ?? null}
            {...{ found, side, names, follow, top }}
          />
        ))}
      </div>
      <p class="aw-view-note">{ONE_NUMBER}</p>
      <Further {...{ model, found, cell }} />
    </>
  );
}

/** Reason or progress in place of the sums; null once they are here. */
function Absent({ model, cell }: Pick<Of, "model" | "cell">) {
  if (cell.merged) return <p class="aw-qk-absent">{MERGED}</p>;
  if (!model.answered.value)
    return (
      <p class="aw-qk-absent" data-aw-part="qk-absent">
        {messageOf(
          model.live
            ? {
                message: "The model in this page does not compute why a head looks there.",
                hint: NEEDS_KERNEL,
              }
            : needsKernel("The sum of this pair"),
        )}
      </p>
    );
  const task = model.task.value;
  return (
    task && <Waiting task={task} doing="Computing the sum" start="Compute the sum" part="qk" />
  );
}

/** Bring the grid of heads into sight, out of its fold on a narrow page. */
function reveal(place: Element): void {
  const side = place.closest(".attn-widget")?.querySelector(".aw-side");
  side?.querySelector<HTMLElement>('[data-aw-part="fold"][aria-expanded="false"]')?.click();
  requestAnimationFrame(() =>
    side?.querySelector(".aw-heads")?.scrollIntoView({ block: "nearest" }),
  );
}

export const qk: PairPart = (place, context, pinned) => {
  const model = createQkModel(place, context, pinned);
  const { open, found, way, panel, until } = model;
  const pairs = createPairs(model);
  const Trace = createTrace(model);
  const Heads = createHeads(model);
  const sight = createSight(until);
  /** True while the sums have been asked for and are still to be brought into sight. */
  let shows = false;

  function View() {
    const [cell, now, last] = [pinned.value, found.value, way.last.value];
    if (cell === null) return null;
    const waits = now === null && model.task.value?.state.value.status === "running";
    return (
      <div
        class="aw-qk"
        data-aw-part="qk"
        aria-busy={waits ? "true" : undefined}
        style={{ minBlockSize: waits ? `${panel.height}px` : "" }}
      >
        <div class="aw-cluster">
          <Button
            class="aw-plain-button aw-small"
            part="why-here"
            aria-expanded={open.value}
            onClick={() => {
              open.value = !open.value;
              shows = open.value;
            }}
          >
            Why here?
          </Button>
          {linksAreHere(context.source) && (
            <Button
              class="aw-link aw-small"
              part="qk-all-heads"
              onClick={() => {
                context.state.set({ metric: "pair" });
                reveal(place);
              }}
            >
              This link in all heads
            </Button>
          )}
          {last !== null && (
            <Button class="aw-link aw-small" part="qk-back" onClick={way.back}>
              {`← back to ${headName(last.layer, last.head)}`}
              {last.pair !== null && (
                <>
                  {", "}
                  <SideToken names={model.names} side="query" token={last.pair[0]} />
                  {" → "}
                  <SideToken names={model.names} side="key" token={last.pair[1]} />
                </>
              )}
            </Button>
          )}
        </div>
        {open.value && now === null && <Absent {...{ model, cell }} />}
        {now !== null && (
          <>
            <Sums {...{ model, cell }} found={now} />
            <pairs.View />
            <Heads />
            <Trace />
            <div class="aw-qk-notes" data-aw-part="qk-notes">
              {now.notes
                .filter((note) => note !== now.fallback)
                .map((note) => (
                  <p class="aw-view-note" key={note}>
                    {model.checks.value && !model.checking.value ? note : note.replace(TICK, "")}
                  </p>
                ))}
            </div>
          </>
        )}
      </div>
    );
  }
  mount(place, View, until, () => {
    if (found.peek() !== null) panel.height = place.offsetHeight;
    pairs.threads();
    if (shows && found.peek() !== null) {
      shows = false;
      sight(place);
    }
    if (pinned.peek() === null || !way.arrived()) return;
    const [button] = ["qk-back", "why-here"].flatMap(
      (name) => place.querySelector<HTMLElement>(`[data-aw-part="${name}"]`) ?? [],
    );
    // The pressed head may stand far below; the way back is to be seen.
    button?.focus({ preventScroll: true });
    if (button !== undefined) sight(button);
  });
  onAbort(until, () => render(null, place));
};

declare module "../../views/contract" {
  interface LazyCode {
    readonly qk: typeof qk;
  }
}

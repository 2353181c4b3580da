/** Contents of the frame: places for the ribbon, the heads, the bar and the view, and words about the run. */

import { signal } from "@preact/signals-core";
import type { Activity, Source } from "../protocol/types";
import type { State } from "../state/selection";
import { Button } from "../ui/controls";
import { selectionOf } from "../ui/mount";
import { Tabs } from "../ui/tabs";
import { labelOf } from "../views";
import { lazyCode, ofOneRun, type ViewContext } from "../views/contract";
import type { RunButton } from "../views/feature";
import { createMessages, createProgress } from "./messages";
import { Caption, readingNote, SavedNote, Skeleton, unknownNote } from "./notes";
import { createRunBox } from "./run-box";
import { viewOf, viewsOf } from "./tabs";

/** Views about something else than a row of attention: the list of keys has no part in them. */
const WITHOUT_KEYS = new Set(["predictions", "inside", "why"]);
/** A run that is shown. */
interface Run {
  readonly source: Source;
  readonly act: ViewContext["act"];
  readonly buttons: readonly RunButton[];
}

/** `report` shows an error. */
export function createFrameModel(
  root: HTMLElement,
  state: State,
  report: ViewContext["report"],
  until: AbortSignal,
) {
  const messages = createMessages();
  return {
    state,
    // Two widgets on a page have a module each: a counter would give both the same id.
    panelId: `aw-panel-${Math.random().toString(36).slice(2)}`,
    selection: selectionOf(state, ["chrome", "view"], until),
    place: selectionOf(state, ["layer", "head", "quantity", "view"], until),
    run: signal<Run | null>(null),
    activity: signal<Activity | null>(null),
    /** The picture that is not loaded, in words. */
    missing: signal(""),
    announced: signal(""),
    keysOpen: signal(false),
    narrow: signal(false),
    unfolded: signal(false),
    messages,
    runBox: createRunBox(root, report, messages.clearReport),
    progress: createProgress((busy) => root.classList.toggle("aw-busy", busy)),
  };
}

export type FrameModel = ReturnType<typeof createFrameModel>;

export function Outline({
  state,
  panelId,
  run,
  activity,
  selection,
  place,
  missing,
  announced,
  keysOpen,
  narrow,
  unfolded,
  messages,
  runBox,
  progress,
}: FrameModel) {
  const { source, act } = run.value ?? {};
  const meta = source?.meta;
  const { chrome, view } = selection.value;
  const closed = activity.value?.status === "closed";
  const bare = meta === undefined || !chrome;
  const folded = narrow.value && !unfolded.value;
  const name = meta ? viewOf(meta, view) : "";
  const side = (
    <div class="aw-side" key="side" hidden={!chrome || meta?.similarity !== undefined}>
      {narrow.value && (
        <Button
          class="aw-flat aw-title"
          part="fold"
          aria-expanded={!folded}
          onClick={() => {
            unfolded.value = folded;
          }}
        >
          {folded ? "▸ " : "▾ "}
          {meta?.profile === null && !WITHOUT_KEYS.has(name) ? "Heads and strongest keys" : "Heads"}
        </Button>
      )}
      <div class="aw-heads" data-aw-part="heads" hidden={folded} />
      <div
        class="aw-focus"
        data-aw-part="focus"
        hidden={folded || meta?.profile !== null || WITHOUT_KEYS.has(name)}
      />
    </div>
  );
  const views = meta ? viewsOf(meta) : [];
  const main = (
    <div class="aw-main" key="main">
      <Tabs
        label="Views"
        part="tabs"
        controls={panelId}
        tabs={views.map((each, i) => {
          const label = meta ? labelOf(each, meta) : "";
          return { name: each, label, title: `${label} (${i + 1})` };
        })}
        chosen={name}
        choose={(next) => state.set({ view: next })}
        // A profile and a similarity have one, and nothing to choose.
        hidden={!chrome || (meta !== undefined && !ofOneRun(meta) && views.length === 1)}
      />
      <p class="aw-missing" role="status" data-aw-part="missing" hidden={missing.value === ""}>
        {missing.value}
      </p>
      <div class="aw-view" role="tabpanel" data-aw-part="view" id={panelId} />
    </div>
  );
  const { KeyGroups, ProfileHead } = lazyCode.value ?? {};
  const note = (part: string, text: string) => (
    <p class={`aw-${part}`} data-aw-part={part} hidden={text === ""}>
      {text}
    </p>
  );
  return (
    <>
      {messages.View()}
      {/* Only where a run can be started, or while one goes on. */}
      <div class="aw-head" hidden={closed || (meta !== undefined && (act === null || !chrome))}>
        {runBox.View()}
        {progress.View()}
      </div>
      <Skeleton hidden={meta !== undefined || closed} />
      <div class="aw-ribbon" data-aw-part="ribbon" hidden={bare}>
        {meta?.profile && chrome && ProfileHead && <ProfileHead {...meta} />}
      </div>
      {note("truncated", meta ? readingNote(meta) : "")}
      {note("unknown", meta ? unknownNote(meta) : "")}
      <div class="aw-bar" data-aw-part="bar" hidden={bare} />
      <div class="aw-body" hidden={meta === undefined}>
        {narrow.value ? [main, side] : [side, main]}
      </div>
      <div class="aw-caption" data-aw-part="caption" hidden={meta === undefined || chrome}>
        {meta && !chrome && <Caption meta={meta} selection={place.value} />}
      </div>
      {meta && source?.precision && <SavedNote precision={source.precision} meta={meta} />}
      <div
        class="aw-keylist"
        role="region"
        aria-label="Keys"
        data-aw-part="keys"
        hidden={bare || !keysOpen.value}
      >
        {KeyGroups && keysOpen.value && <KeyGroups />}
      </div>
      <div class="aw-live" role="status" aria-live="polite" data-aw-part="live">
        {announced.value}
      </div>
    </>
  );
}

/** The stage that is open: asked for with its numbers, and left for the next one, or the one before. */

import { signal } from "@preact/signals-core";
import { asking } from "../../protocol/asking";
import { isAbort, messageOf } from "../../protocol/failure";
import type { ViewContext } from "../../views/contract";
import { type Architecture, type StageId, type Step, stepOf } from "./architecture";
import { Name } from "./bars";
import type { Content, StageContext } from "./content";
import { architecture, hiddenScale } from "./data";
import { type InsideModel, OPENED } from "./model";
import { missingFrom, type Shared, type Shown } from "./panel/panel";
import { savedOnly } from "./stages/attention";
import { CONTENTS } from "./stages/stages";

/** `goTo` brings a part of the open stage into sight. */
export function createPipeline(
  context: ViewContext,
  model: InsideModel,
  goTo: StageContext["goTo"],
) {
  const { source, state, announce, report, signal: until } = context;
  const { parts, stages, walk, open, pointed, changesOf, askChanges, mode } = model;
  const { focus, nameOf, stageOf, absent, isThere, placeOf } = model;
  let shared: Shared = OPENED.get(state)?.shared ?? "stage";
  const stageOnScreen = asking<Shown>(until, (error) => {
    report(error);
    // The last good picture stays.
    open.value = stageOnScreen.answer.peek()?.stage.box.id ?? open.peek();
  });
  /** True while the numbers of the open stage are requested. */
  const pending = signal(false);
  let requests = 0;

  function openStage(id: StageId): void {
    if (stages.peek().every((stage) => stage.id !== id)) return;
    open.value = id;
    follow();
    announce(stageOf(id).title);
  }

  /** The next stage that can be shown, on or back. */
  function nextStep(by: number): Step | undefined {
    const at = stepOf(walk.value, open.peek(), state.get().layer);
    const way = by > 0 ? walk.value.slice(at + 1) : walk.value.slice(0, Math.max(at, 0)).reverse();
    return way.find(isThere);
  }

  /** One stage on or back, into the next layer where this one ends. */
  function step(by: number): void {
    const next = nextStep(by);
    if (next === undefined) return;
    open.value = next.id;
    // One change, one request: the listener of the layer asks for what is open.
    if (next.layer !== null && next.layer !== state.get().layer) state.set({ layer: next.layer });
    else follow();
    announce(`${stageOf(next.id).title}${next.layer === null ? "" : `, layer ${next.layer}`}`);
  }

  /** The open stage with its numbers, or why it has none. */
  async function ask(signal: AbortSignal): Promise<Shown> {
    const box = stageOf(open.peek());
    const { layer, head } = state.get();
    const token = focus.peek();
    const stage: StageContext = {
      ...{
        view: context,
        box,
        arch: parts.answer.peek() as Architecture,
        layer,
        token,
        mode,
        signal,
      },
      ...{ head: head === "mean" ? null : head, name: nameOf(token), changes: askChanges, goTo },
    };
    const where = placeOf(box);
    const at = stepOf(walk.peek(), box.id, layer);
    const instead = absent(box)?.instead ?? null;
    const shown = {
      stage,
      title: (
        <>
          {`${box.title}${where === "" ? "" : ` · ${where}`} · `}
          <Name text={stage.name} />
          <span class="aw-muted">{` ${token}`}</span>
        </>
      ),
      notice:
        state.get().token === null
          ? "No token is chosen, so this is the first one. Choose another in the text above."
          : "",
      count: at < 0 ? "" : `step ${at + 1} of ${walk.peek().length}`,
      ends: { first: nextStep(-1) === undefined, last: nextStep(1) === undefined },
      instead:
        instead === null
          ? null
          : { name: nameOf(instead), show: () => state.set({ token: instead }) },
      common: null,
    };
    if (box.missing !== null) return { ...shown, content: null, reason: box.missing };
    try {
      const [content, common]: [Content, number | null] = await Promise.all([
        CONTENTS[box.id](stage),
        shared === "walk" ? hiddenScale(source, token, signal).catch(savedOnly(source)) : null,
      ]);
      return { ...shown, content, common, reason: missingFrom(content) };
    } catch (error) {
      const last = stageOnScreen.answer.peek();
      if (isAbort(error) || (last !== null && last.content !== null)) throw error;
      report(error);
      return { ...shown, content: null, reason: messageOf(error) };
    }
  }

  async function load(): Promise<void> {
    if (parts.answer.peek() === null) return;
    OPENED.set(state, { id: open.peek(), shared });
    const request = ++requests;
    pending.value = true;
    await stageOnScreen.ask(ask);
    if (request === requests) pending.value = false;
  }

  function follow(): void {
    pointed.value = null;
    void load();
  }

  async function begin(): Promise<void> {
    await parts.ask((signal) => architecture(source, state.get().layer, signal));
    if (parts.answer.peek() === null || until.aborted) return;
    open.value = stageOf(open.peek()).id;
    if (!OPENED.has(state) && absent(stageOf(open.peek())) !== null) {
      open.value = walk.peek().find(isThere)?.id ?? open.peek();
    }
    follow();
    await changesOf.ask(askChanges);
  }
  return {
    ...{ stageOnScreen, pending, openStage, step, follow, begin },
    share(next: Shared): void {
      shared = next;
      void load();
    },
  };
}

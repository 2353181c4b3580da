/** Lets the runs of a page go on with what is typed: one engine for all of them, opened when it is first needed. */

import type { Engine, GivenFile } from "./engine/client";
import { EngineError } from "./engine/errors";
import { type About, specialIds } from "./engine/page/about";
import { carriedSelection } from "./engine/page/carry";
import { Turns } from "./engine/page/turns";
import { createTyping, type Typing } from "./engine/page/typing";
import { type Beside, cut, textBeside, textInside, unpackWeights } from "./engine/page/weights";
import { explain } from "./protocol/failure";
import type { Action } from "./protocol/types";
import type { Enliven, OpenedRun } from "./saved-page";
import { fit } from "./state/state";

/** Given by static/engine.js. */
declare const attnWidgetEngine: { open(file: GivenFile): Promise<Engine> };

/** Facts of the model, from Python. */
export interface Facts extends Pick<About, "rounding" | "tagger" | "architecture" | "classifier"> {
  /** Where the weights are, if not in this page. */
  readonly beside: Beside | null;
}

interface Model extends Pick<About, "ids"> {
  readonly turns: Turns;
}

async function openModel(facts: Facts): Promise<Model> {
  const { beside } = facts;
  const engine = await attnWidgetEngine.open(async () =>
    unpackWeights(beside === null ? textInside() : cut(await textBeside(beside))),
  );
  const { crc32 } = await engine.header();
  if (beside !== null && crc32.toString(16).padStart(8, "0") !== beside.key)
    throw new EngineError(
      "checksum",
      `The model's file ${beside.src} is not the one that this page was made with.`,
    );
  const turns = new Turns(engine);
  return { turns, ids: await specialIds(turns) };
}

/**
 * Every key in a run's text field runs the engine.
 *
 * @param views what a typed run offers; by default the views that were saved
 */
export function typedRuns(facts: Facts, views?: readonly string[]): Enliven {
  /** One engine for all runs of the page. */
  let model: Promise<Model> | null = null;

  function theModel(): Promise<Model> {
    model ??= openModel(facts);
    // A file beside the page may be put there later.
    if (facts.beside !== null)
      model.catch(() => {
        model = null;
      });
    return model;
  }
  return (run) => enliven(run, facts, theModel, views ?? run.source.meta.snapshot.views);
}

function enliven(
  { source, frame, state }: OpenedRun,
  facts: Facts,
  theModel: () => Promise<Model>,
  views: readonly string[],
): () => void {
  const { meta } = source;
  let stopped = false;
  let typed = false;
  let before = meta.tokens;
  let typing: Promise<Typing> | null = null;

  async function open(): Promise<Typing> {
    const { turns, ids } = await theModel();
    const { beside: _, ...shared } = facts;
    const { model: shape, versions } = meta;
    const about = { ...shared, ...{ model: shape, versions, views, ids } };
    const made: Typing = createTyping(
      turns,
      about,
      {
        show(found) {
          if (stopped) return;
          const { tokens } = found.meta;
          const kept = carriedSelection(state.get(), before, tokens);
          before = tokens;
          state.set({ ...kept, ...fit({ ...state.get(), ...kept }, found.meta) });
          frame.show(found, made.act);
        },
        predicts: () => state.get().view === "predictions",
        activity: (activity) => {
          if (!stopped) frame.activity(activity);
        },
      },
      meta,
    );
    return made;
  }

  /** The engine, opened when it is first asked for. */
  async function ready(): Promise<Typing> {
    if (typing === null) {
      typing = open();
      const idle = { history: [], error: null };
      if (facts.beside !== null) {
        const progress = { label: "Loading the model", done: 0, total: 0 };
        frame.activity({ status: "running", progress, ...idle });
      }
      try {
        await typing;
        if (!stopped) frame.activity({ status: "ready", progress: null, ...idle });
      } catch (error) {
        typing = null;
        throw error;
      }
    }
    return typing;
  }

  function failed(error: unknown): void {
    if (stopped) return;
    const { message, hint } = explain(error);
    frame.activity({ status: "ready", progress: null, history: [], error: null });
    frame.report(`Typing is not possible here. ${message}`, hint);
  }

  const inputOf = (part: string) =>
    frame.element.querySelector<HTMLTextAreaElement>(`textarea[data-aw-part="${part}"]`);
  const isText = (target: EventTarget | null): boolean =>
    target !== null && [inputOf("run-text"), inputOf("run-pair")].some((one) => one === target);
  frame.element.addEventListener("input", ({ target }) => {
    if (!isText(target)) return;
    typed = true;
    ready().then((engine) => {
      if (stopped) return;
      const [text, pair] = [inputOf("run-text"), inputOf("run-pair")];
      const row = pair?.closest<HTMLElement>(".aw-run-row");
      const second = row?.hidden === false ? (pair?.value ?? null) : null;
      void engine.type({ text: text?.value ?? "", text_pair: second });
    }, failed);
  });

  async function first(): Promise<void> {
    const engine = await ready();
    if (stopped) return;
    // A text that was typed meanwhile is run instead.
    if (!typed) await engine.act({ kind: "run", text: meta.text, text_pair: meta.text_pair });
    document.documentElement.dataset.awEngine = "ready";
    performance.mark("aw:ready");
  }

  if (facts.beside === null) first().catch(failed);
  else {
    frame.show(source, async (action: Action) => (await ready()).act(action));
    frame.element.addEventListener("focusin", ({ target }) => {
      if (isText(target) && typing === null) first().catch(failed);
    });
    document.documentElement.dataset.awEngine ??= "waiting";
  }
  return () => {
    stopped = true;
  };
}

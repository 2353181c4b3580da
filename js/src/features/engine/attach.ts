/** Lets the runs of a page go on with what is typed: one engine for all of them, opened when it is first needed. */

import type { Action } from "../../protocol/types";
import type { AttachEngine, OpenedRun } from "../../saved-page";
import { fit } from "../../state/state";
import type { Engine, GivenFile } from "./client";
import { EngineError } from "./errors";
import { type Metadata, specialIds } from "./page/metadata";
import { createReopening } from "./page/opening/reopen";
import { RequestQueue } from "./page/request-queue";
import { type Embedder, SimilarSource } from "./page/similar";
import { createTyping, type Typing } from "./page/typing";
import { type Beside, cut, textBeside, textInside, unpackWeights } from "./page/weights";

/** Given by static/engine.js. */
declare const attnWidgetEngine: { open(file: GivenFile): Promise<Engine> };

/** Facts of the model, from Python. */
export interface Facts
  extends Pick<Metadata, "rounding" | "tagger" | "architecture" | "classifier"> {
  /** The file of the weights, if they are not in this page. */
  readonly beside: Beside | null;
  /** The model's embeddings of texts, where the page shows a similarity. */
  readonly embedder?: Embedder | null;
}

interface Model extends Pick<Metadata, "ids"> {
  readonly queue: RequestQueue;
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
  const queue = new RequestQueue(engine);
  return { queue, ids: await specialIds(queue) };
}

/**
 * Every key in a run's text field runs the engine.
 *
 * @param views what a typed run offers; by default the views that were saved
 */
export function attachEngine(facts: Facts, views?: readonly string[]): AttachEngine {
  /** One engine for all runs of the page. */
  let model: Promise<Model> | null = null;

  function theModel(): Promise<Model> {
    model ??= openModel(facts);
    // A file next to the page may be put there later.
    if (facts.beside !== null)
      model.catch(() => {
        model = null;
      });
    return model;
  }
  return (run) =>
    run.source.meta.similarity === undefined
      ? attachToRun(run, facts, theModel, views ?? run.source.meta.snapshot.views)
      : attachToSimilarity(run, facts, theModel);
}

/** Either text can be edited as soon as the engine is there. */
function attachToSimilarity(
  { source, frame }: OpenedRun,
  facts: Facts,
  theModel: () => Promise<Model>,
): () => void {
  let stopped = false;
  const { embedder } = facts;
  async function open(): Promise<void> {
    const { queue, ids } = await theModel();
    if (stopped || embedder == null) return;
    const { beside: _, embedder: __, ...shared } = facts;
    const { model, versions } = source.meta;
    frame.show(
      new SimilarSource(source, queue, { ...shared, model, versions, ids }, embedder),
      null,
    );
    document.documentElement.dataset.awEngine = "ready";
    performance.mark("aw:ready");
  }
  open().catch((error: unknown) => {
    if (!stopped) frame.report(error, "Typing is not possible here. ");
  });
  return () => {
    stopped = true;
  };
}

function attachToRun(
  { source, frame, state }: OpenedRun,
  facts: Facts,
  theModel: () => Promise<Model>,
  views: readonly string[],
): () => void {
  const { meta } = source;
  let stopped = false;
  let typed = false;
  const reopen = createReopening(meta, state);
  let typing: Promise<Typing> | null = null;

  async function open(): Promise<Typing> {
    const { queue, ids } = await theModel();
    const { beside: _, embedder: __, ...shared } = facts;
    const { model: shape, versions } = meta;
    const metadata = { ...shared, ...{ model: shape, versions, views, ids } };
    const typing: Typing = createTyping(
      queue,
      metadata,
      {
        show(found) {
          if (stopped) return;
          const next = reopen.next(found);
          const select = { ...next, ...fit({ ...state.get(), ...next }, found.meta) };
          frame.show(found, typing.act, [], select);
          reopen.opened();
        },
        predicts: () => state.get().view === "predictions",
        activity: (activity) => {
          if (!stopped) frame.activity(activity);
        },
      },
      meta,
    );
    return typing;
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
    frame.activity({ status: "ready", progress: null, history: [], error: null });
    frame.report(error, "Typing is not possible here. ");
  }

  const inputOf = (part: string) =>
    frame.element.querySelector<HTMLTextAreaElement>(`textarea[data-aw-part="${part}"]`);
  const isText = (target: EventTarget | null): boolean =>
    target !== null && [inputOf("run-text"), inputOf("run-pair")].some((input) => input === target);
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

/**
 * Entry for the pages of the site: every saved run in its place, and one engine for all of a page, loaded when a text is
 * first typed.
 *
 * A place is an element `.aw-place` that holds a run's chunks and its picture. The engine's file lies beside this script:
 * `attnWidgetEngine` and `attnWidgetModel` come with it.
 */

import { h } from "./draw/dom";
import type { Engine } from "./engine/client";
import { type About, specialIds } from "./engine/page/about";
import { carriedSelection } from "./engine/page/carry";
import { Turns } from "./engine/page/turns";
import { createTyping, type Typing } from "./engine/page/typing";
import { unpackWeights } from "./engine/page/weights";
import { createFrame, type Frame } from "./frame/frame";
import * as lazy from "./lazy";
import { explain } from "./protocol/failure";
import { SnapshotSource } from "./protocol/snapshot";
import type { Action, Activity } from "./protocol/types";
import { acceptSelection } from "./state/binding";
import { withSaved } from "./state/saved";
import type { State } from "./state/selection";
import { createState, fit } from "./state/state";
import type { ViewContext } from "./views/contract";
import { provide } from "./views/lazy-views";

/** Distance from the window (px) at which a place gets its widget. */
const NEAR = "600px";
/** Views whose every figure the engine computes (engine/page/answers). */
const TYPED_VIEWS = ["attention", "heads", "tree", "sentences", "predictions"];
const FIELDS = '[data-aw-part="run-text"], [data-aw-part="run-pair"]';

/** Content of the engine's file. */
interface Model {
  /** Base64, as `unpackWeights` reads it. */
  weights: string;
  readonly facts: Pick<About, "rounding" | "tagger">;
}
interface Given {
  attnWidgetEngine?: { open(file: Uint8Array<ArrayBuffer>): Promise<Engine> };
  attnWidgetModel?: Model;
}
interface Opened {
  readonly turns: Turns;
  readonly facts: Pick<About, "rounding" | "tagger" | "ids">;
}

const own = document.currentScript as HTMLScriptElement | null;
const { engine: file, model: modelName } = own?.dataset ?? {};

let opened: Promise<Opened> | null = null;

/** The page's engine; a file that failed to load is asked for again at the next try. */
function openEngine(): Promise<Opened> {
  opened ??= loadEngine().catch((error: unknown) => {
    opened = null;
    throw error;
  });
  return opened;
}

async function loadEngine(): Promise<Opened> {
  const address = new URL(file ?? "", own?.src);
  await new Promise<void>((resolve, reject) => {
    const script = h("script", { src: address.href });
    script.addEventListener("load", () => resolve());
    script.addEventListener("error", () => {
      script.remove();
      reject(
        new Error(
          `The model could not be loaded: ${address.pathname.split("/").pop()} is missing beside this site's scripts.`,
        ),
      );
    });
    document.head.append(script);
  });
  const { attnWidgetEngine: engine, attnWidgetModel: model } = globalThis as Given;
  if (engine === undefined || model === undefined) throw new Error("The model's file is damaged.");
  const weights = await unpackWeights(model.weights);
  // 50 MB of text are of no more use.
  model.weights = "";
  const turns = new Turns(await engine.open(weights));
  document.documentElement.dataset.awEngine = "ready";
  return { turns, facts: { ...model.facts, ids: await specialIds(turns) } };
}

/** Draw a place's run; what cannot be opened leaves its picture. */
async function open(place: HTMLElement): Promise<void> {
  try {
    const source = await SnapshotSource.open(
      (name) =>
        place.querySelector(`script.aw-data[data-chunk="${CSS.escape(name)}"]`)?.textContent ??
        null,
    );
    const state = createState(acceptSelection(source.meta.snapshot.selection));
    state.set(fit(state.get(), source.meta));
    let typed = false;
    const saved = withSaved(state, source.meta.snapshot);
    const shown: State = { ...state, set: (change) => (typed ? state : saved).set(change) };
    const frame = createFrame(shown);
    place.append(frame.element);
    frame.show(
      source,
      source.meta.model.name === modelName
        ? typing(frame, shown, source, () => (typed = true))
        : null,
    );
    place.dataset.awOpen = "";
  } catch (error) {
    const { message, hint } = explain(error);
    place.append(h("p", { role: "alert" }, `This run cannot be opened: ${message} ${hint}`));
  }
}

/** Let every key in the text's field run the model; returns the actions of the frame. */
function typing(
  frame: Frame,
  state: State,
  source: SnapshotSource,
  begin: () => void,
): NonNullable<ViewContext["act"]> {
  const { meta } = source;
  let tokens = meta.tokens;
  let made: Promise<Typing> | null = null;

  const tell = (status: string, error: Activity["error"] = null): void =>
    frame.activity({ status, progress: null, history: [], error });

  async function make(): Promise<Typing> {
    tell("loading");
    const { turns, facts } = await openEngine();
    const about: About = {
      model: meta.model,
      versions: meta.versions,
      views: TYPED_VIEWS,
      ...facts,
    };
    tell("ready");
    return createTyping(
      turns,
      about,
      {
        show(found) {
          begin();
          const kept = carriedSelection(state.get(), tokens, found.meta.tokens);
          tokens = found.meta.tokens;
          state.set({ ...kept, ...fit({ ...state.get(), ...kept }, found.meta) });
          frame.show(found, act);
        },
        activity: frame.activity,
      },
      meta,
    );
  }
  function ready(): Promise<Typing> {
    made ??= make().catch((error: unknown) => {
      made = null;
      tell("error", explain(error));
      throw error;
    });
    return made;
  }
  const act = async (action: Action): Promise<void> => (await ready()).act(action);

  const fields = (): HTMLTextAreaElement[] => [
    ...frame.element.querySelectorAll<HTMLTextAreaElement>(FIELDS),
  ];
  frame.element.addEventListener("focusin", ({ target }) => {
    if ((target as Element).matches(FIELDS)) ready().catch(() => undefined);
  });
  frame.element.addEventListener("input", ({ target }) => {
    if (!(target as Element).matches(FIELDS)) return;
    ready()
      .then(({ type }) => {
        const [text, pair] = fields();
        const second =
          pair?.closest<HTMLElement>(".aw-run-row")?.hidden === false ? pair.value : null;
        return type({ text: text?.value ?? "", text_pair: second });
      })
      .catch(() => undefined);
  });
  return act;
}

provide(lazy);
const observer = new IntersectionObserver(
  (entries) => {
    for (const { isIntersecting, target } of entries) {
      if (!isIntersecting) continue;
      observer.unobserve(target);
      void open(target as HTMLElement);
    }
  },
  { rootMargin: NEAR },
);
for (const place of document.querySelectorAll(".aw-place")) observer.observe(place);

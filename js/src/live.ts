/** Entry for pages with an engine: the saved run at once, and any text that is typed as soon as the engine is there. */

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
import { required } from "./protocol/required";
import { SnapshotSource } from "./protocol/snapshot";
import { acceptSelection } from "./state/binding";
import { createState, fit } from "./state/state";
import { provide } from "./views/lazy-views";

/** Given by static/engine.js. */
declare const attnWidgetEngine: { open(file: Uint8Array<ArrayBuffer>): Promise<Engine> };

const chunk = (name: string): string | null =>
  document.querySelector(`script.aw-data[data-run="0"][data-chunk="${CSS.escape(name)}"]`)
    ?.textContent ?? null;

async function start(): Promise<void> {
  provide(lazy);
  const main = required(document.querySelector<HTMLElement>("main"), "<main>");
  const place = h("section", { class: "aw-page-run" });
  main.replaceChildren(place);
  try {
    const source = await SnapshotSource.open(chunk);
    const state = createState(acceptSelection(source.meta.snapshot.selection));
    state.set(fit(state.get(), source.meta));
    const frame = createFrame(state);
    place.append(frame.element);
    frame.show(source, null);
    try {
      await live(source, frame, state);
    } catch (error) {
      const { message, hint } = explain(error);
      frame.report(`Typing is not possible here. ${message}`, hint);
    }
  } catch (error) {
    const { message, hint } = explain(error);
    place.append(h("p", { role: "alert" }, `This run cannot be opened: ${message} ${hint}`));
  }
}

/** Open the engine, and let every key in the text's field run it. */
async function live(
  source: SnapshotSource,
  frame: Frame,
  state: ReturnType<typeof createState>,
): Promise<void> {
  const { meta } = source;
  const element = required(document.getElementById("aw-weights"), "The model");
  const weights = await unpackWeights(required(element.textContent, "The model"));
  // 50 MB of text are of no more use.
  element.textContent = "";
  const turns = new Turns(await attnWidgetEngine.open(weights));
  const { model, versions } = meta;
  const facts: Pick<About, "rounding" | "tagger"> = JSON.parse(
    required(document.getElementById("aw-engine")?.textContent, "The engine's facts"),
  );
  const about = {
    model,
    versions,
    views: meta.snapshot.views,
    ids: await specialIds(turns),
    ...facts,
  };
  let before = meta.tokens;
  const typing: Typing = createTyping(
    turns,
    about,
    {
      show(found) {
        const { tokens } = found.meta;
        const kept = carriedSelection(state.get(), before, tokens);
        before = tokens;
        state.set({ ...kept, ...fit({ ...state.get(), ...kept }, found.meta) });
        frame.show(found, typing.act);
      },
      activity: frame.activity,
    },
    meta,
  );
  const inputOf = (part: string) =>
    frame.element.querySelector<HTMLTextAreaElement>(`textarea[data-aw-part="${part}"]`);
  frame.element.addEventListener("input", ({ target }) => {
    const [text, pair] = [inputOf("run-text"), inputOf("run-pair")];
    if (target !== text && target !== pair) return;
    const second = pair?.closest<HTMLElement>(".aw-run-row")?.hidden === false ? pair.value : null;
    void typing.type({ text: text?.value ?? "", text_pair: second });
  });
  await typing.act({ kind: "run", text: meta.text, text_pair: meta.text_pair });
  document.documentElement.dataset.awEngine = "ready";
  performance.mark("aw:ready");
}

void start();

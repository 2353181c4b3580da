/** A long text's matrix as it is looked at: the answers of its store, the choices of the reader, and what follows from them. */

import { type ReadonlySignal, signal } from "@preact/signals-core";
import type { Mode } from "../../../draw/color/ramp";
import { outlineText } from "../../../draw/long/axis-labels";
import { outlineOf } from "../../../figures/long/labels";
import { unitLabelOf } from "../../../figures/long/names";
import {
  type LinkList,
  type LongMatrix,
  type LongRow,
  type LongStore,
  longStore,
  type Pooling,
} from "../../../figures/long/store";
import { explain, isAbort } from "../../../protocol/failure";
import { keysOf } from "../../../protocol/meta";
import type { Selection } from "../../../state/selection";
import { modeSignal, selectionOf } from "../../../ui/mount";
import type { ViewContext } from "../../contract";
import type { LinkChoice } from "./lists";

/** Links of the whole head that the flow draws from; those of the focus come besides. */
const FLOW_LINKS = 400;

type Sentences = Parameters<typeof outlineOf>[1];

export class LongModel {
  readonly store: LongStore;
  readonly tokens;
  readonly keys;
  /** Labels of a query and of a key. */
  readonly name: (token: number) => string;
  readonly keyName: (token: number) => string;
  readonly matrix = signal<LongMatrix | null>(null);
  readonly selection: ReadonlySignal<Selection>;
  readonly mode: ReadonlySignal<Mode>;
  readonly pooling = signal<Pooling>("max");
  /** The level that is drawn. */
  readonly level = signal(0);
  /** Text of what labels name on this level. */
  readonly labels = signal("");
  /** Links in view, and those from the focus that lead out of it. */
  readonly drawnLinks = signal(0);
  readonly leaving = signal(0);
  /** True if the reader asked for a quantity of what attention carries. */
  readonly explained = signal(false);
  /** Links that are listed; those of another head stay until its own are here. */
  readonly listed = signal<LinkList | null>(null);
  readonly status = signal("");
  readonly choice = signal<LinkChoice>({
    special: false,
    neighbors: false,
    itself: false,
    least: null,
  });
  text;
  /** The row of the focus token, and the links of the head; null until they are here. */
  row: LongRow | null = null;
  links: LinkList | null = null;

  constructor(
    readonly context: ViewContext,
    element: HTMLElement,
  ) {
    const { source, state, signal: until } = context;
    this.store = longStore(source, state, { ...context, signal: context.runSignal ?? until });
    this.tokens = source.meta.tokens;
    this.keys = keysOf(source.meta);
    this.name = unitLabelOf(this.tokens);
    this.keyName = this.keys === this.tokens ? this.name : unitLabelOf(this.keys);
    this.selection = selectionOf(state, ["quantity", "head", "scale", "pair"], until);
    this.mode = modeSignal(element, until);
    this.text = this.#textsOf();
  }

  /** Names of sentences and paragraphs along the axes. */
  #textsOf(sentence?: Sentences, keySentence?: Sentences) {
    const { tokens, keys, name, keyName } = this;
    const outline = outlineOf(tokens, sentence);
    const rows = outlineText(tokens, outline, name);
    const columns =
      keys === tokens ? rows : outlineText(keys, outlineOf(keys, keySentence), keyName);
    return { rows, columns, breaks: outline.paragraphs.map(({ from }) => from) };
  }

  learn(sentence: Sentences, keySentence: Sentences): void {
    this.text = this.#textsOf(sentence, keySentence);
  }

  readonly fail = (error: unknown): void => {
    if (!isAbort(error)) this.context.report(error);
  };

  /** Ask for the row of the focus token; `arrived` follows, and at once where there is none. */
  askRow(arrived: () => void): void {
    const { state, signal } = this.context;
    const shown = this.matrix.value;
    const { token } = state.get();
    if (shown === null || token === null) {
      this.row = null;
      arrived();
      return;
    }
    this.store
      .row(shown, token, signal)
      .then((found) => {
        if (this.matrix.value !== shown || state.get().token !== token) return;
        this.row = found;
        arrived();
      })
      .catch(this.fail);
  }

  /** Ask for the strongest links of the head that is shown. */
  askLinks(arrived: () => void): void {
    const shown = this.matrix.value;
    if (shown === null) return;
    this.status.value = "looking …";
    this.store
      .links(shown, { count: FLOW_LINKS, ...this.choice.value }, this.context.signal)
      .then((found) => {
        if (this.matrix.value !== shown) return;
        this.links = this.listed.value = found;
        this.status.value = "";
        arrived();
      })
      .catch((error: unknown) => {
        if (isAbort(error)) return;
        this.listed.value = null;
        this.status.value = explain(error).message;
      });
  }
}

/** Contract of a view: a function that draws into an element, its context, and the handle that it returns. */

import { type ReadonlySignal, type Signal, signal } from "@preact/signals-core";
import type { ComponentChild, VNode } from "preact";
import type { LayerProgress } from "../figures/layer-progress";
import type { MatrixStore } from "../figures/matrix";
import type { Sections } from "../figures/sections";
import type { Table } from "../figures/table";
import { onAbort } from "../protocol/abort";
import type { Chunks } from "../protocol/saved/run";
import type { Action, HeadIndex, Meta, Slice, Source } from "../protocol/types";
import type { Selection, State } from "../state/selection";

/** Context of each part of the page for one run. A new run means new views: `source` never changes under one. */
export interface RunContext {
  readonly source: Source;
  /** The part that is shown, where `source` is another one that answers for it. */
  readonly shown?: Source;
  readonly state: State;
  /** Start something in the kernel; null where there is none. Rejects with a `SliceFailure`. */
  readonly act: ((action: Action) => Promise<void>) | null;
  /** Show what was thrown in the widget's own error strip and live region, with `before` in front of its message. */
  report(error: unknown, before?: string): void;
  /** Say something to screen readers. */
  announce(message: string): void;
  /** Layers of a long text whose heads are still to come. */
  readonly layerProgress?: LayerProgress | null;
  /** Aborted when the view is disposed of. */
  readonly signal: AbortSignal;
  /** Aborted when the run is no longer shown; in a view `signal` may come sooner. */
  readonly runSignal?: AbortSignal;
}

/** Context of a view: the run, and the matrix of the selection. */
export interface ViewContext extends RunContext {
  readonly matrix: MatrixStore;
  readonly overlay?: Overlay;
  /** The open view's part of the Display popover. */
  readonly display?: Signal<DisplayPart | null>;
  /** Parts of features below a pinned pair. */
  readonly pairs?: readonly PairPart[];
  /** Sections of the text, where a feature knows any. */
  readonly sections?: Sections | null;
}

/** A pinned pair of a head's weights or scores, by tokens. */
export interface PinnedCell {
  readonly layer: number;
  readonly head: HeadIndex;
  readonly query: number;
  readonly key: number;
  /** True if a word of several tokens is pinned. */
  readonly merged: boolean;
}

/** Draws into `place` for as long as the context's signal lasts; `cell` is null while no pair is shown. */
export interface PairPart {
  (place: HTMLElement, context: ViewContext, cell: ReadonlySignal<PinnedCell | null>): void;
  /** Name of the part that a pinned pair opens besides its arithmetic, for the hint while none is pinned. */
  readonly hint?: string;
}

type OfBoth<T> = Readonly<Record<"a" | "b", T>>;

/** The same pair in two runs that are compared. */
export interface ComparedPair {
  readonly sources: OfBoth<Source>;
  /** A's selection. */
  readonly state: State;
  /** Null while no pair is pinned that both runs have. */
  readonly cells: ReadonlySignal<OfBoth<PinnedCell> | null>;
  /** Partners in B of a token or a head of A; null without one. */
  readonly partners: {
    token(side: "query" | "key", token: number): number | null;
    head(layer: number, head: number): readonly [layer: number, head: number] | null;
  };
  readonly signal: AbortSignal;
}

/** Draws into `place` for as long as the pair's signal lasts. */
export type ComparedPairPart = (place: HTMLElement, pair: ComparedPair) => void;

/** Settings of a view in the Display popover. */
export interface DisplayPart {
  View(): ComponentChild;
  /** Names of those that are not at their default. */
  changed(): readonly string[];
}

/** Signed numbers, one a token, that a view paints the text with. */
export interface RibbonOverlay {
  readonly values: ArrayLike<number>;
  /** One a token of the source of an encoder-decoder. */
  readonly source?: ArrayLike<number> | null;
  /** Verb before a number: `contributes`. */
  readonly verb: string;
}

/** A view's part of the ribbon. */
interface Overlay {
  /** Numbers that paint the text in place of the focus token's row. */
  readonly painted: Signal<RibbonOverlay | null>;
  /** The token that is pointed at, in the text or in the view. */
  readonly pointed: Signal<number | null>;
}

export const createOverlay = (): Overlay => ({ painted: signal(null), pointed: signal(null) });

/** Handle of a drawn view: `dispose()`, and its exports. */
export interface ViewHandle {
  dispose(): void;
  /** Null while there is nothing to export; a promise where numbers must be requested first. */
  table(): Table | null | Promise<Table | null>;
  /** The drawing as a vector, where it is one; complete in itself (styles inline). */
  svg?(): SVGSVGElement | null;
  /** The part of the view that a picture shows, in a sentence; null if it shows all. */
  part?(of: "svg" | "png"): string | null;
  /** State of the view's own switches (mode, aggregation, open stage), for captions. */
  options?(): Readonly<Record<string, string | number | boolean | null>>;
}

/** Draw into `element` and listen to `context.state`. */
export type DrawView<C extends RunContext = ViewContext> = (
  element: HTMLElement,
  context: C,
) => ViewHandle;

/** Description of a view: what `attn_widget/figures/catalog/choices.py` declares, and its code. */
export interface ViewDefinition {
  /** Value of the trait `view`. */
  readonly name: string;
  /** On its tab. */
  readonly label: string;
  /** Definition of the numbers, for captions. */
  readonly definition: string;
  /** The part of the selection that its picture depends on, for captions. */
  readonly options: readonly (keyof Selection)[];
  /** Place of the selected head: the picture shows it, marks it among the others, or has none. */
  readonly head: "shown" | "marked" | null;
  /** True if it can show scores instead of weights, by a ramp that stands in the bar. */
  readonly scores?: true;
  /** True if it is drawn in another way over a long text. */
  readonly long?: true;
  /** True if its numbers are of the text that is written: on cross-attention the decoder answers for it. */
  readonly written?: true;
  /** True if a run has anything to show. */
  available(meta: Meta): boolean;
  /** Null where its code comes after the first picture. */
  readonly draw: DrawView | null;
}

/** Neither heads over many texts nor a similarity of two. */
export const ofOneRun = ({ profile, similarity }: Meta): boolean => !(profile || similarity);

/** The view that is open, and its handle. */
export interface OpenView {
  readonly name: string;
  readonly drawn: ViewHandle | null;
}

/** A feature's part of a view: while it is open it stands for the rest, and its files for those of the view. */
export interface AddedPart {
  readonly open: ReadonlySignal<boolean>;
  /** The switch, and what it opens. */
  View(): ComponentChild;
  table(): Table | null;
  svg(): SVGSVGElement | null;
}

/** An input that is no text, next to others, and what a view has to say about its tokens. */
export interface InputToDraw {
  /** Fields of `Meta` by which features know it. */
  readonly meta: Partial<Meta>;
  readonly title: string;
  /** One a token. */
  readonly names: readonly string[];
  readonly special: readonly boolean[];
  /** The answer to a request of that kind about this input. */
  ask(kind: string, signal: AbortSignal): Promise<Slice>;
  /** Numbers, one a token, and what they are, in a sentence; null before they are here. */
  readonly painted: ReadonlySignal<{
    readonly values: ArrayLike<number>;
    readonly caption: string;
    /** False of weights, from 0 on. */
    readonly signed: boolean;
  } | null>;
  /** The token of this input that is pointed at or pinned. */
  readonly at: ReadonlySignal<number | null>;
  readonly pinned: ReadonlySignal<boolean>;
  /** Tokens of a place that something else names. */
  readonly outlined: ReadonlySignal<readonly number[]>;
  point(token: number | null): void;
  /** Pins a token, or lets it go if it is pinned. */
  pin(token: number | null): void;
  /** Element inside of the widget. */
  readonly host: Element;
  readonly signal: AbortSignal;
}

/** Tokens of a drawn input that lie next to each other. */
export interface DrawnPlace {
  /** In a sentence, behind “the”: `patches around r3 c4`. */
  readonly name: string;
  readonly tokens: readonly number[];
}

export interface DrawnInput {
  View(): ComponentChild;
  /** The place with the largest numbers of one sign together; null where there is none. */
  strongest(values: ArrayLike<number>): DrawnPlace | null;
  /** All tokens that are not special, divided into few places. */
  readonly areas: readonly DrawnPlace[];
}

/** Code that comes after the first picture, lazy views under their names, with `Long` after it those of long texts: each part declares itself where it is written. */
export interface LazyCode {
  /** Fills a section of the view Heads, where a feature does. */
  readonly addToHeads?: (section: HTMLElement, context: RunContext) => void;
  /** A part of the view Predictions, drawn in `host`, where a feature has one; null where the run has nothing for it. */
  readonly addToPredictions?: (
    host: HTMLElement,
    context: RunContext & Pick<ViewContext, "overlay">,
  ) => AddedPart | null;
  /** Draws an input that is no text among other inputs, where a feature does; null of one that it does not know. */
  readonly drawInput?: (given: InputToDraw) => DrawnInput | null;
  /** A small picture of such an input, where a feature decodes it. */
  readonly thumbnail?: (props: { readonly type: string; readonly bytes: Uint8Array }) => VNode;
  /** Opens two runs of a saved page as one, where a feature does. */
  readonly openPair?: OpenPair;
}

/** Opens two runs in `place` unless they are no longer `wanted` by then; the result closes them. */
export type OpenPair = (
  place: HTMLElement,
  chunks: readonly [a: Chunks, b: Chunks],
  options?: { wanted?: (() => boolean) | undefined; view?: string | undefined },
) => Promise<(() => void) | null>;

/** Null until it is here: the kernel sends it, once a page; in a saved page it is there from the beginning. */
export const lazyCode: Signal<LazyCode | null> = signal(null);

/** Put the settings of a view into the Display popover until it is disposed of. */
export function showSettings({ display, signal }: ViewContext, part: DisplayPart): void {
  if (display === undefined) return;
  display.value = part;
  onAbort(signal, () => {
    if (display.peek() === part) display.value = null;
  });
}

/** Call `use` once the lazy code is here, and at once if it is. */
export function withLazyCode(use: (code: LazyCode) => void, until: AbortSignal): void {
  const here = lazyCode.peek();
  if (here !== null) {
    use(here);
    return;
  }
  const stop = lazyCode.subscribe((code) => {
    // Later than the effect, which holds back what follows from signals that are set in it.
    if (code !== null) queueMicrotask(() => until.aborted || use(code));
  });
  onAbort(until, stop);
}

/** Parts that a feature adds to the page before its lazy code is there (`features/index.ts` lists the features). */

import type { ReadonlySignal } from "@preact/signals-core";
import type { Sections } from "../figures/sections";
import type { Invoke } from "../protocol/comm/invoke";
import type { Notice } from "../protocol/failure";
import type { Meta, PastRun, Source } from "../protocol/types";
import type { State } from "../state/selection";
import type { ComparedPairPart, OpenView, PairPart, ViewContext, ViewDefinition } from "./contract";

export interface Feature {
  /** Other features whose code it imports. */
  readonly uses?: readonly string[];
  /** Every run of one text has a view that does not say when it is available. */
  readonly views?: readonly (Omit<ViewDefinition, "available"> & Partial<ViewDefinition>)[];
  /** A control at the end of the tabs, for the run that `context` describes. */
  readonly tool?: (context: ViewContext, panel: HTMLElement, open: () => OpenView) => HTMLElement;
  /** A part below a pinned pair of Attention, drawn once for a run. */
  readonly pair?: PairPart;
  /** A part below a pinned pair of two runs that are compared. */
  readonly comparedPair?: ComparedPairPart;
  /** Sections of a run's text. */
  readonly sections?: (meta: Meta) => Sections | null;
  /** Draws what stands in place of the text of a wordless run, until the context's signal ends. */
  readonly insteadOfText?: (host: HTMLElement, context: ViewContext) => void;
  /** A part of a live widget next to its frame. */
  readonly widget?: (context: WidgetContext) => WidgetPart;
}

/** A live widget, for a part of it. */
export interface WidgetContext {
  /** Element that holds the widget, and the frame of its run. */
  readonly host: HTMLElement;
  readonly frame: HTMLElement;
  readonly state: State;
  readonly invoke: Invoke;
  /** Why the kernel gives no answer; null when it does. */
  readonly kernel: ReadonlySignal<Notice | null>;
  readonly report: ViewContext["report"];
  readonly history: () => readonly PastRun[];
  /** Receives each run that the part shows. */
  readonly shown: (meta: Meta) => void;
  readonly signal: AbortSignal;
}

/** A button next to the field for the text. */
export interface RunButton {
  readonly label: string;
  readonly title: string;
  /** Its `data-aw-part`. */
  readonly part: string;
  /** Acts below `anchor`. */
  readonly press: (anchor: HTMLElement) => void;
}

export interface WidgetPart {
  /** A run is shown in the widget's frame. */
  renew?(source: Source): void;
  /** The receiver of a source's actions; null where it is not this part. */
  actOf?(source: Source): ViewContext["act"];
  readonly button?: RunButton;
  /** Called when a trait changes, and at the start. */
  readonly traits?: Readonly<Record<string, (value: unknown) => void>>;
  dispose(): void;
}

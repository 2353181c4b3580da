/** State of a picture as signals: its pixels, what is in focus, and what the heads give each patch from there. One for all parts of a run. */

import { computed, type ReadonlySignal, signal } from "@preact/signals-core";
import { largestOf } from "../../draw/color/scale";
import { modeOf, onTheme } from "../../draw/color/theme";
import { errorOf } from "../../figures/matrix";
import { schemeOf, tokenName } from "../../figures/names";
import { onAbort } from "../../protocol/abort";
import { asking } from "../../protocol/asking";
import { itemAt, required } from "../../protocol/required";
import type { Num, Source } from "../../protocol/types";
import type { Scale, Selection } from "../../state/selection";
import { same } from "../../state/state";
import { selectionOf, signalOf, watch } from "../../ui/mount";
import type { ViewContext } from "../../views/contract";
import {
  askPatterns,
  askPicture,
  askRows,
  type HeadRows,
  type Patterns,
  type Picture,
  rowOfHead,
} from "./data";
import { type PatchGrid, placeOf, type Region, specialTokens, tokensIn } from "./geometry";
import { type Ground, groundOf } from "./paint";
import { topOfPatches, valuesFrom } from "./values";

/** A pointer that rests so long (ms) on a patch wants its rows of all heads. */
const REST_MS = 60;
/** Relative error of a weight that a page recorded: see DIGITS in attn_widget/features/images/recorded.py. */
const RECORDED = 2 ** -12;

/** The tokens whose mean row is shown. */
export interface Focus {
  readonly kind: "region" | "patch" | "special" | "pointed" | "opening";
  readonly tokens: readonly number[];
}

type Head = readonly [layer: number, head: number];

/** The choice, and the focus that is shown. */
function createFocus({
  grid,
  special,
  selection,
  pointed,
}: {
  readonly grid: PatchGrid;
  readonly special: readonly number[];
  readonly selection: ReadonlySignal<Selection>;
  readonly pointed: ReadonlySignal<number | null>;
}) {
  /** Without a choice: [CLS], where there is one, else the mean of all patches. */
  const opening: readonly number[] =
    special.length > 0
      ? special.slice(0, 1)
      : tokensIn(grid, { rows: [0, grid.rows - 1], columns: [0, grid.columns - 1] });

  /** A region that was drawn, or tokens that were gathered elsewhere; from Python in any order. */
  const gathered = computed(() => [...new Set(selection.value.group)].sort((a, b) => a - b));
  /** The choice of the reader. */
  const chosen = computed((): Focus => {
    const { token } = selection.value;
    if (token !== null)
      return { kind: placeOf(grid, token) === null ? "special" : "patch", tokens: [token] };
    return gathered.value.length > 0
      ? { kind: "region", tokens: gathered.value }
      : { kind: "opening", tokens: opening };
  });
  /** The focus that is shown: a patch that is pointed at replaces the choice, unless that is a patch or a region. */
  const wanted = computed((): Focus => {
    const { kind } = chosen.value;
    if (pointed.value === null || kind === "patch" || kind === "region") return chosen.value;
    return { kind: "pointed", tokens: [pointed.value] };
  });
  return { gathered, chosen, wanted };
}

/** Rows of all heads from what is in focus. */
function createRows(
  { report, ...context }: Pick<ViewContext, "report" | "runSignal" | "signal">,
  source: Source,
  wanted: ReadonlySignal<Focus>,
) {
  const until = context.runSignal ?? context.signal;
  const rows = asking<HeadRows>(until, report);
  let resting: ReturnType<typeof setTimeout> | undefined;
  onAbort(until, () => clearTimeout(resting));
  watch(() => {
    const { kind, tokens } = wanted.value;
    clearTimeout(resting);
    const ask = (): void => void rows.ask((signal) => askRows(source, tokens, signal));
    // A pointer that passes over the picture asks for nothing.
    if (kind === "pointed") resting = setTimeout(ask, REST_MS);
    else ask();
  }, until);

  /** Null while they are on their way. */
  const rowsNow = computed(() => {
    const found = rows.answer.value;
    return found !== null && same(found.tokens, wanted.value.tokens) ? found : null;
  });
  return { rows, rowsNow };
}

function createImageModel(context: ViewContext) {
  const { source, state, matrix: store, report } = context;
  const until = context.runSignal ?? context.signal;
  const { meta } = source;
  const grid: PatchGrid = required(meta.image, "The grid of patches");
  const n = meta.tokens.text.length;
  const special = specialTokens(grid, n);
  const scheme = schemeOf(meta.tokens);
  const nameOf = (token: number): string => tokenName(meta.tokens, token, scheme);

  const keys = ["layer", "head", "token", "group", "scale", "quantity"] as const;
  const selection = selectionOf(state, keys, until);
  const matrix = signalOf(store.get, (changed) => void store.on(changed, until));
  const asked = asking<Picture>(until, report);
  const askForPicture = (): void => void asked.ask((signal) => askPicture(source, signal));
  askForPicture();

  const pointed = signal<number | null>(null);
  /** Groups of patches whose border is drawn, one number a token. */
  const divided = signal<ArrayLike<number> | null>(null);
  /** False while the picture is shown in its own colors. */
  const overlaid = signal(true);
  /** The head whose thumbnail is pointed at. */
  const peeked = signal<Head | null>(null);

  const { gathered, chosen, wanted } = createFocus({ grid, special, selection, pointed });

  const { rows, rowsNow } = createRows(context, source, wanted);

  /** The same of the selected head; null also where another quantity is shown. */
  const rowOfHeadNow = computed(() => {
    const { layer, head, quantity } = selection.value;
    if (rowsNow.value === null || quantity !== "weights" || head === "mean") return null;
    return rowOfHead(rowsNow.value, layer, head);
  });

  const ofMatrix = (tokens: readonly number[]) =>
    matrix.value && valuesFrom(matrix.value, tokens, n);
  /** Weights from the choice to each token in the selected head; null where the matrix does not have them. */
  const chosenValues = computed(() => ofMatrix(chosen.value.tokens));
  /** Numbers of a view that stand for what is chosen, one a token, such as contributions. */
  const painted = computed(() => context.overlay?.painted.value ?? null);
  /** One number a token, of the head that is pointed at among the thumbnails, or of the selected one; null before it is here. */
  const values = computed((): ArrayLike<number> | null => {
    const { tokens } = wanted.value;
    if (painted.value !== null) return painted.value.values;
    if (peeked.value !== null) return rowsNow.value && rowOfHead(rowsNow.value, ...peeked.value);
    if (rowsNow.value?.exact) return rowOfHeadNow.value ?? ofMatrix(tokens);
    return ofMatrix(tokens) ?? rowOfHeadNow.value;
  });
  /** True if `values` are no steps of a saved page's matrix. */
  const isExact = computed(
    () =>
      rowsNow.value?.exact === true &&
      painted.value === null &&
      (peeked.value ?? rowOfHeadNow.value) !== null,
  );
  // A softmax gives few patches most: by the square root the others are seen, too. There are no words whose scale could be meant.
  const scale = computed((): Scale => {
    const { scale } = selection.value;
    return scale === "words" ? "sqrt" : scale;
  });
  const top = computed(() => {
    if (painted.value !== null)
      return largestOf(Array.from(painted.value.values), meta.tokens.special);
    return values.value === null ? 0 : topOfPatches(values.value, grid);
  });

  const patterns = asking<Patterns>(until);
  let patternsAsked = false;
  const askForPatterns = (): void => {
    if (patternsAsked) return;
    patternsAsked = true;
    void patterns.ask((signal) => askPatterns(source, signal));
  };

  return {
    ...{ source, state, grid, n, special, nameOf, selection, matrix, until },
    ...{
      picture: asked,
      pointed,
      overlaid,
      divided,
      peeked,
      focus: wanted,
      gathered,
      chosen,
      chosenValues,
      painted,
      rows,
      rowsNow,
      values,
      top,
      scale,
    },
    ...{ askForPicture, patterns, askForPatterns, announce: context.announce },
    /** A weight of a saved page, or a sum of `terms` of them, with its error. */
    numOf(value: number, terms = 1, exact = isExact.value): Num {
      if (exact) return { value, error: source.live ? 0 : value * RECORDED };
      const shown = peeked.value === null ? matrix.value : null;
      const error = shown
        ? errorOf(shown, value, terms)
        : (source.precision?.weight(value, terms) ?? 0);
      return { value, error };
    },
    choose(token: number | null): void {
      state.set({ token, group: [] });
    },
    chooseRegion(next: Region): void {
      state.set({ token: null, group: tokensIn(grid, next) });
    },
    pickHead([layer, head]: Head): void {
      state.set({ layer, head });
    },
  };
}

export type ImageModel = ReturnType<typeof createImageModel>;

const models = new WeakMap<Source, ImageModel>();

/** The model of the run that a context shows. */
export function modelOf(context: ViewContext): ImageModel {
  const { source } = context;
  const here = models.get(source);
  if (here !== undefined && !here.until.aborted) return here;
  const made = createImageModel(context);
  models.set(source, made);
  return made;
}

/** The gray picture in the colors around an element; null before the picture is here. */
export function groundSignal(
  host: Element,
  { picture }: Pick<ImageModel, "picture">,
  until: AbortSignal,
): ReadonlySignal<{ readonly ground: Ground; readonly mode: "light" | "dark" } | null> {
  const mode = signalOf(
    () => modeOf(host),
    (changed) => onTheme(host, changed, until),
  );
  return computed(() => {
    const found = picture.answer.value;
    return found && { ground: groundOf(found, mode.value), mode: mode.value };
  });
}

export const onlyToken = ({ tokens }: Focus): number | null =>
  tokens.length === 1 ? itemAt(tokens, 0) : null;

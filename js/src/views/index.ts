/** The list of all views, in the order of their tabs, and the functions that draw them. */

import { VIEWS as NAMES } from "../catalog/selection";
import * as features from "../features";
import type { Sections } from "../figures/sections";
import { required } from "../protocol/required";
import type { Meta } from "../protocol/types";
import { type DrawView, lazyCode, ofOneRun, type ViewDefinition } from "./contract";
import { CORE } from "./core";
import type { Feature } from "./feature";

export const FEATURES: readonly Feature[] = Object.values(features);

const order = Object.keys(NAMES);
const place = ({ name }: Pick<ViewDefinition, "name">): number => order.indexOf(name);

/** The views by name. */
export const VIEWS: Readonly<Record<string, ViewDefinition>> = Object.fromEntries(
  [...CORE, ...FEATURES.flatMap(({ views = [] }) => views)]
    .sort((a, b) => place(a) - place(b))
    .map((view) => [view.name, { available: ofOneRun, ...view }]),
);

/** The view of a name in `VIEWS`. */
export const viewNamed = (name: string): ViewDefinition =>
  required(VIEWS[name], `The view "${name}"`);

export const sectionsOf = (meta: Meta): Sections | null =>
  FEATURES.map(({ sections }) => sections?.(meta) ?? null).find((found) => found !== null) ?? null;

/** The label of a view's tab. */
export const labelOf = (name: string, meta: Meta): string =>
  sectionsOf(meta)?.labels[name] ?? viewNamed(name).label;

/** The function that draws a view of a short or a long text; null while its code is not here. */
export function drawOf(name: string, long = false): DrawView | null {
  const lazy = lazyCode.peek() as unknown as Readonly<Record<string, DrawView>> | null;
  const view = VIEWS[name];
  return (long && view?.long ? lazy?.[`${name}Long`] : (view?.draw ?? lazy?.[name])) ?? null;
}

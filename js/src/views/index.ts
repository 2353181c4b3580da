/** The list of all views, in the order of their tabs. */

import { required } from "../protocol/required";
import { attention } from "./attention";
import type { ViewDefinition } from "./contract";
import { heads } from "./heads";
import { inside } from "./inside";
import { predictions } from "./predictions";
import { sentences } from "./sentences";
import { task } from "./task";
import { tree } from "./tree";
import { why } from "./why";

const ALL = [attention, heads, tree, sentences, predictions, inside, task, why] as const;

/** Names of the views whose code comes after the first picture: `src/lazy.ts` must export each. */
export type LazyView = Extract<(typeof ALL)[number], { draw: null }>["name"];

/** The views by name. */
export const VIEWS: Readonly<Record<string, ViewDefinition>> = Object.fromEntries(
  ALL.map((view) => [view.name, view]),
);

/** The view of a name in `VIEWS`. */
export const viewNamed = (name: string): ViewDefinition =>
  required(VIEWS[name], `The view "${name}"`);

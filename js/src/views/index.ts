/** The list of all views, in the order of their tabs. */

import { required } from "../protocol/required";
import { ALL } from "./all";
import type { ViewDefinition } from "./contract";

/** The views by name. */
export const VIEWS: Readonly<Record<string, ViewDefinition>> = Object.fromEntries(
  ALL.map((view) => [view.name, view]),
);

/** The view of a name in `VIEWS`. */
export const viewNamed = (name: string): ViewDefinition =>
  required(VIEWS[name], `The view "${name}"`);

/** The tree: what a token attends to most, what those attend to most, and so on. */

import { VIEWS } from "../../catalog/selection";
import { ofOneRun } from "../../views/contract";
import type { Feature } from "../../views/feature";

export const tree: Feature = { views: [{ ...VIEWS.tree, available: ofOneRun }] };

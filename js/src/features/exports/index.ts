/** Saving a view as a picture or a table. */

import type { Feature } from "../../views/feature";
import { saveTool } from "./button";

export const exports: Feature = { tool: saveTool };

/** The model in the page, which runs what is typed: pages with an engine have entries of their own (`live.ts`, `site.ts`). */

import type { Feature } from "../../views/feature";

export const engine: Feature = { uses: ["qk"] };

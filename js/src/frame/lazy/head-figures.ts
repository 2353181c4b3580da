/** Figures that shade the grid of heads, once one is chosen. */

import { askFigures, askRoles } from "../../figures/head-figures";

export const headFigures = { askFigures, askRoles };

declare module "../../views/contract" {
  interface LazyCode {
    readonly headFigures: typeof headFigures;
  }
}

/** Definition of a mixing quantity, for the note below the quantities. */

import { mixingDefinition } from "../../../figures/definitions";

export { mixingDefinition };

declare module "../../contract" {
  interface LazyCode {
    readonly mixingDefinition: typeof mixingDefinition;
  }
}

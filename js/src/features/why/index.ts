/** Contributions to one number that the model gave, and whether the methods that find them agree. */

import { VIEWS } from "../../catalog/selection";
import type { Meta } from "../../protocol/types";
import { ofOneRun, type ViewDefinition } from "../../views/contract";
import type { Feature } from "../../views/feature";

/** True of cross-attention where a decoder with a head has written: it answers. */
const isWritten = ({ keys, parts, next_token }: Meta): boolean =>
  keys != null && parts?.includes("decoder") === true && next_token != null;

const view = {
  ...VIEWS.why,
  written: true,
  available: (meta: Meta) =>
    ofOneRun(meta) &&
    (meta.model.has.mlm ||
      meta.model.has.classifier ||
      meta.model.has.nsp ||
      isWritten(meta) ||
      meta.snapshot?.views.includes(VIEWS.why.name) === true),
} as const satisfies ViewDefinition;

export const why: Feature = { views: [view] };

/** Heads over many texts: the examples of a head, and a text opened below the profile. */

import { required } from "../../protocol/required";
import type { Source } from "../../protocol/types";
import { type LazyCode, lazyCode } from "../../views/contract";
import type { Feature, WidgetContext, WidgetPart } from "../../views/feature";
import { askCode } from "../../views/lazy-views";

function lazyText(context: WidgetContext): WidgetPart {
  let text: ReturnType<LazyCode["textBelow"]> | null = null;
  return {
    actOf: (source: Source) =>
      source.meta.profile === null
        ? null
        : async (action) => {
            await askCode(source);
            text ??= required(lazyCode.peek(), "The code of profiles").textBelow(context);
            await text.open(action);
          },
    dispose: () => text?.dispose(),
  };
}

export const corpus: Feature = { widget: lazyText };

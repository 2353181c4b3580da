/** Runs of images: tokens are patches, and the picture stands in place of the text. */

import { VIEWS } from "../../catalog/selection";
import { onAbort } from "../../protocol/abort";
import type { Meta } from "../../protocol/types";
import { type ViewDefinition, withLazyCode } from "../../views/contract";
import type { Feature } from "../../views/feature";
import { askCode } from "../../views/lazy-views";

declare module "../../protocol/meta" {
  interface Meta {
    /** The grid of patches, row by row from the token `first` on; size of the picture, px. All other tokens are special. */
    readonly image?: {
      readonly rows: number;
      readonly columns: number;
      readonly width: number;
      readonly height: number;
      readonly first: number;
    };
  }
}

const view = {
  ...VIEWS.images,
  available: ({ image }: Meta) => image !== undefined,
} as const satisfies ViewDefinition;

export const images: Feature = {
  views: [view],
  insteadOfText(host, context) {
    const { source, signal } = context;
    const { image } = source.meta;
    if (image === undefined) return;
    // The picture's own height, so that nothing below it moves when it comes.
    host.style.setProperty("--aw-picture", String(image.width / image.height));
    host.classList.add("aw-pictured");
    onAbort(signal, () => host.classList.remove("aw-pictured"));
    askCode(source, signal).catch((error: unknown) => signal.aborted || context.report(error));
    withLazyCode((code) => code.picture(host, context), signal);
  },
};

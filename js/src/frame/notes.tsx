/** Text around a view: sentences about the run, a caption; and the outline before the first picture. */

import { capital } from "../figures/format";
import { placeName } from "../figures/names";
import { measureOf } from "../figures/quantities";
import type { Precision } from "../protocol/meta";
import type { Meta } from "../protocol/types";
import type { Selection } from "../state/selection";
import { viewNamed } from "../views";
import { viewOf } from "./tabs";

/** Widths of the outline's words, em: like a line of text. */
const WORDS = [2, 3.5, 2.5, 5, 2, 4, 3, 6, 2.5, 3];

/** The places of the parts while there is nothing to show yet; nothing moves. */
export const Skeleton = ({ hidden }: { readonly hidden: boolean }) => (
  <div class="aw-skeleton" aria-hidden="true" data-aw-part="skeleton" hidden={hidden}>
    <div class="aw-skeleton-line">
      {WORDS.map((width, i) => (
        <i key={i} class="aw-bone" style={{ width: `${width}em` }} />
      ))}
    </div>
    <div class="aw-skeleton-body">
      <i class="aw-bone aw-skeleton-side" />
      <i class="aw-bone aw-skeleton-main" />
    </div>
  </div>
);

/** One line under a view that stands alone: which model, which head, which text. */
export function Caption({
  meta,
  selection: { layer, head, quantity, view },
}: {
  readonly meta: Meta;
  readonly selection: Selection;
}) {
  const { model, text, text_pair, profile } = meta;
  const shown = viewNamed(viewOf(meta, view));
  const texts = [text, text_pair].filter(Boolean).join(" / ");
  return (
    <>
      <strong>{model.name}</strong>
      <span class="aw-caption-what">
        {shown.head === "shown"
          ? placeName({ layer, head, quantity: measureOf(quantity) })
          : shown.label}
      </span>
      {profile !== null ? (
        <span class="aw-caption-text">{profile.n_texts} texts</span>
      ) : (
        texts !== "" && (
          <bdi class="aw-caption-text" title={texts}>
            {texts}
          </bdi>
        )
      )}
    </>
  );
}

/** Note about an unusual way in which the text was read; empty for others. */
export const readingNote = (meta: Meta): string =>
  [meta.note, lengthNote(meta)].filter(Boolean).join(" ");

/** The part of a long text that is shown, how it was read in windows, or that a model wrote nothing; empty for others. */
function lengthNote({ truncated, windows, wrote_nothing }: Meta): string {
  if (wrote_nothing) return "The model ended the text at once: it wrote nothing.";
  if (truncated !== null)
    return `Cut: the model reads ${truncated.limit} tokens, the text has ${truncated.length}.`;
  if (windows === undefined) return "";
  return (
    `Read in ${windows.spans.length} windows of ${windows.size} tokens that share ${windows.overlap}. A row is from the ` +
    "window in which its token is most central; hatched keys lie outside that window and have no weight."
  );
}

export const unknownNote = ({ unknown }: Meta): string =>
  unknown == null
    ? ""
    : `Most of this text is unknown to the model: ${unknown.count} of ${unknown.tokens} tokens are read as ` +
      `${unknown.text}, all alike. The figures below say little about these words.`;

/** Precision of a saved page, and the parts that it lacks. */
export function SavedNote({
  precision: { note, weight },
  meta: { snapshot, model },
}: {
  readonly precision: Precision;
  readonly meta: Meta;
}) {
  const rounded = weight(1) > 0;
  return (
    <div class="aw-saved" data-aw-part="saved">
      {rounded ? (
        <details>
          <summary>
            Saved page, works offline. Numbers are rounded to reliable digits (<u>details</u>).
          </summary>
          {sentence(note)}
        </details>
      ) : (
        `Saved page, works offline. ${sentence(note)}`
      )}
      {model.predicts === "next" &&
        " New text needs a kernel: the engine of saved pages runs encoders only."}
      {snapshot?.left_out && ` Left out to limit the size: ${snapshot.left_out}.`}
    </div>
  );
}

const sentence = (text: string): string => `${capital(text)}.`;

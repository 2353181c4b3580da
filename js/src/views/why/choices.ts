/** Answers that can be explained: words that the model would put at a position, classes, the next sentence. */

import { CLASSIFICATION, slicedClasses } from "../../figures/classes";
import { arrayOf, itemAt } from "../../protocol/required";
import type { Source, Target } from "../../protocol/types";

/** One entry of a head's output. */
export interface Choice {
  readonly id: number;
  readonly name: string;
  readonly probability: number;
}

/** The number that is explained, without what it is compared with. */
export type Question =
  | { readonly of: "token"; readonly position: number; readonly masked: boolean }
  | { readonly of: "class"; readonly position: number | null }
  | { readonly of: "next_sentence" };

/** Words listed for a position; classes of a text. */
const LISTED = 6;

/** The likeliest entries of the head that a question is about; none for the next sentence. */
export async function askChoices(
  source: Source,
  question: Question,
  signal: AbortSignal,
): Promise<readonly Choice[]> {
  if (question.of === "next_sentence") return [];
  if (question.of === "class") {
    const classes = slicedClasses(await source.slice(CLASSIFICATION, { signal }));
    const row = (question.position ?? 0) * classes.labels.length;
    const all = classes.labels.map((name, id) => ({
      id,
      name,
      probability: classes.probabilities[row + id] ?? Number.NaN,
    }));
    return all.sort((a, b) => b.probability - a.probability).slice(0, LISTED);
  }
  const { position, masked } = question;
  const slice = await source.slice(
    {
      kind: "predictions",
      mode: masked ? "masked" : "as_is",
      top_k: LISTED,
      rows: [position, position + 1],
    },
    { signal },
  );
  const vocabulary = slice.data.vocabulary as Readonly<Record<string, string>>;
  const ids = Array.from(arrayOf(slice, "prediction_ids").data);
  const shares = arrayOf(slice, "prediction_probabilities").data;
  return ids.map((id, i) => ({
    id,
    name: vocabulary[id] ?? String(id),
    probability: itemAt(shares, i),
  }));
}

/** Fields in the order that makes equal targets the same request. */
export function targetFrom(
  question: Question,
  plus: number | string,
  against: number | string | null,
): Target {
  const minus = against === null || against === plus ? {} : { against };
  switch (question.of) {
    case "token": {
      const { position, masked } = question;
      return { position, token: plus, ...minus, ...(masked ? { masked } : {}) };
    }
    case "class": {
      const { position } = question;
      return { ...(position === null ? {} : { position }), ...minus, label: plus };
    }
    default:
      return { next_sentence: true };
  }
}

/** The question that a target answers. */
export function questionOf(target: Target): Question {
  if (target.next_sentence) return { of: "next_sentence" };
  if (target.label !== undefined) return { of: "class", position: target.position ?? null };
  return { of: "token", position: target.position ?? 0, masked: target.masked ?? false };
}

/** The ribbon's corner: tags of the words, and masking by a click. */

import { signal } from "@preact/signals-core";
import type { Tags } from "../../draw/text-line";
import type { Unit } from "../../figures/derive/units";
import { toggled } from "../../figures/derive/units";
import { schemeOf, unitLabel } from "../../figures/names";
import { Button } from "../../ui/controls";
import type { ViewContext } from "../../views/contract";
import { askForTags, blankTags } from "./tags";

/** Texts up to this many tokens have their tags shown from the start. */
const TAGGED_TOKENS = 40;

/** Choices of the reader that outlive a run. */
export interface RibbonMemory {
  /** The reader's choice to see tags; null until there is one. */
  tags: boolean | null;
  /** True if the last run had tags: their lines are kept free for the next ones. Null: not asked yet. */
  tagged: boolean | null;
  /** True if a click masks instead of choosing. */
  masking: boolean;
  /** Tokens to mask, as last chosen; null: as in the run that is shown. */
  masked: readonly number[] | null;
}

export const newMemory = (): RibbonMemory => ({
  tags: null,
  tagged: null,
  masking: false,
  masked: null,
});

/** `rebuild` draws the line again, with its tags or without them. */
export function createTagging(context: ViewContext, memory: RibbonMemory, rebuild: () => void) {
  const { tokens } = context.source.meta;
  /** Undefined until they were asked for, null when there are none. */
  const tags = signal<Tags | null | undefined>(undefined);
  const on = signal(memory.tags ?? tokens.text.length <= TAGGED_TOKENS);
  const why = signal("");
  const asking = signal(false);

  function ask(aloud = false): void {
    if (asking.peek() || tags.peek() !== undefined) return;
    asking.value = true;
    askForTags(context, (found, reason) => {
      memory.tagged = found !== null;
      why.value = found === null ? reason : "";
      tags.value = found;
      asking.value = false;
      if (found === null && aloud) context.announce(reason);
      if (on.peek()) rebuild();
    });
  }
  /** Invisible tags in the place of those on their way; null where none are expected. */
  const blanks = (): Tags | null => (memory.tagged === false ? null : blankTags(tokens));
  return {
    tags,
    on,
    why,
    asking,
    ask,
    /** Tags to be shown in the line. */
    inLine(): Tags | null {
      if (!on.peek()) return null;
      const found = tags.peek();
      return found === undefined ? blanks() : found;
    },
    wordsOf({ token }: Unit): string {
      const found = tags.peek();
      const word = found?.wordOf(token) ?? null;
      const tag = word === null ? null : found?.of(word);
      return [tag?.pos, tag?.entity].filter(Boolean).join(", ");
    },
    toggle(): void {
      if (tags.peek() === null) return;
      memory.tags = on.value = !on.peek();
      if (on.peek()) ask(true);
      rebuild();
    },
  };
}

export type Tagging = ReturnType<typeof createTagging>;

export function createMasking(context: ViewContext, memory: RibbonMemory) {
  const { source, act, announce } = context;
  const { meta } = source;
  const masked = meta.masked.map(({ token }) => token);
  // A decoder has no mask token.
  const maskable = act !== null && meta.model.predicts !== "next" && !meta.parts;

  function setMasked(next: readonly number[]): void {
    memory.masked = next;
    act?.({ kind: "mask", tokens: next }).catch((error: unknown) => {
      memory.masked = null;
      context.report(error);
    });
  }
  return {
    maskable,
    /** True if a click masks instead of choosing. */
    masking: signal(memory.masking),
    unmask: act !== null && masked.length > 0 ? () => setMasked([]) : null,
    /** Mask a unit, or show it again if one of its tokens is masked. */
    mask(unit: Unit): void {
      if (!maskable) return;
      const now = memory.masked ?? masked;
      const next = toggled(now, unit);
      const on = next.length > now.length;
      if (on && unit.special) {
        announce("Special tokens are not masked.");
        return;
      }
      setMasked(next);
      const name = unitLabel(unit, schemeOf(meta.tokens));
      announce(`${name} ${on ? "masked" : "as in the text"}, running.`);
    },
  };
}

export type Masking = ReturnType<typeof createMasking>;

export function Corner({
  tagging,
  masks: { maskable, masking, unmask },
  memory,
}: {
  readonly tagging: Tagging;
  readonly masks: Masking;
  readonly memory: RibbonMemory;
}) {
  const found = tagging.tags.value;
  const hasTags = found === undefined ? memory.tagged !== false : found !== null;
  return (
    <div class="aw-ribbon-corner aw-wanted" role="group" aria-label="Ribbon">
      <Button
        class="aw-corner"
        part="tags"
        title={
          tagging.why.value || `Parts of speech and entities${found ? `, by ${found.tagger}` : ""}`
        }
        aria-pressed={tagging.on.value && hasTags}
        aria-disabled={found === null || undefined}
        aria-busy={tagging.asking.value || undefined}
        onClick={tagging.toggle}
      >
        tags
      </Button>
      {maskable && (
        <Button
          class="aw-corner"
          part="mask"
          title="A click on a token masks it and reruns the text (key x)"
          aria-pressed={masking.value}
          onClick={() => {
            memory.masking = masking.value = !masking.value;
          }}
        >
          mask
        </Button>
      )}
      {unmask && (
        <Button class="aw-corner" part="unmask" onClick={unmask}>
          unmask all
        </Button>
      )}
    </div>
  );
}

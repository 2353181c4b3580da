/** A section whose content is made from an answer, once it is here. */
import { signal } from "@preact/signals-core";
import type { ComponentChildren, ComponentProps, ComponentType } from "preact";
import type { Asking } from "../../protocol/asking";
import { Answered } from "../../ui/answered";
import { memo } from "../../ui/memo";
import { watch } from "../../ui/mount";

export function answeredSection<T>(
  asked: Asking<T>,
  create: (answer: T) => ComponentType,
  {
    until,
    section,
    head = null,
    ...body
  }: Pick<ComponentProps<typeof Answered>, "class" | "waiting" | "again"> & {
    readonly until: AbortSignal;
    readonly section: ComponentProps<"section">;
    /** Above the answer. */
    readonly head?: ComponentChildren;
  },
) {
  const content = signal<ComponentType | null>(null);
  watch(() => {
    const found = asked.answer.value;
    content.value = found && create(found);
  }, until);
  const Content = memo(function Content() {
    const Shown = content.value;
    return Shown && <Shown />;
  });
  return memo(function Section() {
    return (
      <section {...section}>
        {head}
        <Answered asked={asked} {...body}>
          <Content />
        </Answered>
      </section>
    );
  });
}

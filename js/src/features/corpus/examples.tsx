/** Texts of a profile that are examples of the selected head, as ribbons. */

import { computed, signal } from "@preact/signals-core";
import { inkOn, ramp } from "../../draw/color/ramp";
import { largestOf, rampIndex } from "../../draw/color/scale";
import { exact, formatNumber } from "../../figures/format";
import { headName, metricName } from "../../figures/names";
import { asking } from "../../protocol/asking";
import { messageOf } from "../../protocol/failure";
import { itemAt } from "../../protocol/required";
import { Button, Select } from "../../ui/controls";
import { modeSignal, mount, selectionOf, setter, watch } from "../../ui/mount";
import { Toggle } from "../../ui/toggle";
import type { RunContext } from "../../views/contract";

/** Figure that a list opens with; a saved page has its examples. */
const FIRST = "link";

interface Example {
  readonly index: number;
  readonly value: number | null;
  readonly query: number | null;
  readonly key: number | null;
  readonly weight: number | null;
  readonly text: readonly string[];
  readonly before: readonly string[];
  readonly special: readonly boolean[];
  /** Token that the query’s row writes, in cross-attention, whose tokens here are the source’s. */
  readonly written?: string;
  /** Text that an encoder-decoder writes for this one. */
  readonly output?: string;
}

interface Answer {
  readonly examples: readonly (Example & { readonly weights: readonly number[] })[];
  readonly names: readonly string[];
}

const NAMES: Readonly<Record<string, string>> = {
  link: "largest link between two words",
  sample: "drawn at random",
  "same word": "weight on the same word elsewhere",
};
const nameOf = (by: string): string => NAMES[by] ?? metricName(by);

export function headExamples(host: HTMLElement, context: RunContext): void {
  const { source, state, signal: until, act, announce, report } = context;
  const selection = selectionOf(state, ["layer", "head"], until);
  const mode = modeSignal(host, until);
  const by = signal(FIRST);
  const lowest = signal(false);
  const { answer, failure, busy, ask } = asking<Answer>(until);
  const names = computed(() => {
    const offered = source.live ? (answer.value?.names ?? []) : [];
    return [FIRST, ...offered.filter((name) => name !== FIRST)];
  });

  watch(() => {
    const { layer, head } = selection.value;
    if (head === "mean") return;
    const request = {
      kind: "examples",
      layer,
      head,
      by: by.value,
      lowest: lowest.value,
    } as const;
    void ask(async (signal) => {
      const { data, arrays } = await source.ask(request, { signal });
      const { examples, names } = data as unknown as Answer;
      return {
        names,
        examples: examples.map((example, i) => ({
          ...example,
          weights: Array.from(arrays.get(`row:${i}`)?.data ?? []),
        })),
      };
    });
  }, until);

  function open({ index, query, key }: Example): void {
    const { layer, head } = state.get();
    if (head === "mean") return;
    announce(`Text ${index} is opened below.`);
    act?.({ kind: "open_example", index, layer, head, query, key }).catch(report);
  }

  const Tokens = ({
    text,
    before,
    special,
    query,
    key,
    weights,
    written,
  }: Answer["examples"][number]) => {
    const top = largestOf(weights, special);
    const { css, rgb } = ramp("weight", mode.value);
    return text.map((token, i) => {
      const weight = weights[i];
      const at = weight === undefined ? 0 : rampIndex(weight, top, "words");
      const kind = `${special[i] ? " aw-special" : ""}${i === query && written === undefined ? " is-query" : ""}${i === key ? " is-key" : ""}`;
      return [
        itemAt(before, i),
        <span
          key={i}
          class={`aw-example-token${kind}`}
          {...(weight !== undefined && {
            title: formatNumber(weight),
            "data-aw-value": exact(weight),
            style: { backgroundColor: itemAt(css, at), color: inkOn(itemAt(rgb, at)) },
          })}
        >
          {token}
        </span>,
      ];
    });
  };

  const Row = ({ example }: { readonly example: Answer["examples"][number] }) => {
    const { index, value, query, key, weight, text, written, output } = example;
    const shown = value ?? weight;
    const link = weight === value ? "" : ` ${formatNumber(weight ?? Number.NaN, 3)}`;
    return (
      <li data-aw-index={index}>
        <span class="aw-number" data-aw-value={shown === null ? undefined : exact(shown)}>
          {shown !== null && formatNumber(shown, 3)}
        </span>
        <div>
          <span class="aw-example-line" dir="auto">
            <Tokens {...example} />
          </span>
          <span class="aw-muted aw-small">
            <bdi>
              {query !== null &&
                key !== null &&
                `${written ?? itemAt(text, query)} → ${itemAt(text, key)}${link}`}
            </bdi>
            {output !== undefined && (
              <>
                {" · writes "}
                <bdi>{output}</bdi>
              </>
            )}
            {` · text ${index}`}
          </span>
        </div>
        {act !== null && (
          <Button part="open-example" onClick={() => open(example)}>
            Open
          </Button>
        )}
      </li>
    );
  };

  function note(): string {
    if (selection.value.head === "mean")
      return "Choose a head: the mean of a layer has no examples.";
    if (failure.value !== null) return messageOf(failure.value);
    if (answer.value === null) return "";
    return answer.value.examples.length === 0
      ? "No text has this figure."
      : answer.value.examples.some(({ written }) => written !== undefined)
        ? "The source, colored by the row that writes the token named below; the underlined word receives most of it."
        : "Colored by the row of the outlined word; the underlined word receives most of it.";
  }

  function View() {
    const { layer, head } = selection.value;
    const examples =
      head === "mean" || failure.value !== null ? [] : (answer.value?.examples ?? []);
    return (
      <>
        <div class="aw-heads-bar aw-examples-bar">
          <h4>Examples of {headName(layer, head)}</h4>
          <Select
            label="Figure that chooses the texts"
            part="examples-by"
            options={names.value.map((name) => [name, nameOf(name)])}
            value={by.value}
            choose={setter(by)}
          />
          {source.live && <Toggle text="lowest first" on={lowest.value} set={setter(lowest)} />}
        </div>
        <p class="aw-muted aw-examples-note" role="status">
          {note()}
        </p>
        <ol class="aw-examples" data-aw-part="examples" aria-busy={busy.value ? "true" : undefined}>
          {examples.map((example) => (
            <Row key={example.index} example={example} />
          ))}
        </ol>
      </>
    );
  }
  mount(host, View, until);
}

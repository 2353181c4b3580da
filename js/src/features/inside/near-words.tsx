/** Below the map: the words of an open index of a corpus that a layer reads like the focus token. */

import { exact, formatCount, formatNumber } from "../../figures/format";
import { schemeOf, tokenName } from "../../figures/names";
import { asking } from "../../protocol/asking";
import { Button } from "../../ui/controls";
import type { ViewContext } from "../../views/contract";

interface Near {
  readonly similarity: number;
  readonly pos: string | null;
  readonly text: string;
  /** Offsets of the word, in code points. */
  readonly start: number;
  readonly end: number;
}

interface Answer {
  readonly layer: number;
  readonly texts: number;
  readonly tokens: number;
  readonly approximate: boolean;
  readonly rows: readonly Near[];
  readonly counted: number;
  readonly tags: readonly (readonly [string, number])[];
}

/** A text with the word marked. */
function Sentence({ text, start, end }: Near) {
  const points = Array.from(text);
  const part = (from: number, to?: number): string => points.slice(from, to).join("");
  return (
    <bdi>
      {part(0, start)}
      <mark>{part(start, end)}</mark>
      {part(end)}
    </bdi>
  );
}

/** A component that follows the focus token; `focus` is its position. */
export function createNearWords(
  { source, state, signal, act, report }: ViewContext,
  focus: () => number,
) {
  const { tokens } = source.meta;
  const scheme = schemeOf(tokens);
  const { answer, failure, ask } = asking<{ token: number; found: Answer }>(signal);

  async function load(): Promise<void> {
    const token = focus();
    await ask(async (signal) => {
      const { data } = await source.ask({ kind: "near", token }, { signal });
      return { token, found: data as unknown as Answer };
    });
  }
  if (source.live) {
    state.on(["token"], () => void load(), signal);
    void load();
  }

  const run = (text: string): void => {
    act?.({ kind: "run", text, truncation: true }).catch(report);
  };

  function Words({ token, found }: { readonly token: number; readonly found: Answer }) {
    const { rows, tags, counted } = found;
    const how = found.approximate ? "found by the approximate index" : "all compared exactly";
    return (
      <>
        <h4>
          {"Read like "}
          <bdi>{tokenName(tokens, token, scheme)}</bdi>
          <span class="aw-muted">
            {` output of layer ${found.layer}, among ${formatCount(found.tokens)} tokens of ${formatCount(found.texts)} texts; ${how}`}
          </span>
        </h4>
        <div class="aw-near-tags aw-small">
          <p class="aw-muted">{`Tags of the ${counted} nearest tokens`}</p>
          <ul class="aw-list aw-stack">
            {tags.map(([tag, count]) => (
              <li key={tag}>
                <span>{tag || "no tag"}</span>
                <span class="aw-near-bar">
                  <i aria-hidden="true" style={{ inlineSize: `${(100 * count) / counted}%` }} />
                </span>
                <span class="aw-number" data-aw-value={count}>
                  {count}
                </span>
              </li>
            ))}
          </ul>
        </div>
        <ol class="aw-stack" data-aw-part="near-words">
          {rows.map((near, i) => (
            <li key={i}>
              <span
                class="aw-number"
                data-aw-value={exact(near.similarity)}
                title="Cosine similarity"
              >
                {formatNumber(near.similarity, 3)}
              </span>
              {act === null ? (
                <span>
                  <Sentence {...near} />
                </span>
              ) : (
                <Button class="aw-item" title="Run this text" onClick={() => run(near.text)}>
                  <Sentence {...near} />
                </Button>
              )}
              {act !== null && <span class="aw-muted">{near.pos}</span>}
            </li>
          ))}
        </ol>
      </>
    );
  }

  return () => {
    // Without an open index, or with one of another model, there is nothing to show.
    const shown = failure.value === null ? answer.value : null;
    return (
      <section class="aw-near aw-divided" data-aw-part="near" hidden={shown === null}>
        {shown !== null && <Words {...shown} />}
      </section>
    );
  };
}

/** Choices of the view Sentences, and a cell in words. */

import type { Mode } from "../../draw/color/ramp";
import type { Place } from "../../marks/navigate";
import { itemAt } from "../../protocol/required";
import type { Selection } from "../../state/selection";
import { Button, Segmented, Select } from "../../ui/controls";
import { RampLegend } from "../../ui/legend";
import { Num } from "../../ui/number";
import {
  type Aggregation,
  type Asked,
  carriedName,
  keyName,
  ofTwoTexts,
  type Scope,
  type SentenceMatrix,
  sentenceName,
  sentenceText,
  valueAt,
} from "./data";
import { oneLine } from "./grid";

export interface Choice {
  readonly aggregation: Aggregation;
  readonly scope: Scope;
}

const AGGREGATIONS = [
  ["mass", "Mass"],
  ["max", "Max"],
] as const;

/** `choose` changes a part of the choice; `weights` goes back to attention weights. */
export function Controls({
  selection: { layer, head, scale },
  choice: { aggregation, scope },
  asked,
  shown,
  mode,
  choose,
  weights,
}: {
  readonly selection: Selection;
  readonly choice: Choice;
  readonly asked: Asked;
  readonly shown: SentenceMatrix | null;
  readonly mode: Mode;
  readonly choose: (part: Partial<Choice>) => void;
  readonly weights: () => void;
}) {
  const scopes: (readonly [Scope, string])[] = [
    ["all", "All heads"],
    ["layer", `Layer L${layer}`],
  ];
  // The mean head of a layer is the layer.
  if (head !== "mean") scopes.push(["head", `Head L${layer} H${head}`]);
  return (
    <div class="aw-panel-head aw-isa-controls">
      <Segmented
        {...{ label: "Aggregation", part: "aggregation", name: "aggregation" }}
        options={AGGREGATIONS}
        value={aggregation}
        choose={(aggregation) => choose({ aggregation })}
      />
      {asked.quantity === null ? (
        <Select
          {...{ label: "Layers and heads", part: "scope", options: scopes }}
          value={scope === "head" && head === "mean" ? "layer" : scope}
          choose={(scope) => choose({ scope })}
        />
      ) : (
        <div class="aw-cluster" data-aw-part="sentences-carried">
          <strong>{carriedName(asked)}</strong>
          <Button class="aw-plain-button" part="to-weights" onClick={weights}>
            Attention weights instead
          </Button>
        </div>
      )}
      <div class="aw-isa-legend aw-cluster" hidden={shown === null || shown.size === 0}>
        {shown !== null && (
          <RampLegend
            {...{ max: shown.max, error: shown.error(shown.max), mode: mode }}
            scale={scale}
          />
        )}
        <span class="aw-isa-key aw-inline aw-muted aw-small">
          <i aria-hidden="true" />
          strongest other
        </span>
      </div>
    </div>
  );
}
/** A cell in words: its sentences and its number. */
export function Readout({ shown, at }: { readonly shown: SentenceMatrix; readonly at: Place }) {
  const value = valueAt(shown, at);
  const quote = (name: string, text: string) => (
    <span class="aw-ellipsis">
      <strong>{name}</strong> <bdi dir="auto">{oneLine(text)}</bdi>
    </span>
  );
  return (
    <>
      {quote(sentenceName(shown, at.row), sentenceText(shown, at.row))}
      <span class="aw-isa-arrow" aria-hidden="true">
        →
      </span>
      {at.row === at.column && !ofTwoTexts(shown) ? (
        <span class="aw-ellipsis aw-muted">itself</span>
      ) : (
        quote(
          keyName(shown, at.column),
          ofTwoTexts(shown) ? itemAt(shown.keyTexts, at.column) : sentenceText(shown, at.column),
        )
      )}
      {Number.isNaN(value) ? <span>–</span> : <Num value={value} error={shown.error(value)} />}
    </>
  );
}

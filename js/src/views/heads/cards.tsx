/** Cards: a figure of the selected head, its place among all heads, and the layers. */
import { computed, type Signal, signal } from "@preact/signals-core";
import { consume } from "../../draw/dom";
import { percent, share } from "../../draw/strip";
import type { Tau } from "../../figures/catalog/types";
import { exact, formatNumber, formatOrdinal } from "../../figures/format";
import { headName, spokenHead } from "../../figures/names";
import { cls } from "../../marks/plot";
import { keysOf } from "../../protocol/meta";
import { itemAt } from "../../protocol/required";
import { DotStrip, dotsOf, Sparkline } from "../../ui/chart";
import { Button, Segmented } from "../../ui/controls";
import { memo } from "../../ui/memo";
import { setTo } from "../../ui/mount";
import { type CardFigure, lookFigures, matrixFigure } from "./figure-of";
import { ascending, intervalOf, layerSummaries, rankOf, summarize } from "./figures";
import type { HeadsModel } from "./model";
import type { Standing } from "./sentence";

/** The threshold of Golshanrad & Faghih 2024; the alternative, 1/n, does not depend on the length of the text. */
const PUBLISHED_TAU = 0.01;
/** So many figures in which the head stands out have a card, and one more if it is among this share of all heads. */
const FIRST = { figures: 2, share: 0.25 } as const;
/** The card of what the sentence says in words. */
const CARD_OF: Readonly<Record<string, string>> = {
  widely: "focus_entropy",
  narrowly: "focus_entropy",
};

/** Cards of `shown`, each made once; a card and its dots answer the pointer, its title the keyboard. */
function createGrid(
  model: HeadsModel,
  name: string,
  create: (key: string, pointed: Signal<number | null>) => ReturnType<typeof createCard> | null,
  shown: () => readonly string[],
) {
  /** The head whose dot is under the pointer: it is marked on every card. */
  const pointed = signal<number | null>(null);
  const made = new Map<string, ReturnType<typeof createCard> | null>();
  const cardOf = (key: string): ReturnType<typeof createCard> | null => {
    if (!made.has(key)) made.set(key, create(key, pointed));
    return made.get(key) ?? null;
  };
  const dotOf = (target: EventTarget | null): number | null => {
    const dot = (target as Element).closest("circle[data-index]");
    return dot && Number(dot.getAttribute("data-index"));
  };
  /** The whole card answers the pointer; the keyboard has its title. */
  function onClick({ target }: Event): void {
    const element = target as Element;
    const [card, dot] = [element.closest<HTMLElement>(".aw-card"), dotOf(target)];
    const title = card?.querySelector<HTMLElement>(".aw-card-title");
    // Selecting the text of a number is no click.
    const onCard =
      element.closest(".aw-card-title") !== null ||
      (!element.closest("button, .aw-segmented") && document.getSelection()?.isCollapsed !== false);
    if (dot !== null) model.selectIndex(dot);
    else if (card !== null && title != null && onCard)
      cardOf(card.dataset.metric ?? card.dataset.first ?? "")?.explain(title);
  }
  const onPointerOver = ({ target }: Event): void => {
    pointed.value = dotOf(target);
  };
  return memo(function Cards() {
    return (
      <div class={name} {...{ onClick, onPointerOver, onPointerLeave: setTo(pointed, null) }}>
        {shown().map((key) => {
          const card = cardOf(key);
          return card && <card.Card key={key} />;
        })}
      </div>
    );
  });
}

/** A card for each metric of the matrix. */
export function createCards(model: HeadsModel) {
  const keys = model.metrics.map(({ key }) => key);
  return createGrid(
    model,
    "aw-cards",
    (key, pointed) => {
      const metric = model.metrics.find((each) => each.key === key);
      return metric ? createCard(model, matrixFigure(model, metric), pointed) : null;
    },
    () => keys,
  );
}

/** Small cards of the figures in which the selected head stands out, and of the one that shades the heads. */
export function createFirstCards(model: HeadsModel) {
  const looks = lookFigures(model);
  const matrixKeys = new Set(model.metrics.map(({ key }) => key));
  return createGrid(
    model,
    "aw-cards-first",
    (key, pointed) => {
      const metric = model.metrics.find((each) => each.key === key);
      const figure = metric ? matrixFigure(model, metric) : looks.get(key);
      return figure ? createCard(model, figure, pointed, true) : null;
    },
    () => {
      const { sink, above } = model.standings.value;
      const told = [...(sink ? [sink] : []), ...above];
      const keyOf = ({ key }: Standing): string => CARD_OF[key] ?? key;
      const each = told.filter(
        (one, i) => told.findIndex((other) => keyOf(other) === keyOf(one)) === i,
      );
      const { nLayers, nHeads, selection } = model;
      const count = selection.value.head === "mean" ? nLayers : nLayers * nHeads;
      const outstanding = each
        .slice(0, FIRST.figures + 1)
        .filter(({ rank }, i) => i < FIRST.figures || rank <= FIRST.share * count)
        .map(keyOf);
      const { metric } = selection.value;
      const shades = matrixKeys.has(metric) || (looks.get(metric)?.values().length ?? 0) > 0;
      return [...new Set([...outstanding, ...(shades ? [metric] : [])])];
    },
  );
}

function createCard(
  model: HeadsModel,
  figure: CardFigure,
  pointed: Signal<number | null>,
  /** Without the layers. */
  brief = false,
) {
  const { source, nLayers, nHeads, profile, selection, chosen, figures } = model;
  const { key, name, warning } = figure;
  const { keys } = source.meta;
  const masked = source.arrays.has("possible");
  const interval = intervalOf(source, key);
  const values = computed(() => Array.from(figure.values()));
  const layers = computed(() => layerSummaries({ values: values.value, nLayers, nHeads }));
  const order = computed(() => ascending(values.value));
  const domain = computed(() => {
    const uniform = Array.from({ length: nLayers }, (_, layer) => figure.uniform(layer));
    const { min, max } = summarize([...values.value, ...uniform]);
    return [min, max] as const;
  });
  const groups = computed(() => dotsOf(values.value, domain.value, nHeads));
  const current = computed(
    () => values.value[chosen.value] ?? itemAt(layers.value, selection.value.layer).mean,
  );

  /** Arrows walk through the heads in the order of their figures. */
  function onKey(event: KeyboardEvent): void {
    const heads = order.value;
    const below = heads.filter((index) => itemAt(values.value, index) < current.value).length;
    const at = chosen.value < 0 ? below - 0.5 : heads.indexOf(chosen.value);
    const [up, down] = [Math.floor(at + 1), Math.ceil(at - 1)];
    const arrows = { ArrowRight: up, ArrowUp: up, ArrowLeft: down, ArrowDown: down };
    const next = { ...arrows, Home: 0, End: heads.length - 1 }[event.key];
    if (next === undefined) return;
    consume(event);
    const head = heads[next];
    if (head !== undefined) model.selectIndex(head);
  }

  const Strip = memo(function Strip({ standing, rank }: { standing: string; rank: number }) {
    const { layer, head } = selection.value;
    const [value, length] = [current.value, order.value.length];
    const place = Number.isNaN(rank) ? 1 : Math.max(1, Math.min(length, length - rank + 1));
    const ends = chosen.value < 0 ? null : (interval?.(chosen.value) ?? null);
    const within = (end: number): number => Math.min(1, Math.max(0, share(end, domain.value)));
    const [from, to] = (ends ?? [0, 0]).map(within) as [number, number];
    const spoken = `${spokenHead(layer, head)}: ${formatNumber(value)}`;
    const mark = (kind: string, at: number) => (
      <span
        class={`aw-strip-${kind}`}
        hidden={Number.isNaN(at)}
        style={{ left: percent(share(at, domain.value)) }}
      />
    );
    return (
      <div
        class="aw-strip"
        tabIndex={0}
        role="slider"
        aria-label={`Heads ordered by ${name}`}
        aria-valuemin={1}
        aria-valuemax={length}
        aria-valuenow={place}
        aria-valuetext={head === "mean" ? spoken : `${spoken}, ${standing}`}
        onKeyDown={onKey}
      >
        <span
          class="aw-strip-interval"
          hidden={ends === null}
          style={{ left: percent(from), width: percent(to - from) }}
        />
        {mark("uniform", figure.uniform(layer))}
        <DotStrip
          {...{ groups: groups.value, group: layer, index: chosen.value, pointed: pointed.value }}
        />
        {mark("mark", value)}
      </div>
    );
  });
  const Axis = memo(function Axis() {
    const [low, high] = domain.value.map((end) => formatNumber(end));
    const index = pointed.value;
    const head = index === null ? "" : headName(Math.floor(index / nHeads), index % nHeads);
    return (
      <div class="aw-axis">
        <span class="aw-axis-low">{low}</span>
        <span class="aw-axis-middle">
          {index !== null && `${head}: ${formatNumber(values.value[index] ?? Number.NaN)}`}
        </span>
        <span class="aw-axis-high">{high}</span>
      </div>
    );
  });
  // If a mask leaves each query other keys, the threshold is 1/m of its row.
  const inverse = formatNumber(1 / keysOf(source.meta).text.length);
  const uniformTau = masked ? "1/m" : `1/${keys ? "m" : "n"} = ${inverse}`;
  const Thresholds = memo(function Thresholds() {
    return (
      <Segmented
        {...{ label: "Threshold of sparsity", class: "aw-tau", name: "tau" }}
        busy={model.settingTau.value}
        options={[
          [String(PUBLISHED_TAU), `τ = ${PUBLISHED_TAU}`],
          ["uniform", uniformTau],
        ]}
        value={String(figures.value.tau)}
        choose={(tau) => void model.setTau(tau === "uniform" ? tau : (Number(tau) as Tau))}
      />
    );
  });
  const Card = memo(function Card() {
    const { layer, head, metric: shade } = selection.value;
    const value = current.value;
    const { min, max } = itemAt(layers.value, layer);
    const rank = rankOf(values.value, value);
    const ranked = Number.isNaN(rank) ? "N/A" : `${formatOrdinal(rank)} of ${order.value.length}`;
    const [standing, title] =
      head === "mean"
        ? [
            `${formatNumber(min)} – ${formatNumber(max)}`,
            "smallest and largest of the layer’s heads",
          ]
        : [ranked, "1st is the largest figure"];
    const digits = exact(value);
    const described = `${name}: ${formatNumber(value)}. ${warning ?? ""}`;
    const standingText = (
      <span class="aw-card-standing" title={title}>
        {standing}
      </span>
    );
    const sub = <div class="aw-card-sub">{figure.detail(value)}</div>;
    return (
      <article
        class={cls("aw-card", { chosen: key === shade, brief })}
        {...(brief ? { "data-first": key } : { "data-metric": key })}
      >
        <Button
          class="aw-flat aw-card-title"
          {...{ "aria-haspopup": "dialog", "aria-expanded": "false" }}
          label={`${described} Explain and shade the heads by it`}
        >
          {name}
        </Button>
        {brief && standingText}
        <div class="aw-card-figure">
          <span
            class="aw-card-value"
            data-aw-value={digits}
            title={Number.isNaN(value) ? "Not defined for this head" : digits}
          >
            {formatNumber(value)}
          </span>
          {brief ? sub : standingText}
        </div>
        {!brief && sub}
        <Strip {...{ standing, rank }} />
        <Axis />
        {!brief && (
          <>
            <div class="aw-layers">
              <span class="aw-layer-end">L0</span>
              <Sparkline {...{ points: layers.value, domain: domain.value, index: layer, value }} />
              <span class="aw-layer-end">L{nLayers - 1}</span>
            </div>
            <div class="aw-card-foot">
              {warning !== null && <span class="aw-card-warning">{warning}</span>}
              {key === "sparsity" && profile === null && <Thresholds />}
            </div>
          </>
        )}
      </article>
    );
  });
  return { Card, explain: figure.explain };
}

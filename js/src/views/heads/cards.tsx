/** A card for each metric: the selected head's figure, its place among all heads, and the layers. */
import { computed, type Signal, signal } from "@preact/signals-core";
import { consume } from "../../draw/dom";
import { percent, share } from "../../draw/strip";
import type { Metric, Tau } from "../../figures/catalog/types";
import {
  exact,
  formatCount,
  formatNumber,
  formatOrdinal,
  formatPercent,
} from "../../figures/format";
import { headName, spokenHead } from "../../figures/names";
import { cls } from "../../marks/plot";
import { keysOf } from "../../protocol/meta";
import { itemAt } from "../../protocol/required";
import { DotStrip, dotsOf, Sparkline } from "../../ui/chart";
import { Button, Segmented } from "../../ui/controls";
import { memo } from "../../ui/memo";
import { setTo } from "../../ui/mount";
import { metricExplanation } from "./explanation";
import { ascending, intervalOf, layerSummaries, rankOf, summarize } from "./figures";
import type { HeadsModel } from "./model";

/** The threshold of Golshanrad & Faghih 2024; the alternative, 1/n, does not depend on the length of the text. */
const PUBLISHED_TAU = 0.01;

export function createCards(model: HeadsModel) {
  /** The head whose dot is under the pointer: it is marked on every card. */
  const pointed = signal<number | null>(null);
  const cards = model.metrics.map((metric) => createCard(model, metric, pointed));
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
      cards.find(({ key }) => key === card.dataset.metric)?.explain(title);
  }
  const onPointerOver = ({ target }: Event): void => {
    pointed.value = dotOf(target);
  };
  return () => (
    <div class="aw-cards" {...{ onClick, onPointerOver, onPointerLeave: setTo(pointed, null) }}>
      {cards.map(({ key, Card }) => (
        <Card key={key} />
      ))}
    </div>
  );
}

function createCard(model: HeadsModel, metric: Metric, pointed: Signal<number | null>) {
  const { source, nLayers, nHeads, profile, selection, chosen, figures, scaleAt } = model;
  const { key, name } = metric;
  const { tokens, keys } = source.meta;
  const masked = source.arrays.has("possible");
  const interval = intervalOf(source, key);
  const values = computed(() => Array.from(model.valuesOf(key)));
  const layers = computed(() => layerSummaries({ values: values.value, nLayers, nHeads }));
  const order = computed(() => ascending(values.value));
  const domain = computed(() => {
    const uniform = Array.from({ length: nLayers }, (_, layer) => scaleAt(key, layer)[2]);
    const { min, max } = summarize([...values.value, ...uniform]);
    return [min, max] as const;
  });
  const groups = computed(() => dotsOf(values.value, domain.value, nHeads));
  const current = computed(
    () => values.value[chosen.value] ?? itemAt(layers.value, selection.value.layer).mean,
  );

  /** Line below the figure: of a profile its interval; of the entropy, which grows with n, its share of the maximum. */
  function detail(value: number): string {
    const { layer } = selection.value;
    if (profile !== null && chosen.value >= 0) return spread(chosen.value);
    if (profile !== null || key !== "focus_entropy") return metric.summary;
    const all = [...(figures.value.arrays.get("metric:effective_keys")?.data ?? [])];
    const heads = all.slice(layer * nHeads, (layer + 1) * nHeads);
    const spreads = chosen.value < 0 ? summarize(heads).mean : (all[chosen.value] ?? Number.NaN);
    const largest = scaleAt(key, layer)[1];
    const normalized = largest > 0 ? formatPercent(value / largest) : formatNumber(Number.NaN);
    return `${normalized} of max, ${formatNumber(spreads)} keys a query`;
  }
  /** `95%: 0.31 – 0.35, sd 0.08, 6 texts` of a profile's mean. */
  function spread(index: number): string {
    const of = (name: string): number | undefined =>
      source.arrays.get(`${name}:${key}`)?.data[index];
    const [ends, texts, chance] = [interval?.(index), of("count") ?? 0, profile?.by_chance?.[key]];
    const count = nLayers * nHeads;
    const best =
      chance === undefined ? "" : `, best of ${count} heads by chance ${formatNumber(chance)}`;
    const sd = formatNumber(of("sd") ?? Number.NaN);
    const range = ends
      ? `95%: ${formatNumber(ends[0])} – ${formatNumber(ends[1])}, sd ${sd}${best}`
      : "";
    if (texts === profile?.n_texts && range !== "") return range;
    return `${range} (${formatCount(texts)} text${texts === 1 ? "" : "s"})`.trim();
  }
  function explain(anchor: HTMLElement): void {
    const scale = profile === null ? scaleAt(key, selection.value.layer) : null;
    const { tau } = figures.value;
    const [queries, others] = [tokens.text.length, keys?.text.length ?? null];
    const about = { tau, scale, queries, keys: others, masked };
    model.explain(key, name, anchor, metricExplanation(metric, about));
  }
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
        {mark("uniform", scaleAt(key, layer)[2])}
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
    const described = `${name}: ${formatNumber(value)}. ${metric.warning ?? ""}`;
    return (
      <article class={cls("aw-card", { chosen: key === shade })} data-metric={key}>
        <Button
          class="aw-flat aw-card-title"
          {...{ "aria-haspopup": "dialog", "aria-expanded": "false" }}
          label={`${described} Explain and shade the heads by it`}
        >
          {name}
        </Button>
        <div class="aw-card-figure">
          <span
            class="aw-card-value"
            data-aw-value={digits}
            title={Number.isNaN(value) ? "Not defined for this head" : digits}
          >
            {formatNumber(value)}
          </span>
          <span class="aw-card-standing" title={title}>
            {standing}
          </span>
        </div>
        <div class="aw-card-sub">{detail(value)}</div>
        <Strip {...{ standing, rank }} />
        <Axis />
        <div class="aw-layers">
          <span class="aw-layer-end">L0</span>
          <Sparkline {...{ points: layers.value, domain: domain.value, index: layer, value }} />
          <span class="aw-layer-end">L{nLayers - 1}</span>
        </div>
        <div class="aw-card-foot">
          {metric.warning !== null && <span class="aw-card-warning">{metric.warning}</span>}
          {key === "sparsity" && profile === null && <Thresholds />}
        </div>
      </article>
    );
  });
  return { key, Card, explain };
}

/** The chosen head in both runs: radars one over the other, every figure and its change; and all heads by their change. */

import { signal } from "@preact/signals-core";
import { SPECIALIZATIONS } from "../../../figures/catalog/cards";
import { formatNumber } from "../../../figures/format";
import { askSpecialization, type Specialization } from "../../../figures/head-figures";
import { headName, metricName } from "../../../figures/names";
import { asking } from "../../../protocol/asking";
import { largestFirst } from "../../../protocol/ties";
import { Answered } from "../../../ui/answered";
import { Button, Select } from "../../../ui/controls";
import { mount, selectionOf, setTo, setter, widthOf } from "../../../ui/mount";
import { Num } from "../../../ui/number";
import { Radar } from "../../../views/heads/radar";
import { radarScale } from "../../../views/heads/radar-geometry";
import { metricChanges, partnerHead } from "../data";
import { Both, Table } from "../figures";
import { finite, Note, type Panel, type PanelContext } from "./contract";

/** Heads of the table until all are asked for. */
const LISTED = 12;
const OF_TWO_TEXTS =
  "Specialization is N/A: queries and keys of cross-attention are tokens of two texts.";
const COLUMNS = ["", "A", "B", "B − A"];
const ORDERS = [
  ["distance", "by distance"],
  ["change", "by change of the metric"],
] as const;

const gap = (a: number, b: number): number => Math.abs(b - a) || 0;

const at = (values: ArrayLike<number> | undefined, i: number): number => values?.[i] ?? Number.NaN;
const figure = (values: ArrayLike<number> | undefined, i: number) => finite(at(values, i));

/** The heads, their order, and how many are listed. */
function createModel({ compared, sources, states, signal: until }: PanelContext) {
  const { n_layers: layers, n_heads: count } = sources.a.meta.model;
  const changes = metricChanges(compared, sources);
  return {
    ...{ layers, count, changes },
    selection: selectionOf(states.a, ["layer", "head"], until),
    metric: signal(changes[0]?.key ?? ""),
    order: signal<(typeof ORDERS)[number][0]>("distance"),
    whole: signal(false),
  };
}
type Model = ReturnType<typeof createModel>;

/** Every head with its distance, and one metric in both runs; the largest first. */
function All({ context, model }: { readonly context: PanelContext; readonly model: Model }) {
  const { compared, sources, states } = context;
  const { count, layers, changes, selection, metric, order, whole } = model;
  const distances = compared.distances?.data;
  const partners = compared.arrays.get("partner")?.data;
  const { layer, head } = selection.value;
  const chosen = changes.find(({ key }) => key === metric.value);
  const change = (i: number): number => at(chosen?.b, i) - at(chosen?.a, i);
  const weight = (i: number): number => {
    const value = order.value === "distance" ? (distances?.[i] ?? 0) : Math.abs(change(i));
    return Number.isNaN(value) ? -1 : value;
  };
  const ranked = largestFirst(Array.from({ length: layers * count }, (_, i) => weight(i)));
  const top = Math.max(...ranked.map((i) => Math.abs(change(i)) || 0));
  const name = metricName(metric.value);
  const partnerOf = (i: number, l: number, k: number): string => {
    const [to = l, of = k] = [partners?.[2 * i], partners?.[2 * i + 1]];
    const same = to === l && of === k && sources.b.meta.model.n_heads === count;
    return to < 0 ? "no partner" : same ? "" : headName(to, of);
  };
  return (
    <section class="aw-scroll" aria-label="All heads">
      <div class="aw-panel-head">
        <h3 class="aw-title">All heads</h3>
        <Select
          label="Order"
          part="difference-order"
          options={ORDERS}
          value={order.value}
          choose={setter(order)}
        />
        <Select
          label="Metric"
          part="difference-metric"
          options={changes.map(({ key }) => [key, metricName(key)] as const)}
          value={metric.value}
          choose={setter(metric)}
        />
      </div>
      <Table
        label="All heads"
        columns={["head of A", "of B", "distance", `${name}, A`, "B", "B − A"]}
      >
        {ranked.slice(0, whole.value ? undefined : LISTED).map((i) => {
          const [l, k] = [Math.floor(i / count), i % count];
          return (
            <tr
              key={i}
              aria-current={(l === layer && k === head) || undefined}
              data-head={`${l}.${k}`}
            >
              <th scope="row">
                <Button class="aw-link" onClick={() => states.a.set({ layer: l, head: k })}>
                  {headName(l, k)}
                </Button>
              </th>
              <td>{partnerOf(i, l, k)}</td>
              <Num tag="td" value={at(distances, i)} />
              <Both a={at(chosen?.a, i)} b={at(chosen?.b, i)} top={top} />
            </tr>
          );
        })}
      </Table>
      {!whole.value && ranked.length > LISTED && (
        <Button class="aw-button-text" onClick={setTo(whole, true)}>
          Show all {ranked.length}
        </Button>
      )}
    </section>
  );
}

export const heads: Panel = (element, context) => {
  const { compared, sources, signal: until } = context;
  const model = createModel(context);
  const { layers, count, changes, selection } = model;
  const distances = compared.distances?.data;
  const asked = asking<readonly Specialization[]>(until);
  const ask = () =>
    asked.ask((signal) =>
      Promise.all([sources.a, sources.b].map((source) => askSpecialization(source, { signal }))),
    );

  context.give(() => ({
    columns: [
      "layer",
      "head",
      "distance",
      ...changes.flatMap(({ key }) => [`${key}_a`, `${key}_b`]),
    ],
    rows: Array.from({ length: layers * count }, (_, i) => [
      Math.floor(i / count),
      i % count,
      figure(distances, i),
      ...changes.flatMap(({ a, b }) => [figure(a, i), figure(b, i)]),
    ]),
  }));

  function Metrics() {
    const { layer, head } = selection.value;
    const i = layer * count + Number(head);
    return (
      <section class="aw-scroll" aria-label="Metrics of the chosen head">
        <h3 class="aw-title">Metrics of {headName(layer, head)}</h3>
        {head === "mean" ? (
          <p class="aw-hint">Choose a head to compare it.</p>
        ) : (
          <Table label="Metrics" columns={COLUMNS}>
            {changes.map(({ key, a, b }) => (
              <tr key={key} data-metric={key}>
                <th scope="row">{metricName(key)}</th>
                <Both
                  a={at(a, i)}
                  b={at(b, i)}
                  top={Math.max(...Array.from(a, (value, k) => gap(value, at(b, k))))}
                />
              </tr>
            ))}
          </Table>
        )}
      </section>
    );
  }

  function Looks({ a, b }: { readonly a: Specialization; readonly b: Specialization }) {
    const { layer, head } = selection.value;
    const partner = partnerHead(compared, layer, head, "b");
    const title = <h3 class="aw-title">Where {headName(layer, head)} looks</h3>;
    if (head === "mean" || partner === null || partner.head === "mean")
      return (
        <>
          {title}
          <div>Choose a head that has a partner to compare it.</div>
        </>
      );
    const inB = partner.layer * sources.b.meta.model.n_heads + partner.head;
    const metrics = SPECIALIZATIONS.filter(
      ({ key }) => a.keys.includes(key) && b.keys.includes(key),
    );
    const ofA = metrics.map(({ key }) => at(a.values("raw", key), layer * count + head));
    const ofB = metrics.map(({ key }) => at(b.values("raw", key), inB));
    const numbers = [...ofA, ...ofB].filter((value) => !Number.isNaN(value));
    const spoken = metrics.map(
      ({ name }, i) => `${name} ${formatNumber(at(ofA, i))}, ${formatNumber(at(ofB, i))}`,
    );
    return (
      <>
        {title}
        <div>
          <Radar
            metrics={metrics}
            scale={radarScale("raw", numbers)}
            heads={[ofA]}
            chosen={ofB}
            chosenHead={-1}
            chance={metrics.map(() => Number.NaN)}
            absent={metrics.map(({ key }, i) =>
              Number.isNaN(at(ofA, i)) && Number.isNaN(at(ofB, i))
                ? (a.reasons[key] ?? b.reasons[key] ?? "Not defined here.")
                : null,
            )}
            spoken={`Radar of ${headName(layer, head)} in both runs: ${spoken.join("; ")}`}
            width={width.value}
          />
        </div>
        <p class="aw-muted">
          <span class="aw-compare-line is-a" /> A, dashed <span class="aw-compare-line is-b" /> B,
          filled
        </p>
        <Table label="Specialization" columns={COLUMNS}>
          {metrics.map(({ key, name }, i) => (
            <tr key={key}>
              <th scope="row">{name}</th>
              <Both
                a={at(ofA, i)}
                b={at(ofB, i)}
                top={Math.max(...ofA.map((value, k) => gap(value, at(ofB, k))))}
              />
            </tr>
          ))}
        </Table>
      </>
    );
  }

  const looks = document.createElement("section");
  looks.className = "aw-compare-specializations";
  looks.setAttribute("aria-label", "Where they look");
  const width = widthOf(looks, 320, until);
  mount(
    looks,
    () => {
      const [a, b] = asked.answer.value ?? [];
      if (compared.keys) return <Note text={OF_TWO_TEXTS} />;
      return (
        <Answered asked={asked} class="" waiting="Tagging the words of both texts …" again={ask}>
          {a && b && Looks({ a, b })}
        </Answered>
      );
    },
    until,
  );
  mount(
    element,
    () => (
      <>
        <div
          class="aw-compare-columns"
          ref={(columns) => {
            if (columns !== null && looks.parentElement !== columns) columns.prepend(looks);
          }}
        >
          {Metrics()}
        </div>
        {All({ context, model })}
      </>
    ),
    until,
  );
  if (!compared.keys) void ask();
};

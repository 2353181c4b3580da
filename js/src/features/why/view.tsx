/** The view Why: a target, contributions to it by ten methods and any from elsewhere, and whether these beat random orders. */

import { computed, signal } from "@preact/signals-core";
import { render } from "preact";
import { onResize } from "../../draw/resize";
import { type Unit, unitOfToken } from "../../figures/derive/units";
import { placeName } from "../../figures/guess";
import { schemeOf, tokenName, unitLabel } from "../../figures/names";
import { type Sections, sectionAt } from "../../figures/sections";
import type { Table } from "../../figures/table";
import { nameOf } from "../../figures/targets";
import { onAbort } from "../../protocol/abort";
import { itemAt } from "../../protocol/required";
import { copyExactValues } from "../../ui/copy-exact";
import { modeSignal, mount, onChange, watch } from "../../ui/mount";
import type { DrawView, ViewContext, ViewHandle } from "../../views/contract";
import type { Explained } from "./both-texts";
import { Chooser } from "./chooser";
import type { Contributions } from "./data";
import { Refused, Strips, Verdict } from "./methods";
import { createWhyModel, type WhyModel } from "./model";
import { Panels } from "./panels";
import { Readout } from "./readout";
import { refusalOf, Title } from "./rows";
import { WhySentence } from "./sentence";
import { SumLine, sumOf } from "./sum";

/** The least width of a strip, px. */
const STRIP_MIN = 60;

/** Pointer and clicks on the strips; a token that is pointed at here is marked in the text, and the other way round. */
function createPointing(
  host: HTMLElement,
  { state, overlay, signal: until }: ViewContext,
  model: WhyModel,
) {
  const { units, current, explained } = model;
  /** The token in the readout and its method; the strip under the pointer. */
  const pointedAt = signal<{ readonly token: number; readonly method: string } | null>(null);
  let pointed: string | null = null;
  const pointedFound = computed(
    () => (pointedAt.value && model.found(pointedAt.value.method)) ?? current.value,
  );

  /** True where the matrix on screen leads from the text to its source. */
  const isAcross = (): boolean => {
    const matrix = model.matrix.peek();
    return matrix !== null && matrix.queries !== matrix.keys;
  };

  const events = {
    onClick,
    onPointerOver,
    onPointerLeave() {
      if (overlay) overlay.pointed.value = null;
    },
  };

  function onClick({ target }: MouseEvent): void {
    const method = (target as Element).closest<HTMLElement>(".aw-why-method");
    const cell = (target as Element).closest<SVGElement>("[data-token]");
    if (method !== null) state.set({ method: method.dataset.method ?? "decomposition" });
    else if (cell !== null) {
      const { token, ofSource } = explained.placeOf(Number(cell.dataset.token));
      const query = state.get().token;
      if (!ofSource) state.set({ token });
      else if (isAcross() && query !== null) state.set({ pair: [query, token] });
    }
  }

  function onPointerOver({ target }: PointerEvent): void {
    const cell = (target as Element).closest<SVGElement>("rect[data-token]");
    const token = cell === null ? null : Number(cell.dataset.token);
    pointed = (target as Element).closest<HTMLElement>(".aw-why-strip")?.dataset.method ?? null;
    const place = token === null ? null : explained.placeOf(token);
    if (overlay) overlay.pointed.value = place === null || place.ofSource ? null : place.token;
    point(token);
  }

  /**
   * Mark a token that is pointed at here or in the text, in all strips. Not by drawing: ten strips of hundreds of
   * cells would be compared at every move of the pointer.
   */
  function point(token: number | null): void {
    for (const old of host.querySelectorAll(".is-pointed")) old.classList.remove("is-pointed");
    const unit = units.value[unitOfToken(units.value, token)];
    const method = (pointed === null ? null : model.found(pointed)) ?? current.value;
    if (unit === undefined || method === null) return;
    for (const same of host.querySelectorAll(`.aw-why-strips rect[data-token="${unit.token}"]`))
      same.classList.add("is-pointed");
    pointedAt.value = { token: unit.token, method: method.method };
  }
  /** Follow the token that is pointed at in the text. */
  function follow(token: number | null): void {
    const here = host.querySelector(".aw-why-strips")?.matches(":hover") === true;
    if (!here) pointed = null;
    if (token !== null) point(explained.sources + token);
    else if (!here) point(null);
  }
  if (overlay !== undefined) onChange(overlay.pointed, follow, until);
  return { pointedAt, pointedFound, events };
}

export const why: DrawView<ViewContext> = (host, context) => {
  const { source, state, overlay, signal: until } = context;
  const { tokens } = source.meta;
  const scheme = schemeOf(tokens);
  const label = (token: number): string => tokenName(tokens, token, scheme);
  const nameUnit = (unit: Unit): string => unitLabel(unit, scheme);

  const next = source.meta.model.predicts === "next";
  const model = createWhyModel(context);
  const { units, current, shown, explained } = model;
  /** Units of the source, which stand before those of the text. */
  const sources = computed(
    () => units.value.filter(({ token }) => token < explained.sources).length,
  );
  const mode = modeSignal(host, until);
  const { pointedAt, pointedFound, events } = createPointing(host, context, model);
  /** Width of the strips, px: what names and dots leave. */
  const stripWidth = signal(0);
  /** Names of the methods that are N/A, by the reason. */
  const refused = computed((): ReadonlyMap<string, readonly string[]> => {
    const byReason = new Map<string, string[]>();
    model.methods.forEach(({ name }, i) => {
      const reason = refusalOf(model.stages.value[i]);
      if (reason !== null) byReason.set(reason, [...(byReason.get(reason) ?? []), name]);
    });
    return byReason;
  });

  /** The drawing of a part that a feature adds. */
  let drawing: Pick<ViewHandle, "svg" | "part"> = {};
  const drawn = (below: typeof drawing): void => {
    drawing = below;
  };

  function View() {
    const found = current.value;
    return (
      <div class="aw-why" dir="ltr" data-aw-part="why">
        <Title model={model} />
        <WhySentence
          titled={model.titled.value}
          found={found}
          {...{ tokens, explained, nameUnit, next }}
          asked={model.asked.value}
          label={(token) => (next ? placeName(tokens, token, label(token)) : label(token))}
          choose={(token) => state.set({ token })}
        />
        <Chooser model={model} meta={source.meta} label={label} />
        <div>
          {found !== null && (
            <SumLine found={found} units={units.value} label={nameUnit} explained={explained} />
          )}
        </div>
        <Strips
          {...{ model, found, sources: sources.value, nameUnit }}
          width={stripWidth.value}
          mode={mode.value}
          events={events}
        />
        {refused.value.size > 0 && <Refused byReason={refused.value} />}
        <Readout
          context={context}
          token={found && (pointedAt.value?.token ?? null)}
          found={pointedFound.value}
          units={units.value}
          matrix={model.matrix.value}
          explained={explained}
          target={shown.value?.target ?? null}
          label={nameUnit}
        />
        <p class="aw-why-said" role="status" data-aw-part="why-said">
          <Verdict model={model} />
        </p>
        <Panels {...{ context, model, drawn }} mode={mode.value} />
      </div>
    );
  }

  // -- effects of a change ---------------------------------------------------------------

  watch(() => {
    const found = current.value;
    const cut = found !== null && found.values.length > tokens.text.length ? explained.sources : 0;
    const painted = found && {
      values: found.values.subarray(cut),
      source: cut > 0 ? found.values.subarray(0, cut) : null,
      verb: "contributes",
    };
    if (overlay) overlay.painted.value = painted;
    if (found === null) return;
    const plain = units.value.filter(({ special }) => !special);
    const strongest = sumOf(found.values, plain).terms[0];
    if (strongest !== undefined) {
      pointedAt.value = { token: strongest.unit.token, method: found.method };
    }
  }, until);
  mount(host, View, until);
  // Its own size, not the view's: where the test waits for a click, its column gives its width to the strips.
  const fit = (width: number): void => {
    stripWidth.value = Math.max(STRIP_MIN, width);
  };
  const top = host.querySelector(".aw-why-top");
  if (top !== null) onResize(top, fit, until);
  copyExactValues(host, until);
  void model.open();
  /** A table that is asked for at once waits for the first answer, or for why there is none. */
  const answered = new Promise<void>((resolve) => {
    onAbort(until, resolve);
    watch(() => {
      if (current.value !== null || model.absent.value !== null) resolve();
    }, until);
  });

  return {
    dispose() {
      if (overlay) overlay.painted.value = null;
      render(null, host);
    },
    async table() {
      await answered;
      return current.value && tableOf(current.value, explained, context.sections ?? null);
    },
    svg: () => drawing.svg?.() ?? null,
    part: (of) => drawing.part?.(of) ?? null,
    options(): Readonly<Record<string, string>> {
      if (shown.value === null) return {};
      const { position, masked } = shown.value.target;
      const place =
        position === undefined
          ? ""
          : ` at ${label(position)} ${position}${masked ? ", masked" : ""}`;
      return { explained: `${nameOf(shown.value)}${place}` };
    },
  };
};

/** One row a token. */
function tableOf(found: Contributions, explained: Explained, sections: Sections | null): Table {
  const both = explained.sources > 0;
  const cells = Array.from(found.values, (number, i) => {
    const { token, ofSource } = explained.placeOf(i);
    return [
      ...(both ? [ofSource ? "source" : "target"] : []),
      ...[token, itemAt(explained.tokens.text, i), Number.isNaN(number) ? null : number],
      ...(sections === null ? [] : [sections.names[sectionAt(sections, token)] ?? null]),
    ];
  });
  return {
    columns: [
      ...(both ? ["text"] : []),
      ...["position", "token", "contribution"],
      ...(sections === null ? [] : ["section"]),
    ],
    rows: cells,
  };
}

declare module "../../views/contract" {
  interface LazyCode {
    readonly why: typeof why;
  }
}

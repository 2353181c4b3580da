/** The view Why: a target, contributions to it by ten methods, and whether these beat random orders. */

import { computed, signal } from "@preact/signals-core";
import { render } from "preact";
import { rampImage } from "../../draw/color/ramp";
import { modeOf, onTheme } from "../../draw/color/theme";
import { type Unit, unitOfToken } from "../../figures/derive/units";
import { copyExactValues, tokenLabel } from "../../figures/format";
import { schemeOf, unitLabel } from "../../figures/names";
import { itemAt } from "../../protocol/required";
import { mount, signalOf, watch, widthOf } from "../../ui/mount";
import type { DrawView, ViewContext } from "../contract";
import { Chooser } from "./chooser";
import { METHODS } from "./data";
import { createWhyModel } from "./model";
import { createPanels } from "./panels";
import { Readout } from "./readout";
import { Link, MethodRow, Title } from "./rows";
import { Header } from "./strips";
import { SumLine, sumOf } from "./sum";

const FALL_TITLE =
  "Mean fall of the target's probability as words are masked in the method's order. Gray: 95% of random orders, with their mean. Filled: better than random after correction for the number of methods";
/** Width of the scale's ramp, and the least of a strip, px. */
const RAMP = 18;
const STRIP_MIN = 60;

export const why: DrawView<ViewContext> = (host, context) => {
  const { source, state, paint, signal: until } = context;
  const { tokens } = source.meta;
  const scheme = schemeOf(tokens);
  const label = (token: number): string => tokenLabel(itemAt(tokens.text, token), scheme).text;
  const nameUnit = (unit: Unit): string => unitLabel(unit, scheme);

  const panels = createPanels(context, () => modeOf(host));
  const model = createWhyModel(context, panels);
  const { units, stages, trust, test, untested, current, shown } = model;
  const mode = signalOf(
    () => modeOf(host),
    (changed) => onTheme(host, changed, until),
  );
  const width = widthOf(host, 0, until);
  /** Width of the strips, px: what names and dots leave. */
  const stripWidth = signal(0);
  /** The token whose number is said below the strips, and the strip that is pointed at. */
  const told = signal<{ readonly token: number; readonly method: string } | null>(null);
  let pointed: string | null = null;
  const toldBy = computed(() => (told.value && model.found(told.value.method)) ?? current.value);

  const holdPanels = (place: Element | null): void => place?.append(panels.element);

  function View() {
    const found = current.value;
    const strips = { units: units.value, width: stripWidth.value, mode: mode.value };
    return (
      <div class="aw-why" dir="ltr" data-aw-part="why">
        <Title titled={model.titled.value} label={label} />
        <Chooser model={model} meta={source.meta} label={label} />
        <div>
          {found !== null && <SumLine found={found} units={units.value} label={nameUnit} />}
        </div>
        <div
          class={untested.value ? "aw-why-strips is-untested" : "aw-why-strips"}
          role="group"
          aria-label="Contributions by method"
          hidden={model.absent.value}
          onClick={onClick}
          onPointerOver={onPointerOver}
          onPointerLeave={() => paint?.point(null)}
        >
          <span class="aw-muted aw-why-scale">
            against
            <i
              aria-hidden="true"
              style={{ background: strips.width > 0 ? rampImage("signed", mode.value, RAMP) : "" }}
            />
            for
          </span>
          <div class="aw-why-top">
            {strips.width > 0 && <Header labels={units.value.map(nameUnit)} width={strips.width} />}
          </div>
          <span class="aw-muted aw-why-fall" title={FALL_TITLE}>
            masking test
          </span>
          {METHODS.map((method, i) => (
            <MethodRow
              key={method.key}
              method={method}
              stage={itemAt(stages.value, i)}
              pressed={method.key === found?.method}
              trust={trust.value}
              start={() => void model.compute(i)}
              {...strips}
            />
          ))}
        </div>
        <Readout
          context={context}
          token={found && (told.value?.token ?? null)}
          found={toldBy.value}
          units={units.value}
          matrix={model.matrix.value}
          target={shown.value?.target ?? null}
          label={nameUnit}
        />
        <p class="aw-why-said" role="status" data-aw-part="why-said">
          <TestSaid />
        </p>
        <div ref={holdPanels} />
      </div>
    );
  }

  /** The verdict of the masking test, or its progress. */
  function TestSaid() {
    const now = test.value;
    if (now.of === "said") return now.text;
    if (now.of === "offered")
      return (
        <>
          <Link words="Test the methods by masking words" act={() => void model.runTest()} />
          {" (takes seconds to minutes for a text of this length)"}
        </>
      );
    if (now.of !== "running") return null;
    if (now.share === null) return "Masking words in each method's order …";
    return (
      <>
        {`Masking words in each method's order: ${Math.round(100 * now.share)}% `}
        <Link words="cancel" act={now.cancel} />
      </>
    );
  }

  // -- what the reader does ---------------------------------------------------------------------

  function onClick({ target }: MouseEvent): void {
    const method = (target as Element).closest<HTMLElement>(".aw-why-method");
    const cell = (target as Element).closest<SVGElement>("[data-token]");
    if (method !== null) state.set({ method: method.dataset.method ?? "decomposition" });
    else if (cell !== null) state.set({ token: Number(cell.dataset.token) });
  }

  function onPointerOver({ target }: PointerEvent): void {
    const cell = (target as Element).closest<SVGElement>("rect[data-token]");
    const token = cell === null ? null : Number(cell.dataset.token);
    pointed = (target as Element).closest<HTMLElement>(".aw-why-strip")?.dataset.method ?? null;
    paint?.point(token);
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
    told.value = { token: unit.token, method: method.method };
  }
  paint?.onPoint((token) => {
    if (!host.querySelector(".aw-why-strips")?.matches(":hover")) pointed = null;
    point(token);
  }, until);

  // -- what follows from a change ---------------------------------------------------------------

  watch(() => {
    const found = current.value;
    paint?.set(found === null ? null : { values: found.values, verb: "contributes" });
    if (found === null) return;
    const plain = units.value.filter(({ special }) => !special);
    const strongest = sumOf(found.values, plain).terms[0];
    if (strongest !== undefined) {
      told.value = { token: strongest.unit.token, method: found.method };
    }
  }, until);
  watch(() => {
    void mode.value;
    if (trust.value !== null && current.value !== null) {
      panels.tests(trust.value, current.value.method);
    }
  }, until);
  mount(host, View, until);
  // After the drawing: where the test waits for a click, its column gives its width to the strips.
  watch(() => {
    void untested.value;
    const top = host.querySelector(".aw-why-top");
    if (width.value > 0 && top !== null) stripWidth.value = Math.max(STRIP_MIN, top.clientWidth);
  }, until);
  copyExactValues(host, until);
  void model.open();

  return {
    dispose() {
      model.stop();
      paint?.set(null);
      render(null, host);
    },
    table() {
      const found = current.value;
      if (found === null) return null;
      const cells = Array.from(found.values, (number, i) => [
        i,
        itemAt(tokens.text, i),
        Number.isNaN(number) ? null : number,
      ]);
      return { columns: ["position", "token", "contribution"], rows: cells };
    },
  };
};

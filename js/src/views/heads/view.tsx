/** All heads: metrics as cards, specializations as a radar, roles as a map, everything as a table. */

import { render } from "preact";
import { h } from "../../draw/dom";
import { createPopover } from "../../draw/popover";
import { copyExactValues, formatCount } from "../../figures/format";
import { keysOf } from "../../protocol/meta";
import type { HeadIndex } from "../../protocol/types";
import { Mark } from "../../ui/legend";
import { memo } from "../../ui/memo";
import { mount } from "../../ui/mount";
import { type DrawView, lazyCode, type RunContext } from "../contract";
import { createAlignment } from "./alignment";
import { createCards } from "./cards";
import { headsTable } from "./figures";
import { createHeadsModel } from "./model";
import { createRoles } from "./roles";
import { HeadSentence } from "./sentence";
import { createLooks, radarFile } from "./specialization";
import { createHeadsTable, createLayersTable } from "./table";

export const heads: DrawView<RunContext> = (host, context) => {
  const { source, layerProgress, signal: until } = context;
  // The words are English and the axes run to the right, whatever the page around; tokens are isolated.
  const root = h("div", { class: "aw-heads-view", dir: "ltr" });
  host.append(root);
  const popover = createPopover(root);
  const model = createHeadsModel(root, context, (anchor, label, content) => {
    const body = h("div", { class: "aw-explanation" });
    render(content, body);
    popover.toggle(anchor, label, body);
  });
  const { selection, figures, nLayers, nHeads, profile } = model;
  const Cards = createCards(model);
  const Alignment = createAlignment(context, model);
  const Looks = createLooks(root, model);
  const Roles = createRoles(model);
  const HeadsTable = createHeadsTable(root, model);
  const LayersTable = createLayersTable(model);

  function described(head: HeadIndex): string {
    if (head === "mean") {
      return (
        `Each figure is the mean of the figures of the layer’s ${nHeads} heads, with the smallest and ` +
        "the largest; it is not the figure of the averaged matrix."
      );
    }
    const all =
      !layerProgress || layerProgress.state.peek().status === "done"
        ? `all ${nLayers * nHeads} heads`
        : `the heads of the ${layerProgress.state.peek().done} of ${nLayers} layers that are computed`;
    const [n, m] = [source.meta.tokens, keysOf(source.meta)].map(({ text }) => text.length);
    const those =
      profile === null
        ? `Figures of its ${n} × ${m} weights`
        : `Means over ${formatCount(profile.n_texts)} texts`;
    return `${those}, among ${all} (1st is the largest).`;
  }

  const Header = memo(function Header() {
    const { layer, head } = selection.value;
    void figures.value; // layers that come
    return (
      <header class="aw-heads-head">
        <h3 class="aw-view-title">
          {head === "mean" ? `Layer ${layer}, mean of its heads` : `Layer ${layer}, head ${head}`}
        </h3>
        <HeadSentence
          {...{ source, layer, head }}
          found={model.looks.answer.value}
          waits={
            !model.aligned &&
            model.looks.answer.value === null &&
            model.looks.failure.value === null
          }
          spread={figures.value.arrays.get("metric:effective_keys")?.data ?? []}
        />
        <p class="aw-view-note">{described(head)}</p>
        <p class="aw-marks">
          <Mark kind="this" text="this head" />
          <Mark kind="layer" text="its layer" />
          <Mark kind="other" text="other heads" />
          {profile === null ? (
            <Mark kind="uniform" text="uniform attention" />
          ) : (
            <Mark kind="interval" text="95% interval of the mean" />
          )}
          <Mark kind="band" text="per layer: mean, smallest to largest head" />
        </p>
      </header>
    );
  });

  const addExamples = (section: HTMLElement | null): void => {
    if (section !== null && profile?.examples) lazyCode.peek()?.addToHeads?.(section, context);
  };
  const View = () => (
    <>
      <Header />
      <section aria-label="Examples of the head" ref={addExamples} />
      <Cards />
      <Alignment />
      {!model.aligned && <Looks />}
      {!model.aligned && <Roles />}
      <HeadsTable />
      <LayersTable />
    </>
  );
  mount(root, View, until);
  copyExactValues(root, until);

  return {
    dispose() {
      popover.dispose();
      render(null, root);
      root.remove();
    },
    table: () => headsTable(source, figures.value.arrays),
    svg: () => radarFile(root),
    part: (of) =>
      of === "svg" ? "A part of the view: the radar. The PNG has the whole view." : null,
    options: () => ({ tau: figures.value.tau }),
  };
};

/** A head among all: where it stands out and a radar of where it looks; folded, all its figures, the map of roles, and tables. */

import { render } from "preact";
import { h } from "../../draw/dom";
import { createPopover } from "../../draw/popover";
import { formatCount } from "../../figures/format";
import { keysOf } from "../../protocol/meta";
import type { HeadIndex } from "../../protocol/types";
import { copyExactValues } from "../../ui/copy-exact";
import { Mark } from "../../ui/legend";
import { memo } from "../../ui/memo";
import { mount } from "../../ui/mount";
import { type DrawView, lazyCode } from "../contract";
import { createAlignment } from "./alignment";
import { createCards, createFirstCards } from "./cards";
import { headsTable } from "./figures";
import { createFold } from "./fold";
import { createHeadsModel } from "./model";
import { createRoles } from "./roles";
import { HeadSentence } from "./sentence";
import { createLooks, radarFile } from "./specialization";
import { createHeadsTable, createLayersTable } from "./table";

export const heads: DrawView = (host, context) => {
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
  const FirstCards = createFirstCards(model);
  const Cards = createCards(model);
  const Alignment = createAlignment(context, model);
  const Looks = createLooks(model);
  const Roles = createRoles(model);
  const HeadsTable = createHeadsTable(root, model);
  const LayersTable = createLayersTable(model);
  const Fold = createFold(context.state);

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
    return (
      <header class="aw-heads-head">
        <h3 class="aw-view-title">
          {head === "mean" ? `Layer ${layer}, mean of its heads` : `Layer ${layer}, head ${head}`}
        </h3>
        <HeadSentence
          {...{ source, layer, head }}
          standings={model.standings.value}
          link={model.link.value}
          choose={(token) => context.state.set({ token })}
        />
      </header>
    );
  });
  const Marks = () => (
    <p class="aw-marks">
      <Mark kind="this" text="this head" />
      <Mark kind="layer" text="its layer" />
      <Mark kind="other" text="other heads" />
      {profile === null ? (
        <Mark kind="uniform" text="uniform attention" />
      ) : (
        <Mark kind="interval" text="95% interval of the mean" />
      )}
    </p>
  );
  const Matrix = memo(function Matrix() {
    void figures.value; // layers that come
    return (
      <>
        <p class="aw-view-note">{described(selection.value.head)}</p>
        <p class="aw-marks">
          <Mark kind="band" text="per layer: mean, smallest to largest head" />
        </p>
        <Cards />
      </>
    );
  });
  const addExamples = (section: HTMLElement | null): void => {
    if (section !== null && profile?.examples) lazyCode.peek()?.addToHeads?.(section, context);
  };
  const View = () => (
    <>
      <Header />
      <div class={model.aligned ? "" : "aw-heads-first"}>
        <section aria-label="Where the head stands out">
          <FirstCards />
          <Marks />
        </section>
        {!model.aligned && <Looks.Section />}
      </div>
      <section aria-label="Examples of the head" ref={addExamples} />
      <Alignment />
      <Fold name="matrix" summary="Figures of its matrix" of={Matrix} />
      {Looks.numbers.value && (
        <Fold name="numbers" summary="Where it looks, in numbers" of={Looks.numbers.value} />
      )}
      {!model.aligned && <Fold name="roles" summary="Map of roles" of={Roles} />}
      <Fold name="heads" summary="Table of all heads" of={HeadsTable} />
      <Fold
        name="layers"
        summary="By layer: mean of its heads’ figures, smallest to largest"
        of={LayersTable}
      />
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

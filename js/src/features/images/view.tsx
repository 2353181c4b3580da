/**
 * The picture in every head: thumbnails of what is in focus, and where the selected head looks.
 *
 * `data-aw-part`: sentence, thumbs, thumb, patterns.
 */

import { render } from "preact";
import { h } from "../../draw/dom";
import { NoAnswer } from "../../ui/answered";
import { copyExactValues } from "../../ui/copy-exact";
import { memo } from "../../ui/memo";
import { mount, setter, widthOf } from "../../ui/mount";
import type { DrawView } from "../../views/contract";
import { drawAlone } from "./alone";
import { modelOf } from "./model";
import { createPatterns } from "./patterns";
import { PictureSentence } from "./sentence";
import { pictureTable } from "./table";
import { createThumbs } from "./thumbs";
import { subjectOf } from "./words";

export const images: DrawView = (host, context) => {
  const { signal: until } = context;
  const model = modelOf(context);
  const { patterns, rows, grid, nameOf, focus, source } = model;
  model.askForPatterns();
  const root = h("div", { class: "aw-images", dir: "ltr" });
  // Seen where the view stands alone: in a picture that is saved, and without the rest of the page.
  const alone = h("div", { class: "aw-images-alone" });
  host.append(alone, root);
  drawAlone(alone, model, context.state.get().chrome, until);
  const width = widthOf(root, 600, until);
  const { Thumbs, follow } = createThumbs(root, model, width, until);
  const Patterns = createPatterns(model);

  const Sentence = memo(function Sentence() {
    const found = patterns.answer.value;
    if (found === null) return null;
    const [first = 0] = model.special;
    return (
      <PictureSentence
        patterns={found}
        heads={source.meta.model.n_heads}
        subject={model.special.length > 0 ? nameOf(first) : "the mean of all patches"}
        pick={(layer, head) => model.pickHead([layer, head])}
        point={setter(model.divided)}
      />
    );
  });
  const Head = memo(function Head() {
    const mean = focus.value.tokens.length > 1;
    return (
      <header class="aw-images-head">
        <h3 class="aw-title">
          {mean ? "Mean of " : "What "}
          <bdi>{subjectOf(model)}</bdi>
          {mean ? " in every head" : " looks at, in every head"}
        </h3>
        <span class="aw-hint aw-tiny">each up to its own strongest patch</span>
      </header>
    );
  });
  const View = () => {
    const failure = rows.failure.value;
    return (
      <>
        <Sentence />
        <Head />
        {failure !== null && <NoAnswer failure={failure} again={() => undefined} />}
        <Thumbs />
        <Patterns />
      </>
    );
  };
  mount(root, View, until);
  copyExactValues(root, until);
  follow();

  return {
    dispose() {
      model.peeked.value = null;
      model.divided.value = null;
      render(null, root);
      host.replaceChildren();
    },
    table() {
      const found = rows.answer.peek();
      return (
        found && pictureTable(found, grid, nameOf, (value) => source.precision?.weight(value) ?? 0)
      );
    },
    options: () => (focus.peek().kind === "region" ? { of: `mean of ${subjectOf(model)}` } : {}),
  };
};

declare module "../../views/contract" {
  interface LazyCode {
    readonly images: typeof images;
  }
}

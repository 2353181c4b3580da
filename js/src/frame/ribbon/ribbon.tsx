/**
 * The text itself, word by word: real text, one button a unit, painted with the focus token's row. Of a long text a few
 * chunks are in the page at a time, below an overview of the whole.
 */

import { render } from "preact";
import { onTheme } from "../../draw/color/theme";
import { onResize } from "../../draw/resize";
import { directionOf, firstUnits } from "../../draw/text-line";
import { tapTwice } from "../../draw/touch";
import { type Hits, matrixRows, type RowStore } from "../../figures/row";
import { firstLargest } from "../../protocol/ties";
import { mount, onChange } from "../../ui/mount";
import { lazyCode, type ViewContext } from "../../views/contract";
import { Corner, createMasking, createTagging, newMemory, type RibbonMemory } from "./corner";
import { describe } from "./describe";
import { createInput } from "./input";
import { RibbonLine } from "./line";
import { createPainter } from "./painter";
import { createPlayer } from "./player";
import { createReach } from "./reach";

export function ribbon(
  host: HTMLElement,
  context: ViewContext,
  memory: RibbonMemory = newMemory(),
  rows: RowStore = matrixRows(context),
): () => void {
  const { source, state, signal: until, overlay } = context;
  const { meta } = source;
  const tagging = createTagging(context, memory, () => {
    line.build(line.units, true);
    paint();
  });
  const masks = createMasking(context, memory);
  const line = new RibbonLine(meta, state, tagging.inLine, context.sections);
  const { long } = line;
  const painter = createPainter(host, context, rows, line);
  const { above, rowHere } = painter;
  const reach = createReach(context, rows, line, painter);
  const { overview, paint, goTo } = reach;
  const input = createInput(context, line, masks, rowHere);
  const Player = createPlayer(input, until);
  const describeAt = ({ target }: Event): void =>
    describe(line.indexOf(target), rows, line, painter, tagging);

  const ofParts = above !== null || (meta.parts?.length ?? 0) > 1;
  const text = (
    <div
      class="aw-ribbon-line"
      data-aw-part={ofParts ? "tokens" : undefined}
      role="group"
      aria-label="Tokens: choose the focus token (query row)"
      dir={directionOf(meta.text)}
      ref={(element) => {
        if (element !== null) line.element = element;
      }}
      onClick={input.choose}
      onKeyDown={input.press}
      onFocusIn={describeAt}
      onPointerOver={(event) => {
        describeAt(event);
        const tagged = (event.target as Element).closest<HTMLElement>(".aw-word");
        const { awPos, awEntity } = tagged?.dataset ?? {};
        if (tagged) tagged.title = lazyCode.peek()?.tagText(awPos, awEntity) ?? "";
        // Marks a token that is pointed at in the view that paints the text.
        if (overlay?.painted.peek() != null)
          overlay.pointed.value = line.units[line.indexOf(event.target)]?.token ?? null;
      }}
      onPointerLeave={() => {
        if (overlay) overlay.pointed.value = null;
      }}
      onScroll={reach.scrolled}
    />
  );
  const body =
    overview === null ? (
      text
    ) : (
      <div class="aw-long-ribbon" ref={(box) => box?.prepend(overview.element)}>
        {text}
      </div>
    );
  function View() {
    host.classList.toggle("aw-masking", masks.maskable && masks.masking.value);
    return (
      <>
        {ofParts ? (
          <div class="aw-two-lines">
            {above && <span class="aw-line-name">source</span>}
            {above && <div ref={(box) => box?.replaceChildren(above.element)} />}
            <span class="aw-line-name">{above ? "target" : "source"}</span>
            {body}
          </div>
        ) : (
          body
        )}
        <div class="aw-ribbon-tools">
          {(meta.mask !== undefined || !rowHere) && <Player />}
          {Corner({ tagging, masks, memory })}
        </div>
      </>
    );
  }
  mount(host, View, until);

  /** Other numbers of a view: their largest among words is what the reader looks for. */
  function showStrongest(): void {
    paint();
    const signed = painter.overlaid();
    if (signed === null) {
      line.settle();
      return;
    }
    const isSpecial = (i: number): boolean => line.units[i]?.special === true;
    goTo(firstLargest(signed.values.map((x, i) => (isSpecial(i) ? -1 : Math.abs(x) || 0))));
  }

  if (long || (rows.get() === null && !state.get().words))
    line.build(firstUnits(meta, long || state.get().special));
  tapTwice(line.element, () => null, until);
  rows.on(paint);
  if (rows.hits !== null) {
    const show = ({ hits, at }: Hits): void => {
      if (hits[at] !== undefined) goTo(hits[at][0]);
      paint();
    };
    onChange(rows.hits, show, until);
  }
  if (overlay !== undefined) {
    const mark = (token: number | null): void => {
      line.element.querySelector(".aw-pointed")?.classList.remove("aw-pointed");
      line.buttonOf(line.unitAt(token))?.classList.add("aw-pointed");
    };
    onChange(overlay.painted, showStrongest, until);
    onChange(overlay.pointed, mark, until);
  }
  state.on(["pair", "group"], paint, until);
  above?.paint(rows.get(), null);
  const follow = ({ token }: { readonly token: number | null }): void => {
    // In a long text its row is still to come.
    if (long) paint();
    else line.settle();
    if (long && token !== null) goTo(token);
  };
  state.on(["token"], follow, until);
  // Asked for after the first picture.
  if (tagging.on.peek()) context.matrix.on(() => void setTimeout(tagging.ask), until);
  if (long && tagging.on.peek()) tagging.ask();
  const recolor = (): void => {
    overview?.recolor();
    paint();
  };
  onTheme(host, recolor, until);
  const resize = (width: number): void => {
    overview?.resize(width);
    line.settle();
    reach.showOverview();
  };
  onResize(overview?.element.parentElement ?? line.element, resize, until);
  return () => {
    reach.dispose();
    host.classList.remove("aw-masking");
    render(null, host);
  };
}

/**
 * The text itself, word by word: real text, one button a unit, painted with the focus token's row. Of a long text a few
 * chunks are in the page at a time, below an overview of the whole.
 */

import { signal } from "@preact/signals-core";
import { render } from "preact";
import { modeOf, onTheme } from "../../draw/color/theme";
import { consume, setAttributes, step } from "../../draw/dom";
import { onResize } from "../../draw/resize";
import {
  buildLine,
  directionOf,
  firstUnits,
  sameUnits,
  spokenUnit,
  type Tags,
} from "../../draw/text-line";
import { isSecondClick, tapTwice } from "../../draw/touch";
import { toggled } from "../../figures/derive/group";
import { type Unit, unitOfToken } from "../../figures/derive/units";
import { formatNumber, visible } from "../../figures/format";
import { chunkOf, chunksAround, shiftChunks, tokensOf } from "../../figures/long/chunks";
import { isLong } from "../../figures/long/levels";
import { type Hits, NO_HITS } from "../../figures/long/store";
import { schemeOf, unitLabel } from "../../figures/names";
import { matrixRows, type RowStore, type TokenRow } from "../../figures/row";
import { keysOf } from "../../protocol/meta";
import { itemAt } from "../../protocol/required";
import { firstLargest } from "../../protocol/ties";
import { Button } from "../../ui/controls";
import { mount, onChange } from "../../ui/mount";
import { lazyCode, type ViewContext } from "../../views/contract";
import { paintLine, rowPaint, signedOf, signedPaint } from "./paint";
import { createPlayer } from "./player";
import { createSourceLine } from "./source-line";
import { askForTags, blankTags } from "./tags";

/** Height of a line of the ribbon (px): the last one in sight is faded. */
const LINE = 28;
/** Texts up to this many tokens have their tags shown from the start. */
const TAGGED_TOKENS = 40;
/** Nearer to an end than this (px) the next chunk is put in. */
const NEAR = 60;

/** Choices of the reader that outlive a run. */
export interface RibbonMemory {
  /** The reader's choice to see tags; null until there is one. */
  tags: boolean | null;
  /** True if the last run had tags: their lines are kept free for the next ones. Null: not asked yet. */
  tagged: boolean | null;
  /** True if a click masks instead of choosing. */
  masking: boolean;
  /** Tokens to mask, as last chosen; null: as in the run that is shown. */
  masked: readonly number[] | null;
}

export const newMemory = (): RibbonMemory => ({
  tags: null,
  tagged: null,
  masking: false,
  masked: null,
});

export function ribbon(
  host: HTMLElement,
  context: ViewContext,
  memory: RibbonMemory = newMemory(),
  rows: RowStore = matrixRows(context),
): () => void {
  const { source, state, signal: until, act, overlay } = context;
  const { meta } = source;
  const { tokens } = meta;
  const scheme = schemeOf(tokens);
  const long = isLong(meta);
  const n = tokens.text.length;
  let line!: HTMLElement;
  let units: readonly Unit[] = [];
  /** The chunks of a long text that are in the page, its first unit there, and a button for each unit from there on. */
  let chunks = chunksAround(state.get().token ?? 0, n);
  let first = 0;
  let buttons: HTMLElement[] = [];
  /** Painted colors, so that only changes touch the page. */
  let colors: string[] = [];
  let marked: HTMLElement[] = [];
  /** Undefined until they were asked for, null when there are none. */
  const tags = signal<Tags | null | undefined>(undefined);
  const tagging = signal(memory.tags ?? n <= TAGGED_TOKENS);
  const noTags = signal("");
  const asking = signal(false);
  const masking = signal(memory.masking);
  const masked = meta.masked.map(({ token }) => token);
  // A decoder has no mask token.
  const maskable = act !== null && meta.model.predicts !== "next" && !meta.parts;
  const overview = long
    ? (lazyCode.peek()?.long.overview(meta, (token) => goTo(token), until) ?? null)
    : null;

  const above = createSourceLine(context, () => modeOf(host));
  /** True where the focus token's row is over this text. */
  const rowHere = keysOf(meta) === tokens;
  const buttonOf = (index: number): HTMLElement | undefined => buttons[index - first];
  const indexOf = (target: EventTarget | null): number => {
    const button = (target as Element | null)?.closest<HTMLElement>(".aw-ribbon-token");
    const at = button == null ? -1 : buttons.indexOf(button);
    return at < 0 ? -1 : first + at;
  };
  const unitAt = (token: number | null): number =>
    token !== null && units[token]?.token === token ? token : unitOfToken(units, token);
  const overlaid = () => {
    const shown = overlay?.painted.peek() ?? null;
    return shown && signedOf(shown, units, above?.unitsOf(rows.get()) ?? [], modeOf(host));
  };

  // -- what stands in the line ------------------------------------------------------------------

  function build(next: readonly Unit[], anyway = false, around = chunks): void {
    const moved = around[0] !== chunks[0] || around[1] !== chunks[1];
    const same = !anyway && !moved && buttons.length > 0 && sameUnits(units, next);
    units = next;
    if (same) return;
    // The line of a long text that is read stays where it is.
    const anchor = long && buttons.length > 0 ? firstInSight() : null;
    const top = anchor === null ? 0 : (buttonOf(anchor)?.getBoundingClientRect().top ?? 0);
    chunks = around;
    const [from, to] = long
      ? [tokensOf(chunks[0], n)[0], tokensOf(chunks[1] - 1, n)[1]]
      : [0, units.length];
    const focused = indexOf(line.ownerDocument.activeElement);
    colors = [];
    marked = [];
    const shown = tagging.peek() ? (tags.peek() === undefined ? blanks() : tags.peek()) : null;
    const built = buildLine(units.slice(from, to), meta, shown ?? null);
    first = from;
    buttons = built.buttons;
    line.replaceChildren(...built.nodes);
    line.classList.toggle("aw-tagged", shown != null);
    const { written } = meta;
    if (written !== undefined) buttonOf(unitAt(written))?.classList.add("aw-written");
    const now = anchor === null ? undefined : buttonOf(anchor);
    if (now !== undefined) line.scrollTop += now.getBoundingClientRect().top - top;
    if (focused >= 0) buttonOf(focused)?.focus({ preventScroll: true });
    requestAnimationFrame(settle);
  }
  /** Invisible tags in the place of those on their way; null where none are expected. */
  const blanks = (): Tags | null => (memory.tagged === false ? null : blankTags(tokens));
  const rebuild = (): void => {
    build(units, true);
    paint();
  };

  function paint(): void {
    const shown = rows.get();
    if (shown !== null) {
      if (colors.length === 0) requestAnimationFrame(settle);
      build(shown.queries);
      paintColors(shown);
    }
    above?.paint(shown, overlaid());
    mark();
    showOverview();
  }

  function paintColors(shown: TokenRow): void {
    const signed = overlaid();
    const focused = rowHere && shown.query >= 0 && shown.query === shown.queryOf(state.get().token);
    const painted = signed
      ? signedPaint(signed, signed)
      : rowPaint(shown, focused, state.get().scale, modeOf(host));
    paintLine(buttons, first, colors, painted);
  }

  /** Focus token, pinned key, gathered tokens, places that were found, and where Tab enters. */
  function mark(): void {
    const { token, pair, group } = state.get();
    for (const button of marked) {
      setAttributes(button, {
        "aria-pressed": "false",
        "data-aw-pair": null,
        "data-aw-gathered": null,
        "data-aw-hit": null,
        tabindex: -1,
      });
    }
    marked = [];
    const set = (index: number, attributes: Parameters<typeof setAttributes>[1]): void => {
      const button = buttonOf(index);
      if (button === undefined) return;
      marked.push(button);
      setAttributes(button, attributes);
    };
    const focus = unitAt(token);
    set(focus, { "aria-pressed": "true" });
    if (rowHere && pair !== null) set(unitAt(pair[1]), { "data-aw-pair": true });
    if (rowHere) for (const each of group) set(unitAt(each), { "data-aw-gathered": true });
    const { hits, at } = rows.hits?.peek() ?? NO_HITS;
    hits.forEach(([from, to], i) => {
      for (let hit = Math.max(from, first); hit < Math.min(to, first + buttons.length); hit++)
        set(hit, { "data-aw-hit": i === at ? "here" : "" });
    });
    const entry = buttonOf(focus) === undefined ? (long ? firstInSight() : 0) : focus;
    set(entry, { tabindex: 0 });
  }

  // -- what is in sight -------------------------------------------------------------------------

  /** The first unit whose line is in sight. */
  function firstInSight(): number {
    const top = line.getBoundingClientRect().top;
    let [low, high] = [0, buttons.length - 1];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (itemAt(buttons, middle).getBoundingClientRect().bottom <= top + 2) low = middle + 1;
      else high = middle;
    }
    return first + Math.max(low, 0);
  }

  function inSight(): readonly [number, number] {
    const from = firstInSight();
    const bottom = line.getBoundingClientRect().bottom - LINE / 2;
    let to = from + 1;
    while ((buttonOf(to)?.getBoundingClientRect().top ?? Infinity) <= bottom) to++;
    return [from, to];
  }

  /** Scroll the ribbon, and never the page, to a token. */
  function reveal(button: HTMLElement): void {
    const [box, frame] = [button.getBoundingClientRect(), line.getBoundingClientRect()];
    const [above, below] = [box.top - frame.top, box.bottom - frame.bottom + LINE];
    if (above >= 0 && below <= 0) return;
    line.scrollTop += long ? above - frame.height / 2 : above < 0 ? above : below;
  }

  function goTo(index: number): void {
    const at = Math.max(0, Math.min(units.length - 1, index));
    if (long) build(units, false, chunksAround(at, n));
    const button = buttonOf(at);
    if (button !== undefined) reveal(button);
    if (colors.length === 0) paint();
    else showOverview();
  }

  /** After layout: whether there is more text below, and the focus token in sight. */
  function settle(): void {
    if (!long) line.classList.toggle("aw-long", line.scrollHeight > line.clientHeight + 4);
    const focus = buttonOf(unitAt(state.get().token));
    if (focus !== undefined) reveal(focus);
  }

  let frame = 0;
  function showOverview(): void {
    if (overview === null) return;
    cancelAnimationFrame(frame);
    frame = requestAnimationFrame(() => {
      const { hits } = rows.hits?.peek() ?? NO_HITS;
      overview.show(rows.get(), hits, state.get().token ?? -1, inSight());
    });
  }

  let scrolling = 0;
  /** Puts in the next chunk before the reader comes to the end of what is there. */
  function scrolled(): void {
    line.classList.toggle("aw-above", line.scrollTop > 4);
    if (!long) return;
    cancelAnimationFrame(scrolling);
    scrolling = requestAnimationFrame(() => {
      const below = line.scrollHeight - line.scrollTop - line.clientHeight;
      const by = line.scrollTop < NEAR ? -1 : below < NEAR ? 1 : null;
      const next = by === null ? chunks : shiftChunks(chunks, by, n);
      if (next === chunks) return showOverview();
      build(units, false, next);
      paint();
    });
  }

  /** Other numbers of a view: their largest among words is what the reader looks for. */
  function showStrongest(): void {
    paint();
    const signed = overlaid();
    if (signed === null) {
      settle();
      return;
    }
    const sizes = signed.values.map((value, i) => (units[i]?.special ? -1 : Math.abs(value) || 0));
    goTo(firstLargest(sizes));
  }

  // -- what the reader does ---------------------------------------------------------------------

  const isGathered = ({ token, end }: Unit): boolean =>
    state.get().group.some((each) => each >= token && each < end);

  function addToSum(unit: Unit): void {
    const next = toggled(state.get().group, unit);
    state.set({ group: next });
    context.announce(`${next.length} ${next.length === 1 ? "token" : "tokens"} gathered.`);
  }

  function setMasked(next: readonly number[]): void {
    memory.masked = next;
    act?.({ kind: "mask", tokens: next }).catch((error: unknown) => {
      memory.masked = null;
      context.report(error);
    });
  }

  /** Mask a unit, or show it again if one of its tokens is masked. */
  function mask(unit: Unit): void {
    if (!maskable) return;
    const now = memory.masked ?? masked;
    const next = toggled(now, unit);
    const on = next.length > now.length;
    if (on && unit.special) {
      context.announce("Special tokens are not masked.");
      return;
    }
    setMasked(next);
    const name = unitLabel(unit, scheme);
    context.announce(`${name} ${on ? "masked" : "as in the text"}, running.`);
  }

  /** Accessible names and titles are written on focus or hover: writing hundreds at every head change is slow. */
  function describe({ target }: Event): void {
    const index = indexOf(target);
    const unit = units[index];
    const button = buttonOf(index);
    const shown = rows.get();
    if (unit === undefined || button === undefined || shown === null) return;
    const name = spokenUnit(unit, meta, visible(unit.text));
    const signed = overlaid();
    const row = shown.query < 0 || !rowHere ? null : shown;
    const value = (signed ?? row)?.values[index] ?? null;
    const number =
      value === null ? null : formatNumber({ value, error: signed ? 0 : shown.error(value) });
    const verb = signed?.verb ?? "weight";
    const word = tags.peek()?.wordOf(unit.token) ?? null;
    const tag = word === null ? null : tags.peek()?.of(word);
    const tagged = [tag?.pos, tag?.entity].filter(Boolean).join(", ");
    const gives = signed ? `${verb} ${number}` : `receives ${number} of the focus token`;
    const parts = [
      name,
      number === null ? "" : `${verb} ${number}`,
      index === unitAt(state.get().token) ? "focus" : "",
      writtenFrom(unit),
      isGathered(unit) ? "gathered" : "",
      tagged,
    ];
    const lines = [
      `${name}   position ${unit.token}, id ${tokens.id[unit.token]}`,
      writing(unit),
      writtenFrom(unit),
      tagged,
      number === null ? "" : gives,
    ];
    setAttributes(button, {
      "aria-label": parts.filter(Boolean).join(", "),
      title: lines.filter(Boolean).join("\n"),
    });
  }

  const writtenFrom = (unit: Unit): string =>
    unit.token === meta.written ? "from here on the model wrote" : "";

  /** A row of a text that is written reads one token and writes the next. */
  function writing({ token, end }: Unit): string {
    if (meta.part !== "decoder" && meta.part !== "cross") return "";
    const next = tokens.text[end] ?? meta.next_token;
    return `reads ${visible(itemAt(tokens.text, token))}${next == null ? "" : `, writes ${visible(next)}`}`;
  }

  /** The unit that a key leads to, null for a key that moves nothing. */
  function target(key: string, index: number): number | null {
    // In a text from right to left, left is onwards.
    const turned = { ArrowLeft: "ArrowRight", ArrowRight: "ArrowLeft" }[key];
    const next = step(line.dir === "rtl" && turned ? turned : key, index, units.length);
    if (next !== null || !long || !key.startsWith("Page")) return next;
    const chunk = chunkOf(index) + (key === "PageUp" ? -1 : 1);
    return Math.max(0, Math.min(n - 1, tokensOf(chunk, n)[0]));
  }

  function press(event: KeyboardEvent): void {
    const index = indexOf(event.target);
    const unit = units[index];
    if (unit === undefined || event.altKey) return;
    const control = event.ctrlKey || event.metaKey;
    if ((event.key === "Enter" && control) || (event.key === " " && event.shiftKey)) {
      if (!rowHere) return;
      addToSum(unit);
    } else if (control || event.shiftKey) return;
    else {
      const next = target(event.key, index);
      if (next !== null) {
        state.set({ token: itemAt(units, next).token });
        buttonOf(next)?.focus({ preventScroll: true });
      } else if (event.key === "Enter" || event.key === " ") buttonOf(index)?.click();
      else if (event.key === "Escape") state.set({ token: null });
      else if (event.key === "x" && maskable) mask(unit);
      else return;
    }
    consume(event);
  }

  function choose(event: MouseEvent): void {
    const index = indexOf(event.target);
    const unit = units[index];
    if (unit === undefined || isSecondClick(event)) return;
    if (rowHere && (event.ctrlKey || event.metaKey)) addToSum(unit);
    else if (masking.peek() && maskable) mask(unit);
    else state.set({ token: state.get().token === unit.token ? null : unit.token });
    buttonOf(index)?.focus({ preventScroll: true });
  }

  /** Move the focus token by a unit; false at the end of the text. */
  function stepOn(by: number): boolean {
    const { token } = state.get();
    const next = units[token === null ? 0 : unitAt(token) + by];
    if (next === undefined) return false;
    state.set({ token: next.token });
    return true;
  }

  /** From the end of the text back to the token that the first written one follows. */
  function begin(): void {
    const { token } = state.get();
    if (token === null || unitAt(token) < units.length - 1) return;
    const start = units[unitAt(Math.max((meta.written ?? 0) - 1, 0))] ?? units[0];
    if (start !== undefined) state.set({ token: start.token });
  }
  const Player = createPlayer({ step: stepOn, begin }, until);

  /** Mark a token that is pointed at in the view that paints the text. */
  function point(event: Event): void {
    describe(event);
    const tagged = (event.target as Element).closest<HTMLElement>(".aw-word");
    const { awPos, awEntity } = tagged?.dataset ?? {};
    if (tagged) tagged.title = lazyCode.peek()?.tagText(awPos, awEntity) ?? "";
    if (overlay?.painted.peek() != null)
      overlay.pointed.value = units[indexOf(event.target)]?.token ?? null;
  }

  // -- the corner -------------------------------------------------------------------------------

  function askTags(aloud = false): void {
    if (asking.peek() || tags.peek() !== undefined) return;
    asking.value = true;
    askForTags(context, (found, reason) => {
      memory.tagged = found !== null;
      noTags.value = found === null ? reason : "";
      tags.value = found;
      asking.value = false;
      if (found === null && aloud) context.announce(reason);
      if (tagging.peek()) rebuild();
    });
  }

  function showTags(): void {
    if (tags.peek() === null) return;
    memory.tags = tagging.value = !tagging.peek();
    if (tagging.peek()) askTags(true);
    rebuild();
  }

  function Corner() {
    const found = tags.value;
    const hasTags = found === undefined ? memory.tagged !== false : found !== null;
    return (
      <div class="aw-ribbon-corner aw-wanted" role="group" aria-label="Ribbon">
        <Button
          class="aw-corner"
          part="tags"
          title={
            noTags.value || `Parts of speech and entities${found ? `, by ${found.tagger}` : ""}`
          }
          aria-pressed={tagging.value && hasTags}
          aria-disabled={found === null || undefined}
          aria-busy={asking.value || undefined}
          onClick={showTags}
        >
          tags
        </Button>
        {maskable && (
          <Button
            class="aw-corner"
            part="mask"
            title="A click on a token masks it and reruns the text (key x)"
            aria-pressed={masking.value}
            onClick={() => {
              memory.masking = masking.value = !masking.value;
            }}
          >
            mask
          </Button>
        )}
        {act !== null && masked.length > 0 && (
          <Button class="aw-corner" part="unmask" onClick={() => setMasked([])}>
            unmask all
          </Button>
        )}
      </div>
    );
  }

  const ofParts = above !== null || (meta.parts?.length ?? 0) > 1;
  const text = (
    <div
      class="aw-ribbon-line"
      data-aw-part={ofParts ? "tokens" : undefined}
      role="group"
      aria-label="Tokens: choose the focus token (query row)"
      dir={directionOf(meta.text)}
      ref={(element) => {
        if (element !== null) line = element;
      }}
      onClick={choose}
      onKeyDown={press}
      onFocusIn={describe}
      onPointerOver={point}
      onPointerLeave={() => {
        if (overlay) overlay.pointed.value = null;
      }}
      onScroll={scrolled}
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
  mount(
    host,
    () => {
      host.classList.toggle("aw-masking", maskable && masking.value);
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
            {Corner()}
          </div>
        </>
      );
    },
    until,
  );

  if (long || (rows.get() === null && !state.get().words))
    build(firstUnits(meta, long || state.get().special));
  tapTwice(line, () => null, until);
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
      line.querySelector(".aw-pointed")?.classList.remove("aw-pointed");
      buttonOf(unitAt(token))?.classList.add("aw-pointed");
    };
    onChange(overlay.painted, showStrongest, until);
    onChange(overlay.pointed, mark, until);
  }
  state.on(["pair", "group"], paint, until);
  above?.paint(rows.get(), null);
  state.on(
    ["token"],
    ({ token }) => {
      if (!long) return settle();
      // Its row is still to come.
      paint();
      if (token !== null) goTo(token);
    },
    until,
  );
  // Asked for after the first picture.
  if (tagging.peek()) context.matrix.on(() => void setTimeout(askTags), until);
  if (long && tagging.peek()) askTags();
  onTheme(
    host,
    () => {
      overview?.recolor();
      paint();
    },
    until,
  );
  onResize(
    overview?.element.parentElement ?? line,
    (width) => {
      overview?.resize(width);
      settle();
      showOverview();
    },
    until,
  );
  return () => {
    cancelAnimationFrame(frame);
    cancelAnimationFrame(scrolling);
    host.classList.remove("aw-masking");
    render(null, host);
  };
}

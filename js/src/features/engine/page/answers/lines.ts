/** Line breaks that end a sentence, as `attn_widget/language/lines.py` finds them. Places are UTF-16 units. */

/** Columns; shorter lines are items or verses, not wrapped text. */
const MIN_WIDTH = 40;
const BREAK = /\r\n|[\n\v\f\r\u0085\u2028\u2029]/gu;
/** A number or a letter with a full stop or a bracket: "2.", "(b)", "iv)". */
const MARKER = /\(?(?:\p{N}{1,3}|\p{L}|[ivxlcIVXLC]{1,5})[.)．、]/u;
const ITEM = new RegExp(`^\\s*(?:[-*+•◦▪‣·–—]\\s|—|${MARKER.source}\\s)`, "u");
const HEADING = /^\s*#{1,6}\s/u;
const QUOTED = /^\s*>/u;
/** Below a heading. */
const RULE = /^\s*([-=_*~#+])\1{2,}\s*$/u;
const GOES_ON = /^\s*[\p{Ll}\p{Lo}]/u;
const OPEN_END = /[,;\-–([{/&+、，]\s*$/u;
/** A sentence that began in this line and does not end in it. */
const UNFINISHED = /[.!?…][\p{Pe}\p{Pf}"']*\s+\p{L}.*[^.!?…:\p{Pe}\p{Pf}"'\s]\s*$/u;
const WHOLE_MARKER = new RegExp(`^${MARKER.source}$`, "u");
/** East Asian characters that take two columns. */
const WIDE =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\u33ff\u3400-\u4dbf\u4e00-\u9fff\ua000-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{1f300}-\u{1f64f}\u{1f900}-\u{1f9ff}\u{20000}-\u{3fffd}]/u;

export const isMarker = (part: string): boolean => WHOLE_MARKER.test(part.trim());

const wordsIn = (line: string): string[] => line.split(/\s+/u).filter((word) => word !== "");
const indent = (line: string): number => line.length - line.trimStart().length;

function columns(line: string): number {
  return Array.from(line.trimEnd()).reduce(
    (sum, character) => sum + (WIDE.test(character) ? 2 : 1),
    0,
  );
}

/** True if the first word of `after` would not have fitted into a line of `width` columns. */
function isTight(before: string, after: string, width: number): boolean {
  const word = wordsIn(after)[0] ?? "";
  const first = WIDE.test(word) ? Array.from(word).slice(0, 2).join("") : word;
  return columns(before) + 1 + columns(first) > width;
}

/** True if the second line begins something, whatever the width. */
function isApart(before: string, after: string): boolean {
  const begun = [ITEM, HEADING, QUOTED].some((kind) => kind.test(after));
  const row = [before, after].some(
    (line) => line.split("|").length > 2 || line.trim().includes("\t"),
  );
  const deeper = indent(after) > indent(before) && !ITEM.test(before);
  return begun || row || deeper || HEADING.test(before) || RULE.test(before);
}

/** Places of the lines of a paragraph that begin a sentence, without the first. */
function endsIn(lines: readonly string[]): number[] {
  const telling = lines.filter((line) => wordsIn(line).length > 1 || WIDE.test(line));
  const width = Math.max(0, ...telling.map(columns));
  const line = (k: number): string => lines[k] as string;
  const places = lines.map((_, k) => k).slice(1);
  const full = places.filter(
    (k) =>
      width >= MIN_WIDTH && isTight(line(k - 1), line(k), width) && !isApart(line(k - 1), line(k)),
  );
  const wrapped = full.some((k) => GOES_ON.test(line(k)));
  const goingOn = new Set(
    wrapped ? full : full.filter((k) => OPEN_END.test(line(k - 1)) || UNFINISHED.test(line(k - 1))),
  );
  return places.filter((k) => !goingOn.has(k) && !RULE.test(line(k)));
}

/** Starts of lines that continue no sentence of the line before, and 0. */
export function unitStarts(text: string): number[] {
  const breaks = [...text.matchAll(BREAK)];
  const begins = [0, ...breaks.map((end) => end.index + end[0].length)];
  const lines = begins.map((begin, k) => text.slice(begin, breaks[k]?.index ?? text.length));
  const starts = new Set([0]);
  let first = 0;
  for (let k = 1; k <= lines.length; k++) {
    if (k < lines.length && (lines[k] as string).trim() !== "") continue;
    for (const i of endsIn(lines.slice(first, k))) starts.add(begins[first + i] as number);
    first = k + 1;
    if (first < lines.length) starts.add(begins[first] as number);
  }
  return [...starts].sort((a, b) => a - b);
}

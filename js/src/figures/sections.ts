/** Sections of a text: named parts that follow each other from its first token to its last, such as the turns of a chat. */

export interface Sections {
  readonly names: readonly string[];
  /** The first token of each, in order. */
  readonly starts: readonly number[];
  /** Text of a section. */
  readonly text: (section: number) => string;
  /** Words for one and for several: `turn`, `turns`. */
  readonly noun: readonly [one: string, many: string];
  /** Tabs that have another label for such a text, by view. */
  readonly labels: Readonly<Record<string, string>>;
}

/** The section that holds a token. */
export function sectionAt({ starts }: Sections, token: number): number {
  const next = starts.findIndex((start) => start > token);
  return (next < 0 ? starts.length : next) - 1;
}

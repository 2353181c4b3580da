/** A formula as a small typed tree, in the terms of MathML; `draw/math.ts` makes elements of it. */

/** Elements with a fixed number of children; `mrow` takes any. */
type Layout =
  | "mrow"
  | "mfrac"
  | "msub"
  | "msup"
  | "msubsup"
  | "munder"
  | "munderover"
  | "msqrt"
  | "mspace";
type Leaf = "mi" | "mn" | "mo" | "mtext";

export type MathNode =
  | {
      readonly tag: Leaf;
      readonly text: string;
      readonly attributes?: Readonly<Record<string, string>>;
    }
  | {
      readonly tag: Layout;
      readonly children: readonly MathNode[];
      readonly attributes?: Readonly<Record<string, string>>;
    };

/** A variable or a function's name. */
export const mi = (text: string): MathNode => ({ tag: "mi", text });
/** A number; `value` keeps all its digits for tests and for copying. */
export const mn = (text: string, value?: number): MathNode =>
  value === undefined
    ? { tag: "mn", text }
    : { tag: "mn", text, attributes: { "data-aw-value": String(value) } };
/** An operator or a fence. */
export const mo = (text: string): MathNode => ({ tag: "mo", text });
/** Words. */
export const mtext = (text: string): MathNode => ({ tag: "mtext", text });

export const row = (...children: MathNode[]): MathNode => ({ tag: "mrow", children });
export const frac = (above: MathNode, below: MathNode): MathNode => ({
  tag: "mfrac",
  children: [above, below],
});
export const sub = (base: MathNode, below: MathNode): MathNode => ({
  tag: "msub",
  children: [base, below],
});
export const sup = (base: MathNode, above: MathNode): MathNode => ({
  tag: "msup",
  children: [base, above],
});
export const under = (base: MathNode, below: MathNode): MathNode => ({
  tag: "munder",
  children: [base, below],
});
export const sqrt = (inner: MathNode): MathNode => ({ tag: "msqrt", children: [inner] });
export const parens = (...children: MathNode[]): MathNode => row(mo("("), ...children, mo(")"));
/** A function applied to something, with the space that a reader expects. */
export const apply = (name: MathNode, ...children: MathNode[]): MathNode =>
  row(name, mo("\u2061"), parens(...children));

/** An equation in parts that may stand in lines of their own: one before each of its outermost equals signs. */
export function equationParts(node: MathNode): MathNode[] {
  const terms = "children" in node && node.tag === "mrow" ? node.children : [node];
  const parts: MathNode[][] = [[]];
  for (const term of terms) {
    if ("text" in term && term.tag === "mo" && term.text === "=") parts.push([]);
    parts.at(-1)?.push(term);
  }
  return parts.map((part) => row(...part));
}

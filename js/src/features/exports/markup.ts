/** A drawn element as a document of its own: markup that any XML parser reads, with the styles that it needs. */

/** XML 1.0 has no place for these, not even as references (section 2.2 of its specification). */
const NOT_XML =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is looked for
  /[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g;

/** Well-formed XML of an element; what XML cannot hold becomes U+FFFD. */
export function markup(element: Element): string {
  return new XMLSerializer().serializeToString(element).replace(NOT_XML, "\ufffd");
}

/** An address of SVG markup that an image loads without a request. */
export const svgAddress = (svg: string): string =>
  `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svg)}`;

const OURS = /attn-widget|\.aw-|--aw-/;
/** Custom properties that come from the host. */
const FOREIGN = /var\(\s*(--(?!aw-)[\w-]+)/g;
const STILL = "*, ::before, ::after { transition: none !important; animation: none !important; }";

function rulesOf(sheet: CSSStyleSheet): string[] {
  try {
    return Array.from(sheet.cssRules, (rule) => rule.cssText).filter((text) => OURS.test(text));
  } catch {
    // Another origin's sheet cannot be read, and is not ours.
    return [];
  }
}

/** The rules of this widget, and the host's custom properties that they use with their present values. */
export function stylesOf(root: HTMLElement): string {
  const home = root.getRootNode();
  const scopes = home instanceof ShadowRoot ? [home, document] : [document];
  const sheets = scopes.flatMap((scope) => [...scope.styleSheets, ...scope.adoptedStyleSheets]);
  const rules = [...new Set(sheets.flatMap(rulesOf))].join("\n");
  const used = getComputedStyle(root);
  const names = new Set(Array.from(rules.matchAll(FOREIGN), ([, name]) => name as string));
  const host = [...names]
    .map((name) => [name, used.getPropertyValue(name).trim()])
    .filter(([, value]) => value !== "")
    .map(([name, value]) => `${name}: ${value};`);
  return `:root { ${host.join(" ")} }\n${rules}\n${STILL}`;
}

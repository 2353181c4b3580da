/** License notices of the npm packages whose code is in the bundles, read from node_modules. */

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

const HEADING = `attn_widget's page contains code of these npm packages.
`;
const COPYRIGHT = /^copyright .*$/i;
const YEARS = /^copyright (\(c\) )?[\d ,-]*(present )?/i;
const RULE = `\n${"-".repeat(78)}\n\n`;

/** Folders of the packages that a bundle has code of: `node_modules/d3-shape`, `node_modules/@scope/name`. */
export const packagesIn = ({ inputs }) =>
  Object.entries(inputs).flatMap(([path, { bytesInOutput }]) => {
    const folder = path.match(/^(?:.*\/)?node_modules\/(?:@[^/]+\/)?[^/]+/)?.[0];
    return folder !== undefined && bytesInOutput > 0 ? [folder] : [];
  });

function read(folder) {
  const { name, version, license } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
  const file = readdirSync(folder).find((one) => /^licen[cs]e/i.test(one));
  if (file === undefined || typeof license !== "string")
    throw new Error(
      `${name} is bundled and has no license text: find its terms before it is used.`,
    );
  const lines = readFileSync(join(folder, file), "utf8").trim().split(/\r?\n/);
  const owners = lines.filter((line) => COPYRIGHT.test(line));
  const terms = lines.filter((line) => !COPYRIGHT.test(line));
  return { name, version, license, owners, terms: terms.join("\n").trim() };
}

/**
 * The notices of some packages: packages with the same terms share one copy of them.
 *
 * `file` has versions and whole texts; `comment` holds the same for a script, without versions; `line` only names the
 * packages, their owners and licenses.
 */
export function noticesOf(folders) {
  const every = [...folders].sort().map(read);
  const groups = new Map();
  for (const one of every) groups.set(one.terms, [...(groups.get(one.terms) ?? []), one]);
  const sections = (title) =>
    [...groups].map(([terms, members]) => {
      const heads = members.flatMap((one) => [
        title(one),
        ...one.owners.map((text) => `  ${text}`),
      ]);
      return `${heads.join("\n")}\n\n${terms}\n`;
    });
  const listed = (of) => [...new Set(every.flatMap(of))].join(", ");
  const comment = sections(({ name, license }) => `${name} (${license})`).join("\n");
  if (comment.includes("*/")) throw new Error("A license text would end its comment.");
  const names = listed(({ name }) => name);
  const owners = listed((one) => one.owners.map((text) => text.replace(YEARS, "")));
  const licenses = listed(({ license }) => license);
  return {
    file: [HEADING, ...sections((one) => `${one.name} ${one.version} (${one.license})`)].join(RULE),
    comment: `/*!\n${comment}*/\n`,
    line: `/*! ${names}: (c) ${owners}, ${licenses}; notices in the script inside. */\n`,
  };
}

/** Chats: the turns of a conversation as sections of its text. */

import { shorten, visible } from "../../figures/format";
import type { Sections } from "../../figures/sections";
import type { Meta } from "../../protocol/types";
import type { Feature } from "../../views/feature";

declare module "../../protocol/meta" {
  interface Meta {
    /** Turns of a chat: who speaks, and the tokens `[start, stop)`; together they are the whole text. */
    readonly chat?: {
      readonly roles: readonly string[];
      readonly start: readonly number[];
      readonly stop: readonly number[];
    };
  }
}

/** Longest name: a template may take any text as a role. */
const LONGEST = 24;

/** `system`, `user 1`, `assistant 1`, `user 2`: roles, numbered where one speaks twice. */
export function turnNames(roles: readonly string[]): string[] {
  const names = roles.map((role) => shorten(visible(role.replace(/\s+/g, " ").trim()), LONGEST));
  return names.map((name, i) => {
    const earlier = names.slice(0, i + 1).filter((other) => other === name).length;
    return names.indexOf(name) === names.lastIndexOf(name) ? name : `${name} ${earlier}`;
  });
}

export function turnsOf({ chat, tokens: { special, before, surface } }: Meta): Sections | null {
  if (chat === undefined) return null;
  return {
    names: turnNames(chat.roles),
    starts: chat.start,
    // Without control tokens and the role, which its name repeats.
    text(turn) {
      const from = chat.start[turn] ?? 0;
      const said = surface
        .slice(from, chat.stop[turn])
        .map((text, i) => (special[from + i] ? "" : (before[from + i] ?? "") + text))
        .join("")
        .trim();
      const role = chat.roles[turn] ?? "";
      const rest = said.startsWith(role) ? said.slice(role.length) : "";
      return /^\s*\n/.test(rest) ? rest.trim() : said;
    },
    noun: ["turn", "turns"],
    labels: { sentences: "Turns" },
  };
}

export const chat: Feature = { sections: turnsOf };

/** The header of a profile. */

import { formatCount } from "../../figures/format";
import type { Meta } from "../../protocol/types";

const counted = (count: number, noun: string): string =>
  `${formatCount(count)} ${noun}${count === 1 ? "" : "s"}`;

/** In place of the text: the corpus that a profile was made from. */
export function ProfileHead({ profile, model }: Pick<Meta, "profile" | "model">) {
  if (profile === null) return null;
  const facts: readonly (readonly [string, string | null])[] = [
    ["model", model.name],
    ["tagger", profile.tagger ?? "none"],
    ["seed", String(profile.seed)],
    ["note", profile.interval_note ?? null],
  ];
  return (
    <div class="aw-profile" data-aw-part="profile">
      <strong>
        Profile of {counted(profile.n_texts, "text")}, {counted(profile.n_tokens, "token")}
      </strong>
      <dl>
        {facts.map(
          ([name, value]) =>
            value && (
              <div key={name}>
                <dt>{name}</dt>
                <dd>
                  <bdi>{value}</bdi>
                </dd>
              </div>
            ),
        )}
      </dl>
    </div>
  );
}

declare module "../../views/contract" {
  interface LazyCode {
    readonly ProfileHead: typeof ProfileHead;
  }
}

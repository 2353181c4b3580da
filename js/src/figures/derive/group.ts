/** Several tokens as one: what they receive and give together. Sums in float64. */

export interface GroupSums {
  /** Weight from one row to the group: the sum over its keys; null without a row. */
  readonly fromRow: number | null;
  /** The same, as a mean over all queries. */
  readonly received: number;
  /** The mean of the group's rows, `[size]`. */
  readonly given: Float64Array;
  /** Weight from a member to the group itself, mean over the members. */
  readonly within: number;
}

/** `members` are rows and columns of a `[size, size]` matrix; at least one. */
export function groupSums(
  weights: Float32Array,
  size: number,
  members: readonly number[],
  row: number,
): GroupSums {
  const toGroup = (i: number): number =>
    members.reduce((sum, j) => sum + (weights[i * size + j] as number), 0);
  let all = 0;
  for (let i = 0; i < size; i++) all += toGroup(i);
  const given = new Float64Array(size);
  for (const i of members) {
    for (let j = 0; j < size; j++) {
      given[j] = (given[j] as number) + (weights[i * size + j] as number) / members.length;
    }
  }
  return {
    fromRow: row >= 0 ? toGroup(row) : null,
    received: all / size,
    given,
    within: members.reduce((sum, i) => sum + toGroup(i), 0) / members.length,
  };
}

/** The group with a token added or taken away, in the order of the text. */
export function gathered(group: readonly number[], token: number): number[] {
  return group.includes(token)
    ? group.filter((other) => other !== token)
    : [...group, token].sort((a, b) => a - b);
}

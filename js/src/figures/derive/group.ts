/** Several tokens as one: what they receive and give together. Sums in float64. */

interface GroupReceives {
  /** Weight from each row to the group: the sum over its keys, `[rows]`. */
  readonly fromRows: Float64Array;
  /** The mean over the queries that may look at one of them. */
  readonly received: number;
}

interface GroupGives {
  /** The mean of the group's rows, `[size]`. */
  readonly given: Float64Array;
  /** Weight from a member to the group itself, mean over the members. */
  readonly within: number;
}

/** `members` are columns of a matrix of so many `keys`; at least one. */
export function groupReceives(
  weights: Float32Array,
  keys: number,
  members: readonly number[],
  allowed: ArrayLike<number> | null = null,
): GroupReceives {
  const fromRows = Float64Array.from({ length: weights.length / keys }, (_, i) =>
    members.reduce((sum, j) => sum + (weights[i * keys + j] as number), 0),
  );
  let all = 0;
  let queries = 0;
  fromRows.forEach((sum, i) => {
    if (allowed !== null && !members.some((j) => allowed[i * keys + j])) return;
    all += sum;
    queries++;
  });
  return { fromRows, received: all / queries };
}

/** `members` are rows and columns of a `[size, size]` matrix of one text; at least one. */
export function groupGives(
  weights: Float32Array,
  size: number,
  members: readonly number[],
): GroupGives {
  const { fromRows } = groupReceives(weights, size, members);
  const given = new Float64Array(size);
  for (const i of members) {
    for (let j = 0; j < size; j++) {
      given[j] = (given[j] as number) + (weights[i * size + j] as number) / members.length;
    }
  }
  const within = members.reduce((sum, i) => sum + (fromRows[i] as number), 0) / members.length;
  return { given, within };
}

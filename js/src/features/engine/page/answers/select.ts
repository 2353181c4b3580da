/** Values by their rank, without sorting all of them. */

/** The values of those ranks, which rise (0 is the smallest); `values` is not changed. */
export function select(values: Float32Array, ranks: readonly number[]): number[] {
  const order = values.slice();
  let from = 0;
  return ranks.map((rank) => {
    partition(order, rank, from);
    from = rank;
    return order[rank] as number;
  });
}

/** Put the value of a rank in its place (Hoare's quickselect), smaller ones before it, from `low` on. */
function partition(order: Float32Array, rank: number, start: number): void {
  let [low, high] = [start, order.length - 1];
  while (low < high) {
    const pivot = order[(low + high) >> 1] as number;
    let [i, j] = [low, high];
    while (i <= j) {
      while ((order[i] as number) < pivot) i++;
      while ((order[j] as number) > pivot) j--;
      if (i > j) break;
      const kept = order[i] as number;
      order[i++] = order[j] as number;
      order[j--] = kept;
    }
    if (rank <= j) high = j;
    else if (rank >= i) low = i;
    else return;
  }
}

/** A head by its numbers: `3.5` typed into the grid. */

const PAUSE_MS = 900;

/** Takes keys; calls `found` after `3.5`. Whether a key was part of a number. */
export function createTyping(
  found: (layer: number, head: number) => void,
): (key: string) => boolean {
  let typed = "";
  let typing: ReturnType<typeof setTimeout> | undefined;
  return (key) => {
    if (!/^[\d.]$/.test(key)) return false;
    clearTimeout(typing);
    typed += key;
    typing = setTimeout(() => {
      typed = "";
    }, PAUSE_MS);
    const match = /^(\d+)\.(\d+)$/.exec(typed);
    if (match !== null) found(Number(match[1]), Number(match[2]));
    return true;
  };
}

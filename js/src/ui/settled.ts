/** Waiting for what an element still computes. */

const POLL_MS = 200;
const PATIENCE_MS = 20_000;

const settled = (element: Element): boolean =>
  element.firstElementChild !== null &&
  element.getAttribute("aria-busy") !== "true" &&
  element.querySelector("[aria-busy=true]") === null;

/** Resolves when `element` waits for nothing, or has waited long enough. */
export async function whenSettled(element: Element): Promise<void> {
  const pause = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, POLL_MS));
  await pause();
  for (const end = Date.now() + PATIENCE_MS; !settled(element) && Date.now() < end; ) await pause();
}

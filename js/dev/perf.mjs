/**
 * Time to the first picture, and the page's own processor time for a head switch with cached data:
 * `node js/dev/perf.mjs`. Thread time, not wall time: other programs on the machine do not count.
 */

import { launch } from "./browser.mjs";
import { serve } from "./server.mjs";

/** Milliseconds of the page's main thread: first picture (from navigation), one head switch. */
const LIMITS = { n128: { first: 300, change: 16 }, huge: { first: 600, change: 50 } };
const SWITCHES = 8;
const { server, port } = await serve();
const browser = await launch();

for (const [run, limits] of Object.entries(LIMITS)) {
  const page = await browser.newPage({ viewport: { width: 1232, height: 900 } });
  const session = await page.context().newCDPSession(page);
  await session.send("Performance.enable", { timeDomain: "threadTicks" });
  const seconds = async () => {
    const { metrics } = await session.send("Performance.getMetrics");
    return Object.fromEntries(metrics.map(({ name, value }) => [name, value]));
  };
  await page.goto(`http://127.0.0.1:${port}/?run=${run}&token=3`);
  await page.waitForFunction(() => performance.getEntriesByName("aw:drawn").length > 0);
  const first = 1000 * (await seconds()).TaskDuration;
  const show = async (head) => {
    await page.evaluate((value) => window.traits.set("head", value), head);
    await page.waitForTimeout(400);
  };
  const cost = async (heads) => {
    const before = await seconds();
    for (let i = 0; i < SWITCHES; i++) await show(heads[i % heads.length]);
    const after = await seconds();
    return (1000 * (after.TaskDuration - before.TaskDuration)) / SWITCHES;
  };
  await cost([1, 2]);
  // Setting the head that is shown costs what the measuring costs.
  const change = (await cost([1, 2])) - (await cost([2]));
  const ok = change <= limits.change && first <= limits.first;
  console.log(
    `${run}: first picture ${first.toFixed(0)} ms, a head switch with cached data ` +
      `${change.toFixed(1)} ms of the main thread${ok ? "" : "  TOO SLOW"}`,
  );
  if (!ok) process.exitCode = 1;
  await page.close();
}
await browser.close();
server.close();

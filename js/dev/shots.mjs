/** Pictures of the dev page: `node js/dev/shots.mjs name=query ...` writes js/dev/shots/name.png. */

import { mkdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { launch } from "./browser.mjs";
import { serve } from "./server.mjs";

const out = join(dirname(fileURLToPath(import.meta.url)), "shots");
mkdirSync(out, { recursive: true });
const { server, port } = await serve();
const browser = await launch();
for (const job of process.argv.slice(2)) {
  const [name, rest = ""] = job.split(/=(.*)/s);
  const query = new URLSearchParams(rest);
  const width = Number(query.get("width") ?? 1200);
  const page = await browser.newPage({
    viewport: { width: width + 32, height: 900 },
    deviceScaleFactor: Number(query.get("dpr") ?? 1),
    colorScheme: query.get("theme") === "dark" ? "dark" : "light",
  });
  page.on("console", (message) => message.type() !== "log" && console.log(name, message.text()));
  page.on("pageerror", (error) => console.log(name, String(error)));
  await page.goto(`http://127.0.0.1:${port}/?${query}`);
  await page.waitForFunction(() => document.querySelector(".attn-widget [data-view]"));
  await page.waitForTimeout(300);
  if (query.has("hover")) {
    const [x, y] = query.get("hover").split("-").map(Number);
    const box = await page.locator(query.get("on") ?? ".aw-map-pane").boundingBox();
    await page.mouse.move(box.x + box.width * x, box.y + box.height * y);
    await page.waitForTimeout(200);
  }
  if (query.has("click")) {
    await page.locator(query.get("click")).first().click();
    await page.waitForTimeout(300);
  }
  await page.screenshot({ path: join(out, `${name}.png`), fullPage: true });
  await page.close();
}
await browser.close();
server.close();

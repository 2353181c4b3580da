/**
 * Drive the system's Firefox: `node js/dev/firefox.mjs FIREFOX JOB.json`.
 *
 * The job is a list of pages, each with the address and the texts to type into it one after the other, or what to do on its
 * matrix: `{click: [across, down]}`, in shares of the plot, or `{key}`. Prints what the page shows after each: its tokens, the
 * line below them, and errors; or the cell pointed at and the pinned pair. Playwright cannot drive a stock Firefox.
 */

import { readFileSync } from "node:fs";
import puppeteer from "puppeteer-core";

const [executablePath, path] = process.argv.slice(2);
const job = JSON.parse(readFileSync(path, "utf8"));
const browser = await puppeteer.launch({ browser: "firefox", executablePath, headless: true });
const found = [];
try {
  for (const { address, texts = [], matrix = [] } of job) {
    const page = await browser.newPage();
    await page.setViewport({ width: 1100, height: 900 });
    const errors = [];
    page.on("pageerror", (error) => errors.push(String(error)));
    page.on("console", (said) => said.type() === "error" && errors.push(said.text()));
    await page.goto(address);
    const shown = [];
    for (const text of texts) {
      await page.waitForSelector('[data-aw-part="run-text"]', { visible: true, timeout: 60_000 });
      await page.focus('[data-aw-part="run-text"]');
      await page.evaluate(() => document.activeElement.select());
      await page.keyboard.type(text);
      shown.push(await settled(page, text));
    }
    const acts = [];
    for (const act of matrix) acts.push(await acted(page, act));
    found.push({ shown, matrix: acts, errors });
    await page.close();
  }
} finally {
  await browser.close();
}
process.stdout.write(JSON.stringify(found));

/** The cell pointed at, and the pinned pair, after one act. */
async function acted(page, { click, key }) {
  const pane = await page.waitForSelector(".aw-map-pane", { visible: true, timeout: 60_000 });
  if (click !== undefined) {
    await pane.scrollIntoView();
    const { x, y, width, height } = await pane.boundingBox();
    const [across, down] = [x + click[0] * width, y + click[1] * height];
    await page.mouse.move(across, down);
    await page.mouse.click(across, down);
    await page.waitForSelector(".aw-pinned", { visible: true });
    await page.mouse.move(across, down);
  } else {
    await page.focus('[data-aw-part="heatmap"]');
    await page.keyboard.press(key);
  }
  // The code of the card comes after the first picture.
  await page.waitForSelector('[data-aw-part="link"]', { timeout: 60_000 });
  return page.evaluate(() => {
    const { awRow, awColumn } = document.querySelector('[data-aw-part="link"]').dataset;
    return { cell: [awRow, awColumn], pinned: document.querySelector(".aw-pinned").textContent };
  });
}

/** Tokens, error and line below, once they have not changed for half a second. */
async function settled(page) {
  let before = "";
  for (let quiet = 0, waited = 0; quiet < 5 && waited < 300; waited++) {
    await new Promise((done) => setTimeout(done, 100));
    const now = JSON.stringify(await page.evaluate(look));
    const ready = JSON.parse(now).ready === "ready" || JSON.parse(now).error !== "";
    quiet = now === before && ready ? quiet + 1 : 0;
    before = now;
  }
  return JSON.parse(before);
}

function look() {
  const text = (part) => {
    const element = document.querySelector(`[data-aw-part="${part}"]`);
    return element === null || element.offsetParent === null ? "" : element.textContent;
  };
  const tokens = document.querySelectorAll("[data-aw-part=ribbon] [data-token]");
  return {
    ready: document.documentElement.dataset.awEngine,
    tokens: [...tokens].map((token) => token.textContent),
    error: text("error"),
    saved: text("saved"),
  };
}

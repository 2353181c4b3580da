/**
 * Runs next to a widget's data in the output of a cell, in a document without a kernel: unpacks the page, which one output
 * of the document carries for all, and puts it with this output's data into a frame of its own. The picture stays
 * where that cannot be done.
 */

(() => {
  const root = document.currentScript.parentElement;
  const { version, title, text } = root.dataset;
  const NEAR = "600px"; // of the window: a frame farther off is not made yet
  const DRAWN_MS = 300; // after the last change of a page's height, before it takes its place on paper
  const HOLD_MS = 250;
  const HOLDS = 80; // 20 s at most
  const HIDDEN = "position: absolute; top: 0; left: 0; opacity: 0; pointer-events: none; ";
  const PAPER = 576; // px: what a printed page has for the output of a cell
  const FRAMES = ".attn-widget-output > iframe";
  const paper = window.matchMedia("print");

  async function unpack(code) {
    const bytes = Uint8Array.from(atob(code), (c) => c.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
    return new Response(stream).json();
  }

  /** Red, green and blue, 0 to 255, and alpha, 0 to 1, however the color is written. */
  function channels(color) {
    const plain = /^rgba?\(([^)]+)\)$/.exec(color)?.[1].match(/[\d.]+/g);
    if (plain) return [...plain.slice(0, 3), plain[3] ?? 1].map(Number);
    const pen = document.createElement("canvas").getContext("2d");
    pen.fillStyle = color;
    pen.fillRect(0, 0, 1, 1);
    const [r, g, b, a] = pen.getImageData(0, 0, 1, 1).data;
    return [r, g, b, a / 255];
  }

  const isDark = ([r, g, b]) => 0.2126 * r + 0.7152 * g + 0.0722 * b < 128;

  /** Appearance of the page around an element: its first painted background, else its text color. */
  function modeAt(element) {
    for (let at = element; at !== null; at = at.parentElement) {
      const ground = channels(getComputedStyle(at).backgroundColor);
      if (ground[3] > 0.5) return isDark(ground) ? "dark" : "light";
    }
    return isDark(channels(getComputedStyle(element).color)) ? "light" : "dark";
  }

  /** Once a document: keep all frames as high as their pages, and in the mode of what is around them. */
  function tend() {
    const frames = () => document.querySelectorAll(FRAMES);
    window.addEventListener("message", ({ source, data }) => {
      const height = data?.attnWidgetHeight;
      if (!Number.isFinite(height)) return;
      for (const frame of frames()) {
        if (frame.contentWindow !== source) continue;
        frame.style.height = `${height}px`;
        if (height > 0) frame.dispatchEvent(new Event("drawn"));
      }
    });
    // On paper a frame keeps its layout, smaller: its own page learns of a new width too late.
    window.addEventListener("beforeprint", () => {
      for (const { style } of document.querySelectorAll(".attn-widget-output > figure > img")) {
        style.maxWidth = "100%";
        style.height = "auto";
      }
      for (const { style, offsetWidth: width, offsetHeight: height } of frames()) {
        if (style.position !== "") continue; // not drawn: its picture stands there
        const scale = Math.min(1, PAPER / width);
        style.width = `${width}px`;
        style.transform = `scale(${scale})`;
        style.transformOrigin = "0 0";
        style.margin = `0 ${(scale - 1) * width}px ${(scale - 1) * height}px 0`;
        style.breakInside = "avoid";
      }
    });
    window.addEventListener("afterprint", () => {
      for (const { style } of frames()) {
        if (style.position !== "") continue;
        style.width = "100%";
        style.transform = style.margin = style.breakInside = "";
      }
    });
    let due = 0;
    const follow = () => {
      cancelAnimationFrame(due);
      due = requestAnimationFrame(() => {
        for (const frame of frames())
          frame.contentWindow.postMessage({ attnWidgetMode: modeAt(frame) }, "*");
      });
    };
    // A host changes its theme by an attribute, a style sheet, or with the system; some fade.
    const observer = new MutationObserver(follow);
    observer.observe(document.documentElement, { attributes: true });
    observer.observe(document.body, { attributes: true });
    observer.observe(document.head, { childList: true });
    document.addEventListener("transitionend", ({ propertyName }) => {
      if (propertyName === "background-color") follow();
    });
    window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", follow);
    return follow;
  }

  // Shared by the outputs of one version. The one with the code may come after this one, and leave the document
  // when it is scrolled away.
  const key = Symbol.for(`attn_widget output ${version}`);
  if (globalThis[key] === undefined) {
    const made = { given: false, waiting: 0, hold: 0 };
    made.page = new Promise((resolve) => {
      made.give = (code) => {
        made.given = true;
        resolve(unpack(code));
      };
    });
    made.follow = tend();
    globalThis[key] = made;
  }
  const shared = globalThis[key];

  function look() {
    if (shared.given) return;
    const code = document.querySelector(`script.attn-widget-code[data-version="${version}"]`);
    if (code !== null) shared.give(code.textContent);
  }

  async function open() {
    const [picture, note] = root.querySelectorAll(":scope > figure, :scope > p");
    look();
    if (!shared.given) note.textContent = text;
    shared.waiting++;
    if (paper.matches && shared.given && shared.hold === 0) hold();
    const { head, tail } = await shared.page;
    // Below HTML a dark host may paint a light ground, for what cannot be dark; the page can.
    root.parentElement.style.background = "none";
    const frame = document.createElement("iframe");
    frame.setAttribute("sandbox", "allow-scripts allow-downloads allow-modals");
    frame.title = title;
    // The picture stays until the page is drawn, which a browser puts off while its frame is out of sight; for paper it
    // must not.
    const shape = "display: block; width: 100%; height: 640px; border: 0; ";
    const { left, width } = root.getBoundingClientRect();
    const inSight = paper.matches ? `position: fixed; left: ${left}px; width: ${width}px` : "";
    frame.style.cssText = shape + HIDDEN + inSight;
    root.style.position = "relative";
    // An id would stand in the document once an output.
    const data = [
      ...root.querySelectorAll("script[type='text/plain'].aw-data, script.aw-index"),
    ].map((script) => script.outerHTML.replace('class="aw-index"', 'id="aw-index"'));
    frame.srcdoc = [head.replace("<html", `<html class="${modeAt(root)}"`), ...data, tail].join(
      "\n",
    );
    frame.addEventListener("load", shared.follow); // a host that moves an output makes its frame load again
    let due = 0;
    const place = () => {
      shared.waiting--;
      frame.removeEventListener("drawn", drawn);
      const { height } = frame.style;
      frame.style.cssText = shape;
      frame.style.height = height;
      picture.remove();
      note.remove();
    };
    const drawn = () => {
      clearTimeout(due);
      due = setTimeout(place, paper.matches ? DRAWN_MS : 0);
    };
    frame.addEventListener("drawn", drawn);
    root.append(frame);
  }

  look();
  const observer = new IntersectionObserver(
    (seen) => {
      if (seen.some(({ isIntersecting }) => isIntersecting)) openOnce();
    },
    { rootMargin: NEAR },
  );
  /** Let a converter wait for the pages: Playwright, which nbconvert's webpdf uses, counts a document with a young frame as busy. */
  function hold() {
    const young = document.createElement("iframe");
    young.hidden = true;
    document.body.append(young);
    setTimeout(() => {
      if (shared.waiting > 0 && ++shared.hold < HOLDS) hold();
      young.remove(); // after the next one is there
    }, HOLD_MS);
  }

  let opened = false;
  function openOnce() {
    observer.disconnect();
    if (!opened) open();
    opened = true;
  }
  // Paper has no scrolling; a converter waits until all is loaded (nbconvert's webpdf).
  paper.addEventListener("change", ({ matches }) => {
    if (matches) openOnce();
  });
  const start = () => (paper.matches ? openOnce() : observer.observe(root));
  // The output with the code may stand below this one.
  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", start);
  else start();
})();

/**
 * Runs beside a widget's data in the output of a cell, in a document without a kernel: unpacks the page, which one output
 * of the document carries for all, and puts it with this output's data into a frame of its own. The picture stays
 * where that cannot be done.
 */

(() => {
  const root = document.currentScript.parentElement;
  const { version, title, text } = root.dataset;
  const NEAR = "600px"; // of the window: a frame farther off is not made yet

  async function unpack(code) {
    const bytes = Uint8Array.from(atob(code), (c) => c.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
    return new Response(stream).json();
  }

  /** What the page around this output looks like: the first ground that is painted. */
  function mode() {
    for (let at = root; at !== null; at = at.parentElement) {
      const [r, g, b, a = 1] = getComputedStyle(at)
        .backgroundColor.match(/[\d.]+/g)
        .map(Number);
      if (a > 0.5) return 0.2126 * r + 0.7152 * g + 0.0722 * b < 128 ? "dark" : "light";
    }
    return "light";
  }

  async function open() {
    const code = document.querySelector(`script.attn-widget-code[data-version="${version}"]`);
    const note = root.querySelector("p");
    if (code === null) {
      note.append(` ${text}`);
      return;
    }
    const { head, tail } = await unpack(code.textContent);
    const frame = document.createElement("iframe");
    frame.setAttribute("sandbox", "allow-scripts allow-downloads");
    frame.title = title;
    frame.style.cssText = "display: block; width: 100%; height: 640px; border: 0";
    // An id would stand in the document once an output.
    const data = [
      ...root.querySelectorAll("script[type='text/plain'].aw-data, script.aw-index"),
    ].map((script) => script.outerHTML.replace('class="aw-index"', 'id="aw-index"'));
    frame.srcdoc = [head.replace("<html", `<html class="${mode()}"`), ...data, tail].join("\n");
    window.addEventListener("message", ({ source, data: sent }) => {
      const height = sent?.attnWidgetHeight;
      if (source === frame.contentWindow && Number.isFinite(height))
        frame.style.height = `${height}px`;
    });
    root.querySelector("img")?.remove();
    note.remove();
    root.append(frame);
  }

  const watch = () => {
    const observer = new IntersectionObserver(
      (seen) => {
        if (!seen.some(({ isIntersecting }) => isIntersecting)) return;
        observer.disconnect();
        open();
      },
      { rootMargin: NEAR },
    );
    observer.observe(root);
  };
  // The output with the code may stand below this one.
  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", watch);
  else watch();
})();

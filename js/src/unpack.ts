/**
 * Entry for saved pages, before any other: inflates the page's styles and scripts, which stand in the element before this
 * one, and runs them (attn_widget/page/page.py). The policy names each by its hash.
 */

import { required } from "./protocol/required";
import { decode85 } from "./protocol/saved/inflate";

/** Parts the styles and the scripts; none of them holds it. */
const BETWEEN = "\0";

/**
 * Text of compressed bytes. They are written at once instead of read from a blob, whose tasks wait for the parser: it has
 * megabytes to read by now.
 */
async function inflated(bytes: Uint8Array<ArrayBuffer>): Promise<string> {
  const { writable, readable } = new DecompressionStream("deflate-raw");
  const writer = writable.getWriter();
  const [decoder, reader] = [new TextDecoder(), readable.getReader()];
  let text = "";
  const read = async () => {
    for (;;) {
      const { value, done } = await reader.read();
      if (done) break;
      text += decoder.decode(value, { stream: true });
    }
  };
  await Promise.all([read(), writer.write(bytes), writer.close()]);
  return text + decoder.decode();
}

async function unpack(code: Element): Promise<void> {
  const [css, ...scripts] = (await inflated(decode85(code.textContent))).split(BETWEEN);
  const style = document.createElement("style");
  style.textContent = required(css, "The page's styles");
  required(document.querySelector("style"), "<style>").before(style);
  for (const text of scripts) {
    const script = document.createElement("script");
    script.textContent = text;
    // Not in the body: the parser may be in the middle of an element there, and what follows a chunk says that it is whole.
    document.head.append(script);
    // A copy that a browser makes of the page unpacks its own.
    script.remove();
  }
}

const code = required(document.currentScript?.previousElementSibling, "The page's code");
unpack(code).catch((error: unknown) => {
  const alert = document.createElement("p");
  alert.setAttribute("role", "alert");
  alert.textContent = `This page cannot be opened: its code cannot be unpacked (${error}). Copy or download it again, or use a newer browser.`;
  document.querySelector("main")?.replaceChildren(alert);
});

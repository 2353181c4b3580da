/** Giving a file or a clipboard to the reader, and saying so where the host does not let us. */

/** Time that a browser may take to begin a download before its address is revoked, ms. */
const REVOKE_MS = 60_000;

/** Why downloads do not work here; null when nothing speaks against them. */
export function downloadsBlocked(): "blocked" | "unsure" | null {
  if (window.parent === window) return null;
  try {
    const frame = window.frameElement;
    if (frame instanceof HTMLIFrameElement && frame.sandbox.length > 0) {
      return frame.sandbox.contains("allow-downloads") ? null : "blocked";
    }
  } catch {
    // A frame of another origin does not show its attributes.
  }
  return window.origin === "null" ? "unsure" : null;
}

/** Offer `blob` as a file of this name. */
export function download(blob: Blob, name: string): void {
  const address = URL.createObjectURL(blob);
  const link = document.createElement("a");
  link.href = address;
  link.download = name;
  // A notebook's own handlers of links have no business here.
  link.addEventListener("click", (event) => event.stopPropagation());
  link.hidden = true;
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(address), REVOKE_MS);
}

export const canCopyPictures = (): boolean =>
  typeof ClipboardItem === "function" && typeof navigator.clipboard?.write === "function";

/** Put a PNG on the clipboard; Safari wants the promise, not what it comes to. */
export async function copyPicture(picture: Promise<Blob>): Promise<void> {
  await navigator.clipboard.write([new ClipboardItem({ "image/png": picture })]);
}

/** Put text on the clipboard, the old way where the new one is not allowed. */
export async function copyText(text: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
    return;
  } catch {
    // No secure context, or no permission in this frame.
  }
  let copied = false;
  const fill = (event: ClipboardEvent): void => {
    event.clipboardData?.setData("text/plain", text);
    event.preventDefault();
    event.stopImmediatePropagation();
    copied = true;
  };
  document.addEventListener("copy", fill, { capture: true, once: true });
  document.execCommand("copy");
  document.removeEventListener("copy", fill, { capture: true });
  if (!copied) throw new Error("This page does not allow access to the clipboard.");
}

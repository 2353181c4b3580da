/** Files of the site that lie next to its script. Pages that are opened from a folder may load scripts, and fetch nothing. */

import { h } from "../../../draw/dom";
import { SliceFailure } from "../../../protocol/failure";
import { required } from "../../../protocol/required";

const own = required(document.currentScript, "The script").getAttribute("src") ?? "";

/** The address of such a file, relative to the page. */
export const besideScript = (file: string): string => own.replace(/[^/]*$/, file);

/** Run such a file. Rejects where it cannot be loaded. */
export function runFile(file: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const script = h("script");
    script.onload = () => resolve();
    script.onerror = () => {
      script.remove();
      reject(new SliceFailure(`The site's file ${file} cannot be loaded.`, "Try again."));
    };
    script.src = besideScript(file);
    document.head.append(script);
  });
}

/** The same, once for all who ask. */
export function runOnce(file: string): () => Promise<void> {
  let running: Promise<void> | null = null;
  return () => {
    running ??= runFile(file).catch((error: unknown) => {
      running = null;
      throw error;
    });
    return running;
  };
}

/** Runs that files of the site hold, by their names: each one, or the two of a comparison, by the names of their chunks. */
type WithRuns = { attnWidgetRuns?: Record<string, readonly Readonly<Record<string, string>>[]> };

/** The runs of a file, loaded once. */
export async function runsOf(name: string): Promise<readonly ((chunk: string) => string | null)[]> {
  const files = globalThis as WithRuns;
  if (files.attnWidgetRuns?.[name] === undefined) await runFile(`run-${name}.js`);
  return required(files.attnWidgetRuns?.[name], `The run ${name}`).map(
    (chunks) => (chunk) => (Object.hasOwn(chunks, chunk) ? (chunks[chunk] ?? null) : null),
  );
}

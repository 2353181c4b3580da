/** Compile the kernels: AssemblyScript to WebAssembly with SIMD, no runtime and no imports. */

import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import asc from "assemblyscript/asc";

const folder = dirname(fileURLToPath(import.meta.url));

/** Bytes of the module; with `relaxed`, of the one that multiplies and adds in one instruction where a machine has it. */
export async function compileKernels({ relaxed = false } = {}) {
  let bytes;
  const { error, stderr } = await asc.main(
    [
      ..."kernels.ts --outFile kernels.wasm --runtime stub --use abort= --enable simd".split(" "),
      ...(relaxed ? ["--enable", "relaxed-simd"] : []),
      ..."-O3 --converge --noAssert".split(" "),
    ],
    {
      readFile: (name) => {
        const path = join(folder, name);
        return existsSync(path) ? readFileSync(path, "utf8") : null;
      },
      writeFile: (name, contents) => {
        if (name === "kernels.wasm") bytes = contents;
      },
      listFiles: () => [],
    },
  );
  if (error || bytes === undefined)
    throw new Error(`The kernels do not compile: ${error?.message}\n${stderr.toString()}`);
  return bytes;
}

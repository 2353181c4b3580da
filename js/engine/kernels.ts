/**
 * The kernels of the model, compiled to WebAssembly SIMD by AssemblyScript.
 *
 * They know addresses and sizes alone: js/src/engine/ lays out the memory and calls them. Nothing is allocated here.
 * Activations are float32, row-major, in buffers whose number of rows is a multiple of 4 (ROWS). Weight matrices are
 * float16 in panels of 8 outputs (COLUMNS): a panel holds [input][8], and the last one is filled with zeros. Matrices of
 * 8 bits have panels of int8 after the 8 float32 scales of their outputs.
 */

export { head } from "./attention";
export { gelu, norm } from "./functions";
export { addRow, decode, gather } from "./panels";
export { linear } from "./product";

/** CRC-32 (that of zlib) of some bytes. `table` has room for 256 words, filled here. */
export function crc32(from: usize, bytes: usize, table: usize): u32 {
  for (let i: u32 = 0; i < 256; i++) {
    let word = i;
    for (let bit = 0; bit < 8; bit++) word = word & 1 ? (word >>> 1) ^ 0xedb88320 : word >>> 1;
    store<u32>(table + <usize>(i << 2), word);
  }
  let state: u32 = 0xffffffff;
  const end = from + bytes;
  for (; from < end; from++) {
    const at = (state ^ load<u8>(from)) & 0xff;
    state = load<u32>(table + <usize>(at << 2)) ^ (state >>> 8);
  }
  return ~state;
}

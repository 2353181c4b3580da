/**
 * The kernels of the model, compiled to WebAssembly SIMD by AssemblyScript.
 *
 * They know addresses and sizes alone: js/src/features/engine/ lays out the memory and calls them. Nothing is allocated here.
 * Activations are float32, row-major, in buffers whose number of rows is a multiple of 4 (ROWS). Weight matrices are
 * float16 in panels of 8 outputs (COLUMNS): a panel holds [input][8], and the last one is filled with zeros.
 */

export { carry, head } from "./attention";
export { gelu, norm } from "./functions";
export { addRow, decode, gather } from "./panels";
export { linear } from "./product";

/** Word `at` of table `which` of those of crc32. */
// @ts-ignore: decorator
@inline
function entry(tables: usize, which: u32, at: u32): u32 {
  return load<u32>(tables + <usize>(((which << 8) | (at & 0xff)) << 2));
}

/**
 * CRC-32 (that of zlib) of some bytes, eight at a time (Kounavis and Berry 2005, "slicing by 8"). `tables` has room for
 * 8 x 256 words, filled here: table k tells what a byte does to the sum k bytes after it.
 */
export function crc32(from: usize, bytes: usize, tables: usize): u32 {
  for (let i: u32 = 0; i < 256; i++) {
    let word = i;
    for (let bit = 0; bit < 8; bit++) word = word & 1 ? (word >>> 1) ^ 0xedb88320 : word >>> 1;
    store<u32>(tables + <usize>(i << 2), word);
  }
  for (let i: u32 = 256; i < 8 * 256; i++) {
    const before = load<u32>(tables + <usize>((i - 256) << 2));
    store<u32>(tables + <usize>(i << 2), entry(tables, 0, before) ^ (before >>> 8));
  }
  let state: u32 = 0xffffffff;
  const end = from + bytes;
  for (; from + 8 <= end; from += 8) {
    const a = state ^ load<u32>(from);
    const b = load<u32>(from, 4);
    state =
      entry(tables, 7, a) ^
      entry(tables, 6, a >>> 8) ^
      entry(tables, 5, a >>> 16) ^
      entry(tables, 4, a >>> 24) ^
      entry(tables, 3, b) ^
      entry(tables, 2, b >>> 8) ^
      entry(tables, 1, b >>> 16) ^
      entry(tables, 0, b >>> 24);
  }
  for (; from < end; from++) state = entry(tables, 0, state ^ load<u8>(from)) ^ (state >>> 8);
  return ~state;
}

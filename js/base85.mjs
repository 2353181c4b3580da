/** Bytes as text in the digits of attn_widget/page/base85.py: 1.25 characters for a byte, where base 64 takes 1.33. */

const DIGITS =
  "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%,()*+-;.=/?@^_[]|:~";

/** Five digits for four bytes, the most significant first; a rest of n bytes is n + 1 digits. */
export function encode85(bytes) {
  const missing = (4 - (bytes.length % 4)) % 4;
  const padded = Buffer.concat([bytes, Buffer.alloc(missing)]);
  let text = "";
  for (let at = 0; at < padded.length; at += 4) {
    let word = padded.readUInt32BE(at);
    let group = "";
    for (let place = 0; place < 5; place++) {
      group = DIGITS[word % 85] + group;
      word = Math.floor(word / 85);
    }
    text += group;
  }
  return text.slice(0, text.length - missing);
}

/** Serve the dev page, the bundle and slices of the fixtures on 127.0.0.1. */

import { createReadStream, existsSync, openSync, readFileSync, readSync } from "node:fs";
import { createServer } from "node:http";
import { dirname, extname, join, normalize } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const roots = { dev: here, static: join(here, "..", "..", "attn_widget", "static") };
const types = {
  ".html": "text/html",
  ".mjs": "text/javascript",
  ".js": "text/javascript",
  ".css": "text/css",
};

const runs = new Map();
function open(name) {
  if (!/^\w+$/.test(name)) throw new Error(`no run ${name}`);
  let run = runs.get(name);
  if (run === undefined) {
    const folder = join(here, "fixtures", name);
    run = {
      index: JSON.parse(readFileSync(join(folder, "arrays.json"), "utf8")),
      file: openSync(join(folder, "arrays.bin"), "r"),
    };
    runs.set(name, run);
  }
  return run;
}

/** Rows of one head's plane of an array `[L, H, rows, columns]`. */
function plane({ index, file }, name, layer, head, rows) {
  const { offset, shape } = index.arrays[name];
  const [start, stop] = rows ?? [0, shape[2]];
  const row = shape[3] * 4;
  const buffer = Buffer.alloc((stop - start) * row);
  const first = offset + ((layer * shape[1] + head) * shape[2] + start) * row;
  readSync(file, buffer, 0, buffer.length, first);
  return { header: { dtype: "float32", shape: [stop - start, shape[3]] }, buffer };
}

/** The whole softmax of one position, as the kernel computes it. */
function softmax({ index, file }, position, ids) {
  const { offset, shape } = index.arrays.logits;
  const logits = new Float32Array(shape[1]);
  readSync(
    file,
    Buffer.from(logits.buffer),
    0,
    logits.byteLength,
    offset + position * logits.byteLength,
  );
  const max = logits.reduce((a, b) => Math.max(a, b));
  const sum = logits.reduce((total, value) => total + Math.exp(value - max), 0);
  const entries = (ids ?? []).map((id) => ({
    id,
    token: String(id),
    logit: logits[id],
    exp: Math.exp(logits[id] - max),
    probability: Math.exp(logits[id] - max) / sum,
    rank: 1 + logits.filter((value) => value > logits[id]).length,
  }));
  return {
    logit_max: max,
    sum_exp: sum,
    log_sum_exp: max + Math.log(sum),
    vocab_size: shape[1],
    entries,
  };
}

function slice(name, request) {
  const run = open(name);
  const { kind, layer, head, rows } = request;
  if (kind === "code") {
    const buffer = readFileSync(join(roots.static, "rest.deflate"));
    const arrays = [{ name: "code", dtype: "uint8", shape: [buffer.length] }];
    return { reply: { ok: true, data: {}, arrays }, buffers: [buffer] };
  }
  const names = { weights: ["weights"], scores: ["scores"], qkv: ["q", "k", "v"] }[kind];
  if (names !== undefined) {
    const parts = names.map((array) =>
      head === "mean" ? plane(run, "mean", layer, 0, rows) : plane(run, array, layer, head, rows),
    );
    const arrays = parts.map(({ header }, i) => ({ name: names[i], ...header }));
    const data = kind === "qkv" ? { scaling: run.index.scaling } : {};
    return { reply: { ok: true, data, arrays }, buffers: parts.map(({ buffer }) => buffer) };
  }
  if (kind === "language") {
    return {
      reply: { ok: true, data: { token_word: run.index.token_word }, arrays: [] },
      buffers: [],
    };
  }
  if (kind === "softmax") {
    return {
      reply: { ok: true, data: softmax(run, request.position, request.token_ids), arrays: [] },
      buffers: [],
    };
  }
  return {
    reply: { ok: false, error: `The dev page has no ${kind}.`, hint: "Use a kernel." },
    buffers: [],
  };
}

export function serve(port = 0) {
  const server = createServer(async (request, response) => {
    const { pathname } = new URL(request.url, "http://localhost");
    const [, first, ...rest] = pathname.split("/");
    if (first === "slice") {
      let body = "";
      for await (const chunk of request) body += chunk;
      const { reply, buffers } = slice(rest[0], JSON.parse(body));
      const header = Buffer.from(JSON.stringify({ reply, sizes: buffers.map((b) => b.length) }));
      const length = Buffer.alloc(4);
      length.writeUInt32LE(header.length);
      response.end(Buffer.concat([length, header, ...buffers]));
      return;
    }
    const path =
      first === ""
        ? join(here, "index.html")
        : join(roots[first] ?? here, normalize(`/${rest.join("/")}`));
    if (!existsSync(path)) {
      response.statusCode = 404;
      response.end();
      return;
    }
    response.setHeader("content-type", types[extname(path)] ?? "application/octet-stream");
    createReadStream(path).pipe(response);
  });
  return new Promise((resolve) => {
    server.listen(port, "127.0.0.1", () => resolve({ server, port: server.address().port }));
  });
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const { port } = await serve(Number(process.argv[2] ?? 8787));
  console.log(`http://127.0.0.1:${port}/?run=sixty&layer=2&head=3&token=5`);
}

// The model of this package. Works in Node, in browsers and with bundlers.

import { hasSimd, open } from "./runtime.mjs";

const FILES = {
  simd: new URL("./postil-simd.wasm", import.meta.url),
  plain: new URL("./postil.wasm", import.meta.url),
  model: new URL("./model.bin", import.meta.url),
};

async function read(address) {
  if (address instanceof Uint8Array) return address;
  if (address instanceof ArrayBuffer) return new Uint8Array(address);
  const url = new URL(address, import.meta.url);
  if (url.protocol === "file:" && globalThis.process?.versions?.node) {
    const { readFile } = await import(/* webpackIgnore: true */ /* @vite-ignore */ "node:fs/promises");
    return readFile(url);
  }
  const response = await fetch(url);
  if (!response.ok) throw new Error(`cannot read ${url}: status ${response.status}`);
  return new Uint8Array(await response.arrayBuffer());
}

/**
 * The tagger of this package; every call makes one of its own. `model` and `wasm` are bytes or addresses, for pages that
 * keep these files elsewhere.
 */
export async function load({ model = FILES.model, simd = hasSimd(), wasm = simd ? FILES.simd : FILES.plain } = {}) {
  const [code, content] = await Promise.all([read(wasm), read(model)]);
  return open(code, content);
}

// A model that labels text, in one ES module, exported by Postil $version.
//   import { load } from "./ner.mjs";
//   const tagger = await load();
//   tagger.tag("Museums in Paris are amazing.").entities
/* @license

$licences
*/

$runtime
const bytesOf = (text) => decompressed(Uint8Array.from(atob(text), (c) => c.charCodeAt(0)));

/** The tagger of this file; every call makes one of its own. */
export async function load({ simd = hasSimd() } = {}) {
  const [wasm, model] = await Promise.all([bytesOf(simd ? SIMD : PLAIN), bytesOf(MODEL)]);
  return open(wasm, model);
}

// gzip in base64
const PLAIN = "$plain";
const SIMD = "$simd";
const MODEL = "$model";

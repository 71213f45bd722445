// Tag a sentence with onnxruntime: npm install onnxruntime-web, then node example.mjs Anna lives in Oslo
// (onnxruntime-node has the same interface and is faster.)
import { readFile } from "node:fs/promises";
import * as ort from "onnxruntime-web";
import { Words } from "./words.mjs";

const read = (name) => readFile(new URL(name, import.meta.url));
const words = new Words(JSON.parse(await read("vocabulary.json")));
const session = await ort.InferenceSession.create(await read("model.onnx"));

const sentence = process.argv.length > 2 ? process.argv.slice(2) : ["Anna", "lives", "in", "Oslo"];
const { features, lengths } = words.features([sentence]);
const answers = await session.run({
  features: new ort.Tensor("int64", features.data, features.dims),
  lengths: new ort.Tensor("int64", lengths.data, lengths.dims),
});
for (const [task, names] of Object.entries(words.labels)) {
  const prefix = task && `${task}.`;
  const labels = Array.from(answers[`${prefix}labels`].data, Number);
  const marginals = answers[`${prefix}marginals`].data;
  sentence.forEach((word, t) => {
    console.log(`${word}\t${names[labels[t]]}\t${marginals[t * names.length + labels[t]].toFixed(3)}`);
  });
  console.log(`${prefix}probability of all labels: ${answers[`${prefix}probability`].data[0].toFixed(3)}`);
}

"""Whether an exported ONNX model answers what its tagger answers, on whole corpora.

    python -m benchmarks.onnx_export FOLDER… [--presets fast accurate] [--sentences 600] [--epochs 2] [--model MODEL]
                                     [--node-modules FOLDER]

Every folder holds CoNLL files train*.txt, test*.txt. A short training on each train file makes a model, or --model is
one for all files; the test files are then labelled by the tagger and by onnxruntime. No label may differ, probabilities
not by more than 1e-5. With --node-modules, a folder with onnxruntime-web, Node labels the same sentences. Rates are
tokens a CPU second, in batches of 64 sentences of similar length, with the look-up of words.
"""

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import postil
from benchmarks.measuring import Outcome, parser, report
from postil.export.onnx import export_onnx
from postil.export.onnx_files.words import Words
from postil.models.sentences import tokens_of
from postil.models.tagger import Tagger
from postil.text.formats import read

CLOSE = 1e-5
BATCH = 64
IN_NODE = """
import { readFile, writeFile } from "node:fs/promises";
import * as ort from "onnxruntime-web";
import { Words } from "./words.mjs";
const words = new Words(JSON.parse(await readFile("vocabulary.json")));
const session = await ort.InferenceSession.create(await readFile("model.onnx"));
const answers = [];
for (const batch of JSON.parse(await readFile("batches.json"))) {
  const { features, lengths } = words.features(batch);
  const found = await session.run({
    features: new ort.Tensor("int64", features.data, features.dims),
    lengths: new ort.Tensor("int64", lengths.data, lengths.dims),
  });
  const of_tasks = {};
  for (const task of Object.keys(words.labels)) {
    of_tasks[task] = Array.from(found[(task && `${task}.`) + "labels"].data, Number);
  }
  answers.push(of_tasks);
}
await writeFile("answers.json", JSON.stringify(answers));
"""


def main() -> int:
    options = parser(__doc__)
    options.add_argument("folders", nargs="+", type=Path)
    options.add_argument("--presets", nargs="+", default=["fast", "accurate"])
    options.add_argument("--sentences", type=int, default=600, help="to learn from")
    options.add_argument("--epochs", type=int, default=2)
    options.add_argument("--model", help="a model, instead of training some")
    options.add_argument("--node-modules", type=Path, help="a folder in which onnxruntime-web is installed")
    arguments = options.parse_args()
    rows = []
    for folder in arguments.folders:
        for train in sorted(folder.glob("train*.txt")):
            X = [
                tokens_of(sentence) for sentence in read(train.with_name(train.name.replace("train", "test")), "conll")
            ]
            corpus = f"{folder.name}/{train.stem.removeprefix('train').strip('.') or 'all'}"
            for preset in [arguments.model] if arguments.model else arguments.presets:
                model = postil.load(preset) if arguments.model else trained(train, preset, arguments)
                row = compared(model, X, arguments.node_modules)
                rows.append({"corpus": corpus, "model": Path(preset).name, **row})
    return report(
        Outcome(
            name="onnx_export",
            compared="Labels and marginals of exported models in onnxruntime, and of the taggers themselves.",
            rows=rows,
            goal=f"no label differs, probabilities to {CLOSE:g}",
            passed=all(row["equal"] for row in rows),
        )
    )


def trained(train: Path, preset: str, arguments: Any) -> Tagger:
    some = [sentence for sentence in list(read(train, "conll"))[: arguments.sentences] if sentence.labels]
    X, y = [tokens_of(s) for s in some], [s.labels or [] for s in some]
    return Tagger(preset=preset, epochs=arguments.epochs, seed=0).fit(X, y, dev=(X[:100], y[:100]))


def compared(model: Any, X: list[Any], node_modules: Path | None) -> dict[str, Any]:
    """One row."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        export_onnx(model, folder)
        size = (folder / "model.onnx").stat().st_size
        batches = [[X[i] for i in which] for which in of_similar_length(X)]
        begin = time.process_time()
        answers = list(in_onnxruntime(folder, batches))
        seconds = time.process_time() - begin
        labels: dict[str, list[str]] = json.loads((folder / "vocabulary.json").read_text())["labels"]
        words = sum(map(len, X))
        differing, furthest = 0, 0.0
        for batch, found in zip(batches, answers, strict=True):
            for task, names in labels.items():
                wrong, far = differences(model[task] if task else model, batch, names, *found[task])
                differing, furthest = differing + wrong, max(furthest, far)
        row = {
            "tokens": words,
            "longest": max(map(len, X)),
            "labels": sum(map(len, labels.values())),
            "megabytes": size / 1e6,
            "differing": differing,
            "marginals differ by": furthest,
            "tokens/s": words / seconds,
        }
        if node_modules is not None:
            row["differing in Node"] = in_node(folder, batches, answers, node_modules)
        return row | {"equal": differing == 0 and furthest <= CLOSE and not row.get("differing in Node")}


def of_similar_length(X: Sequence[Any]) -> Iterator[list[int]]:
    order = sorted((i for i in range(len(X)) if len(X[i])), key=lambda i: len(X[i]))
    return (order[first : first + BATCH] for first in range(0, len(order), BATCH))


def in_onnxruntime(folder: Path, batches: Sequence[Any]) -> Iterator[dict[str, tuple[Any, Any]]]:
    """Label numbers (B, T) and marginals (B, T, C) of each batch, by task."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(folder / "model.onnx", options, providers=["CPUExecutionProvider"])
    words = Words.read(str(folder / "vocabulary.json"))
    wanted = [f"{task and task + '.'}{name}" for task in words.labels for name in ("labels", "marginals")]
    for batch in batches:
        features, lengths = words.features(batch)
        inputs = {"features": np.array(features, np.int64), "lengths": np.array(lengths, np.int64)}
        found = session.run(wanted, inputs)
        yield {task: (found[2 * i], found[2 * i + 1]) for i, task in enumerate(words.labels)}


def differences(
    tagger: Tagger, batch: Sequence[Any], names: list[str], labels: Any, marginals: Any
) -> tuple[int, float]:
    """How many labels differ, and the largest difference of a marginal."""
    wrong, furthest = 0, 0.0
    for tokens, predicted, numbers, found in zip(batch, tagger.predict(batch), labels, marginals, strict=True):
        wrong += sum(names[i] != label for i, label in zip(numbers, predicted, strict=False))
        expected = [[by_label[name] for name in names] for by_label in tagger.marginals(tokens)]
        furthest = max(furthest, float(np.abs(found[: len(tokens)] - expected).max()))
    return wrong, furthest


def in_node(folder: Path, batches: Sequence[Any], answers: Sequence[Any], node_modules: Path) -> int:
    """How many labels Node finds that differ from those of Python."""
    (folder / "node_modules").symlink_to(node_modules.resolve())
    (folder / "batches.json").write_text(json.dumps(batches))
    (folder / "program.mjs").write_text(IN_NODE)
    subprocess.run(["node", "program.mjs"], cwd=folder, check=True)
    found = json.loads((folder / "answers.json").read_text())
    return sum(
        int((np.array(of_batch[task]) != labels.reshape(-1)).sum())
        for of_batch, expected in zip(found, answers, strict=True)
        for task, (labels, _) in expected.items()
    )


if __name__ == "__main__":
    sys.exit(main())

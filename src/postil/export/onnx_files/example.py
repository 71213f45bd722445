"""Tag a sentence with onnxruntime: python example.py Anna lives in Oslo"""

import sys
from pathlib import Path

import numpy as np
import onnxruntime
from words import Words

FOLDER = Path(__file__).parent
words = Words.read(str(FOLDER / "vocabulary.json"))
session = onnxruntime.InferenceSession(str(FOLDER / "model.onnx"))

sentence = sys.argv[1:] or ["Anna", "lives", "in", "Oslo"]
features, lengths = words.features([sentence])
answers = dict(
    zip(
        [output.name for output in session.get_outputs()],
        session.run(None, {"features": np.array(features, np.int64), "lengths": np.array(lengths, np.int64)}),
        strict=True,
    )
)
for task, names in words.labels.items():
    prefix = f"{task}." if task else ""
    labels, marginals = answers[f"{prefix}labels"][0], answers[f"{prefix}marginals"][0]
    for word, label, probabilities in zip(sentence, labels, marginals, strict=True):
        print(f"{word}\t{names[label]}\t{probabilities[label]:.3f}")
    print(f"{prefix}probability of all labels: {answers[f'{prefix}probability'][0]:.3f}")

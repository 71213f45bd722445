"""Tagging speed of a model: tokens/s a core, beside the plain path and beside the physical limit, in one run.

    python -m benchmarks.tagging_speed MODEL FILE [--repeats 5]

Lists of tokens in, lists of labels out, one thread, CPU time; the ways take turns and the best run of each counts. The
limit is what cannot be left out: the precomputed rows read once per token at the measured bandwidth, the matrix
products of the layers above at the speed of BLAS alone, and Viterbi; no Python, no strings, no label names.
"""

import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from typing import Any

import postil
from benchmarks.limits import tagging_limit
from benchmarks.measuring import Outcome, interleaved, parser, report
from postil import kernels
from postil.models.engine import blocks
from postil.models.tagger import Tagger
from postil.objectives.crf import viterbi
from postil.text import Sentence
from postil.text.formats import read

GOALS = {"window": 500_000, "convolutions": 100_000}  # tokens/s
LATENCY = 0.001  # seconds
MOST_FOR_PROBABILITIES = 3.0  # times the cost of labels alone


def main() -> int:
    options = parser(__doc__)
    options.add_argument("model", type=Path)
    options.add_argument("data", type=Path, help="a file of sentences in any format that Postil reads")
    options.add_argument("--repeats", type=int, default=5)
    options.add_argument("--tokens", type=int, default=300_000, help="at most so many")
    arguments = options.parse_args()
    X = _sentences(arguments.data, arguments.tokens)
    return report(outcome(postil.load(arguments.model), X, arguments.repeats))


def _sentences(path: Path, most: int) -> list[list[str]]:
    found, tokens = [], 0
    for sentence in read(path):
        found.append(sentence.tokens)
        tokens += len(sentence)
        if tokens >= most:
            break
    return found


def outcome(tagger: Tagger, X: list[list[str]], repeats: int) -> Outcome:
    N, L = sum(map(len, X)), len(tagger.model.codec.labels)
    began = time.process_time()
    tagger.predict(X)
    first = time.process_time() - began
    ways: dict[str, Callable[[], object]] = {
        "predict": lambda: tagger.predict(X),
        "plain path (NumPy, word by word features)": lambda: plain_predict(tagger, X),
        "predict with the probability of each label": lambda: tagger.predict_with_probabilities(X),
        "annotate: entities with their probabilities": lambda: tagger.annotate([Sentence(tokens) for tokens in X]),
    }
    best = {name: min(values) for name, values in interleaved(ways, repeats).items()}
    best["the first time: new words are worked out"] = first
    best["physical limit"] = tagging_limit(tagger, X).seconds
    seconds = one_sentence(tagger, X)
    rows = [
        {
            "what": name,
            "tokens/s": round(N / value),
            "us a token": value / N * 1e6,
            "x predict": value / best["predict"],
        }
        for name, value in best.items()
    ]
    goal = GOALS.get(tagger.config.encoder, 0)
    dearest = max(
        best["predict with the probability of each label"], best["annotate: entities with their probabilities"]
    )
    passed = N / best["predict"] >= goal and seconds < LATENCY and dearest <= MOST_FOR_PROBABILITIES * best["predict"]
    return Outcome(
        name="tagging_speed",
        compared=f"{N:,} tokens, {L} labels, kernels: {kernels.IN_USE}. One sentence: {seconds * 1e6:.0f} us. "
        f"Share of the limit: {best['physical limit'] / best['predict']:.0%}.",
        rows=rows,
        goal=f"{goal:,} tokens/s a core, a sentence in well under a millisecond, probabilities at most 3 x",
        passed=passed,
    )


def plain_predict(tagger: Tagger, X: Sequence[Any]) -> list[list[str]]:
    """Every layer on every token, as in training."""
    answers: list[list[str]] = [[] for _ in X]
    parts = tagger.model
    for which in blocks([len(tokens) for tokens in X]):
        lattice = parts.network.lattice(parts.features.inputs([X[i] for i in which]))
        labels = viterbi(lattice)
        for i, first, end in zip(which, lattice.offsets[:-1], lattice.offsets[1:], strict=True):
            answers[i] = tagger.model.codec.texts(labels[first:end])
    return answers


def one_sentence(tagger: Tagger, X: Sequence[Any]) -> float:
    """Seconds for one sentence of about 20 tokens, the median of many calls."""
    chosen = min((tokens for tokens in X if tokens), key=lambda tokens: abs(len(tokens) - 20))
    seconds = []
    for _ in range(200):
        began = time.perf_counter()
        tagger.predict([chosen])
        seconds.append(time.perf_counter() - began)
    return median(seconds)


if __name__ == "__main__":
    sys.exit(main())

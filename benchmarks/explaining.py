"""Explaining one entity of a sentence of 30 words, beside tagging that sentence and beside a loop of predictions.

    python -m benchmarks.explaining [--repeats 20]

The loop does what an explanation does by leaving out, one changed sentence after the other. Sentences are made up.
"""

import sys

import numpy as np

from benchmarks.measuring import Outcome, interleaved, medians, parser, report
from postil.models.tagger import Tagger
from postil.samples.corpora import made_up_sentences

WORDS = 30
MOST = 0.2  # seconds
PRESETS = ("fast", "accurate", "linear-crf", "window-softmax", "sentence-sll")


def main() -> int:
    options = parser(__doc__)
    options.add_argument("--repeats", type=int, default=20)
    return report(outcome(options.parse_args().repeats))


def outcome(repeats: int) -> Outcome:
    sentences = made_up_sentences(200, np.random.default_rng(0))
    X = [list(sentence.tokens) for sentence in sentences]
    y = [list(sentence.labels) for sentence in sentences]
    tokens = [token for sentence in X for token in sentence][:WORDS]
    rows = [_row(preset, Tagger(preset=preset, epochs=1).fit(X, y), tokens, repeats) for preset in PRESETS]
    return Outcome(
        name="explaining",
        compared=f"one entity of a sentence of {WORDS} words, CPU seconds, median of {repeats}",
        rows=rows,
        goal=f"an explanation within {1000 * MOST:.0f} ms, and faster than the loop",
        passed=all(row["explain ms"] <= 1000 * MOST and row["beside the loop"] < 1 for row in rows),
    )


def _row(preset: str, tagger: Tagger, tokens: list[str], repeats: int) -> dict[str, object]:
    changed = [[*tokens[:t], "", *tokens[t + 1 :]] for t in range(len(tokens))]
    seconds = medians(
        interleaved(
            {
                "explain": lambda: tagger.explain(tokens, 3, 4, "LOC"),
                "tag": lambda: tagger.marginals(tokens),
                "loop": lambda: [tagger.marginals(sentence) for sentence in changed],
            },
            repeats,
        )
    )
    return {
        "preset": preset,
        "explain ms": round(1000 * seconds["explain"], 2),
        "tag ms": round(1000 * seconds["tag"], 2),
        "beside tagging": round(seconds["explain"] / seconds["tag"], 1),
        "beside the loop": round(seconds["explain"] / seconds["loop"], 2),
    }


if __name__ == "__main__":
    sys.exit(main())

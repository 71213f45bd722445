"""Features and rows of words that a model has never met: CPU time of the kernel and of its twin, and their equality.

    python benchmarks/new_words.py MODEL FILE ... [--words N] [--turns N]

All distinct tokens of the files, which are read as text, are compared between the two twins, and with Python's own
``str`` methods where it has the tables' version of Unicode. Times are for the first N of them, the best of some turns.
"""

import argparse
import importlib
import re
import sys
import time
import unicodedata
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import postil
from postil.features import caps_class, normalise
from postil.kernels import plain_text
from postil.kernels.characters import frozen
from postil.kernels.plain_text import WordRules, word_cells
from postil.models.engine import Engine, Words
from postil.models.networks.network import MAIN
from postil.text import Segmenter

BLOCK = 4096  # words that come together, as many as are new in a large block of text


def distinct_words(paths: list[Path]) -> list[str]:
    """The distinct tokens of text files, in the order in which they come."""
    words: dict[bytes, None] = {}
    segmenter = Segmenter()
    for path in paths:
        content = path.read_bytes().decode("utf-8", "replace").encode()
        cells = segmenter.cells(content, lines=True, split=False).cells
        words.update(dict.fromkeys(content[first:end] for first, end in cells.tolist()))
    return [word.decode() for word in words]


def blocks(words: list[str]) -> Iterator[list[str]]:
    return (words[first : first + BLOCK] for first in range(0, len(words), BLOCK))


def cpu_microseconds(work: Callable[[], object], count: int, turns: int) -> float:
    """Per word, of the fastest turn."""
    best = float("inf")
    for _ in range(turns):
        start = time.process_time()
        work()
        best = min(best, time.process_time() - start)
    return 1e6 * best / count


def differences(words: list[str], rules: WordRules, kernel: Any) -> int:
    """Words whose ids are not the same in both twins."""
    return sum(
        int((kernel.word_features(*cells, rules) != plain_text.word_features(*cells, rules)).any(axis=1).sum())
        for cells in map(word_cells, blocks(words))
    )


def differences_from_python(words: list[str]) -> int:
    """Words that Python's own methods see differently."""

    def agrees(word: str) -> bool:
        return normalise(word) == re.sub(r"\d", "0", word.lower()) and (caps_class(word) == 1) == word.islower()

    return sum(not agrees(word) for word in words)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", metavar="MODEL")
    parser.add_argument("files", metavar="FILE", nargs="+", type=Path)
    parser.add_argument("--words", type=int, default=200_000)
    parser.add_argument("--turns", type=int, default=5)
    arguments = parser.parse_args()
    words, parts = distinct_words(arguments.files), postil.load(arguments.model).model
    kernel, rules = importlib.import_module("postil.kernels.compiled_text"), parts.features.words.rules
    wrong = differences(words, rules, kernel)
    print(f"{len(words):,} distinct words, {len(rules.columns)} features: {wrong:,} differ between the twins")
    if frozen().version_name == unicodedata.unidata_version:
        others = differences_from_python(words)
        print(f"{others:,} differ from Python's own methods, Unicode {frozen().version_name}")
        wrong += others
    timed = words[: arguments.words]
    cells = word_cells(timed)
    for name, module, turns in (("kernel", kernel, arguments.turns), ("twin", plain_text, 2)):

        def features(module: Any = module) -> None:
            module.word_features(*cells, rules)

        print(f"features, {name:<8}{cpu_microseconds(features, len(timed), turns):6.2f} µs a word")
    text, places = cells

    def scores() -> None:
        engine = Engine(parts.features, {MAIN: parts.network})
        for first in range(0, len(timed), BLOCK):
            part = np.ascontiguousarray(places[first : first + BLOCK])
            list(engine.scored(Words(text, part, np.array([0, len(part)])), [MAIN]))

    print(f"scores of new words {cpu_microseconds(scores, len(timed), arguments.turns):6.2f} µs a word")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())

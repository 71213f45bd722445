"""Speed of reading CoNLL columns, beside the least that Python can do and the usual way.

    python benchmarks/reading.py FILE [--repeats 7]

All in one process, best of several rounds in turn, CPU time of one thread. Three rows:

    split loop    `for line in file: line.split()`: what any reader in Python pays at least
    postil        `postil.text.formats.read`: sentences with tokens, labels and columns, every line checked
    objects       the usual way of annotation libraries: an object for each token, nothing checked
"""

import argparse
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from postil.text.formats import read


@dataclass
class Token:
    text: str
    label: str
    columns: list[str]


def split_loop(path: Path) -> int:
    tokens = 0
    with path.open(encoding="utf-8") as file:
        for line in file:
            if line.split():
                tokens += 1
    return tokens


def postil(path: Path) -> int:
    return sum(len(sentence.tokens) for sentence in read(path))


def objects(path: Path) -> int:
    tokens = 0
    sentence: list[Token] = []
    with path.open(encoding="utf-8") as file:
        for line in file:
            fields = line.rstrip("\n").split("\t")
            if len(fields) > 1:
                sentence.append(Token(fields[0], fields[-1], fields[1:-1]))
                tokens += 1
            else:
                sentence = []
    return tokens


WAYS: dict[str, Callable[[Path], int]] = {"split loop": split_loop, "postil": postil, "objects": objects}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("path", type=Path)
    parser.add_argument("--repeats", type=int, default=7)
    arguments = parser.parse_args()
    best = dict.fromkeys(WAYS, float("inf"))
    tokens = {}
    for _ in range(arguments.repeats):
        for name, way in WAYS.items():
            started = time.process_time()
            tokens[name] = way(arguments.path)
            best[name] = min(best[name], time.process_time() - started)
    for name, seconds in best.items():
        ratio = best["split loop"] / seconds
        speed = tokens[name] / seconds / 1e6
        print(f"{name:12} {tokens[name]:9,} tokens  {speed:6.2f} M tokens/s  {ratio:5.2f} of the split loop")
    return 0


if __name__ == "__main__":
    sys.exit(main())

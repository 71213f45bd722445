"""Speed of reading bracketed trees, beside the least that Python can do and the usual way.

    python -m benchmarks.reading_trees FILE [--repeats 5]

One tree a line. All in one process, best of several rounds in turn, CPU time of one thread. Three rows:

    split         brackets set apart and `str.split`, nothing built: what any reader in Python pays at least
    postil        `postil.text.read_trees`: every bracket checked, escapes decoded
    recursive     the usual way: an object for each node, a function that calls itself, nothing checked
"""

import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from benchmarks.measuring import interleaved, parser
from postil.text import read_trees


def split(path: Path) -> int:
    trees = 0
    with path.open(encoding="utf-8") as file:
        for line in file:
            trees += bool(line.replace("(", " ( ").replace(")", " ) ").split())
    return trees


def postil(path: Path) -> int:
    return sum(1 for _ in read_trees(path))


class Node:
    def __init__(self, label: str) -> None:
        self.label = label
        self.word = ""
        self.children: list[Node] = []


def recursive(path: Path) -> int:
    trees = 0
    with path.open(encoding="utf-8") as file:
        for line in file:
            pieces = iter(line.replace("(", " ( ").replace(")", " ) ").split())
            next(pieces)
            _node(pieces)
            trees += 1
    return trees


def _node(pieces: Iterator[str]) -> Node:
    node = Node(next(pieces))
    for piece in pieces:
        if piece == "(":
            node.children.append(_node(pieces))
        elif piece == ")":
            break
        else:
            node.word = piece
    return node


WAYS: dict[str, Callable[[Path], int]] = {"split": split, "postil": postil, "recursive": recursive}


def main() -> int:
    options = parser(__doc__)
    options.add_argument("path", type=Path)
    options.add_argument("--repeats", type=int, default=5)
    arguments = options.parse_args()
    trees = split(arguments.path)
    seconds = interleaved({name: partial(way, arguments.path) for name, way in WAYS.items()}, arguments.repeats)
    least = min(seconds["split"])
    for name, runs in seconds.items():
        print(f"{name:10} {trees:8,} trees  {trees / min(runs):9,.0f} trees/s  {min(runs) / least:5.2f} times split")
    return 0


if __name__ == "__main__":
    sys.exit(main())

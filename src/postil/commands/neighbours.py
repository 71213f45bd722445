"""``postil neighbours``: the words with the most similar vectors."""

import argparse
import json

from postil.features.vectors import load_vectors
from postil.pretraining.similarity import Neighbour, neighbours

DESCRIPTION = """\
List the words whose vectors have the largest cosine with that of a word. VECTORS is a GloVe, word2vec or fastText file,
or glove-50d.

  postil neighbours wikipedia.vectors london
  postil neighbours glove-50d london oxford --count 5
  postil neighbours wikipedia.vectors london --json
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("vectors", metavar="VECTORS", help="file of word vectors, or glove-50d")
    parser.add_argument("words", metavar="WORD", nargs="+", help="words to find the neighbours of")
    parser.add_argument("--count", type=int, default=10, metavar="N", help="neighbours per word (default: 10)")
    parser.add_argument("--json", action="store_true", help="print one JSON object and nothing else")


def run(arguments: argparse.Namespace) -> int:
    vectors = load_vectors(arguments.vectors)
    found = {word: neighbours(vectors, word, arguments.count) for word in arguments.words}
    if arguments.json:
        print(json.dumps({word: [near._asdict() for near in row] for word, row in found.items()}, ensure_ascii=False))
    else:
        _show(found)
    return 0


def _show(found: dict[str, list[Neighbour]]) -> None:
    from postil.commands.terminal.display import make_console, show_table
    from postil.metrics.tables import Table

    console = make_console()
    for word, row in found.items():
        show_table(console, Table(word, ("word", "cosine"), [(near.word, near.cosine) for near in row]))

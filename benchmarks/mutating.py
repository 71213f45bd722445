"""Damage slices of real files at random; each must give a clear error or a right result, never a stack trace.

    python benchmarks/mutating.py FILE... [--files 10000] [--seed 0]

CoNLL files are also tried as JSON Lines and with spaces instead of tabs, files of trees also spread over lines. Prints
how many files were refused, read and recognised as something else, and the slowest one; stops with the damaged file's
path at the first failure.
"""

import argparse
import io
import random
import re
import sys
import tempfile
import time
from collections import Counter
from itertools import islice
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from oracles.mutations import mutate
from oracles.rereading import CHECKS, outcome
from postil.text.document import Sentence
from postil.text.formats import read, write

SOLID = re.compile("[^ ]+")
"""Tokens that can stand between spaces."""
SEPARATORS = {"jsonl": b"\n", "trees": b"\n("}
"""What stands between sentences; blank lines in the other formats."""
SLICE = 4000
"""Bytes of a file that are damaged at a time."""


def slices(paths: list[Path]) -> list[tuple[str, bytes]]:
    """The files, each with its format, and twins of CoNLL files in JSON Lines and with spaces between the columns."""
    found = []
    for path in paths:
        with read(path) as reading:
            found.append((reading.format, path.read_bytes()))
            if reading.format == "conll":
                sentences = list(islice(reading, 3000))
                found.append(("jsonl", written(sentences, "jsonl")))
                solid = [sentence for sentence in sentences if all(map(SOLID.fullmatch, sentence.tokens))]
                found.append(("conll", written(solid, "conll", delimiter=" ")))
            elif reading.format == "trees":
                found.append(("trees", written(list(islice(reading, 3000)), "trees").replace(b" (", b"\n  (")))
    return found


def written(sentences: list[Sentence], format: str, **options: Any) -> bytes:
    stream = io.BytesIO()
    write(sentences, stream, format, **options)
    return stream.getvalue()


def cut(data: bytes, separator: bytes, rng: random.Random) -> bytes:
    """Whole sentences or records, about SLICE bytes of them."""
    ends = len(separator.rstrip(b"("))  # an opening bracket belongs to what follows
    start = data.rfind(separator, 0, rng.randrange(len(data))) + ends if len(data) > SLICE else 0
    end = data.find(separator, start + SLICE)
    return data[max(0, start) : end + ends if end > 0 else len(data)]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("paths", nargs="+", type=Path)
    parser.add_argument("--files", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    rng = random.Random(arguments.seed)
    counts: Counter[str] = Counter()
    slowest = 0.0
    with tempfile.TemporaryDirectory() as folder:
        sources = slices(arguments.paths)
        path = Path(folder) / "damaged"
        for number in range(arguments.files):
            format, data = rng.choice(sources)
            path.write_bytes(mutate(cut(data, SEPARATORS.get(format, b"\n\n"), rng), rng))
            started = time.perf_counter()
            for given in (format, None):
                try:
                    result = outcome(path, given, CHECKS[format])
                except Exception:
                    kept = Path(tempfile.gettempdir()) / f"damaged-{number}.{format}"
                    path.replace(kept)
                    print(f"failure: file {number} kept as {kept}", file=sys.stderr)
                    raise
                counts[f"{format:7} {'given' if given else 'recognised'}: {result}"] += 1
            slowest = max(slowest, time.perf_counter() - started)
    for what, number in sorted(counts.items()):
        print(f"{number:7,}  {what}")
    print(f"slowest file: {slowest * 1000:.0f} ms")
    return 0


if __name__ == "__main__":
    sys.exit(main())

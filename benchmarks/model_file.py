"""Opening a model of 400,000 words, and looking words up in it, beside the usual list of words and dict.

    python -m benchmarks.model_file [--words 400000] [--dimensions 50]

Words are made up. "Usual" is a file of words read into a dict and a matrix copied into memory, as most tools load a
vocabulary and its vectors; both are timed with the files in the page cache.
"""

import json
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from safetensors.numpy import load_file, save_file

from benchmarks.measuring import Outcome, interleaved, medians, parser, report
from postil import archive
from postil.features import Vocabulary

LOOKUPS = 50_000


def main() -> int:
    options = parser(__doc__)
    options.add_argument("--words", type=int, default=400_000)
    options.add_argument("--dimensions", type=int, default=50)
    arguments = options.parse_args()
    words = made_up_words(arguments.words)
    matrix = np.zeros((len(words), arguments.dimensions), np.float32)
    with tempfile.TemporaryDirectory() as folder:
        return report(outcome(Path(folder), words, matrix))


def made_up_words(count: int) -> list[str]:
    """Different words of 2 to 16 letters, the same on every run."""
    rng = np.random.default_rng(0)
    letters = np.array(list("etaoinshrdlucmwfgypb"))
    found: dict[str, None] = {}
    while len(found) < count:
        found["".join(rng.choice(letters, rng.integers(2, 17)))] = None
    return list(found)


def outcome(folder: Path, words: list[str], matrix: np.ndarray) -> Outcome:
    begin = time.perf_counter()
    archive.save(folder / "m.postil", {**Vocabulary.build(words).arrays(), "matrix": matrix}, {})
    writing = time.perf_counter() - begin
    (folder / "words.json").write_text(json.dumps(words), encoding="utf-8")
    save_file({"matrix": matrix}, folder / "m.safetensors")

    ours, usual = open_ours(folder), open_usual(folder)
    chosen = np.random.default_rng(1).integers(0, len(words), LOOKUPS)
    queries = [words[i] for i in chosen]
    pairs = {
        "open words and vectors": (lambda: open_ours(folder), lambda: open_usual(folder), 1),
        "find a word": (lambda: all_of(ours.id, queries), lambda: all_of(usual.get, queries), LOOKUPS),
        "miss a word": (lambda: all_of(ours.id, misses), lambda: all_of(usual.get, misses), LOOKUPS),
    }
    misses = [query + "!" for query in queries]
    rows = [row(name, *pair) for name, pair in pairs.items()]
    right = ours.ids(queries).tolist() == chosen.tolist()
    return Outcome(
        name="model_file",
        compared=f"{len(words):,} words x {matrix.shape[1]}; written in {writing:.2f} s, ids the same: {right}",
        rows=rows,
        goal="opened within 50 ms and 20 times as fast as words and dict; a word found within 20 times a dict's time",
        passed=bool(
            right and rows[0]["ours, us"] < 50_000 and rows[0]["usual / ours"] > 20 and rows[1]["usual / ours"] > 1 / 20
        ),
    )


def row(name: str, ours: Callable[[], object], usual: Callable[[], object], times: int) -> dict[str, object]:
    seconds = medians(interleaved({"ours": ours, "usual": usual}, repeats=5))
    microseconds = {who: 1e6 * value / times for who, value in seconds.items()}
    return {
        "what": name,
        "ours, us": microseconds["ours"],
        "usual, us": microseconds["usual"],
        "usual / ours": microseconds["usual"] / microseconds["ours"],
    }


def open_ours(folder: Path) -> Vocabulary:
    arrays, _ = archive.load(folder / "m.postil")
    return Vocabulary.from_arrays(arrays)


def open_usual(folder: Path) -> dict[str, int]:
    load_file(folder / "m.safetensors")
    words = json.loads((folder / "words.json").read_text(encoding="utf-8"))
    return {word: index for index, word in enumerate(words)}


def all_of(find: Callable[[str], object], queries: list[str]) -> None:
    for query in queries:
        find(query)


if __name__ == "__main__":
    sys.exit(main())

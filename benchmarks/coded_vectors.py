"""Models with quantised vectors compared with those that keep them exactly: F1, size of the file, CPU time to open it.

    python -m benchmarks.coded_vectors wikigold btc wnut17 ncbi_disease --seeds 0 1 2

A corpus is a folder with train.txt, dev.txt and test.txt. F1 is the mean over the seeds, in percent.
"""

import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import mean, median
from typing import Any

import postil
from benchmarks.accuracy import Part, load_part
from benchmarks.measuring import Outcome, parser, report

MOST_BYTES, MOST_LOST = 12_000_000, 0.1
PARTS = ("dev", "test")


def main() -> int:
    arguments = parser(__doc__)
    arguments.add_argument("corpora", nargs="+", type=Path)
    arguments.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    arguments.add_argument("--vectors", default="glove-50d")
    arguments.add_argument("--preset", default="fast")
    given = arguments.parse_args()
    rows = [_row(corpus, exact, given) for corpus in given.corpora for exact in (True, False)]
    lost = [mean(rows[i][part] - rows[i + 1][part] for i in range(0, len(rows), 2)) for part in PARTS]
    passed = max(lost) <= MOST_LOST and max(row["bytes"] for row in rows[1::2]) <= MOST_BYTES
    goal = f"at most {MOST_BYTES:,} bytes, and on average {MOST_LOST} of F1 lost"
    return report(Outcome("coded_vectors", f"{given.preset} with {given.vectors}", rows, goal, passed))


def _row(corpus: Path, exact: bool, given: Any) -> dict[str, Any]:
    train, *held_out = (load_part(str(corpus / f"{part}.txt")) for part in ("train", *PARTS))
    taggers = [
        postil.Tagger(preset=given.preset, vectors=given.vectors, exact_vectors=exact, seed=seed).fit(*train)
        for seed in given.seeds
    ]
    f1 = {part: _mean_f1(taggers, data) for part, data in zip(PARTS, held_out, strict=True)}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "m.postil")
        taggers[0].save(path)
        vectors = "exact" if exact else "quantised"
        return {
            "corpus": corpus.name,
            "vectors": vectors,
            **f1,
            "bytes": path.stat().st_size,
            "open ms": _opening(path),
        }


def _mean_f1(taggers: Sequence[postil.Tagger], data: Part) -> float:
    return 100 * mean(tagger.score(*data) for tagger in taggers)


def _opening(path: Path) -> float:
    """CPU time until the first sentence is tagged, in milliseconds."""
    times = []
    for _ in range(9):
        before = time.process_time()
        postil.load(path).predict([["Anna", "lives", "in", "Paris"]])
        times.append(1000 * (time.process_time() - before))
    return median(times)


if __name__ == "__main__":
    raise SystemExit(main())

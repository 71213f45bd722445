"""A round of `postil suggest`: learn on 1,000 sentences, rank 50,000 of a raw text; CPU seconds on one core.

    python -m benchmarks.suggest btc pool.txt                  a corpus is a folder with train.txt; a pool is raw text
    python -m benchmarks.suggest btc pool.txt --by spans

What suggestions save is measured by `benchmarks.simulate`.
"""

import time
from itertools import islice
from pathlib import Path

from benchmarks.measuring import Outcome, parser, report
from postil.models import Tagger
from postil.quality import WAYS, suggest
from postil.text import read

SECONDS = 20.0


def main() -> int:
    options = parser(__doc__)
    options.add_argument("corpus", type=Path, metavar="FOLDER", help="with a file train.txt")
    options.add_argument("pool", metavar="POOL", help="raw text")
    options.add_argument("--learn", type=int, default=1_000, help="sentences to learn from (default: 1,000)")
    options.add_argument("--rank", type=int, default=50_000, help="sentences of the pool (default: 50,000)")
    options.add_argument("--by", choices=WAYS, default="entropy")
    arguments = options.parse_args()
    with read(str(arguments.corpus / "train.txt")) as reading:
        sentences = list(islice(reading, arguments.learn))
    begin = time.process_time()
    tagger = Tagger().fit([one.tokens for one in sentences], [one.labels or [] for one in sentences])
    learnt = time.process_time()
    tokens: list[int] = []
    with read(arguments.pool) as reading:
        found = suggest(tagger, islice(reading, arguments.rank), 50, by=arguments.by, progress=tokens.append)
    ranked = time.process_time()
    row = {
        "learnt": sum(map(len, sentences)),
        "ranked": sum(tokens),
        "suggested": len(found),
        "learn s": learnt - begin,
        "rank s": ranked - learnt,
        "round s": ranked - begin,
    }
    return report(
        Outcome(
            name="suggest",
            compared=f"learn on {len(sentences):,} sentences, rank {arguments.rank:,} by {arguments.by}",
            rows=[row],
            goal=f"a round within {SECONDS:g} s of CPU time",
            passed=ranked - begin <= SECONDS,
        )
    )


if __name__ == "__main__":
    raise SystemExit(main())

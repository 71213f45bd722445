"""Which choices of the recipe of the English model help on corpora of names that it has not seen.

    python -m benchmarks.transfer DATA                                              every row, two seeds
    python -m benchmarks.transfer DATA --rows base "256 hidden units" --seeds 0     some rows

Three corpora are left out at once, then three others. For each row, a tagger of names, `fast`, is trained on the rest
and scored on the corpora that were left out: F1 of PER, LOC and ORG on their dev parts and a sample of their train
parts. Test parts stay unread. The mean is that of the six corpora. To keep a run at half a CPU minute, the base has two
epochs, two fifths of the tweets and no copies in other cases. Two seeds of a row can differ by a point: one is not
enough to choose.
"""

import random
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from statistics import mean
from typing import Any

from benchmarks.measuring import Outcome, parser, report
from postil.models.tagger import Tagger
from recipes.english import CASES, GLOVE, LISTS, SETTINGS, names_to_learn
from recipes.english_card import core_f1
from recipes.english_data import NAMES, Part, read_names, with_cases

LEFT_OUT = (("wikigold", "crossner_science", "wnut17"), ("gum_open", "crossner_music", "btc"))
TWEETS = ("btc", "wnut17")
MOST_SENTENCES = 1_500
"""Of a corpus, to score on."""
KNOWLEDGE: dict[str, Any] = {"vectors": GLOVE, "clusters": "brown", "gazetteers": LISTS}
BASE: dict[str, Any] = {**SETTINGS, **KNOWLEDGE, "epochs": 2, "tweets": 0.4, "cases": {}}
ROWS: dict[str, dict[str, Any]] = {
    "base": {},
    "no clusters of raw text": {"clusters": None},
    "copies in other cases, no clusters": {"cases": CASES, "clusters": None},
    "all tweets, no clusters": {"tweets": 1.0, "clusters": None},
    "no tweets, no clusters": {"tweets": 0.0, "clusters": None},
    "half of the hidden outputs dropped": {"hidden_dropout": 0.5},
    "mentions replaced": {"mention_replacement": 0.3},
    "256 hidden units": {"hidden": 256},
}


def main() -> int:
    options = parser(__doc__)
    options.add_argument("data", type=Path, metavar="DATA")
    options.add_argument("--rows", nargs="+", choices=list(ROWS), default=list(ROWS))
    options.add_argument("--seeds", nargs="+", type=int, default=[0, 1])
    arguments = options.parse_args()
    data = arguments.data
    held_out = {corpus: _held_out(data, corpus) for corpora in LEFT_OUT for corpus in corpora}
    rows = []
    for name in arguments.rows:
        for seed in arguments.seeds:
            scores = _scores(data, BASE | ROWS[name], seed, held_out)
            rows.append({"row": name, "seed": seed, "mean": mean(scores.values())} | scores)
            print(rows[-1], file=sys.stderr, flush=True)
    return report(
        Outcome(
            name="transfer",
            compared="F1 of PER, LOC and ORG on corpora that were left out",
            rows=rows,
            goal="to compare the rows",
            passed=True,
        )
    )


def _held_out(data: Path, corpus: str) -> Part:
    dev, train = read_names(data, corpus, "dev"), read_names(data, corpus, "train")
    order = list(range(len(train.X)))
    random.Random(1).shuffle(order)
    return dev + _of(train, order[: max(0, MOST_SENTENCES - len(dev.X))])


def _of(part: Part, which: Iterable[int]) -> Part:
    which = list(which)
    return Part([part.X[i] for i in which], [part.y[i] for i in which])


def _scores(data: Path, row: Mapping[str, Any], seed: int, held_out: Mapping[str, Part]) -> dict[str, float]:
    settings = {name: value for name, value in row.items() if name not in ("tweets", "cases")}
    scores = {}
    for corpora in LEFT_OUT:
        learnt = with_cases(_learnt(data, corpora, row["tweets"], seed), row["cases"], seed)
        tagger = Tagger(preset="fast", seed=seed, **settings).fit(learnt.X, learnt.y)
        scores |= {corpus: core_f1(tagger, held_out[corpus]) for corpus in corpora}
    return scores


def _learnt(data: Path, without: Sequence[str], share: float, seed: int) -> Part:
    """All other corpora, as the recipe learns them, but only this share of the tweets."""
    learnt = Part([], [])
    for corpus in NAMES:
        part = names_to_learn(data, [*without, *(other for other in NAMES if other != corpus)])
        if corpus in TWEETS:
            part = _of(part, sorted(random.Random(seed).sample(range(len(part.X)), int(share * len(part.X)))))
        learnt += part
    return learnt


if __name__ == "__main__":
    sys.exit(main())

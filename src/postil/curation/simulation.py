"""Simulate active learning on data whose labels are known.

A run begins with a few random sentences. A model learns from them, suggests sentences of the rest, and is shown their
labels; a new model learns from all so far, and so on. Runs with the same seed begin with the same sentences.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, final

import numpy as np

from postil.arrays import Array
from postil.curation import jobs as parallel
from postil.curation.corpus import check_scorable
from postil.curation.suggestion import RANDOM, WAYS, ranked
from postil.errors import ConfigurationError, DataError
from postil.features.inputs import Token
from postil.metrics import evaluate
from postil.models.inputs import checked_dev, checked_labelled
from postil.models.tagger import Tagger
from postil.text import with_marks
from postil.text.labels import schemes

FULL = "all"
"""The name of the runs that learn from everything at once."""
CLOSE = 0.01
"""How far below the score of all data a model may be to be as good: one point."""


class Round(NamedTuple):
    """The score (0 to 1) of a model that learnt from this many sentences and tokens."""

    sentences: int
    tokens: int
    score: float


class Run(NamedTuple):
    """One simulated annotation project."""

    way: str
    seed: int
    rounds: list[Round]


@final
@dataclass(frozen=True, slots=True)
class Simulation:
    """Curves of score against labelled tokens, for each way to choose what is labelled."""

    runs: list[Run]
    tokens: int
    """Tokens of all data."""

    @property
    def ways(self) -> list[str]:
        return [way for way in dict.fromkeys(run.way for run in self.runs) if way != FULL]

    @property
    def full(self) -> float:
        """The mean score of models that learnt from all data."""
        return float(np.mean([run.rounds[-1].score for run in self.runs if run.way == FULL]))

    def curve(self, way: str) -> list[tuple[float, float, float]]:
        """Mean tokens, mean score and standard deviation of each round."""
        rounds = list(zip(*(run.rounds for run in self.runs if run.way == way), strict=False))
        return [
            (
                float(np.mean([one.tokens for one in same])),
                float(np.mean([one.score for one in same])),
                float(np.std([one.score for one in same], ddof=1)) if len(same) > 1 else 0.0,
            )
            for same in rounds
        ]

    def needed(self, way: str) -> float | None:
        """The share of the tokens from which on the mean score stays within one point of that of all data; None: more.

        A round that comes close by luck, before others that do not, does not count.
        """
        share = None
        for tokens, score, _ in reversed(self.curve(way)):
            if score < self.full - CLOSE:
                break
            share = tokens / self.tokens
        return share

    def summary(self) -> str:
        """One sentence for each way."""
        return "\n".join(self._sentence(way) for way in sorted(self.ways, key=lambda way: self.needed(way) or 2.0))

    def _sentence(self, way: str) -> str:
        share = self.needed(way)
        if share is None:
            most = max(tokens for tokens, _, _ in self.curve(way)) / self.tokens
            return f"{way}: {100 * most:.0f} % of the tokens are not enough to be within one point of the full data"
        return f"{way}: {100 * share:.0f} % of the tokens reach within one point of the full data"

    def __str__(self) -> str:
        lines = [f"all data: {self.tokens:,} tokens, {100 * self.full:.2f}"]
        for way in self.ways:
            lines += ["", way]
            lines += [
                f"{tokens:>10,.0f} tokens  {100 * score:6.2f} ± {100 * spread:.2f}"
                for tokens, score, spread in self.curve(way)
            ]
        return "\n".join([*lines, "", self.summary()])

    def to_dict(self) -> dict[str, Any]:
        """Ready for JSON, scores in percent."""
        return {
            "tokens": self.tokens,
            "full": 100 * self.full,
            "needed": {way: self.needed(way) for way in self.ways},
            "runs": [_as_dict(run) for run in self.runs],
        }


def _as_dict(run: Run) -> dict[str, Any]:
    rounds = [{**one._asdict(), "score": 100 * one.score} for one in run.rounds]
    return {"way": run.way, "seed": run.seed, "rounds": rounds}


def simulate(
    estimator: Tagger,
    X: Sequence[Sequence[Token]],
    y: Sequence[Sequence[str]],
    test: tuple[Sequence[Sequence[Token]], Sequence[Sequence[str]]],
    *,
    ways: Sequence[str] | Mapping[str, Mapping[str, Any]] = ("entropy", RANDOM),
    start: float = 0.02,
    growth: float = 1.3,
    until: float = 0.6,
    seeds: int = 3,
    seed: int = 0,
    jobs: int = 1,
    progress: parallel.Progress | None = None,
    finished: Sequence[Run] = (),
    save: Callable[[Run], None] | None = None,
) -> Simulation:
    """Play the loop of labelling and learning through with labelled data, for each of the ``ways`` of ``suggest``.

    The first model learns from random sentences with a share ``start`` of the tokens. Every following one learns from
    ``growth`` times as many, the new ones as the model before suggests, until a share ``until`` is labelled. All are
    scored on ``test``, beside models that learn from all data. ``ways`` may map names to keyword arguments of
    ``suggest``. There are ``seeds`` runs for each way; the results do not depend on the number of ``jobs``.

    ``save`` is called with every run as soon as it is done. Runs that an interrupted simulation of the same data has
    ``finished`` are not repeated.
    """
    options = {way: {"by": way} for way in ways} if not isinstance(ways, Mapping) else dict(ways)
    _check(options, start, growth, until, seeds)
    X, y = checked_labelled(X, y)
    labels = [*with_marks(y, X)]
    held_out = checked_dev(test)
    if held_out is None or not X or not held_out[0]:
        raise DataError("a simulation", expected="needs sentences to label and sentences to score on", got="none")
    check_scorable(labels, held_out[1], "a simulation")
    data = Data(X, labels, *held_out, targets(sum(map(len, X)), start, growth, until))
    repeats = range(seed, seed + seeds)
    tasks: list[tuple[Any, ...]] = [(estimator, data, FULL, {}, one) for one in repeats]
    tasks += [(estimator, data, way, chosen, one) for way, chosen in options.items() for one in repeats]
    done = {(run.way, run.seed): run for run in finished}
    missing = [task for task in tasks if (task[2], task[4]) not in done]
    done |= {(run.way, run.seed): run for run in parallel.run(_run, missing, jobs, progress, save)}
    return Simulation([done[task[2], task[4]] for task in tasks], sum(map(len, X)))


class Data(NamedTuple):
    """What all runs share: sentences to label, sentences to score on, and the tokens to be labelled by each round."""

    X: Sequence[Any]
    y: Sequence[Any]
    X_test: Sequence[Any]
    y_test: Sequence[Any]
    targets: list[int]


def targets(tokens: int, start: float, growth: float, until: float) -> list[int]:
    """How many tokens are labelled by each round."""
    shares, share = [], start
    while share < until:
        shares.append(share)
        share *= growth
    return [max(1, round(share * tokens)) for share in [*shares, until]]


def _run(estimator: Tagger, data: Data, way: str, options: Mapping[str, Any], seed: int) -> Run:
    if way == FULL:
        everything = np.arange(len(data.X))
        return Run(way, seed, [_learnt(estimator, data, everything, seed)[1]])
    return Run(way, seed, list(_rounds(estimator, data, options, seed)))


def _rounds(estimator: Tagger, data: Data, options: Mapping[str, Any], seed: int) -> Iterator[Round]:
    order = np.random.default_rng(seed).permutation(len(data.X))
    chosen = _within(data, order, 0, data.targets[0])
    for target, following in zip(data.targets, [*data.targets[1:], 0], strict=True):
        tagger, scored = _learnt(estimator, data, np.array(chosen), seed)
        yield scored
        if not following:
            return
        rest = np.setdiff1d(np.arange(len(data.X)), chosen)
        if not len(rest):
            return
        more = following - target
        sizes = np.array([len(data.X[i]) for i in rest])
        wanted = min(len(rest), int(5 * more / max(sizes.mean(), 1)) + 5)
        found = ranked(tagger, [data.X[i] for i in rest], wanted, seed=seed + scored.tokens, **options)
        suggested = [int(rest[item.place]) for item, _ in found]
        others = set(rest.tolist()).difference(suggested)
        left = [i for i in order.tolist() if i in others]
        chosen = [*chosen, *_within(data, [*suggested, *left], scored.tokens, following)]


def _within(data: Data, order: Any, labelled: int, target: int) -> list[int]:
    """Sentences in this order until so many tokens are labelled; at least one."""
    chosen: list[int] = []
    for i in order:
        if labelled >= target and chosen:
            break
        chosen.append(int(i))
        labelled += len(data.X[i])
    return chosen


def _learnt(estimator: Tagger, data: Data, chosen: Array, seed: int) -> tuple[Tagger, Round]:
    X, y = [data.X[i] for i in chosen], [data.y[i] for i in chosen]
    tagger: Tagger = parallel.unfitted(estimator, threads=1, seed=seed).fit(X, y)
    scheme = schemes.recognise(data.y)
    score = evaluate(data.y_test, tagger.predict(data.X_test), scheme=scheme).main_score
    return tagger, Round(len(X), sum(map(len, X)), float(score))


def _check(ways: Mapping[str, Mapping[str, Any]], start: float, growth: float, until: float, seeds: int) -> None:
    for options in ways.values():
        by = options.get("by")
        if by is not None and by not in WAYS:
            raise ConfigurationError("ways", expected=f"must be among {', '.join(WAYS)}", got=repr(by))
    if not 0 < start < until <= 1:
        raise ConfigurationError("start", expected=f"must be above 0 and below until, {until:g}", got=start)
    if growth <= 1:
        raise ConfigurationError("growth", expected="must be above 1", got=growth)
    if seeds < 1:
        raise ConfigurationError("seeds", expected="must be at least 1", got=seeds)

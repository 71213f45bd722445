"""Search for better settings by successive halving.

Many settings are trained for a few epochs, the better third of them for three times as many, and so on; the last ones
are trained to the end with several seeds, beside the settings that the search began with. Settings are drawn near
those: each changes with a chance of one half.
"""

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from math import ceil
from pathlib import Path
from typing import Any, NamedTuple, final

import numpy as np

from postil.curation import jobs as parallel
from postil.curation.corpus import check_scorable
from postil.curation.folds import held_out_fifth
from postil.curation.settings_space import Space, checked_space, default_space, drawn
from postil.curation.trials import Outcome, Training, TrialLog, fingerprint_of_data, read_log
from postil.errors import ConfigurationError, DataError
from postil.features.inputs import Token
from postil.models.config import adapted, configured
from postil.models.inputs import checked_dev, checked_labelled
from postil.models.tagger import Tagger
from postil.text import with_marks

LabelledSentences = tuple[Sequence[Sequence[Token]], Sequence[Sequence[str]]]

BRACKET = 27
"""Settings that begin together; a search with a time budget begins with new ones as long as there is time."""
_THIRD = 3
_REDUCTIONS = (9, 3, 1)
_FINALISTS = 3


class Trial(NamedTuple):
    """Settings and their scores (0 to 1) on the held-out sentences, by seed, after the most epochs they were given."""

    number: int
    settings: dict[str, Any]
    epochs: int
    scores: tuple[float, ...]

    @property
    def mean(self) -> float:
        return float(np.mean(self.scores))

    def words(self) -> str:
        return " ".join(f"{name}={value}" for name, value in self.settings.items()) or "unchanged"


@final
@dataclass(frozen=True, slots=True)
class SearchResult:
    """What was tried, the settings that scored best, and those that the search began with."""

    preset: str
    trials: list[Trial]
    """By number of epochs, number of seeds and mean score: the best first."""
    best: Trial
    baseline: Trial | None
    """The settings that the search began with, after as many epochs as ``best``; None if time ran out before that."""
    rounds: dict[int, dict[int, float]]
    """Number of epochs -> number of the trial -> mean score."""
    trainings: int
    seconds: float
    """CPU time of all trainings."""
    complete: bool
    """Whether the search ended by itself and not with its time."""

    @property
    def settings(self) -> dict[str, Any]:
        """What to set on top of the preset."""
        return dict(self.best.settings)

    def summary(self) -> str:
        """The result in one line."""
        score = f"{100 * self.best.mean:.2f}"
        if self.best.number == 0:
            return f"nothing scored better than {self.preset} as it was: {score}"
        if self.baseline is None:
            return f"best so far: {score} with {self.best.words()}"
        before = f"{100 * self.baseline.mean:.2f}"
        return f"{score} with {self.best.words()}; {before} before. Chosen on these sentences: expect less elsewhere"

    def __str__(self) -> str:
        lines = [
            f"{100 * one.mean:6.2f}  {one.epochs:>4} epochs  {len(one.scores)} seeds  {one.words()}"
            for one in self.trials[:10]
        ]
        return "\n".join([*lines, self.summary()])

    def to_dict(self) -> dict[str, Any]:
        """Ready for JSON, scores in percent."""
        return {
            "preset": self.preset,
            "settings": self.settings,
            "score": 100 * self.best.mean,
            "baseline": None if self.baseline is None else 100 * self.baseline.mean,
            "complete": self.complete,
            "trainings": self.trainings,
            "seconds": round(self.seconds, 1),
            "trials": [
                {**one._asdict(), "scores": [100 * score for score in one.scores], "mean": 100 * one.mean}
                for one in self.trials
            ],
        }


def search(
    estimator: Tagger,
    X: Sequence[Sequence[Token]],
    y: Sequence[Sequence[str]],
    dev: LabelledSentences | None = None,
    *,
    space: Space | None = None,
    trials: int = BRACKET,
    seeds: int = 3,
    minutes: float | None = None,
    seed: int = 0,
    jobs: int = 1,
    log: str | Path | None = None,
    resume: bool = False,
    replay: str | Path | None = None,
    progress: parallel.Progress | None = None,
) -> SearchResult:
    """Look for settings that score better on ``dev`` (without it, on a fifth of the sentences) than the estimator's.

    ``space`` lists the values to try; by default values around those of the preset. With ``minutes`` the search begins
    with new settings until that time has passed, otherwise it ends by itself and gives the same result for any number
    of ``jobs``. Every training is written to ``log`` as soon as it is done: ``resume`` continues from there, and
    ``replay`` does the trainings of a log again, those and no others, and raises DataError if a score differs.
    """
    for name, value, least in (("trials", trials, 1), ("seeds", seeds, 1)):
        if value < least:
            raise ConfigurationError(name, expected=f"must be at least {least}", got=value)
    if minutes is not None and not minutes > 0:
        raise ConfigurationError("minutes", expected="must be positive", got=minutes)
    X, y = checked_labelled(X, y)
    gold: list[Any] = [*with_marks(y, X)]
    held_out: tuple[list[Any], list[Any]] | None = checked_dev(dev)
    if held_out is None:
        part = held_out_fifth([len(tokens) for tokens in X], np.random.default_rng(seed), "a search")
        held_out = [X[i] for i in part.held_out], [gold[i] for i in part.held_out]
        X, gold = [X[i] for i in part.train], [gold[i] for i in part.train]
    check_scorable(gold, held_out[1], "a search")
    base = configured(estimator.preset, estimator.settings)
    space = checked_space(estimator, default_space(base) if space is None else space)
    resolved = adapted(base, len(X), sum(map(len, X)))
    assert resolved.epochs is not None
    levels = sorted({ceil(resolved.epochs / reduction) for reduction in _REDUCTIONS})
    question = {
        "estimator": {name: value for name, value in estimator.get_params().items() if name != "threads"},
        "space": space,
        "seed": seed,
        "data": [fingerprint_of_data(X, gold), fingerprint_of_data(*held_out)],
    }
    known: dict[Training, Outcome] | None = None
    if replay is not None:
        plan, known = read_log(Path(replay), question)
        trials, seeds = plan.get("trials", trials), plan.get("seeds", seeds)
    return _Search(
        estimator=estimator,
        data=(X, gold, held_out),
        space=space,
        levels=levels,
        seeds=seeds,
        bracket=trials,
        seed=seed,
        jobs=jobs,
        log=TrialLog(None if log is None else Path(log), question, {"trials": trials, "seeds": seeds}, resume=resume),
        allowed=known,
        deadline=None if minutes is None else time.monotonic() + 60 * minutes,
        progress=progress,
    ).run()


@dataclass(slots=True)
class _Search:
    estimator: Tagger
    data: tuple[list[Any], list[Any], tuple[list[Any], list[Any]]]
    space: dict[str, list[Any]]
    levels: list[int]
    seeds: int
    bracket: int
    seed: int
    jobs: int
    log: TrialLog
    allowed: Mapping[Training, Outcome] | None
    """The trainings of a log that is replayed."""
    deadline: float | None
    progress: parallel.Progress | None
    planned: int = 0
    complete: bool = True

    def run(self) -> SearchResult:
        settings: dict[int, dict[str, Any]] = {0: {}}
        while True:
            new = self._begun(settings)
            numbers = [*new] if len(settings) - len(new) > 1 else [0, *new]
            settings |= new
            self._halve(numbers, settings)
            if not (new and self.complete and self._has_time()):
                break
        return self._result(settings)

    def _has_time(self) -> bool:
        """Whether to begin with new settings after those that were asked for."""
        if self.allowed is not None:
            return len(self.log.outcomes) < len(self.allowed)
        return self.deadline is not None

    def _begun(self, settings: Mapping[int, dict[str, Any]]) -> dict[int, dict[str, Any]]:
        """The settings of the next bracket, none that were tried before."""
        base = configured(self.estimator.preset, self.estimator.settings)
        first, seen, new = max(settings) + 1, [*settings.values()], dict[int, dict[str, Any]]()
        for number in range(first, first + 20 * self.bracket):
            one = drawn(self.space, number, base, self.seed)
            if one and one not in seen and len(new) < self.bracket - (first == 1):
                new[number] = one
                seen.append(one)
        return new

    def _halve(self, numbers: list[int], settings: Mapping[int, dict[str, Any]]) -> None:
        """Train the trials of a bracket, fewer and fewer of them for more and more epochs."""
        for level, epochs in enumerate(self.levels):
            final = level == len(self.levels) - 1
            # seed by seed: where time runs out, what was done can be compared
            wanted = [Training(n, epochs, s) for s in range(self.seeds if final else 1) for n in numbers]
            self._train(wanted, settings)
            if not self.complete or final:
                return
            ranked = sorted(numbers, key=lambda n: (-self.log.outcomes[Training(n, epochs, 0)].score, n))
            last = level + 1 == len(self.levels) - 1
            keep = min(_FINALISTS, len(ranked)) if last else ceil(len(ranked) / _THIRD)
            # what the search began with stays in: it is what everything else is compared with
            numbers = sorted({*ranked[:keep], *([0] if 0 in numbers else [])})

    def _train(self, wanted: Sequence[Training], settings: Mapping[int, dict[str, Any]]) -> None:
        missing = [one for one in wanted if one not in self.log.outcomes]
        self.planned += len(missing)
        started: list[Training] = []

        def tasks() -> Iterator[tuple[Any, ...]]:
            for one in missing:
                if self._is_over(one):
                    self.complete = False
                    return
                started.append(one)
                yield self.estimator, settings[one.trial], *self.data, one.epochs, self.seed + one.seed

        for number, outcome in enumerate(parallel.results(_outcome, tasks(), self.jobs)):
            one = started[number]
            if self.allowed is not None and outcome.score != self.allowed[one].score:
                expected = f"the score {self.allowed[one].score} of the log"
                raise DataError(f"trial {one.trial}, {one.epochs} epochs", expected=expected, got=outcome.score)
            self.log.add(one, settings[one.trial], outcome)
            if self.progress is not None:
                self.progress(len(self.log.outcomes), max(self.planned, len(self.log.outcomes)))

    def _is_over(self, training: Training) -> bool:
        if self.allowed is not None:
            return training not in self.allowed
        return self.deadline is not None and time.monotonic() >= self.deadline

    def _result(self, settings: Mapping[int, dict[str, Any]]) -> SearchResult:
        scores: dict[tuple[int, int], dict[int, float]] = {}
        for training, outcome in self.log.outcomes.items():
            if training.trial in settings and training.epochs in self.levels and training.seed < self.seeds:
                scores.setdefault((training.epochs, training.trial), {})[training.seed] = outcome.score
        if not scores:
            raise ConfigurationError("minutes", expected="must be enough for at least one training")
        most: dict[int, int] = {}
        for epochs, trial in scores:
            most[trial] = max(epochs, most.get(trial, 0))
        found = [
            Trial(n, settings[n], most[n], tuple(score for _, score in sorted(scores[most[n], n].items())))
            for n in sorted(most)
        ]
        found.sort(key=lambda one: (-one.epochs, -len(one.scores), -one.mean, one.number))
        rounds = {
            level: {n: float(np.mean([*by.values()])) for (epochs, n), by in scores.items() if epochs == level}
            for level in self.levels
        }
        baseline = next((one for one in found if one.number == 0), None)
        if baseline is not None and (baseline.epochs, len(baseline.scores)) != (found[0].epochs, len(found[0].scores)):
            baseline = None
        return SearchResult(
            preset=self.estimator.preset,
            trials=found,
            best=found[0],
            baseline=baseline,
            rounds={level: by for level, by in rounds.items() if by},
            trainings=sum(map(len, scores.values())),
            seconds=sum(outcome.seconds for outcome in self.log.outcomes.values()),
            complete=self.complete,
        )


def _outcome(
    estimator: Tagger,
    settings: Mapping[str, Any],
    X: list[Any],
    y: list[Any],
    held_out: tuple[list[Any], list[Any]],
    epochs: int,
    seed: int,
) -> Outcome:
    """Train with all settings resolved as a whole training would, but for so many epochs."""
    began = time.process_time()
    config = adapted(configured(estimator.preset, {**estimator.settings, **settings}), len(X), sum(map(len, X)))
    resolved = asdict(replace(config, epochs=epochs))
    model = parallel.unfitted(estimator, threads=1, seed=seed, **resolved).fit(X, y)
    return Outcome(float(model.score(*held_out)), time.process_time() - began)

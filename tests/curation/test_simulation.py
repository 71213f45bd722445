"""The loop of labelling and learning, played through."""

import numpy as np
import pytest

import postil
from oracles import corpora
from postil.curation import simulation as module
from postil.curation.simulation import FULL, Round, Run, Simulation, simulate, targets
from postil.errors import PostilError

SMALL = {"hidden": 8, "epochs": 2, "rate": 0.02}
SETTINGS = {"start": 0.1, "growth": 2.0, "until": 0.5, "seeds": 2}


@pytest.fixture(scope="module")
def data():
    return corpora.named_entities(60), corpora.named_entities(30, seed=9)


@pytest.fixture(scope="module")
def result(data):
    (X, y), test = data
    return simulate(postil.Tagger(**SMALL), X, y, test, ways=("spans", "random"), **SETTINGS)


def test_rounds_are_as_large_as_planned_and_all_ways_begin_alike(data, result):
    (X, _), _ = data
    tokens = sum(map(len, X))
    assert result.tokens == tokens and result.ways == ["spans", "random"]
    longest = max(map(len, X))
    for run in result.runs:
        planned = [tokens] if run.way == FULL else [0.1 * tokens, 0.2 * tokens, 0.4 * tokens, 0.5 * tokens]
        assert len(run.rounds) == len(planned)
        for one, plan in zip(run.rounds, planned, strict=True):
            assert plan - 1 <= one.tokens <= plan + longest
    first = {(run.way, run.seed): run.rounds[0] for run in result.runs if run.way != FULL}
    assert first["spans", 0] == first["random", 0] != first["spans", 1]


def test_a_model_learns_from_what_was_suggested_and_from_nothing_else(data, monkeypatch):
    (X, y), test = data
    seen, asked = [], []

    real = module.ranked

    def spied(tagger, pool, n, **options):
        asked.append([tuple(tokens) for tokens in pool])
        return real(tagger, pool, n, **options)

    learnt = module._learnt

    def record(estimator, data, chosen, seed):
        seen.append(sorted(chosen.tolist()))
        return learnt(estimator, data, chosen, seed)

    monkeypatch.setattr(module, "ranked", spied)
    monkeypatch.setattr(module, "_learnt", record)
    simulate(postil.Tagger(**SMALL), X, y, test, ways=("entropy",), **{**SETTINGS, "seeds": 1})
    rounds = [chosen for chosen in seen if len(chosen) < len(X)]
    for before, after, pool in zip(rounds[:-1], rounds[1:], asked, strict=True):
        assert set(before) < set(after) and len(after) == len(set(after))
        assert len(pool) == len(X) - len(before)


def test_scores_are_f1_even_where_the_first_sentences_have_no_entity(data):
    (X, y), test = data
    blank = [["they", "slept"]] * 40
    found = simulate(
        postil.Tagger(**SMALL), blank + X, [["O", "O"]] * 40 + y, test, start=0.01, growth=8.0, until=0.4, seeds=1
    )
    first = [run.rounds[0].score for run in found.runs if run.way != FULL]
    assert all(score == 0 for score in first)  # accuracy would be far above 0


def test_results_repeat_for_any_number_of_jobs_and_with_runs_that_are_finished(data, result):
    (X, y), test = data
    saved = []
    again = simulate(
        postil.Tagger(**SMALL),
        X,
        y,
        test,
        ways=("spans", "random"),
        **SETTINGS,
        jobs=2,
        finished=result.runs[:3],
        save=saved.append,
    )
    assert again.to_dict() == result.to_dict()
    assert [(run.way, run.seed) for run in saved] == [(run.way, run.seed) for run in result.runs[3:]]


def made(**curves):
    """Runs with these scores at 10, 20, … of 100 tokens."""
    runs = [Run(FULL, 0, [Round(10, 100, 0.80)])]
    for way, scores in curves.items():
        runs.append(Run(way, 0, [Round(i, 10 * i, score) for i, score in enumerate(scores, 1)]))
    return Simulation(runs, 100)


def test_what_is_needed_is_where_the_score_stays_close():
    simulation = made(good=[0.7, 0.791, 0.80, 0.81], lucky=[0.7, 0.795, 0.75, 0.80], bad=[0.7, 0.7, 0.7, 0.7])
    assert [simulation.needed(way) for way in ("good", "lucky", "bad")] == [0.2, 0.4, None]
    lines = simulation.summary().split("\n")
    assert lines[0] == "good: 20 % of the tokens reach within one point of the full data"
    assert lines[-1] == "bad: 40 % of the tokens are not enough to be within one point of the full data"
    assert "all data: 100 tokens, 80.00" in str(simulation)


def test_curves_are_means_over_seeds():
    runs = [Run("a", seed, [Round(1, 10 + seed, 0.5 + seed / 10)]) for seed in (0, 1)]
    ((tokens, score, spread),) = Simulation(runs, 20).curve("a")
    assert (tokens, score) == (10.5, pytest.approx(0.55))
    assert spread == pytest.approx(np.std([0.5, 0.6], ddof=1))


def test_targets_grow_and_end_where_they_should():
    assert targets(1000, 0.1, 2.0, 0.5) == [100, 200, 400, 500]
    assert targets(3, 0.01, 1.5, 0.02) == [1, 1, 1]


def test_data_of_one_sentence_and_without_entities():
    tagger = postil.Tagger(**SMALL)
    one = simulate(tagger, [["Anna", "left"]], [["B-PER", "O"]], ([["Anna"]], [["B-PER"]]), seeds=1)
    assert all(run.rounds[-1].sentences == 1 for run in one.runs)
    with pytest.raises(PostilError, match="needs entities"):
        simulate(tagger, [["a"], ["b"]], [["O"]] * 2, ([["a"]], [["B-PER"]]))
    with pytest.raises(PostilError, match="needs entities in the sentences to score on"):
        simulate(tagger, [["a"], ["b"]], [["B-PER"]] * 2, ([["a"]], [["O"]]))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"seeds": 0}, "seeds must be at least 1"),
        ({"start": 0.7}, "start must be above 0 and below until"),
        ({"growth": 1.0}, "growth must be above 1"),
        ({"until": 1.5}, "until"),
        ({"ways": ("luck",)}, "ways must be among"),
    ],
)
def test_mistakes_are_named(data, settings, message):
    (X, y), test = data
    with pytest.raises(PostilError, match=message):
        simulate(postil.Tagger(**SMALL), X, y, test, **settings)


def test_without_data_there_is_nothing_to_simulate():
    with pytest.raises(PostilError, match="needs sentences"):
        simulate(postil.Tagger(), [], [], ([["a"]], [["O"]]))

"""The search finds what is planted, repeats, continues after a stop, and says what it did."""

import json
import time

import pytest

import postil
from oracles import corpora
from postil.curation import halving, jobs
from postil.curation.halving import search
from postil.curation.trials import Training, read_log
from postil.errors import ConfigurationError, DataError

X, Y = corpora.named_entities(40)
DEV = corpora.named_entities(30, seed=9)
BASE = postil.Tagger(hidden=8, epochs=9, rate=0.0001, caps_dim=0, shape_dim=0, prefix_dim=0, suffix_dim=0)


def test_a_rate_that_learns_is_found():
    """With the rate of the base hardly anything is learnt: a search over the rate must find that out."""
    result = search(BASE, X, Y, DEV, space={"rate": [0.0001, 0.02]}, trials=4, seeds=2)
    assert result.settings == {"rate": 0.02}
    assert result.complete and result.baseline is not None
    assert result.best.mean > result.baseline.mean + 0.1
    assert len(result.best.scores) == 2 and result.best.epochs == 9
    assert "rate=0.02" in result.summary() and str(result).endswith(result.summary())


def test_what_it_began_with_is_kept_and_may_win():
    good = postil.Tagger(hidden=8, epochs=9, rate=0.02)
    result = search(good, X, Y, DEV, space={"rate": [0.02, 1e-7, 1e-8]}, trials=3, seeds=1)
    assert result.best.number == 0 and result.settings == {}
    assert "nothing scored better" in result.summary()


def test_fewer_and_fewer_for_longer_and_longer(monkeypatch):
    done = []

    def outcome(estimator, settings, X, y, held_out, epochs, seed):
        done.append((epochs, seed, settings.get("hidden", 8)))
        return halving.Outcome(settings.get("hidden", 8) / 100, 0.0)

    monkeypatch.setattr(halving, "_outcome", outcome)
    result = search(BASE, X, Y, DEV, space={"hidden": list(range(1, 40))}, trials=27, seeds=3)
    by_epochs = {epochs: [row for row in done if row[0] == epochs] for epochs in (1, 3, 9)}
    assert len(by_epochs[1]) == 27
    assert len(by_epochs[3]) in (9, 10)  # the better third, and what the search began with
    assert len(by_epochs[9]) == 3 * 4
    assert sorted({row[1] for row in by_epochs[9]}) == [0, 1, 2]
    assert result.best.settings["hidden"] == max(row[2] for row in by_epochs[1])
    assert result.rounds[9][0] == pytest.approx(0.08)


def test_the_same_for_any_number_of_cores_and_without_dev():
    space = {"hidden": [4, 8, 16], "window": [1, 3]}
    fast = postil.Tagger(hidden=8, epochs=2, rate=0.02)
    one = search(fast, X, Y, space=space, trials=4, seeds=1)
    two = search(fast, X, Y, space=space, trials=4, seeds=1, jobs=2)
    assert {**one.to_dict(), "seconds": 0} == {**two.to_dict(), "seconds": 0}
    assert json.dumps(one.to_dict())


def counted(monkeypatch):
    calls = []
    real = halving._outcome

    def counting(*task):
        calls.append(task)
        return real(*task)

    monkeypatch.setattr(halving, "_outcome", counting)
    return calls


def test_a_search_goes_on_where_it_stopped(tmp_path, monkeypatch):
    space, log = {"hidden": [4, 8, 16]}, tmp_path / "log"
    fast = postil.Tagger(hidden=8, epochs=2, rate=0.02)
    whole = search(fast, X, Y, DEV, space=space, trials=3, seeds=2, log=log)
    lines = log.read_text().splitlines(keepends=True)
    log.write_text("".join(lines[:4]) + lines[4][:20])  # killed while it wrote
    calls = counted(monkeypatch)
    again = search(fast, X, Y, DEV, space=space, trials=3, seeds=2, log=log, resume=True)
    assert len(calls) == whole.trainings - 3
    assert {**again.to_dict(), "seconds": 0} == {**whole.to_dict(), "seconds": 0}
    with pytest.raises(DataError, match="same data, settings and seed"):
        search(fast, X[:-1], Y[:-1], DEV, space=space, trials=3, log=log, resume=True)


def test_a_time_budget_stops_and_its_log_replays(tmp_path, monkeypatch):
    log, fast = tmp_path / "log", postil.Tagger(hidden=8, epochs=3, rate=0.02)
    now, real = [0.0], halving._outcome

    def outcome(*task):
        now[0] += 60.0
        return real(*task)

    monkeypatch.setattr(halving, "_outcome", outcome)
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    stopped = search(fast, X, Y, DEV, space={"hidden": [4, 8, 16]}, trials=3, seeds=2, minutes=4.5, log=log)
    assert not stopped.complete and stopped.trainings == 5
    monkeypatch.setattr(halving, "_outcome", real)
    again = search(fast, X, Y, DEV, space={"hidden": [4, 8, 16]}, replay=log)
    assert {**again.to_dict(), "seconds": 0} == {**stopped.to_dict(), "seconds": 0}
    log.write_text(log.read_text().replace('"score": 0.', '"score": 0.0'))
    with pytest.raises(DataError, match=r"trial \d+, \d epochs: expected the score"):
        search(fast, X, Y, DEV, space={"hidden": [4, 8, 16]}, replay=log)


def test_with_a_time_budget_new_settings_follow(monkeypatch):
    monkeypatch.setattr(halving, "_outcome", lambda e, s, X, y, h, epochs, seed: halving.Outcome(0.5, 0.0))
    now = [0.0]

    def tick():
        now[0] += 1
        return now[0]

    monkeypatch.setattr(time, "monotonic", tick)
    result = search(BASE, X, Y, DEV, space={"hidden": list(range(1, 90))}, trials=4, seeds=1, minutes=0.5)
    assert len(result.trials) > 4 and not result.complete


def test_a_small_space_is_exhausted(monkeypatch):
    monkeypatch.setattr(halving, "_outcome", lambda e, s, X, y, h, epochs, seed: halving.Outcome(0.5, 0.0))
    result = search(BASE, X, Y, DEV, space={"hidden": [8, 9]}, minutes=1)
    assert result.complete and [one.settings for one in result.trials] == [{}, {"hidden": 9}]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"trials": 0}, "trials must be at least 1"),
        ({"seeds": 0}, "seeds must be at least 1"),
        ({"minutes": 0}, "minutes must be positive"),
        ({"space": {}}, "space needs at least one setting"),
        ({"space": {"hidden": []}}, "needs at least one value"),
        ({"space": {"hiden": [3]}}, "unknown setting 'hiden'; did you mean hidden"),
        ({"space": {"window": [2]}}, "an odd number"),
        ({"space": {"epochs": [2]}}, "must not be searched"),
    ],
)
def test_impossible_searches_are_refused(arguments, message):
    with pytest.raises(ConfigurationError, match=message):
        search(BASE, X, Y, DEV, **arguments)


def test_tasks_are_asked_for_one_by_one():
    asked = []

    def tasks():
        for number in range(5):
            asked.append(number)
            yield (number,)

    results = jobs.results(abs, tasks())
    assert next(results) == 0 and len(asked) <= 2


def test_a_log_of_anything_else_is_refused(tmp_path):
    path = tmp_path / "log"
    for content, message in [("", "must be one"), ("[1]\n", "must be one"), ('{"epoch": 1}\n', "must be one")]:
        path.write_text(content)
        with pytest.raises(DataError, match=message):
            read_log(path, {})
    search(BASE, X[:8], Y[:8], DEV, space={"hidden": [8, 9]}, trials=2, seeds=1, log=path)
    assert Training(0, 9, 0) in read_log_of(path)
    path.write_text(path.read_text() + '{"trial": "x"}\n')
    with pytest.raises(DataError, match="a trial, epochs, seed and score"):
        search(BASE, X[:8], Y[:8], DEV, space={"hidden": [8, 9]}, trials=2, seeds=1, log=path, resume=True)


def read_log_of(path):
    rows = [json.loads(line) for line in path.read_text().splitlines()[1:]]
    return [Training(row["trial"], row["epochs"], row["seed"]) for row in rows]


def test_without_entities_no_settings_are_better_than_others():
    nothing = [["O"] * len(labels) for labels in Y]
    for y, dev in ((nothing, DEV), (Y, (X, nothing))):
        with pytest.raises(DataError, match="a search needs entities"):
            search(BASE, X, y, dev)
    with pytest.raises(DataError, match="a search needs held-out data, or at least 5 sentences"):
        search(BASE, X[:3], Y[:3])

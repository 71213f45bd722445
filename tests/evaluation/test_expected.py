"""Expected scores: those of labels drawn from the model's own distribution, and what they say of other text."""

import json
from functools import cache

import numpy as np
import pytest

import postil
from oracles.corpora import as_conll, named_entities, parts_of_speech
from postil.commands.main import main
from postil.errors import CalibrationWarning, ConfigurationError, DataError
from postil.evaluation import expected
from postil.text import spans_from_labels


@cache
def fitted():
    tagger = postil.Tagger(hidden=16, epochs=12, seed=0).fit(*named_entities(60))
    tagger.decoding = postil.Decoding(temperature=3.0, shift=-0.3, bias=0.5)
    return tagger


SHORT = [tokens for tokens in named_entities(400, seed=3)[0] if len(tokens) <= 3]


@cache
def labellings(tokens):
    return fitted().nbest(list(tokens), k=1000)


def test_expected_counts_are_those_of_all_labellings():
    tagger = fitted()
    found = expected(tagger, SHORT)
    answers = tagger.predict(SHORT)
    correct, gold = dict.fromkeys(("LOC", "PER"), 0.0), dict.fromkeys(("LOC", "PER"), 0.0)
    for tokens, labels in zip(SHORT, answers, strict=True):
        spans = set(spans_from_labels(labels, "bio"))
        for truth, probability in labellings(tuple(tokens)):
            for span in spans_from_labels(truth, "bio"):
                gold[span.label] += probability
                correct[span.label] += probability * (span in spans)
    for name, counts in found.by_class.items():
        assert counts.correct == pytest.approx(correct[name])
        assert counts.gold == pytest.approx(gold[name])
        assert counts.predicted == sum(span.label == name for one in answers for span in spans_from_labels(one, "bio"))
    assert found.counts.correct == pytest.approx(sum(correct.values()))
    assert found.low < found.value < found.high


@pytest.mark.slow
def test_labels_drawn_from_the_model_score_as_expected():
    """The interval is wider than what chance alone makes of it: it has the doubt about calibration, too."""
    tagger, rng = fitted(), np.random.default_rng(0)
    found, scores = expected(tagger, SHORT), []
    for _ in range(60):
        y = []
        for tokens in SHORT:
            paths = labellings(tuple(tokens))
            weights = np.array([probability for _, probability in paths])
            y.append(paths[rng.choice(len(paths), p=weights / weights.sum())][0])
        scores.append(tagger.score(SHORT, y))
    assert np.mean(scores) == pytest.approx(found.value, abs=3 * np.std(scores) / np.sqrt(60) + 0.005)
    assert np.mean([found.low <= score <= found.high for score in scores]) >= 0.9


def test_labels_without_spans_have_an_expected_accuracy():
    X, y = parts_of_speech(40)
    tagger = postil.Tagger(hidden=8, epochs=2, seed=0).fit(X[:30], y[:30], dev=(X[30:], y[30:]))
    found = expected(tagger, X)
    _, probabilities = tagger.predict_with_probabilities(X)
    assert found.value == pytest.approx(np.concatenate(probabilities).mean())
    assert "expected accuracy" in str(found) and found.to_dict()["labels"] == {}


def test_other_text_is_found_to_differ_and_is_trusted_less():
    tagger = fitted()
    base = expected(tagger, named_entities(300, seed=5)[0]).profile
    same = expected(tagger, named_entities(300, seed=6)[0], base)
    assert same.is_alike and same.drift == []
    unsure = expected(tagger, named_entities(300, seed=6)[0])
    assert unsure.drift is None and not unsure.is_alike
    assert unsure.high - unsure.low > same.high - same.low
    other = expected(tagger, [["zorp", "Quux", "frob", "xyzzy"]] * 100, base)
    assert not other.is_alike
    assert "unknown words" in [one.figure for one in other.drift]
    assert "unknown words" in str(other)


def test_nothing_is_expected_of_nothing():
    with pytest.raises(DataError, match="nothing to expect"):
        expected(fitted(), [])
    base = expected(fitted(), [["Anna", "left"]]).profile
    for small in (base, {}):
        with pytest.raises(DataError, match=r"a base of at least 300 words, got [02]$"):
            expected(fitted(), SHORT, small)
    for wrong in ("dev", {"unknown words": 1}, expected(fitted(), SHORT)):
        with pytest.raises(ConfigurationError, match=r"base must be \{figure: 5 numbers"):
            expected(fitted(), SHORT, wrong)


@pytest.mark.slow
def test_the_command_compares_with_a_file_or_an_earlier_profile(tmp_path, capsys):
    model, raw, dev = (str(tmp_path / name) for name in ("m.postil", "raw.txt", "dev.conll"))
    fitted().save(model)
    (tmp_path / "dev.conll").write_text(as_conll(*named_entities(300, seed=5)))
    (tmp_path / "raw.txt").write_text("zorp Quux frob xyzzy\n" * 30)
    assert main(["evaluate", model, dev, "--expected", "--json"]) == 0
    earlier = capsys.readouterr().out
    assert "Anna" not in earlier  # no text leaves the machine
    (tmp_path / "base.json").write_text(earlier)
    answers = []
    for base in (dev, str(tmp_path / "base.json")):
        assert main(["evaluate", model, raw, "--expected", "--against", base, "--json"]) == 0
        answers.append(json.loads(capsys.readouterr().out))
    assert answers[0] == answers[1]
    assert answers[0]["alike"] is False and answers[0]["to_label"][0] == {"line": 1, "index": 0}
    assert main(["evaluate", model, raw, "--expected", "--against", dev]) == 0
    shown = capsys.readouterr().out
    assert "expected F1" in shown and "zorp Quux frob xyzzy" in shown
    for words, message in [
        (["--against", dev], "--against needs --expected"),
        (["--expected", "--mistakes", "--json"], "--mistakes cannot be used here"),
        (["--expected", "--task", "x"], "the model has one task"),
    ]:
        assert main(["evaluate", model, dev, *words]) == 1
        assert message in capsys.readouterr().err
    (tmp_path / "base.json").write_text('{"profile": {"unknown words": [1]}}')
    assert main(["evaluate", model, raw, "--expected", "--against", str(tmp_path / "base.json")]) == 1
    assert "expected {figure: 5 numbers" in capsys.readouterr().err


def test_a_model_without_calibration_causes_a_warning():
    tagger = postil.Tagger(hidden=4, epochs=1, seed=0).fit(*named_entities(20))
    with pytest.warns(CalibrationWarning, match="not calibrated"):
        expected(tagger, SHORT)

"""The loop: it learns, and its bits depend neither on threads nor on interruptions."""

import numpy as np
import pytest

import postil
from postil.errors import ConfigurationError, ModelFileError, NumericalError
from postil.pretraining import CorpusConfig, Pretraining, PretrainingConfig, neighbours, read_corpus
from postil.pretraining import training as module

CITIES, NAMES = ["oslo", "lima", "cairo", "quito"], ["anna", "peter", "maria", "omar"]
VERBS = ["visited", "left", "likes", "knows"]


def made_up(lines=1500):
    rng = np.random.default_rng(0)
    triples = zip(*(rng.choice(words, lines) for words in (NAMES, VERBS, CITIES)), strict=True)
    return [f"{name} {verb} {city} in {rng.integers(1900, 1999)} ." for name, verb, city in triples]


TEXT = made_up()
SMALL = {"dimensions": 10, "epochs": 3, "hidden": 16, "window": 1, "sample": 0.1, "rate": 0.1}
METHODS = pytest.mark.parametrize("method", ["skipgram", "ranking"])


def config_of(method, **settings):
    return PretrainingConfig(**{"method": method, **SMALL, **settings})


@pytest.fixture(scope="module")
def corpus():
    with read_corpus(TEXT, CorpusConfig()) as found:
        yield found


def trained(corpus, config, **options):
    training = Pretraining(corpus, config, **options)
    steps = list(training)
    return training, steps


@METHODS
def test_words_in_the_same_places_become_similar(method):
    vectors = postil.pretrain(TEXT, method=method, **SMALL | {"epochs": 10, "window": 1 if method == "skipgram" else 2})
    for word, others in (("oslo", CITIES), ("anna", NAMES)):
        assert neighbours(vectors, word, 1)[0].word in others


@METHODS
def test_the_loss_falls(corpus, method):
    training, steps = trained(corpus, config_of(method))
    assert len({step.epoch for step in steps}) == 3 and steps[-1].progress == 1
    assert np.mean([step.loss for step in steps[-3:]]) < 0.95 * steps[0].loss
    assert sum(step.words for step in steps) == 3 * corpus.tokens
    vectors = training.vectors()
    assert vectors.matrix.shape == (len(corpus.words) + 1, 10) and not vectors.matrix[0].any()
    lengths = np.linalg.norm(vectors.matrix[1:], axis=1)
    assert np.allclose(lengths, 1, atol=1e-5) is (method == "ranking")
    assert vectors.words.id("oslo") == corpus.words.index("oslo") + 1


@METHODS
def test_the_number_of_threads_does_not_change_a_bit(corpus, method):
    one, three = (trained(corpus, config_of(method), threads=threads)[0].parameters for threads in (1, 3))
    for name, array in one.items():
        np.testing.assert_array_equal(array, three[name])


@METHODS
def test_the_seed_changes_the_result(corpus, method):
    one, other = (trained(corpus, config_of(method, seed=seed))[0].vectors().matrix for seed in (0, 1))
    assert not np.array_equal(one, other)


@METHODS
def test_a_resumed_training_gives_the_same_bits(corpus, method, tmp_path):
    expected = trained(corpus, config_of(method))[0].parameters
    place = tmp_path / "x.checkpoint"
    interrupted = Pretraining(corpus, config_of(method), checkpoint=place)
    for number, _ in enumerate(interrupted):
        if number == 3:
            interrupted.save_checkpoint()
            break
    resumed, steps = trained(corpus, config_of(method), checkpoint=place, resume=True)
    assert steps[0].progress > 0.1
    for name, array in expected.items():
        np.testing.assert_array_equal(array, resumed.parameters[name])


def test_a_checkpoint_is_written_from_time_to_time(corpus, tmp_path, monkeypatch):
    monkeypatch.setattr(module, "CHECKPOINT_SECONDS", 0.0)
    trained(corpus, config_of("skipgram", epochs=1), checkpoint=tmp_path / "x.checkpoint")
    assert (tmp_path / "x.checkpoint").exists()


def test_a_checkpoint_of_something_else_is_refused(corpus, tmp_path):
    place = tmp_path / "x.checkpoint"
    Pretraining(corpus, config_of("skipgram"), checkpoint=place).save_checkpoint()
    with pytest.raises(ConfigurationError, match="the checkpoint has other settings"):
        Pretraining(corpus, config_of("skipgram", seed=1), checkpoint=place, resume=True)
    with (
        read_corpus([*TEXT, "one more line"], CorpusConfig()) as other,
        pytest.raises(ConfigurationError, match="the checkpoint is of another text"),
    ):
        Pretraining(other, config_of("skipgram"), checkpoint=place, resume=True)
    postil.archive.save(place, {}, {})
    with pytest.raises(ModelFileError, match="not a checkpoint of a pretraining"):
        Pretraining(corpus, config_of("skipgram"), checkpoint=place, resume=True)


def test_a_rate_that_is_too_high_is_told(corpus):
    with pytest.raises(NumericalError, match="try a lower rate"):
        trained(corpus, config_of("skipgram", rate=1e30, epochs=9))


def test_settings_by_name():
    with pytest.raises(ConfigurationError, match="unknown setting 'epoch'; did you mean epochs"):
        postil.pretrain(TEXT, epoch=3)
    with pytest.raises(ConfigurationError, match="threads must be at least 1"):
        postil.pretrain(TEXT, threads=0)
    assert "Oslo" in postil.pretrain([line.replace("oslo", "Oslo") for line in TEXT], cased=True, **SMALL).words

"""Words and encoder learnt from raw text: hidden words stay hidden, bits repeat, taggers begin there."""

from dataclasses import fields, replace
from itertools import product

import numpy as np
import pytest

import postil
from oracles.corpora import named_entities, parts_of_speech
from postil import Detector, MultiTaskTagger, Tagger
from postil.errors import ConfigurationError, DataError
from postil.features.words import Column
from postil.models.fitting import masked_words as module
from postil.models.fitting.masked_words import MOST_CLASSES, Hidden, MaskedWords, predicted_columns, with_words_hidden
from postil.models.model import is_encoder
from postil.models.networks.network import members_of
from postil.optimisation.loop import Epoch, Step

TEXT, _ = named_entities(120)
X, Y = named_entities(10, seed=5)
SIZES = {"hidden": 8, "word_dim": 4}
SMALL = {**SIZES, "epochs": 2, "min_count": 1}
OF_LABELS = ("output", "crf.")


def values(network):
    return {name: parameter.value for name, parameter in network.parameters().items()}


def are_equal(one, other):
    return one.keys() == other.keys() and all(np.array_equal(one[name], other[name]) for name in one)


def of_encoder(network):
    """The parameters that know neither words nor labels."""
    return {name: value for name, value in values(network).items() if name.startswith("encoder")}


def arrays_of(inputs):
    return {field.name: getattr(inputs, field.name) for field in fields(inputs)}


@pytest.fixture(scope="module")
def encoder(tmp_path_factory):
    """The file of two networks that have learnt from raw text."""
    path = tmp_path_factory.mktemp("encoder") / "x.pretrained"
    Tagger(**SMALL, ensemble=2).pretrain(TEXT).save(path)
    path.chmod(0o444)
    return path


# ------------------------------------------------------------------------------------------------ hiding


def everything(tmp_path):
    """A tagger with every kind of feature, and raw text with an extra column."""
    (tmp_path / "x.vectors").write_text("".join(f"{w} {i} 1\n" for i, w in enumerate(["anna", "oslo", "left", "lima"])))
    (tmp_path / "x.paths").write_text("".join(f"{i:04b}\t{w}\t9\n" for i, w in enumerate(["Anna", "Oslo", "left"])))
    (tmp_path / "PLACE.txt").write_text("Oslo\nLima\n")
    knowledge = {
        "vectors": tmp_path / "x.vectors",
        "clusters": tmp_path / "x.paths",
        "gazetteers": [tmp_path / "PLACE.txt"],
    }
    return knowledge, [[(word, "name" if word[0].isupper() else "other") for word in tokens] for tokens in TEXT]


@pytest.mark.parametrize("settings", [{}, {"preset": "accurate", "ensemble": 1, "layers": 1, "character_dim": 4}])
def test_nothing_is_seen_of_a_hidden_word(tmp_path, settings):
    knowledge, sentences = everything(tmp_path)
    parts = Tagger(**knowledge, **settings, **SMALL).pretraining(sentences).model
    one = [("Anna", "name"), ("left", "other"), ("Oslo", "name")]
    one, other = (parts.features.inputs([[*one, last, ("Lima", "name")]]) for last in (one[0], ("left", "other")))
    shown, shown_other = (parts.network.token_vectors(inputs).value for inputs in (one, other))
    assert not np.array_equal(shown[3], shown_other[3])
    words = np.array([2, 3])
    hidden, hidden_other = (with_words_hidden(inputs, words) for inputs in (one, other))
    vectors, vectors_other = (parts.network.token_vectors(inputs).value for inputs in (hidden, hidden_other))
    assert np.array_equal(vectors, vectors_other)
    assert np.array_equal(vectors[2], vectors[3])
    unknown = replace(one, forms=np.zeros_like(one.forms[:1]), vectors=np.zeros_like(one.vectors[:1]))
    nothing = parts.network.distinct_forms(unknown).value
    assert np.array_equal(vectors[2, : nothing.shape[1]], nothing[0])
    assert np.array_equal(vectors[[0, 1, 4]], shown[[0, 1, 4]])
    encoded, encoded_other = (parts.network.hidden(inputs, None).value for inputs in (hidden, hidden_other))
    assert np.array_equal(encoded, encoded_other)


def test_hiding_does_not_change_its_arguments(tmp_path):
    knowledge, sentences = everything(tmp_path)
    features = Tagger(**knowledge, **SMALL).pretraining(sentences).model.features
    inputs, words = features.inputs(sentences[:3]), np.array([0, 2])
    before = {name: np.copy(array) for name, array in arrays_of(inputs).items() if array is not None}
    with_words_hidden(inputs, words)
    after = {name: array for name, array in arrays_of(inputs).items() if array is not None}
    assert are_equal(before, after) and words.tolist() == [0, 2]


@pytest.fixture
def masked(tmp_path):
    """The features of words of two clusters, and what predicts them."""
    words = ["Kasovia", "Libovia", "Anna", "slept"]
    (tmp_path / "x.paths").write_text("".join(f"{path}\t{w}\t9\n" for path, w in zip("0011", words, strict=True)))
    fitting = Tagger(**SMALL, clusters=tmp_path / "x.paths").pretraining([words] * 12)
    return fitting.model.features, fitting.training.model


def loss(masked, sentence):
    features, model = masked
    return float(model.loss(Hidden(features.inputs([sentence]), 0), rng=np.random.default_rng(0)).value)


def test_the_loss_sees_of_hidden_words_only_what_is_predicted(masked, monkeypatch):
    """Two words of one cluster, with the same capitals and the same end, are the same to it."""
    one, like_it, unlike = (["Anna", "slept", word] for word in ("Kasovia", "Libovia", "Anna"))
    monkeypatch.setattr(module, "HIDDEN", 1.0)
    monkeypatch.setattr(module, "SHOWN", 0.0)
    assert loss(masked, one) == loss(masked, like_it) != loss(masked, unlike)
    monkeypatch.setattr(module, "SHOWN", 1.0)
    assert loss(masked, one) != loss(masked, like_it)


def test_a_word_is_predicted_even_where_none_is_drawn(masked, monkeypatch):
    monkeypatch.setattr(module, "HIDDEN", 0.0)
    assert loss(masked, ["Anna"]) > 0


# ------------------------------------------------------------------------------------------------ what is predicted


def columns(*names_and_sizes):
    return [Column(name, V, 4) for name, V in names_and_sizes]


def test_words_are_predicted_by_the_finest_clusters_of_both_kinds():
    given = columns(
        *[("word", 900), ("suffix 2", 50), ("suffix 3", 80), ("suffix 4", 99), ("caps", 6)],
        *[("cluster 4", 16), ("cluster 20", MOST_CLASSES + 1), ("cluster 10", MOST_CLASSES), ("cluster 6", 60)],
        *[("vector cluster 64", 65), ("vector cluster 256", 257), ("vector cluster 4000", 4001), ("names 1", 2)],
    )
    assert [given[k].name for k in predicted_columns(given)] == ["cluster 10", "vector cluster 256", "suffix 3", "caps"]


def test_one_kind_of_clusters_is_enough():
    given = columns(("word", 900), ("caps", 6), ("vector cluster 64", 65))
    assert predicted_columns(given) == [2, 1]


@pytest.mark.parametrize("clusters", [[], [("cluster 20", MOST_CLASSES + 1)]])
def test_words_are_predicted_themselves_without_clusters(clusters):
    given = columns(("word", 5 * MOST_CLASSES), ("shape", 5), ("prefix 3", 9), ("suffix 3", 80), ("caps", 6), *clusters)
    assert [given[k].name for k in predicted_columns(given)] == ["word", "suffix 3", "caps"]


def test_the_columns_of_a_tagger_are_found_in_its_inputs(masked):
    features, model = masked
    names = [column.name for column in features.words.columns]
    assert [names[k].split()[0] for k in model.targets] == ["cluster", "suffix", "caps"]


def test_rare_words_count_as_unknown(monkeypatch):
    """Words are numbered by frequency: of b, c, d, e only the first two are told apart."""
    monkeypatch.setattr(module, "MOST_CLASSES", 3)
    monkeypatch.setattr(module, "HIDDEN", 1.0)
    monkeypatch.setattr(module, "SHOWN", 0.0)
    settings = SMALL | dict.fromkeys(("caps_dim", "suffix_dim", "prefix_dim", "shape_dim"), 0)
    text = [["b"] * 4 + ["c"] * 3 + ["d"] * 2 + ["e"]] * 3
    fitting = Tagger(**settings).pretraining(text)
    masked = fitting.model.features, fitting.training.model
    assert [to_column.W.value.shape for to_column in fitting.training.model.maps[0]] == [(3, 8)]
    unknown, b, c, d, e = (loss(masked, [word]) for word in ("none", "b", "c", "d", "e"))
    assert d == e == unknown
    assert len({unknown, b, c}) == 3


def test_every_member_has_maps_of_its_own():
    fitting = Tagger(**SMALL, ensemble=2).pretraining(TEXT)
    assert isinstance(fitting.training.model, MaskedWords)
    (one, *_), (other, *_) = fitting.training.model.maps
    assert not np.array_equal(one.W.value, other.W.value)
    (batch, *_) = fitting.training.batches(np.random.default_rng(0))
    assert [shard.member for shard in batch.shards] == [0, 1]
    assert batch.shards[0].inputs is batch.shards[1].inputs


# ------------------------------------------------------------------------------------------------ settings


def test_settings_of_raw_text():
    config = Tagger()._configured({})
    few = module.masking_config(config, 1000, 1)
    assert (few.epochs, few.min_count, few.min_affix_count, few.patience) == (module.MOST_PASSES, 5, 10, None)
    assert (few.rate, few.batch_sentences) == (module.RATE, module.BATCH_SENTENCES)
    assert (few.input_dropout, few.hidden_dropout) == (module.NOISE, module.NOISE)
    many = module.masking_config(config, 10_000_000, 20)
    assert (many.epochs, many.min_count) == (20, 20)


def test_the_settings_of_the_user_are_kept():
    own = {"epochs": 3, "rate": 0.5, "batch_sentences": 7, "input_dropout": 0.2, "hidden_dropout": 0.4, "min_count": 1}
    config = module.masking_config(Tagger()._configured(own), 1000, 2)
    assert {name: getattr(config, name) for name in own} == own | {"epochs": 6}


def test_an_epoch_is_a_part_of_a_long_text(monkeypatch):
    monkeypatch.setattr(module, "TOKENS_AT_ONCE", sum(map(len, TEXT)) // 3)
    fitting = Tagger(**SMALL).pretraining(TEXT)
    seen = {}
    for event in fitting:
        if isinstance(event, Step):
            seen[event.epoch] = seen.get(event.epoch, 0) + event.tokens
    assert len(seen) == 6
    assert seen[0] + seen[1] + seen[2] == seen[3] + seen[4] + seen[5] == sum(map(len, TEXT))
    assert [seen[0], seen[1], seen[2]] == [sum(map(len, TEXT[part::3])) for part in range(3)]


# ------------------------------------------------------------------------------------------------ the same bits


def learnt(**parameters):
    return values(Tagger(**{**SMALL, "ensemble": 2, **parameters}).pretrain(TEXT).model.network)


def test_threads_do_not_change_the_bits_and_the_seed_does():
    expected = learnt(seed=3)
    assert are_equal(learnt(seed=3), expected)
    assert are_equal(learnt(seed=3, threads=2), expected)
    assert not are_equal(learnt(seed=4), expected)


def test_the_parameters_learn():
    fitting = Tagger(**SMALL).pretraining(TEXT)
    before = {name: value.copy() for name, value in values(fitting.model.network).items()}
    losses = [event.loss for event in fitting if isinstance(event, Epoch)]
    after = values(fitting.model.network)
    assert losses[-1] < losses[0]
    changed = {name for name in before if not np.array_equal(before[name], after[name])}
    assert changed == {name for name in before if not name.startswith(OF_LABELS)}


@pytest.mark.slow
@pytest.mark.parametrize("kind", [Step, Epoch])
def test_a_stopped_training_goes_on_with_the_same_bits(tmp_path, monkeypatch, kind):
    """Stopped after the second such event: in the middle of an epoch, or between two; the text is read in parts."""
    monkeypatch.setattr(module, "TOKENS_AT_ONCE", sum(map(len, TEXT)) // 3)
    settings = SMALL | {"batch_sentences": 8}
    whole = Tagger(**settings).pretraining(TEXT)
    count = len(list(whole))
    place, seen = tmp_path / "x.checkpoint", 0
    stopped = Tagger(**settings).pretraining(TEXT, checkpoint=place)
    while seen < 2:
        seen += isinstance(next(stopped), kind)
    stopped.save_checkpoint()
    resumed = Tagger(**settings, threads=2)
    assert len(list(resumed.pretraining(TEXT, checkpoint=place, resume=True))) < count
    assert are_equal(values(resumed.model.network), values(whole.model.network))
    with pytest.raises(ConfigurationError, match="the checkpoint belongs to another training"):
        Tagger(**settings).pretraining(TEXT[::-1], checkpoint=place, resume=True)


# ------------------------------------------------------------------------------------------------ beginning with it


def test_an_encoder_knows_words_but_no_labels(encoder):
    tagger = postil.load(encoder)
    assert is_encoder(tagger.model)
    assert tagger.classes_ == ["O"]
    assert tagger.predict(X[:1]) == [["O"] * len(X[0])]
    assert not is_encoder(Tagger(**SMALL).fit(X, Y).model)


@pytest.mark.parametrize("corpus", [named_entities, parts_of_speech])
def test_a_file_and_a_warm_start_are_the_same(encoder, corpus):
    data = corpus(10, seed=5)
    by_file = Tagger(pretrained=encoder, **SMALL).fit(*data)
    by_start = Tagger(**SMALL).fit(*data, warm_start=postil.load(encoder))
    alone = Tagger(**SMALL).fit(*data)
    one, other = (values(tagger.model.network) for tagger in (by_file, by_start))
    assert are_equal(one, other)
    assert not are_equal(of_encoder(by_file.model.network), of_encoder(alone.model.network))
    assert by_file.classes_ == alone.classes_ and set(by_file.predict(data[0])[0]) <= set(alone.classes_)


def test_known_words_keep_their_vectors_and_new_ones_are_added(encoder):
    known = postil.load(encoder).model
    parts = Tagger(pretrained=encoder, **SMALL).fitting([*X, ["Zelda", "left", "Xanten"]], [*Y, ["O"] * 3]).model
    words = [known.features.words.vocabularies["word"], parts.features.words.vocabularies["word"]]
    assert list(words[1])[: len(words[0])] == list(words[0])
    assert "zelda" in words[1] and "zelda" not in words[0]
    forms = sorted({word for tokens in TEXT for word in tokens})
    before, after = (features.form_ids(forms) for features in (known.features, parts.features))
    all_known = (before[0] > 0).all(axis=1)  # whatever affix is unknown to the encoder has a fresh row
    assert all_known.sum() > 5
    assert np.array_equal(before[0][all_known], after[0][all_known])
    inputs = replace(known.features.inputs([forms]), forms=before[0][all_known], vectors=before[1][all_known])
    first = members_of(known.network)[0]
    assert np.array_equal(first.distinct_forms(inputs).value, parts.network.distinct_forms(inputs).value)


def test_members_begin_with_those_of_the_encoder_in_turn(encoder):
    one, two = (of_encoder(member) for member in members_of(postil.load(encoder).model.network))
    assert one and not are_equal(one, two)
    for ensemble, expected in ((1, [one]), (2, [one, two]), (3, [one, two, one])):
        members = members_of(Tagger(pretrained=encoder, **SMALL, ensemble=ensemble).fitting(X, Y).model.network)
        assert all(are_equal(of_encoder(member), known) for member, known in zip(members, expected, strict=True))
    outputs = [values(member)["output0.W"] for member in members]
    assert not np.array_equal(outputs[0], outputs[2])  # they begin alike, but their labels differ


@pytest.mark.parametrize("labels", [Y, parts_of_speech(10, seed=5)[1], [["O"] * len(tokens) for tokens in X]])
def test_what_is_about_labels_begins_fresh(labels, tmp_path):
    """Nothing of it depends on what the encoder has learnt."""
    begun = []
    for seed in (1, 2):
        Tagger(**SMALL, seed=seed).pretrain(TEXT).save(tmp_path / "x.pretrained")
        network = Tagger(pretrained=tmp_path / "x.pretrained", **SMALL).fitting(X, labels).model.network
        begun.append(values(network))
    of_labels = [name for name in begun[0] if name.startswith(OF_LABELS)]
    assert len(of_labels) == 5
    for name, value in begun[0].items():
        assert np.array_equal(value, begun[1][name]) is (name in of_labels), name
    assert begun[0]["output0.W"].any() and not begun[0]["crf.transitions"].any()


def test_several_tasks_begin_with_the_first_member(encoder):
    first = members_of(postil.load(encoder).model.network)[0]
    y = {"names": Y, "speech": parts_of_speech(10, seed=5)[1]}
    tagger = MultiTaskTagger(pretrained=encoder, **SMALL)
    fitting = tagger.fitting(X, y)
    for head in fitting.model.heads.values():
        assert are_equal(of_encoder(head.network), of_encoder(first))
    for _ in fitting:
        pass
    assert tagger.tasks == ["names", "speech"]
    assert not are_equal(of_encoder(fitting.model.heads["names"].network), of_encoder(first))


def test_few_sentences_are_learnt_with_larger_batches_and_less_noise_in_the_encoder(encoder):
    settings = {**SIZES, "min_count": 1}
    config = Tagger(pretrained=encoder, **settings).fitting(X, Y).model.config
    alone = Tagger(**settings).fitting(X, Y).model.config
    assert (config.batch_sentences, config.hidden_dropout, config.input_dropout) == (8, 0.3, 0.5)
    assert (alone.batch_sentences, alone.hidden_dropout, alone.input_dropout) == (2, 0.5, 0.5)


# ------------------------------------------------------------------------------------------------ mistakes


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (
            {"preset": "accurate"},
            "the architectures differ: expected word_dim=4, character_dim=0, encoder=window, window=5 of "
            "the model to start from, got word_dim=32, character_dim=32, encoder=convolutions, window=3",
        ),
        (
            {**SIZES, "hidden": 9},
            "the architectures differ: expected hidden=8 of the model to start from, got hidden=9",
        ),
        (
            {**SIZES, "gazetteers": ["names"]},
            "lexicons of words (names) must be those of the model that the training starts from (got new ones)",
        ),
    ],
)
def test_other_networks_and_new_lists_are_refused(encoder, settings, message, monkeypatch):
    from postil.features.lexicon import Lexicon
    from postil.models.fitting import sentences

    monkeypatch.setattr(sentences, "load_names", lambda _: Lexicon.of_paths({"Anna": "0000", "Oslo": "1111"}))
    with pytest.raises(ConfigurationError) as error:
        Tagger(pretrained=encoder, **settings).fit(X, Y)
    assert str(error.value) == message


def test_new_clusters_are_refused(encoder, tmp_path):
    clusters = tmp_path / "x.paths"
    clusters.write_text("0000\tAnna\t9\n1111\tOslo\t9\n")
    with pytest.raises(ConfigurationError) as error:
        Tagger(pretrained=encoder, clusters=clusters, **SIZES).fit(X, Y)
    assert str(error.value).startswith("clusters must not be given with a pretrained file")
    with pytest.raises(ConfigurationError) as error:
        Tagger(clusters=clusters, **SIZES).fit(X, Y, warm_start=postil.load(encoder))
    expected = "lexicons of words (clusters) must be those of the model that the training starts from (got new ones)"
    assert str(error.value) == expected


@pytest.mark.parametrize(("make", "y"), [(Tagger, Y), (MultiTaskTagger, {"names": Y})])
def test_one_start_is_enough(encoder, make, y):
    with pytest.raises(ConfigurationError) as error:
        make(pretrained=encoder, **SIZES).fit(X, y, warm_start=postil.load(encoder))
    assert str(error.value) == f"{encoder}: warm start must not be given with a pretrained encoder"


@pytest.mark.parametrize(("make", "y"), [(Tagger, Y), (MultiTaskTagger, {"names": Y})])
def test_a_trained_tagger_is_no_pretrained_file(names_model, make, y):
    with pytest.raises(ConfigurationError) as error:
        make(pretrained=names_model, **SIZES).fit(X, y)
    expected = "pretrained must be a file of `postil pretrain`; to go on from a model, use a warm start"
    assert str(error.value) == f"{names_model}: {expected} (got a trained tagger)"


def test_a_detector_does_not_begin_with_the_encoder_of_a_tagger(encoder):
    with pytest.raises(ConfigurationError, match="expected a detector, got a tagger"):
        Detector(label="PER", pretrained=encoder, **SIZES).fit(X, Y)


@pytest.mark.parametrize("text", [[], [[], []]])
def test_text_without_words(text):
    with pytest.raises(DataError) as error:
        Tagger(**SMALL).pretrain(text)
    assert str(error.value) == "raw text: expected at least one sentence with a word, got none"


def test_sentences_without_words_are_left_out():
    one, other = (Tagger(**SMALL).pretrain(text).model for text in (TEXT, [[], *TEXT, []]))
    assert are_equal(values(one.network), values(other.network))


def test_feature_dicts_are_refused():
    with pytest.raises(ConfigurationError) as error:
        Tagger(**SMALL, word_key="word").pretrain(TEXT)
    assert str(error.value) == "word_key must not be set: raw text has words, not feature dicts"


# ------------------------------------------------------------------------------------------------ it learns

TITLES = "uncle aunt king queen sister brother doctor baron sir lady saint captain".split()
WAYS = "in near from towards around beyond outside inside past via behind across".split()
OTHERS = "then today again early slowly quietly".split()


def told(count, persons, places, which, rng):
    """Sentences in which only the word before a name says whether it is a person's or a place's."""
    chosen = [("B-PER", TITLES[which], persons), ("B-LOC", WAYS[which], places)]
    sentences, labels = [], []
    for label, before, names in (chosen[i] for i in rng.integers(2, size=count)):
        first, last = rng.choice(OTHERS, 2)
        sentences.append([str(word) for word in (first, rng.choice(before), rng.choice(names), last)])
        labels.append(["O", "O", label, "O"])
    return sentences, labels


@pytest.mark.slow
def test_few_labels_are_enough_after_raw_text(tmp_path):
    """New names after words that no labelled sentence has: in raw text, these stood before names of known clusters."""
    rng = np.random.default_rng(0)
    names = rng.permutation(["".join(parts).capitalize() for parts in product(["ka", "lo", "mi"], repeat=4)])
    persons, places, labelled, unseen = np.array_split(names, 4)
    paths = tmp_path / "x.paths"
    known = [("0000", name) for name in persons] + [("1111", name) for name in places]
    paths.write_text("".join(f"{path}\t{name}\t9\n" for path, name in known))
    raw, _ = told(800, persons, places, slice(None), rng)
    train = told(20, labelled, labelled, slice(6), rng)
    test = told(100, unseen, unseen, slice(6, None), rng)
    settings = {"hidden": 32, "word_dim": 8, "suffix_dim": 0, "prefix_dim": 0, "shape_dim": 0, "caps_dim": 4}
    knowing = Tagger(clusters=paths, rate=0.01, epochs=10, min_count=1, **settings).pretrain(raw)
    new = Tagger(clusters=paths, epochs=30, **settings)
    assert new.fit(*train).score(*test) < 0.7
    assert new.fit(*train, warm_start=knowing).score(*test) > 0.9

"""Semantic roles: training, answers, decoding, the file, and mistakes in one line."""

import pickle

import numpy as np
import pytest

import postil
from oracles.corpora import semantic_roles
from postil import archive
from postil.errors import ConfigurationError, DataError, ModelFileError
from postil.models import storage
from postil.models.decoding.posteriors import Posteriors
from postil.models.role_labeller import MOST_ROLES, PENN, ROLES, numbered_pairs, tagger_of_tags, with_distances
from postil.text import Frame, frames_of

SMALL = {"hidden": 24, "layers": 4, "epochs": 12, "batch_sentences": 4, "seed": 0}


@pytest.fixture(scope="module")
def labeller():
    return postil.RoleLabeller(**SMALL).fit(*semantic_roles(60), dev=semantic_roles(15, seed=1))


def plain(frames):
    return [[(frame.predicate, list(frame.labels)) for frame in of_sentence] for of_sentence in frames]


def test_predicates_are_found_or_given_and_roles_are_learned(labeller):
    X, y = semantic_roles(20, seed=2)
    assert labeller.score(X, y) > 0.9
    assert labeller.evaluate(X, y, given=False).predicates.f1 > 0.9
    places = [[frame.predicate for frame in frames] for frames in y]
    given = labeller.predict(X, places)
    assert [[frame.predicate for frame in frames] for frames in given] == places
    assert labeller.model.about["training"]["step"]["name"] in ("fused", "graph")
    assert "V" in labeller.classes_
    assert labeller.model.about["data"]["sentences"] == 60, "a sentence counts once, whatever it has of predicates"


def test_probabilities_are_those_of_the_spans(labeller):
    X, _ = semantic_roles(5, seed=3)
    for tokens, frames in zip(X, labeller.predict(X), strict=True):
        predicates = [frame.predicate for frame in frames]
        for frame in frames:
            marked = with_distances(tokens, frame.predicate, predicates=predicates)
            posterior = Posteriors(labeller.model.of_task(ROLES)).of_one(marked)
            kinds = [(0, start, end, posterior.codec.classes.index(role)) for role, start, end in frame.roles]
            expected = posterior.span_probabilities(np.array(kinds))
            assert np.allclose(frame.probabilities, expected, atol=1e-6)


def test_core_roles_are_not_repeated_and_the_predicate_is_v(labeller):
    X, y = semantic_roles(30, seed=4)
    mixed = [[*a, *b] for a, b in zip(X[::2], X[1::2], strict=True)]  # two sentences in one: twice the roles
    places = [[frame.predicate for frame in frames] for frames in y[::2]]
    seen = 0
    for frames, free in zip(labeller.predict(mixed, places), labeller.predict(mixed, places, once=False), strict=True):
        for frame, other in zip(frames, free, strict=True):
            assert frame.labels[frame.predicate] == "B-V"
            core = [span.label for span in frame.roles if span.label in ("ARG0", "ARG1", "ARG2")]
            assert len(core) == len(set(core))
            repeated = [span.label for span in other.roles if span.label in ("ARG0", "ARG1", "ARG2")]
            seen += len(repeated) > len(set(repeated))
    assert seen, "without the option roles are repeated here"


def test_values_that_one_predicate_alone_has_are_learned_as_rare(labeller):
    known = [{"old", "ing"}, {"the"}, {"sold"}, {"map"}]
    (token, *_) = with_distances(["Anna", "mislaid", "map"], 1, known)
    assert token == ("Anna", "-1", "rare", "rare", "rare", "map", "0")
    X, y = semantic_roles(20)
    X, y = [*X, ["Anna", "mislaid", "maps"]], [*y, [(1, ["B-ARG0", "B-V", "B-ARG1"])]]
    columns = postil.RoleLabeller(**SMALL | {"epochs": 1}).fit(X, y).model.features.columns
    assert "rare" in columns[3] and "mislaid" not in columns[3]
    unheard = labeller.predict([["Anna", "unearthed", "the", "map", "."]], [[1]])[0][0]
    assert unheard.labels[:2] == ["B-ARG0", "B-V"]


def test_the_other_predicates_are_counted():
    tokens = "Anna said she wants to go".split()
    between = [columns[-1] for columns in with_distances(tokens, 3, predicates=[1, 3, 5])]
    assert between == ["-1", "0p", "0", "0", "0", "0p"]
    between = [columns[-1] for columns in with_distances(tokens, 1, predicates=[1, 3, 5])]
    assert between == ["0", "0", "0", "0p", "1", "1p"]


def test_further_columns_are_those_of_the_predicate_and_its_neighbours_as_well():
    tokens = [("Anna", "NNP"), ("sold", "VBD"), ("maps", "NNS")]
    assert {columns[7:10] for columns in with_distances(tokens, 0)} == {("", "NNP", "VBD")}
    X, y = semantic_roles(20)
    tagged = [[(form, form[-1]) for form in sentence] for sentence in X]
    labeller = postil.RoleLabeller(**SMALL | {"epochs": 6}).fit(tagged, y)
    places = [[frame.predicate for frame in frames] for frames in y]
    answers = labeller.predict(tagged, places)
    assert answers == labeller.predict([[(*token, "more") for token in tokens] for tokens in tagged], places)
    with pytest.raises(DataError, match="lacks extra columns: expected 1, as in training, got 0"):
        labeller.predict(X, places)
    assert labeller.explain(tagged[0], places[0][0], 0, 1).text == X[0][0]


def test_columns_by_number_are_those_of_the_tokens(labeller):
    features = labeller.model.features
    X = ["Anna sold the map".split(), ["Ben"], [*"sold Ben and ".split() * 15, "called"]]
    predicates = [[1, 3], [], [0, 10, 45]]
    pairs = [(0, 1), (0, 3), (2, 0), (2, 10), (2, 45), (2, 7)]  # the last one is not among the sentence's predicates
    for (i, place), numbered in zip(pairs, numbered_pairs(features, X, pairs, predicates), strict=True):
        marked = with_distances(X[i], place, features.columns[1:], predicates[i])
        assert numbered == X[i]
        assert np.array_equal(features.extra([marked], len(X[i])), features.extra([numbered], len(X[i])))
    assert numbered_pairs(features, X, [], predicates) == []


def test_the_labels_are_bio_after_saving_as_well(labeller, tmp_path):
    labeller.save(tmp_path / "roles.postil")
    for one in (labeller, postil.load(tmp_path / "roles.postil")):
        codec = one.model.heads[ROLES].codec
        assert codec.inner == "bio" and len(codec.labels) == 1 + 2 * len(codec.classes)


def test_saved_loaded_and_pickled_it_answers_alike(labeller, tmp_path):
    X, _ = semantic_roles(6, seed=5)
    labeller.save(tmp_path / "roles.postil")
    for other in (postil.load(tmp_path / "roles.postil"), pickle.loads(pickle.dumps(labeller))):
        assert isinstance(other, postil.RoleLabeller)
        assert labeller.predict(X) == other.predict(X)


def test_the_same_seed_gives_the_same_file(tmp_path):
    data = semantic_roles(12)
    for name in ("one", "two"):
        postil.RoleLabeller(**SMALL | {"epochs": 2}).fit(*data).save(tmp_path / name)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


def test_the_sentence_approach_has_both_distances():
    X, y = semantic_roles(40)
    labeller = postil.RoleLabeller(preset="sentence-sll", hidden=20, epochs=16, batch_sentences=4).fit(X, y)
    assert labeller.score(X, y) > 0.9


def test_raw_text(labeller):
    document = labeller.tag("Anna gave Ben the book. It rained.")
    assert [sentence.tokens[0] for sentence in document.sentences] == ["Anna", "It"]
    (frame,) = frames_of(document.sentences[0])
    assert frame.predicate == 1 and len(frame.probabilities) == len(frame.roles)


def test_a_role_is_explained_by_its_words(labeller):
    tokens = "Anna sold the map .".split()
    explanation = labeller.explain(tokens, 1, 0, 1, "ARG0")
    assert explanation.label == "ARG0" and explanation.text == "Anna"


def test_the_most_frequent_roles_are_learned():
    names = [f"B-ARGM-X{number}" for number in range(MOST_ROLES + 5)]
    X, y = [["go", "there"]] * len(names), [[(0, ["B-V", name])] for name in names]
    labeller = postil.RoleLabeller(**SMALL | {"epochs": 1}).fit(X, y)
    assert len(labeller.classes_) == MOST_ROLES and "V" in labeller.classes_


@pytest.mark.parametrize(
    "X, y, message",
    [
        ([["go"]], [[]], "nothing to learn from: expected at least one predicate"),
        ([["go"]], [], r"y must be a list of predicates for each sentence: 1 \(got 0\)"),
        ([["go"]], [[(1, ["B-V"])]], "sentence 0: place of a predicate: expected the number of a word, from 0 to 0"),
        ([["go"]], [[(0, ["B-V", "O"])]], "sentence 0: labels of a predicate: expected 1, got 2"),
        ([["go"]], [["B-V"]], "sentence 0: a predicate: expected a Frame, or a pair"),
    ],
)
def test_mistakes_in_the_data(X, y, message):
    with pytest.raises(DataError, match=message):
        postil.RoleLabeller(**SMALL).fit(X, y)


def test_what_is_not_possible(labeller):
    with pytest.raises(ConfigurationError, match="warm start: expected a role-labeller, got a tagger"):
        postil.RoleLabeller(**SMALL).fit(*semantic_roles(5), warm_start=postil.Tagger())
    with pytest.raises(ConfigurationError, match="unlabelled cannot be used for semantic roles"):
        postil.RoleLabeller(**SMALL).fit(*semantic_roles(5), unlabelled=[["a"]])
    with pytest.raises(DataError, match="predicates must be a list for each of 1 sentences"):
        labeller.predict([["go"]], [])
    with pytest.raises(DataError, match="place of a predicate"):
        labeller.predict([["go"]], [[3]])


def test_a_frame_is_its_words():
    frame = Frame(0, ["B-V", "B-ARG1", "I-ARG1"])
    assert [(span.label, span.start, span.end) for span in frame.roles] == [("V", 0, 1), ("ARG1", 1, 3)]


# ------------------------------------------------------------------------------------------------ a tagger inside

TINY = {"hidden": 8, "word_dim": 6, "epochs": 4, "seed": 0}


def tags_of(X):
    """Tags that tell verbs from names and the rest."""
    return [["VB" if t == 1 else "NNP" if token[:1].isupper() else "NN" for t, token in enumerate(one)] for one in X]


@pytest.fixture(scope="module")
def tagger():
    X, _ = semantic_roles(40, seed=6)
    return postil.Tagger(**TINY).fit(X, tags_of(X))


@pytest.fixture(scope="module")
def tagged(tagger):
    return postil.RoleLabeller(**SMALL).fit(*semantic_roles(40), dev=semantic_roles(10, seed=1), tagger=tagger)


def test_the_labels_of_a_tagger_are_a_column_of_every_text(tagger, tagged):
    def with_column(X):
        return [list(zip(*pair, strict=True)) for pair in zip(X, tagger.predict(X), strict=True)]

    X, y = semantic_roles(40)
    X_dev, y_dev = semantic_roles(10, seed=1)
    by_hand = postil.RoleLabeller(**SMALL).fit(with_column(X), y, dev=(with_column(X_dev), y_dev))
    X, y = semantic_roles(15, seed=2)
    assert tagged.predict(X) == by_hand.predict(with_column(X)), "the same bits"
    assert tagged.predicates(X) == by_hand.predicates(with_column(X))
    assert tagged.evaluate(X, y).to_dict() == by_hand.evaluate(with_column(X), y).to_dict()
    assert tagged.tagger.predict(X) == tagger.predict(X) and by_hand.tagger is None
    (frame,) = frames_of(tagged.tag("Anna gave Ben the book.").sentences[0])
    tokens = "Anna gave Ben the book .".split()
    assert frame == tagged.predict([tokens])[0][0]
    assert tagged.explain(tokens, 1, 0, 1, "ARG0").text == "Anna"


def test_the_tagger_is_in_the_file(tagged, tmp_path):
    X, _ = semantic_roles(10, seed=5)
    tagged.save(tmp_path / "roles.postil")
    for other in (postil.load(tmp_path / "roles.postil"), pickle.loads(pickle.dumps(tagged))):
        assert other.predict(X) == tagged.predict(X)
        other.save(tmp_path / "again.postil")
        assert (tmp_path / "again.postil").read_bytes() == (tmp_path / "roles.postil").read_bytes()
    continued = postil.RoleLabeller(**SMALL | {"epochs": 1}).fit(*semantic_roles(10), warm_start=tagged)
    assert continued.tagger is not None and len(continued.predict(X)) == len(X)


def test_of_several_tasks_penn_tags_are_chosen():
    X, _ = semantic_roles(20)
    penn = [sorted(PENN) * 3] * 2
    y = {"names": [["B-PER" if token[:1].isupper() else "O" for token in one] for one in X], "coarse": tags_of(X)}
    data = dict.fromkeys(y, X) | {"penn": [["word"] * len(one) for one in penn]}
    several = postil.MultiTaskTagger(**TINY | {"epochs": 1}).fit(data, y | {"penn": penn})
    assert tagger_of_tags(several).classes_ == several["penn"].classes_
    assert tagger_of_tags(several, "names").classes_ == several["names"].classes_
    labeller = postil.RoleLabeller(**SMALL | {"epochs": 1}).fit(*semantic_roles(5), tagger=several)
    assert labeller.tagger.classes_ == several["penn"].classes_
    only = postil.MultiTaskTagger(**TINY | {"epochs": 1}).fit(dict.fromkeys(y, X), y)
    assert tagger_of_tags(only).classes_ == only["coarse"].classes_, "the only ones without spans"
    names = {"names": y["names"], "more": y["names"]}
    spans = postil.MultiTaskTagger(**TINY | {"epochs": 1}).fit(dict.fromkeys(names, X), names)
    with pytest.raises(ConfigurationError, match="one task: names or more"):
        tagger_of_tags(spans)


def test_taggers_that_cannot_be_used(labeller, tagger):
    X, y = semantic_roles(5)
    columns = postil.Tagger(**TINY).fit([[(token, "x") for token in one] for one in X], tags_of(X))
    for wrong, message in (
        (labeller, "must be a tagger of words .got a role-labeller"),
        (columns, "one that needs nothing but the words"),
    ):
        with pytest.raises(ConfigurationError, match=message):
            postil.RoleLabeller(**SMALL).fit(X, y, tagger=wrong)
    with pytest.raises(ConfigurationError, match="warm start: expected a role labeller with a tagger"):
        postil.RoleLabeller(**SMALL).fit(X, y, tagger=tagger, warm_start=labeller)


def test_a_forged_part_is_refused(labeller, tagged):
    arrays, metadata = archive.from_bytes(storage.to_bytes(tagged))
    inside = np.asarray(arrays["parts/tagger"]).copy()
    inside[len(inside) // 2] ^= 1
    for wrong, message in (
        (inside, "damaged"),
        (np.frombuffer(storage.to_bytes(labeller), np.uint8), "expected a tagger, got 'role-labeller'"),
        (np.zeros(3, np.float32), "the file of a model as an array of bytes"),
    ):
        with pytest.raises(ModelFileError, match=message):
            storage.from_bytes(archive.to_bytes(arrays | {"parts/tagger": wrong}, metadata))
    arrays, metadata = archive.from_bytes(storage.to_bytes(labeller))
    with pytest.raises(ModelFileError, match="columns of a role labeller: expected that of its tagger"):
        storage.from_bytes(
            archive.to_bytes(
                arrays | {"parts/tagger": np.frombuffer(storage.to_bytes(tagged.tagger), np.uint8)}, metadata
            )
        )
    metadata["heads"]["other"] = metadata["heads"].pop("roles")
    metadata["tasks"] = ["other", "predicates"]
    renamed = {name.replace("heads/roles/", "heads/other/"): array for name, array in arrays.items()}
    with pytest.raises(ModelFileError, match="heads of a role labeller: expected predicates, roles"):
        storage.from_bytes(archive.to_bytes(renamed, metadata))


def test_vectors_stand_in_file_and_memory_once(tmp_path):
    rng = np.random.default_rng(0)
    X, y = semantic_roles(20)
    words = [*sorted({token.lower() for one in X for token in one}), *(f"word{n}" for n in range(2000))]
    rows = "".join(f"{word} {' '.join(f'{x:.3f}' for x in rng.normal(size=8))}\n" for word in words)
    (tmp_path / "vectors.txt").write_text(rows)
    vectors = str(tmp_path / "vectors.txt")
    inside = postil.Tagger(**TINY | {"epochs": 1}, vectors=vectors).fit(X, tags_of(X))
    alone = postil.RoleLabeller(**SMALL | {"epochs": 1}, vectors=vectors).fit(X, y)
    both = postil.RoleLabeller(**SMALL | {"epochs": 1}, vectors=vectors).fit(X, y, tagger=inside)
    sizes = [len(storage.to_bytes(one)) for one in (inside, alone, both)]
    assert sizes[2] < sum(sizes[:2]) - 70_000, "the vectors and their words have 104 kB"
    both.save(tmp_path / "both.postil")
    opened = postil.load(tmp_path / "both.postil")
    assert opened.predict(X) == both.predict(X)
    models = opened.model, opened.tagger.model
    assert len({id(one.features.words.vocabularies["vector"]) for one in models}) == 1
    assert len({id(one.network.vectors) for one in models}) == 1
    assert opened.tagger.predict(X) == inside.predict(X)
    alone = pickle.loads(pickle.dumps(opened.tagger))
    assert alone.predict(X) == inside.predict(X), "by itself it has everything"

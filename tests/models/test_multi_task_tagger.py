"""Several tasks in one network."""

import pickle
import warnings

import numpy as np
import pytest

import postil
from oracles import corpora
from oracles.corpora import semantic_roles
from postil import archive
from postil.errors import ConfigurationError, DataError, ForgettingWarning, ModelFileError
from postil.models import storage
from postil.models.fitting.sentences import batch_shares, batches_by_task, joint_score
from postil.models.laboratory import examine_parts
from postil.models.networks.network import Example
from postil.optimisation.loop import GraphStep
from postil.rules import ListRule
from postil.text import frames_of

SETTINGS = {"hidden": 16, "epochs": 4, "rate": 0.02}
PRESETS = ["fast", "accurate", "sentence-sll", "linear-crf", "neural-crf", "average-softmax"]


def two_corpora(count=40):
    X, y = {}, {}
    X["names"], y["names"] = corpora.named_entities(count, seed=1)
    X["words"], y["words"] = corpora.parts_of_speech(2 * count, seed=2)
    return X, y


def held_out(count=20):
    return {"names": corpora.named_entities(count, seed=3), "words": corpora.parts_of_speech(count, seed=4)}


def fitted(**settings):
    X, y = two_corpora()
    return postil.MultiTaskTagger(**SETTINGS | settings).fit(X, y, dev=held_out(), partial=False)


@pytest.fixture(scope="module")
def model():
    return fitted()


def values(tagger):
    return {name: parameter.value for name, parameter in tagger.model.network.parameters().items()}


# ------------------------------------------------------------------------------------------------ answers


def test_answers_are_dicts_by_task(model):
    dev = held_out()
    X, y = ({task: data[i] for task, data in dev.items()} for i in (0, 1))
    assert model.tasks == list(model) == ["names", "words"]
    assert "names" in model and "chunks" not in model
    assert model.classes_["words"] == ["NAME", "VERB", "X|Y"]
    scores = model.score(X, y)
    assert scores.keys() == {"names", "words"} and min(scores.values()) > 0.9
    assert {task: one.main_score for task, one in model.evaluate(X, y).items()} == scores
    assert model.evaluate(X["names"], {"names": y["names"]})["names"].main_score == scores["names"]
    assert set(model.decoding) == {"names", "words"} and model.decoding["names"].temperature != 1


@pytest.mark.parametrize("preset", PRESETS)
def test_each_task_answers_as_its_own_tagger_does(preset):
    model = fitted(preset=preset, epochs=1)
    X, _ = corpora.named_entities(30, seed=9)
    predicted = model.predict(X)
    text = "Anna lives in Oslo. The museums of Lima are old.\n\nThey met Boris Clara"
    document = model.tag(text)
    assert model.tag_many([text]) == [document]
    assert document.entities == document.layers["names"].entities
    assert document.sentences == document.layers["names"].sentences
    sentences = [postil.text.Sentence(tokens) for tokens in X]
    entities = model.annotate(sentences)
    for task in model.tasks:
        one = model[task]
        assert predicted[task] == one.predict(X)
        assert document.layers[task] == one.tag(text)
        assert list(entities[task]) == list(one.annotate(sentences))


@pytest.mark.parametrize("preset", PRESETS)
def test_the_engine_scores_as_the_graph_does(preset):
    parts = fitted(preset=preset, epochs=1).model
    X, _ = corpora.named_entities(30, seed=9)
    scores, offsets = parts.engine().scores(X, list(parts.heads))
    inputs = parts.features.inputs(X)
    assert np.array_equal(offsets, inputs.offsets)
    for task, head in parts.heads.items():
        np.testing.assert_allclose(scores[task], head.network.unary(inputs), atol=1e-5)
        alone, _ = parts.of_task(task).engine().scores(X, [task])
        assert np.array_equal(scores[task], alone[task]), "the same bits as when it is asked alone"


def test_all_heads_share_one_engine(model):
    assert model["names"].model.engine() is model["words"].model.engine()


def test_tasks_can_be_left_out(model):
    X, _ = corpora.named_entities(3)
    assert list(model.predict(X, tasks=["words"])) == ["words"]
    assert list(model.predict(X, tasks="words")) == ["words"]
    document = model.tag("Anna left", tasks=["words"])
    assert list(document.layers) == ["words"] and document.sentences == document.layers["words"].sentences
    with pytest.raises(ConfigurationError, match="one of names, words"):
        model.predict(X, tasks=["chunks"])
    with pytest.raises(ConfigurationError, match="one of names, words"):
        model["chunks"]
    with pytest.raises(ConfigurationError, match="at least one of names, words"):
        model.predict(X, tasks=[])


def test_the_estimator_of_each_task(model):
    X, _ = corpora.named_entities(3)
    answers = {task: tagger.predict(X) for task, tagger in model.by_task().items()}
    assert answers == model.predict(X)
    assert list(model.by_task(["words", "names"])) == ["names", "words"], "in the order of the model"
    alone = model["words"]
    assert alone.by_task() == {"words": alone}
    with pytest.raises(ConfigurationError, match="the model has one task"):
        alone.by_task(["words"])


def test_layers_in_a_dict(model):
    content = model.tag("Anna left").to_dict()
    assert set(content["layers"]) == {"names", "words"}
    assert content["layers"]["names"] == {name: content[name] for name in ("entities", "sentences")}
    assert "layers" not in model["names"].tag("Anna left").to_dict()


def test_what_is_changed_in_one_task_holds_for_the_model(tmp_path):
    model = fitted()
    X, y = held_out()["names"]
    before = model.predict(X)
    model["names"].decoding = postil.Decoding(thresholds={"PER": 1.0, "LOC": 1.0})
    assert not any(label != "O" for labels in model.predict(X)["names"] for label in labels)
    assert model.tag("Anna lives in Oslo").entities == []
    assert model.predict(X)["words"] == before["words"]
    model.save(tmp_path / "model.postil")
    assert postil.load(tmp_path / "model.postil").decoding == model.decoding
    model["names"].calibrate(X, y)
    assert model.decoding["names"].temperature != 1
    model["names"].decoding = postil.Decoding()
    tuned = model["names"].tune(X, y, recall=0.5, margin=0)
    assert tuned.chosen is not None
    assert model["names"].explain(["Anna", "left"], 0, 1).label == "PER"


# ------------------------------------------------------------------------------------------------ learning


def test_one_task_is_learnt_as_a_tagger_learns_it():
    X, y = corpora.named_entities(40)
    alone = postil.Tagger(**SETTINGS).fit(X, y, dev=held_out()["names"])
    together = postil.MultiTaskTagger(**SETTINGS).fit({"names": X}, {"names": y}, dev={"names": held_out()["names"]})
    assert together["names"].decoding == alone.decoding
    one, other = values(alone), values(together["names"])
    assert one.keys() == other.keys() and all(np.array_equal(one[name], other[name]) for name in one)


@pytest.mark.parametrize("preset", ["fast", "accurate", "window-wll"])
def test_the_same_bits_for_any_number_of_threads(preset):
    one, two = (fitted(preset=preset, threads=threads, epochs=2, batch_sentences=32) for threads in (1, 2))
    assert storage.to_bytes(one) == storage.to_bytes(two)


def test_the_fused_step_learns_as_the_general_path_does(monkeypatch):
    fused = fitted(epochs=1)
    monkeypatch.setattr("postil.models.fitting.fitting.training_step", GraphStep)
    general = fitted(epochs=1)
    for name, value in values(fused).items():
        np.testing.assert_allclose(value, values(general)[name], atol=1e-3, err_msg=name)


@pytest.mark.slow
def test_a_stopped_training_goes_on_with_the_same_bits(tmp_path):
    X, y = two_corpora()

    def fitting(**options):
        tagger = postil.MultiTaskTagger(**SETTINGS)
        options = {"checkpoint": tmp_path / "state", "partial": False} | options
        return tagger, tagger.fitting(X, y, held_out(), **options)

    whole, training = fitting()
    assert len(list(training)) > 8
    _, stopped = fitting()
    for _ in range(7):
        next(stopped)
    stopped.save_checkpoint()
    resumed, training = fitting(resume=True)
    list(training)
    assert storage.to_bytes(resumed) == storage.to_bytes(whole)
    with pytest.raises(ConfigurationError, match="another training"):
        postil.MultiTaskTagger(**SETTINGS).fitting(X, y, checkpoint=tmp_path / "state", resume=True, partial=False)


def test_batches_are_divided_by_the_square_root_of_the_sizes():
    assert batch_shares({"a": 100, "b": 10_000}, 10) == {"a": 92, "b": 918}
    assert batch_shares({"a": 1, "b": 10_000}, 10)["a"] >= 1
    assert batch_shares({"a": 95}, 10) == {"a": 10}
    passes = batches_by_task(
        {"a": np.full(40, 3), "b": np.full(41, 3)}, 10, np.random.default_rng(0), {"a": 0.5, "b": 1}
    )
    assert sorted(task for task, _ in passes) == ["a"] * 2 + ["b"] * 5, "or by given passes over the data"
    lengths = {"a": np.full(20, 3), "b": np.full(2000, 4)}
    batches = batches_by_task(lengths, 10, np.random.default_rng(0))
    shares = batch_shares({"a": 20, "b": 2000}, 10)
    assert {task: sum(one == task for one, _ in batches) for task in lengths} == shares
    of_a = np.concatenate([which for task, which in batches if task == "a"])
    assert set(np.bincount(of_a).tolist()) <= {len(of_a) // 20, -(-len(of_a) // 20)}, "a small corpus comes in turn"
    of_b = np.concatenate([which for task, which in batches if task == "b"])
    assert len(np.unique(of_b)) == len(of_b), "a large one is drawn from"
    tasks = [task for task, _ in batches]
    assert tasks != sorted(tasks), "in any order"


def test_a_batch_changes_its_own_head_and_what_is_shared():
    X, y = two_corpora()
    fitting = postil.MultiTaskTagger(**SETTINGS).fitting(X, y, partial=False)
    network = fitting.model.network
    parameters = network.parameters()
    batch = fitting.training_sets["names"].batch(np.arange(4))
    from postil.graph import gradients

    touched = gradients(network.loss(batch.shards[0], rng=np.random.default_rng(0)))
    names = {name for name, parameter in parameters.items() if parameter in touched}
    assert any(name.startswith("encoder.") for name in names) and any(name.startswith("forms.") for name in names)
    assert any(name.startswith("heads.names.") for name in names)
    assert not any(name.startswith("heads.words.") for name in names)


@pytest.mark.slow
def test_gradients_of_the_loss_of_all_tasks(model):
    report = examine_parts(model.model, np.random.default_rng(3))
    assert report.passed, report.table()
    names = {entry.name for entry in report.entries}
    assert {"heads.names.output0.W", "heads.words.crf.transitions", "encoder.layers.1.W"} <= names


def test_classes_that_a_corpus_does_not_annotate_are_unknown_there():
    X, y = corpora.named_entities(60)
    persons = [["O" if label.endswith("LOC") else label for label in labels] for labels in y[:30]]
    annotates = {"names": [("PER",)] * 30 + [None] * 30}
    tagger = postil.MultiTaskTagger(**SETTINGS).fit({"names": X}, {"names": [*persons, *y[30:]]}, annotates=annotates)
    assert tagger.model.about["data"]["tasks"]["names"]["partial"]["several"] > 0
    assert tagger.score({"names": X}, {"names": y})["names"] > 0.9


def test_one_list_of_sentences_for_all_tasks():
    X, y = corpora.named_entities(20)
    _, words = corpora.parts_of_speech(20)
    tagger = postil.MultiTaskTagger(**SETTINGS).fit(X, {"names": y, "words": words}, partial=False)
    assert tagger.score(X, {"names": y, "words": words}).keys() == {"names", "words"}


def test_overlapping_classes_are_two_tasks():
    """A place inside the name of a firm: both are found."""
    X = [["Bank", "of", place, "fell"] for place in ("Oslo", "Lima", "Rome")] * 8
    y = {"firms": [["B-ORG", "I-ORG", "I-ORG", "O"]] * 24, "places": [["O", "O", "B-LOC", "O"]] * 24}
    document = postil.MultiTaskTagger(**SETTINGS).fit(X, y).tag("Bank of Lima fell")
    assert [entity.text for entity in document.layers["firms"].entities] == ["Bank of Lima"]
    assert [entity.text for entity in document.layers["places"].entities] == ["Lima"]


# ------------------------------------------------------------------------------------------------ warm start


def test_a_head_is_added_to_a_frozen_encoder():
    X, y = corpora.named_entities(40)
    names = postil.Tagger(**SETTINGS).fit(X, y, dev=held_out()["names"])
    W, labels = corpora.parts_of_speech(80, seed=2)
    both = postil.MultiTaskTagger(**SETTINGS)
    both.fit({"words": W}, {"words": labels}, warm_start=names, freeze_encoder=True, partial=False)
    assert both.tasks == ["main", "words"]
    assert both["main"].decoding == names.decoding
    questions, _ = corpora.named_entities(30, seed=9)
    labels, probabilities = names.predict_with_probabilities(questions)
    again, exactly = both["main"].predict_with_probabilities(questions)
    assert again == labels and all(map(np.array_equal, exactly, probabilities))
    dev = held_out()["words"]
    assert both.score({"words": dev[0]}, {"words": dev[1]})["words"] > 0.7


def test_a_head_is_added_and_everything_learns_on():
    X, y = two_corpora()
    first = postil.MultiTaskTagger(**SETTINGS).fit({"names": X["names"]}, {"names": y["names"]})
    before = {name: value.copy() for name, value in values(first).items()}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        both = postil.MultiTaskTagger(**SETTINGS).fit(X, y, warm_start=first, partial=False)
    assert both.tasks == ["names", "words"]
    assert not np.array_equal(values(both)["encoder.layers.1.W"], before["encoder.layers.1.W"])
    assert all(np.array_equal(values(first)[name], value) for name, value in before.items()), "the first stays"
    with pytest.warns(ForgettingWarning, match="no data for names"):
        postil.MultiTaskTagger(**SETTINGS).fit({"words": X["words"]}, {"words": y["words"]}, warm_start=first)


def test_a_task_becomes_a_tagger_of_its_own(model, tmp_path):
    X, _ = corpora.named_entities(20, seed=9)
    model["names"].save(tmp_path / "names.postil")
    alone = postil.load(tmp_path / "names.postil")
    assert isinstance(alone, postil.Tagger) and alone.predict(X) == model.predict(X)["names"]
    more, labels = corpora.named_entities(10, seed=5)
    assert postil.Tagger(**SETTINGS).fit(more, labels, warm_start=model["names"]).classes_ == alone.classes_


def test_epochs_are_compared_by_the_share_of_errors_that_each_task_is_rid_of():
    assert joint_score([0.7]) == 0.7
    assert joint_score([0.6, 0.9]) == pytest.approx(1 - (0.4 * 0.1) ** 0.5)
    # One point of a task with 5 % errors outweighs three of one with 40 %.
    assert joint_score([0.60, 0.95]) > joint_score([0.63, 0.94])
    assert joint_score([0.60, 1.0]) < joint_score([0.61, 1.0]) < 1


# ------------------------------------------------------------------------------------------------ teachers


def test_one_task_learns_from_teachers_and_the_other_does_not():
    """Three labelled sentences of names are not enough; the teacher is a task of another model."""
    X, y = two_corpora()
    names, labels = corpora.named_entities(200, seed=1)
    teacher = postil.MultiTaskTagger(**SETTINGS).fit({**X, "names": names[:100]}, {**y, "names": labels[:100]})
    few = [i for i, of_sentence in enumerate(labels) if len(set(of_sentence)) >= 3][:3]
    data = {**X, "names": [names[i] for i in few]}, {**y, "names": [labels[i] for i in few]}
    alone = postil.MultiTaskTagger(**SETTINGS).fit(*data, partial=False)
    raw = {"names": names[100:180]}
    taught = postil.MultiTaskTagger(**SETTINGS)
    taught.fit(*data, partial=False, unlabelled=raw, teachers={"names": [teacher["names"]]})
    dev = held_out()
    assert taught["names"].score(*dev["names"]) > alone["names"].score(*dev["names"]) + 0.1
    assert taught["words"].score(*dev["words"]) > 0.8
    tasks = taught.model.about["data"]["tasks"]
    assert tasks["names"]["unlabelled"]["sentences"] == 80 and "unlabelled" not in tasks["words"]


def test_a_lesson_of_tasks_resumes_with_the_same_bits(model, tmp_path):
    X, y = two_corpora(20)
    lesson = {"unlabelled": X["words"], "teachers": {"words": [model["words"]]}, "partial": False}
    whole = postil.MultiTaskTagger(**SETTINGS).fit(X, y, **lesson)
    checkpoint = tmp_path / "c"
    for _ in zip(
        range(25), postil.MultiTaskTagger(**SETTINGS).fitting(X, y, checkpoint=checkpoint, **lesson), strict=False
    ):
        pass
    assert checkpoint.exists()
    resumed = postil.MultiTaskTagger(**SETTINGS)
    for _ in resumed.fitting(X, y, checkpoint=checkpoint, resume=True, **lesson):
        pass
    for name, value in values(whole).items():
        assert np.array_equal(value, values(resumed)[name]), name
    with pytest.raises(ConfigurationError, match="another training"):
        postil.MultiTaskTagger(**SETTINGS).fitting(
            X, y, checkpoint=checkpoint, resume=True, **lesson | {"unlabelled": X["words"][:5]}
        )


@pytest.mark.parametrize(
    ("lesson", "message"),
    [
        ({"unlabelled": [["a"]]}, "teachers: needed where the other is given"),
        ({"teachers": {"names": []}}, "unlabelled: needed where the other is given"),
        ({"unlabelled": [["a"]], "teachers": {"chunks": []}}, "teachers must be the tasks names, words"),
        ({"unlabelled": [["a"]], "teachers": {"names": []}}, "teachers: needed where the other is given"),
        ({"unlabelled": {"words": [["a"]]}, "teachers": {"names": [0]}}, "unlabelled must be those of teachers: names"),
    ],
)
def test_a_lesson_that_is_not_complete_is_refused(lesson, message):
    X, y = two_corpora(4)
    with pytest.raises((ConfigurationError, DataError), match=message):
        postil.MultiTaskTagger(**SETTINGS).fit(X, y, partial=False, **lesson)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"freeze_encoder": True}, "freeze_encoder needs a model to start from"),
        ({"dev": {"chunks": ([["a"]], [["O"]])}}, "dev must be the tasks names, words .got 'chunks'"),
        ({"annotates": {"chunks": None}}, "annotates must be the tasks names, words"),
    ],
)
def test_wrong_options_are_refused(options, message):
    X, y = two_corpora(4)
    with pytest.raises((ConfigurationError, DataError), match=message):
        postil.MultiTaskTagger(**SETTINGS).fit(X, y, partial=False, **options)


def test_wrong_data_are_refused():
    X, y = two_corpora(4)
    with pytest.raises(DataError, match="y must be a dict"):
        postil.MultiTaskTagger().fit(X["names"], y["names"])
    with pytest.raises(DataError, match=r"X must be the tasks of y: names, words \(got names"):
        postil.MultiTaskTagger().fit({"names": X["names"]}, y)
    with pytest.raises(ConfigurationError, match="name of a task"):
        postil.MultiTaskTagger().fit(X["names"], {"a/b": y["names"]})
    with pytest.raises(DataError, match="MultiTaskTagger"):
        postil.Tagger().fit(X, y)
    with pytest.raises(ConfigurationError, match="ensemble"):
        postil.MultiTaskTagger(ensemble=2).fit(X, y)
    detector = postil.Detector(label="PER", hidden=4, epochs=1).fit(X["names"], y["names"])
    with pytest.raises(ConfigurationError, match="warm start: expected a tagger, got a detector"):
        postil.MultiTaskTagger(hidden=4).fit(X, y, warm_start=detector)


# ------------------------------------------------------------------------------------------------ model file


def test_saved_loaded_and_pickled(model, tmp_path):
    model.save(tmp_path / "model.postil")
    X, _ = corpora.named_entities(20, seed=9)
    for other in (postil.load(tmp_path / "model.postil"), pickle.loads(pickle.dumps(model))):
        assert other.tasks == model.tasks and other.decoding == model.decoding
        assert other.predict(X) == model.predict(X)
        assert storage.to_bytes(other) == (tmp_path / "model.postil").read_bytes()


def forged(model, change):
    arrays, metadata = archive.from_bytes(storage.to_bytes(model), "a test")
    arrays = {name: np.array(array) for name, array in arrays.items()}
    change(arrays, metadata)
    return storage.from_bytes(archive.to_bytes(arrays, metadata))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda a, m: m.pop("tasks"), "tasks must be a list of names"),
        (lambda a, m: m.update(tasks=["names"]), "wrong heads"),
        (lambda a, m: m.update(tasks=["names", "names"]), "wrong heads"),
        (lambda a, m: m.update(tasks=["names", "a/b"]), "name of a task"),
        (lambda a, m: m.update(tasks=[]), "tasks must be 1 to 100"),
        (lambda a, m: m["heads"].pop("words"), "wrong heads"),
        (lambda a, m: m["heads"].update(more=m["heads"]["words"]), "wrong heads"),
        (lambda a, m: m["heads"].update(words=m["heads"]["names"]), "wrong number of labels"),
        (lambda a, m: m["heads"]["words"].update(decoding={"temperature": -1}), "temperature"),
        (lambda a, m: a.pop("heads/words/output0.W"), "wrong number|missing|lacks"),
        (lambda a, m: a.update({"heads/more/output0.W": a["heads/words/output0.W"]}), "unknown arrays"),
        (lambda a, m: m.update(kind="tagger"), "tasks must be none in a model with one task"),
    ],
)
def test_forged_heads_are_refused(model, change, message):
    with pytest.raises(ModelFileError, match=message):
        forged(model, change)


def test_examples_carry_their_task(model):
    parts = model.model
    X, y = held_out()["names"]
    codec = parts.heads["names"].codec
    example = Example(inputs=parts.features.inputs(X), gold=np.concatenate(codec.numbers(y)), task="names")
    rng = np.random.default_rng(0)
    assert parts.network.weight(example) == len(X)
    assert parts.network.loss(example, rng=rng).value > 0


# ------------------------------------------------------------------------------------------------ roles inside

TINY = {"hidden": 8, "word_dim": 6, "epochs": 2, "seed": 0}


@pytest.fixture(scope="module")
def of_words():
    """Names and tags of sentences about gifts and sales."""
    X, _ = semantic_roles(40, seed=6)
    names = [["B-PER" if token[:1].isupper() else "O" for token in one] for one in X]
    tags = [["VB" if t == 1 else "NN" for t in range(len(one))] for one in X]
    return postil.MultiTaskTagger(**TINY).fit({"names": X, "tags": X}, {"names": names, "tags": tags})


@pytest.fixture(scope="module")
def with_roles(of_words):
    settings = {"hidden": 24, "layers": 4, "epochs": 12, "batch_sentences": 4, "seed": 0}
    labeller = postil.RoleLabeller(**settings).fit(*semantic_roles(60), tagger=of_words["tags"])
    return of_words.with_roles(labeller)


def test_roles_are_asked_for_by_name(of_words, with_roles):
    X, y = semantic_roles(10, seed=3)
    assert with_roles.tasks == of_words.tasks == ["names", "tags"], "they cost a pass for each predicate"
    assert list(with_roles.predict(X)) == ["names", "tags"]
    assert with_roles["roles"].score(X, y) > 0.9
    assert frames_of(with_roles["roles"].tag("Anna sold the map.").sentences[0])
    assert list(with_roles.by_task(["roles"])) == ["roles"] and list(with_roles.by_task()) == ["names", "tags"]
    with pytest.raises(ConfigurationError, match="tasks must be roles alone"):
        with_roles.by_task(["roles", "names"])
    with pytest.raises(ConfigurationError, match="task must be one of names, tags"):
        of_words["roles"]


def test_roles_change_no_bit_of_the_other_tasks(of_words, with_roles, tmp_path):
    X, _ = semantic_roles(15, seed=4)
    with_roles.save(tmp_path / "with.postil")
    loaded = postil.load(tmp_path / "with.postil")
    for one in (with_roles, loaded, loaded.with_roles(None), pickle.loads(pickle.dumps(with_roles))):
        assert one.predict(X) == of_words.predict(X)
        for task in of_words:
            before, after = (model[task].predict_with_probabilities(X) for model in (of_words, one))
            assert repr(before) == repr(after), "labels and probabilities"
            for tokens in X:
                assert np.array_equal(of_words[task].marginals(tokens), one[task].marginals(tokens))
            assert storage.to_bytes(one[task]) == storage.to_bytes(of_words[task])
    assert storage.to_bytes(loaded.with_roles(None)) == storage.to_bytes(of_words)
    assert "roles" not in loaded.with_roles(None).model.parts
    assert loaded["roles"].predict(X) == with_roles["roles"].predict(X)


def test_the_tags_of_roles_are_those_of_the_task(of_words, with_roles, tmp_path):
    with_roles.save(tmp_path / "with.postil")
    for one in (with_roles, postil.load(tmp_path / "with.postil")):
        assert one["roles"].tagger.model.head is one.model.heads["tags"]
    size = (tmp_path / "with.postil").stat().st_size
    X, _ = semantic_roles(5, seed=4)
    alone = pickle.loads(pickle.dumps(with_roles["roles"]))
    assert alone.predict(X) == with_roles["roles"].predict(X), "by itself it has its tagger inside"
    assert size < len(storage.to_bytes(of_words)) + len(storage.to_bytes(alone)) - 10_000
    assert "parts/tagger" in archive.from_bytes(storage.to_bytes(alone))[0]
    other = postil.Tagger(**TINY).fit(X, [["VB"] * len(one) for one in X])
    settings = {"hidden": 8, "layers": 2, "epochs": 1}
    labeller = postil.RoleLabeller(**settings).fit(*semantic_roles(5), tagger=other)
    own = of_words.with_roles(labeller)
    assert storage.from_bytes(storage.to_bytes(own))["roles"].tagger.predict(X) == other.predict(X)
    without = postil.RoleLabeller(**settings).fit(*semantic_roles(5))
    assert of_words.with_roles(without)["roles"].tagger is None
    voting = with_roles.with_rules([ListRule(phrases=["Anna"], name="all", label="PER")], task="names")
    assert voting["roles"].predict(X) == with_roles["roles"].predict(X)


def test_who_starts_from_such_a_model_is_told_that_roles_are_lost(with_roles):
    X, _ = semantic_roles(8)
    y = {"names": [["O"] * len(one) for one in X], "tags": [["NN"] * len(one) for one in X]}
    with pytest.warns(ForgettingWarning, match="without the semantic roles"):
        other = postil.MultiTaskTagger(**TINY | {"epochs": 1}).fit(X, y, warm_start=with_roles)
    assert not other.model.parts
    with warnings.catch_warnings():
        warnings.simplefilter("error", ForgettingWarning)
        postil.Tagger(**TINY | {"epochs": 1}).fit(X, y["tags"], warm_start=with_roles)


def test_what_cannot_be_inside(of_words, with_roles):
    with pytest.raises(ConfigurationError, match="with_roles needs a RoleLabeller or None"):
        of_words.with_roles(of_words["tags"])
    X, _ = semantic_roles(5)
    named = postil.MultiTaskTagger(**TINY).fit({"roles": X}, {"roles": [["VB"] * len(one) for one in X]})
    with pytest.raises(DataError, match="tasks must be others than roles"):
        named.with_roles(with_roles["roles"])
    arrays, metadata = archive.from_bytes(storage.to_bytes(with_roles))
    inner, about = archive.from_bytes(arrays["parts/roles"].data, around=arrays)
    for task in ("nothing", 3, None):
        forged = archive.to_bytes(inner, about | {"borrowed": {"tagger": task}}, arrays)
        content = archive.to_bytes(arrays | {"parts/roles": np.frombuffer(forged, np.uint8)}, metadata)
        with pytest.raises(ModelFileError, match="a task of the model around it"):
            storage.from_bytes(content)
    with pytest.raises(ModelFileError, match="borrowed"):
        storage.from_bytes(archive.to_bytes(arrays, metadata | {"borrowed": {"other": "tags"}}))
    with pytest.raises(ModelFileError):
        storage.from_bytes(bytes(arrays["parts/roles"]))  # it is nothing without the model around it

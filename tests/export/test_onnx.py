"""Whole models in ONNX, beside the models themselves."""

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import postil
from oracles import corpora
from oracles.onnx_graphs import run_model
from postil.commands.main import main
from postil.errors import ConfigurationError
from postil.export.onnx import COPIED, export_onnx, onnx_model
from postil.export.onnx_files.words import Words
from postil.models.answers.decoding import Decoding

pytestmark = [pytest.mark.extra("onnx"), pytest.mark.extra("onnxruntime")]

X, Y = corpora.named_entities(40)
UNSEEN = [
    ["Zebra"],
    [],
    ["anna", "VISITED", "Oslo-2", "1984", "!"],
    [word for sentence in X for word in sentence][:150],
]
QUICK = {"seed": 0, "epochs": 2, "rate": 0.02}


def answers(model, sentences):
    """What the graph answers: by task (one task is called "") labels, marginals and probabilities of sentences."""
    proto, vocabulary = onnx_model(model)
    words = Words(json.loads(json.dumps(vocabulary)))
    features, lengths = words.features(sentences)
    ids = np.array(features, np.int64).reshape(len(lengths), max(lengths, default=0), words.width)
    outputs = run_model(proto, features=ids, lengths=np.array(lengths, np.int64))
    found = {}
    for task, names in words.labels.items():
        labels, marginals, probability = (
            outputs[f"{task}." * bool(task) + name] for name in ("labels", "marginals", "probability")
        )
        assert (labels < 0).sum() == labels.size - sum(lengths), "padding, and nothing else"
        texts = [[names[label] for label in row[:length]] for row, length in zip(labels, lengths, strict=True)]
        rows = [row[:length] for row, length in zip(marginals, lengths, strict=True)]
        found[task] = names, texts, rows, probability
    return found


def check(tagger, found, sentences):
    """Equal labels, and probabilities up to the rounding of float32."""
    names, texts, marginals, probability = found
    assert names == tagger.classes_
    assert texts == tagger.predict(sentences)
    for sentence, rows in zip(sentences, marginals, strict=True):
        expected = [[by_label[name] for name in names] for by_label in tagger.marginals(sentence)]
        np.testing.assert_allclose(rows, np.reshape(expected, rows.shape), atol=1e-5)
    asked = [postil.text.Sentence([t if isinstance(t, str) else t[0] for t in sentence]) for sentence in sentences]
    if not any(isinstance(token, tuple) for sentence in sentences for token in sentence):
        np.testing.assert_allclose(probability, [a.probability for a in tagger.answers(asked)], atol=1e-5)


MODELS = {
    "fast": {},
    "accurate, an ensemble": {"preset": "accurate", "hidden": 12},
    "one convolution more": {"preset": "accurate", "hidden": 12, "layers": 4, "ensemble": 1},
    "softmax": {"preset": "window-softmax", "hidden": 12},
    "average": {"preset": "average-softmax"},
    "sentence": {"preset": "sentence-sll", "hidden": 12},
    "three offsets": {"preset": "neural-crf", "hidden": 12},
    "linear": {"preset": "linear-crf"},
    "characters": {"character_dim": 6, "hidden": 12},
    "a softmax ensemble": {"objective": "softmax", "ensemble": 2, "hidden": 12},
}


@pytest.mark.parametrize("name", MODELS)
def test_labels_are_equal_and_probabilities_nearly(name):
    tagger = postil.Tagger(**QUICK, **MODELS[name]).fit(X, Y, dev=(X[:10], Y[:10]))
    assert tagger.decoding.temperature != 1, "calibrated"
    check(tagger, answers(tagger, X + UNSEEN)[""], X + UNSEEN)


@pytest.mark.parametrize("scheme", ["iob1", "iobes", "bilou"])
def test_schemes(scheme):
    sentences, labels = corpora.named_entities(40, scheme="bio")
    labels = [postil.text.labels.schemes.convert(one, "bio", scheme) for one in labels]
    tagger = postil.Tagger(**QUICK, hidden=12).fit(sentences, labels)
    check(tagger, answers(tagger, UNSEEN)[""], UNSEEN)


def test_labels_without_spans(speech_model):
    tagger = postil.load(speech_model)
    check(tagger, answers(tagger, UNSEEN)[""], UNSEEN)


def test_temperature_shift_and_bias_are_inside(names_model):
    tagger = postil.load(names_model)
    tagger.decoding = Decoding(temperature=2.5, shift=1.0, bias=2.0)
    check(tagger, answers(tagger, X + UNSEEN)[""], X + UNSEEN)
    tagger.decoding = replace(tagger.decoding, bias=-4.0)
    check(tagger, answers(tagger, X + UNSEEN)[""], X + UNSEEN)


def test_vectors_clusters_and_lists(tmp_path):
    vectors, clusters, names = tmp_path / "v.txt", tmp_path / "c.txt", tmp_path / "places.txt"
    rng = np.random.default_rng(0)
    known = sorted({word.lower() for sentence in X for word in sentence})[::2]
    known += [f"other{i}" for i in range(20)]
    vectors.write_text("".join(f"{w} {' '.join(map(str, rng.normal(size=4)))}\n" for w in known), encoding="utf8")
    clusters.write_text("".join(f"{i % 5:04b}\t{w}\t1\n" for i, w in enumerate(known)), encoding="utf8")
    names.write_text("oslo\nnew york\n", encoding="utf8")
    knowledge = {"vectors": str(vectors), "clusters": str(clusters), "gazetteers": [str(names)]}
    tagger = postil.Tagger(**QUICK, hidden=12, vector_clusters=(2,), **knowledge)
    tagger.fit(X, Y).save(tmp_path / "model.postil")
    tagger = postil.load(tmp_path / "model.postil")  # whose vectors stay in the file
    assert tagger.fitted_parts().features.words.lexicons.keys() == {"clusters", "vector clusters"}
    check(tagger, answers(tagger, UNSEEN)[""], UNSEEN)


def test_further_columns():
    rows = [[(word, "C" if word[:1].isupper() else "s") for word in sentence] for sentence in X]
    tagger = postil.Tagger(**QUICK, hidden=12).fit(rows, Y)
    check(tagger, answers(tagger, rows[:5])[""], rows[:5])


def test_several_tasks():
    speech = corpora.parts_of_speech(30)
    model = postil.MultiTaskTagger(**QUICK, hidden=12).fit(
        {"names": X, "speech": speech[0]}, {"names": Y, "speech": speech[1]}
    )
    found = answers(model, UNSEEN)
    assert list(found) == ["names", "speech"]
    for task, of_task in found.items():
        check(model[task], of_task, UNSEEN)


@pytest.mark.parametrize("sentences", [[], [[]], [[], []]])
def test_a_batch_without_words(names_model, sentences):
    _, texts, _, probability = answers(postil.load(names_model), sentences)[""]
    assert texts == sentences and probability.tolist() == [1.0] * len(sentences)


def test_a_folder_has_all_that_its_example_needs(names_model, tmp_path):
    tagger = postil.load(names_model)
    written = export_onnx(tagger, tmp_path / "folder")
    assert [path.name for path in written] == ["model.onnx", "vocabulary.json", *COPIED]
    sentence = X[0]
    shown = subprocess.run(
        [
            sys.executable,
            "-I",
            "-c",
            "import runpy, sys; sys.path.insert(0, '.'); runpy.run_path('example.py')",
            *sentence,
        ],
        cwd=tmp_path / "folder",
        capture_output=True,
        text=True,
    )
    assert shown.returncode == 0, shown.stderr
    *rows, last = [line.split("\t") for line in shown.stdout.splitlines()]
    assert [(word, label) for word, label, _ in rows] == list(zip(sentence, tagger.predict([sentence])[0], strict=True))
    assert last[0].startswith("probability of all labels: ")


def test_a_file_has_the_tables_as_metadata(names_model, tmp_path):
    import onnx
    import onnxruntime

    path = tmp_path / "names.onnx"
    assert export_onnx(postil.load(names_model), path) == [path]
    onnx.checker.check_model(path, full_check=True)
    metadata = onnxruntime.InferenceSession(path).get_modelmeta().custom_metadata_map
    words = Words(json.loads(metadata["postil"]))
    assert words.labels == json.loads(metadata["labels"]) == {"": postil.load(names_model).classes_}


def test_the_command_writes_a_folder_or_a_file(names_model, tmp_path, capsys):
    assert main(["export", str(names_model), "--to", "onnx", "-o", str(tmp_path / "folder")]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [Path(line.split(": ")[0]).name for line in lines] == ["model.onnx", "vocabulary.json", *COPIED]
    assert main(["export", str(names_model), "--to", "onnx", "-o", str(tmp_path / "names.onnx")]) == 0
    assert capsys.readouterr().out.startswith(f"{tmp_path / 'names.onnx'}: ")


@pytest.mark.parametrize(
    ("output", "message"),
    [
        ("file.txt", "file.txt: output must be a folder, or a file NAME.onnx (got another file)"),
        ("folder.onnx", "folder.onnx: output must be a file (got a folder)"),
        ("nowhere/a.onnx", "nowhere/a.onnx: No such file or directory"),
    ],
)
def test_mistakes_of_the_command_are_one_line(names_model, tmp_path, capsys, output, message):
    (tmp_path / "file.txt").write_text("")
    (tmp_path / "folder.onnx").mkdir()
    assert main(["export", str(names_model), "--to", "onnx", "-o", str(tmp_path / output)]) == 1
    assert tuple(capsys.readouterr()) == ("", f"postil: {tmp_path}/{message}\n")


# ------------------------------------------------------------------------------------------------ refused


def test_other_models_are_refused_in_one_line(tmp_path):
    with pytest.raises(ConfigurationError, match=r"a model for ONNX must be a tagger .got a detector"):
        export_onnx(postil.Detector(label="LOC"), tmp_path / "x")
    with pytest.raises(ConfigurationError, match=r"a model for ONNX must be a tagger .got a tree-classifier"):
        export_onnx(postil.TreeClassifier(), tmp_path / "x")
    assert not (tmp_path / "x").exists()


def test_what_the_graph_cannot_hold_is_refused(names_model):
    tagger = postil.load(names_model)
    tagger.decoding = Decoding(thresholds={"PER": 0.5})
    with pytest.raises(ConfigurationError, match="a model for ONNX must have no thresholds"):
        onnx_model(tagger)
    dicts = [[{"word": word} for word in sentence] for sentence in X]
    with pytest.raises(ConfigurationError, match=r"a model for ONNX needs words .got feature dicts"):
        onnx_model(postil.Tagger(**QUICK, hidden=12, word_key="word").fit(dicts, Y))
    with pytest.raises(ConfigurationError, match=r"a model for ONNX needs constrained=True"):
        onnx_model(postil.Tagger(**QUICK, hidden=12, constrained=False).fit(X, Y))


def test_without_the_extra_there_is_one_clear_line(names_model, monkeypatch):
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(ConfigurationError, match=r"onnx is not installed: run pip install 'postil\[onnx\]'"):
        onnx_model(postil.load(names_model))

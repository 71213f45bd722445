"""What loading brings along, and files that are no taggers."""

import subprocess
import sys

import numpy as np
import pytest

import postil
from oracles.corpora import named_entities
from postil import archive
from postil.errors import DataError, ModelFileError, NumericalError, UnicodeVersionWarning
from postil.kernels.characters import frozen
from postil.models import storage
from postil.samples.corpora import made_up_trees


@pytest.fixture
def model(tmp_path):
    path = tmp_path / "m.postil"
    postil.Tagger(hidden=4, epochs=1).fit(*named_entities(10)).save(path)
    return path


def test_loading_and_predicting_import_no_training_loop(model):
    code = f"""
import sys, postil
tagger = postil.load({str(model)!r})
tagger.predict([["Anna", "left"]]), tagger.tag("Anna left Oslo."), tagger.nbest(["Anna"], 2), tagger.marginals(["a"])
print([name for name in sys.modules if name.startswith(("postil.optimisation.loop", "postil.models.fitting", "safe"))])
print([name for name in sys.modules if name.split(".")[0] in ("rich", "sklearn", "argparse")])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n[]\n"


def test_importing_postil_imports_nothing_else():
    others = ("postil.", "numpy", "importlib.metadata")
    code = f"import sys, postil; print([name for name in sys.modules if name.startswith({others})])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


def test_parts_that_are_missing_or_wrong_are_named(model):
    arrays, metadata = archive.load(model)
    arrays = {name: np.array(array) for name, array in arrays.items()}

    def refused(match, changed=None, **other):
        archive.save(model, arrays if changed is None else changed, metadata | other)
        with pytest.raises(ModelFileError, match=match):
            postil.load(model)

    refused("another kind|kind of model", kind="parser")
    refused("unknown settings", config=metadata["config"] | {"magic": 1})
    refused("labels must be a JSON object", heads={"main": {"labels": None, "decoding": {}}})
    refused("output0.b", {name: array for name, array in arrays.items() if name != "heads/main/output0.b"})
    refused(
        r"parameter output0.b: expected float32 \(9,\), got float32 \(99,\)",
        arrays | {"heads/main/output0.b": np.zeros(99, np.float32)},
    )
    refused("unknown arrays.*got extra", arrays | {"extra": np.zeros(1)})
    refused("it needs 'telepathy', which this version of Postil does not know", needs=["telepathy"])
    refused("slots", {name: array for name, array in arrays.items() if "word/slots" not in name})


def test_the_arrays_stay_in_the_file(model):
    values = [parameter.value for parameter in postil.load(model).model.network.parameters().values()]
    assert not any(value.flags.writeable or value.flags.owndata for value in values)


def test_a_damaged_byte_gives_one_clear_line_or_the_same_model(model):
    """All over the file; by hand it was tried at every byte."""
    content, sentence = model.read_bytes(), ["Anna", "left", "Oslo"]
    expected = postil.load(model).marginals(sentence)
    rng = np.random.default_rng(0)
    for place in rng.integers(len(content), size=200).tolist():
        damaged = bytearray(content)
        damaged[place] ^= 1 << int(rng.integers(8))
        model.write_bytes(damaged)
        try:
            found = postil.load(model).marginals(sentence)
        except ModelFileError as error:
            assert str(error).startswith(f"{model}: ") and "\n" not in str(error)
        else:
            assert found == expected


@pytest.mark.parametrize("kind", ["tagger", "detector", "trees"])
def test_the_same_data_and_seed_give_the_same_bytes_whatever_the_threads(kind, tmp_path):
    def saved(threads):
        options = {"hidden": 4, "epochs": 2, "shards": 2, "threads": threads, "seed": 3}
        X, y = named_entities(20)
        if kind == "trees":
            model = postil.TreeClassifier(**options).fit(made_up_trees(20, np.random.default_rng(0)))
        elif kind == "detector":
            model = postil.Detector(label="LOC", **options).fit(X, y, dev=(X[:5], y[:5]))
        else:
            model = postil.Tagger(**options).fit(X, y, dev=(X[:5], y[:5]))
        model.save(tmp_path / "m.postil")
        return (tmp_path / "m.postil").read_bytes()

    first, second = saved(1), saved(2)
    assert first == second
    assert b"seconds" not in first and b"threads" not in first


def test_a_damaged_row_of_vectors_is_never_answered_from(tmp_path):
    others = "".join(f"w{i} 0 1\n" for i in range(9000))  # 72,000 bytes, more than a block
    (tmp_path / "v.txt").write_text(f"anna 1 2\n{others}left 3 4\n", encoding="utf8")
    path = tmp_path / "m.postil"
    postil.Tagger(hidden=4, epochs=1, vectors=str(tmp_path / "v.txt")).fit(*named_entities(10)).save(path)
    arrays, metadata = archive.load(path)
    table = arrays["features/words/vector/table"]
    place = path.read_bytes().index(table.tobytes())
    content = bytearray(path.read_bytes())
    content[place + table.nbytes - 1] ^= 64
    path.write_bytes(content)
    with pytest.raises(
        ModelFileError, match=f"{path}: the model file is damaged in array 'features/words/vector/table'"
    ):
        postil.load(path).predict([["Anna", "left"]])
    assert postil.load(path).predict([["Anna", "w17"]])  # of the other block
    wrong = np.full_like(table, np.nan)
    archive.save(path, arrays | {"features/words/vector/table": wrong}, metadata)
    with pytest.raises(ModelFileError, match=f"{path}: array 'features/words/vector/table': expected finite numbers"):
        postil.load(path).predict([["Anna", "left"]])


def test_what_cannot_be_opened_is_not_saved(model, tmp_path):
    tagger = postil.load(model)
    parameter = tagger.model.network.parameters()["output0.b"]
    parameter.value = np.full_like(parameter.value, np.inf)
    with pytest.raises(NumericalError, match=r"output0.b: the model cannot be saved: expected finite parameters"):
        tagger.save(tmp_path / "new.postil")


def test_labels_with_control_characters_are_not_learnt():
    for label in ("\x1b[31m", "a\nb", "\ud800", "\u202e"):
        with pytest.raises(DataError, match="control character"):
            postil.Tagger(hidden=4, epochs=1).fit([["a", "b"]], [[label, "x"]])


def test_settings_that_came_later_have_their_default(model):
    """As long as no older file is refused, a file once written opens for ever."""
    arrays, metadata = archive.load(model)
    arrays = {name: np.array(array) for name, array in arrays.items()}
    del metadata["config"]["vector_scale"], metadata["heads"]["main"]["decoding"]["bias"]
    archive.save(model, arrays, metadata)
    assert postil.load(model).predict([["Anna"]])


def test_settings_that_are_gone_are_ignored(model, monkeypatch):
    arrays, metadata = archive.load(model)
    arrays = {name: np.array(array) for name, array in arrays.items()}
    archive.save(model, arrays, metadata | {"config": metadata["config"] | {"magic": 1}})
    monkeypatch.setattr(storage, "RETIRED", frozenset({"magic"}))
    assert postil.load(model).predict([["Anna"]])


# ------------------------------------------------------------------------------------------------ version of Unicode


def with_unicode(model, **version):
    arrays, metadata = archive.load(model)
    arrays = {name: np.array(array) for name, array in arrays.items()}
    archive.save(model, arrays, {name: value for name, value in metadata.items() if name != "unicode"} | version)


def test_the_version_of_unicode_is_stored(model):
    assert archive.load(model)[1]["unicode"] == frozen().version_name == "14.0.0"
    trees = postil.TreeClassifier(epochs=1).fit(made_up_trees(20, np.random.default_rng(0)))
    assert postil.load(trees.save(model) or model).model.features.unicode == frozen().version_name


def test_another_version_of_unicode_is_warned_of_and_stays_with_the_model(model):
    expected = postil.load(model).predict([["Anna", "left"]])
    with_unicode(model, unicode="6.1.0")
    for _ in range(2):
        message = r"m.postil: the model was trained with the tables of Unicode 6.1.0, Postil has those of 14.0.0"
        with pytest.warns(UnicodeVersionWarning, match=message):
            tagger = postil.load(model)
        assert tagger.predict([["Anna", "left"]]) == expected
        tagger.save(model)


def test_a_model_without_a_version_of_unicode_stays_without(model):
    with_unicode(model)
    tagger = postil.load(model)
    tagger.save(model)
    assert "unicode" not in archive.load(model)[1] and tagger.model.features.unicode is None


@pytest.mark.parametrize("version", [14, "14", None, "14.0.0\n"])
def test_a_version_of_unicode_that_is_none(model, version):
    with_unicode(model, unicode=version)
    with pytest.raises(ModelFileError, match="version of Unicode"):
        postil.load(model)

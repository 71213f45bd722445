"""What loading brings along, and files that are no taggers."""

import subprocess
import sys

import numpy as np
import pytest

import postil
from oracles.corpora import named_entities
from postil import archive
from postil.errors import ModelFileError


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
print([name for name in sys.modules if name.startswith(("postil.training.loop", "postil.models.fitting", "safe"))])
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
    refused("lacks a part", labelling={})
    refused("output0.b", {name: array for name, array in arrays.items() if name != "parameters/output0.b"})
    refused("has shape", arrays | {"parameters/output0.b": np.zeros(99, np.float32)})
    refused("slots", {name: array for name, array in arrays.items() if "word/slots" not in name})


def test_the_arrays_stay_in_the_file(model):
    values = [parameter.value for parameter in postil.load(model).parts.network.parameters().values()]
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

"""What a command imports: `postil tag` starts quickly only as long as nobody imports more than it needs."""

import json
import os
import subprocess
import sys

import pytest

import postil

SHOW = "; import json, sys; print(json.dumps(sorted(sys.modules)), file=sys.stderr)"
TAG = "from postil.commands.main import main; main(['tag', {!r}, '--text', 'Anna left Rome.'])"
# What tagging a text never needs. Each of these takes between 1 and 100 ms to import.
SLOW_LIBRARIES = [
    *["logging", "socket", "concurrent", "subprocess", "threadpoolctl", "hashlib", "secrets", "random", "tempfile"],
    *["csv", "html", "difflib", "asyncio", "multiprocessing", "importlib.metadata", "email", "http", "rich", "cffi"],
    *["numpy.random", "numpy.testing", "numpy.fft", "numpy.polynomial", "numpy.ma", "scipy", "sklearn", "pyarrow"],
]
NOT_FOR_TAGGING = [
    *[
        "optimisation",
        "pretraining",
        "metrics",
        "reports",
        "models.gradients",
        "models.laboratory",
        "evaluation",
        "quality",
        "annotation",
        "export",
        "samples",
    ],
    *[
        "markup",
        "gradcheck",
        "models.laboratory",
        "models.fitting",
        "models.explaining",
        "models.tree",
        "models.detector",
        "models.ensemble",
    ],
    *["models.scoring.tree_", "models.scoring.fused", "models.answers.calibration", "models.answers.tuning"],
    *[
        "network.tree",
        "graph.drawing",
        "commands.train",
        "commands.training",
    ],
    *["kernels.plain_trees", "kernels.training", "kernels.plain_skipgram"],
    *["kernels.plain_ranking", "kernels.plain_brown", "kernels.plain_quadratic"],
    *[
        "text.annotations.tools",
        "text.columns.csv_table",
        "text.annotations.libraries",
    ],
    *[
        "text.trees.treebank",
        "text.recognition",
        "text.columns.conllu",
        "text.columns.conllu_",
        "integrations.arrow",
        "integrations.ray",
    ],
    *["serving.general_path", "serving.tagger_answers", "serving.workers"],
]
ALLOWED = {"postil.optimisation"}
MOST_MODULES = 182
"""Of Postil, for `postil tag --text`; every module takes about half a millisecond."""


def imported(code: str) -> set[str]:
    done = subprocess.run(
        [sys.executable, "-c", code + SHOW], capture_output=True, text=True, check=True, env={**os.environ}, timeout=120
    )
    return set(json.loads(done.stderr.splitlines()[-1]))


def unwanted(modules: set[str], names: list[str]) -> list[str]:
    """The modules that are named, or below a name. A name that ends in an underscore is a beginning."""
    beginnings = tuple(name if name.endswith("_") else f"{name}." for name in names)
    return sorted(name for name in modules - ALLOWED if f"{name}.".startswith(beginnings))


@pytest.fixture(scope="module")
def by_tagging(names_model):
    return imported(TAG.format(str(names_model)))


def test_tagging_imports_no_slow_library(by_tagging):
    assert unwanted(by_tagging, SLOW_LIBRARIES) == []


def test_nor_does_it_with_word_vectors(tmp_path):
    (tmp_path / "vectors.txt").write_text("anna 0.1 0.2\nrome 0.3 0.4\n")
    tagger = postil.Tagger(epochs=1, hidden=4, vectors=tmp_path / "vectors.txt")
    tagger.fit([["Anna", "left", "Rome"]], [["B-PER", "O", "B-LOC"]]).save(tmp_path / "names.postil")
    assert unwanted(imported(TAG.format(str(tmp_path / "names.postil"))), SLOW_LIBRARIES) == []


def test_tagging_imports_only_what_it_uses(by_tagging):
    assert unwanted(by_tagging, [f"postil.{name}" for name in NOT_FOR_TAGGING]) == []
    ours = {name for name in by_tagging if name.startswith("postil")}
    assert {"postil.models.tagger", "postil.tagging.fast_path"} <= ours and len(ours) <= MOST_MODULES, len(ours)


def test_loading_imports_no_commands_and_no_slow_library(names_model):
    found = imported(f"import postil; postil.load({str(names_model)!r}).tag('Anna left Rome.')")
    assert unwanted(found, [*SLOW_LIBRARIES, "argparse", "postil.commands", "postil.tagging"]) == []
    assert unwanted(found, [f"postil.{name}" for name in NOT_FOR_TAGGING]) == []


def test_the_package_alone_imports_nothing():
    assert not imported("import postil") & {"numpy", "postil.models", "dataclasses", "argparse"}


def test_a_module_that_sneaks_in_is_found(names_model):
    found = imported("import logging, postil.metrics.spans; " + TAG.format(str(names_model)))
    assert "logging" in unwanted(found, SLOW_LIBRARIES)
    assert "postil.metrics.spans" in unwanted(found, [f"postil.{name}" for name in NOT_FOR_TAGGING])

"""Models by name; a replaced file is opened again, a broken one is not used."""

import logging
import shutil

import pytest

import postil
from oracles import corpora
from oracles.sharing import interrupted_at_every_line
from postil.errors import ConfigurationError, ModelFileError
from postil.server.registry import Registry
from postil.server.requests import Refusal


def test_names_come_from_files_and_stay_apart(names_model, tmp_path):
    other = tmp_path / "names.postil"
    shutil.copy(names_model, other)
    assert [served.name for served in Registry.of_files([names_model, other])] == ["names", "names-2"]
    with pytest.raises(ConfigurationError, match="no model to serve"):
        Registry.of_files([])


def test_a_model_is_found_by_name_or_by_what_it_can_do(registry):
    assert registry.find(None, ("tree-classifier",), "x").name == "opinions"
    assert registry.find("speech", ("tagger",), "x").name == "speech"
    for name, kinds, status in (("no", ("tagger",), 404), ("speech", ("detector",), 422), (None, ("none",), 404)):
        with pytest.raises(Refusal) as caught:
            registry.find(name, kinds, "do this")
        assert caught.value.status == status


def test_a_file_replaced_by_rename_is_opened_again(names_model, speech_model, tmp_path, caplog):
    path = tmp_path / "model.postil"
    shutil.copy(names_model, path)
    registry = Registry.of_files([path])
    assert registry.refresh() == []
    before = registry.find("model", ("tagger",), "tag")

    broken = tmp_path / "broken"
    broken.write_bytes(names_model.read_bytes()[:500])
    broken.replace(path)
    with caplog.at_level(logging.WARNING):
        assert registry.refresh() == []
    assert "the new file is not used" in caplog.text
    assert registry.find("model", ("tagger",), "tag") is before, "the old one serves"

    new = tmp_path / "new"
    shutil.copy(speech_model, new)
    new.replace(path)
    assert registry.refresh() == ["model"]
    assert registry.find("model", ("tagger",), "tag").about()["labels"] == ["NAME", "VERB", "X|Y"]
    path.unlink()
    assert registry.refresh() == []


@pytest.mark.slow
def test_a_model_that_is_added_while_another_is_opened_again_is_served(names_model, speech_model, tmp_path):
    paths = {name: tmp_path / f"{name}.postil" for name in ("model", "other")}
    shutil.copy(speech_model, paths["other"])
    new = tmp_path / "new"

    def scenario():
        shutil.copy(names_model, paths["model"])
        registry = Registry({"model": paths["model"]})
        shutil.copy(speech_model, new)
        new.replace(paths["model"])

        def check():
            labels = [registry.find(name, ("tagger",), "tag").about()["labels"] for name in paths]
            assert labels == [["NAME", "VERB", "X|Y"]] * 2

        return registry.refresh, lambda: registry.add("other", paths["other"]), check

    interrupted_at_every_line(scenario, within="server/registry.py")


def test_labellers_are_kept_for_equal_options_and_not_for_ever(registry):
    from postil.server.answers import tagging_options
    from postil.server.api import TagOptions

    served = registry.find("names", ("tagger",), "tag")
    first = served.labeller("a", lambda: tagging_options(served, TagOptions()))
    assert served.labeller("a", lambda: tagging_options(served, TagOptions())) is first
    for number in range(100):
        options = tagging_options(served, TagOptions(threshold=number / 100))
        served.labeller(number, lambda options=options: options)
    assert served.labeller("a", lambda: tagging_options(served, TagOptions())) is not first
    assert len(served._labellers) <= 64


def test_what_cannot_be_served_is_refused_at_the_start(tmp_path):
    path = tmp_path / "no.postil"
    path.write_bytes(b"no model")
    with pytest.raises(ModelFileError):
        Registry.of_files([path])
    X, y = corpora.named_entities(20)
    with_columns = [[(token, "x") for token in tokens] for tokens in X]
    tagger = postil.Tagger(hidden=4, epochs=1).fit(with_columns, y)
    with pytest.raises(ConfigurationError, match="extra columns"):
        Registry(models={"columns": tagger})


def test_a_model_of_several_tasks_is_served_task_by_task():
    names, speech = corpora.named_entities(20), corpora.parts_of_speech(20)
    X, y = ({"names": names[i], "speech": speech[i]} for i in (0, 1))
    registry = Registry(models={"both": postil.MultiTaskTagger(hidden=4, epochs=1).fit(X, y)})
    assert [served.name for served in registry] == ["both:names", "both:speech", "both"]
    assert registry.find("both:speech", ("tagger",), "tag").about()["labels"] == ["NAME", "VERB", "X|Y"]

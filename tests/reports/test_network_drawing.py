"""Pictures of networks: XML that parses, texts inside the picture, nothing of a hostile name as markup."""

from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest

import postil
from postil.drawing import Architecture, Band, Stage, architecture_of, drawn_architecture, drawn_network, width_of

GOLDEN = sorted((Path(__file__).parents[1] / "golden").glob("*.postil"))
SVG = "{http://www.w3.org/2000/svg}"
HOSTILE = '</text><script>alert(1)</script>&"\x00\u202e'


def _texts(drawn):
    return [element.text or "" for element in ElementTree.fromstring(drawn).iter(f"{SVG}text")]


@pytest.mark.parametrize("path", GOLDEN, ids=lambda path: path.stem)
def test_every_kind_is_drawn_inside_its_picture(path):
    model = postil.load(path)
    drawn = drawn_network(model, path.name)
    root = ElementTree.fromstring(drawn)
    width, height = float(root.get("width")), float(root.get("height"))
    assert root.get("viewBox") == f"0 0 {width:g} {height:g}"
    for box in root.iter(f"{SVG}rect"):
        x, y = float(box.get("x")), float(box.get("y"))
        assert x >= 0 and x + float(box.get("width")) <= width and y >= 0
        assert y + float(box.get("height")) <= height
    texts = _texts(drawn)
    assert path.name in texts
    network = architecture_of(model)
    assert any(f"{network.parameters:,} parameters" in content for content in texts)
    for stages in network.heads.values():
        assert {name for stage in stages for name in stage.names} <= set(texts)


def test_hostile_names_are_text():
    band = Band(name=HOSTILE, columns=1, values=2, width=3, parameters=6)
    words = Stage(kind="words", title=HOSTILE, names=[HOSTILE])
    features = Stage(kind="features", title=HOSTILE, detail=HOSTILE, shape=HOSTILE, bands=[band], parameters=6)
    labels = Stage(kind="labels", title=HOSTILE, names=[HOSTILE, "O"])
    network = Architecture(kind="tagger", trunk=[words, features], heads={HOSTILE: [labels], "b": [labels]})
    drawn = drawn_architecture(network, HOSTILE)
    root = ElementTree.fromstring(drawn)
    assert not list(root.iter(f"{SVG}script")) and "<script" not in drawn
    assert "\x00" not in drawn and "\u202e" not in drawn
    assert any("<script>alert(1)</script>" in text for text in _texts(drawn))


def test_the_tasks_of_a_model_are_columns_beside_each_other():
    model = postil.load(next(path for path in GOLDEN if "multi-task" in path.name))
    drawn = drawn_network(model, "both")
    places = {element.text: float(element.get("x")) for element in ElementTree.fromstring(drawn).iter(f"{SVG}text")}
    assert places["case"] - places["names"] > 200


def test_an_ensemble_is_one_network_on_a_pile():
    network = architecture_of(postil.load(next(path for path in GOLDEN if path.stem == "tagger-2")))
    alone, pile = (drawn_architecture(replace(network, copies=copies), "m") for copies in (1, 3))
    assert "× 3 networks; their scores are averaged" in _texts(pile)
    assert not any("networks" in text for text in _texts(alone))
    assert f"tagger · {3 * network.parameters:,} parameters in 3 networks" in _texts(pile)


def test_many_long_labels_stay_in_their_box():
    names = [f"B-{'LONG' * 9}{i}" for i in range(80)] + ["日本語" * 9]
    stage = Stage(kind="labels", title="labels", names=names)
    words = Stage(kind="words", title="", names=["w"])
    drawn = drawn_architecture(Architecture(kind="tagger", trunk=[words, words], heads={"": [stage]}), "m")
    root = ElementTree.fromstring(drawn)
    right = max(float(box.get("x")) + float(box.get("width")) for box in root.iter(f"{SVG}rect") if box.get("rx"))
    assert right < float(root.get("width"))
    assert "labels, 30 of them here" in _texts(drawn)
    assert width_of("日本", 12) > width_of("ab", 12)

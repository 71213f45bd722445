"""Pictures of networks: XML that parses, boxes inside the picture, nothing of a hostile name as markup."""

from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest

import postil
from postil.drawing import Architecture, Stage, architecture_of, drawn_network

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
    for box in [box for box in root.iter(f"{SVG}rect") if box.get("x")]:
        x, y = float(box.get("x")), float(box.get("y"))
        assert x >= 0 and x + float(box.get("width")) <= width and y >= 0
        assert y + float(box.get("height")) <= height
    texts = _texts(drawn)
    assert path.name in texts
    network = architecture_of(model)
    assert any(f"{network.parameters:,} parameters" in content for content in texts)
    shown = " ".join(texts)
    for stages in network.heads.values():
        assert all(line in shown for line in stages[-1].details)
    titles = [stage.title for stages in (network.trunk, *network.heads.values()) for stage in stages]
    assert [row[0].rpartition(": ")[2] for row in network.table().rows] == [one.rpartition(": ")[2] for one in titles]


def test_hostile_names_are_text():
    words = Stage(HOSTILE, [HOSTILE], kind="input")
    labels = Stage(HOSTILE, [HOSTILE, "O"], HOSTILE)
    network = Architecture(kind="tagger", trunk=[words, words], heads={HOSTILE: [labels], "b": [labels]})
    drawn = network.drawn(HOSTILE)
    root = ElementTree.fromstring(drawn)
    assert not list(root.iter(f"{SVG}script")) and "<script" not in drawn
    assert "\x00" not in drawn and "\u202e" not in drawn
    assert any("<script>alert(1)</script>" in text for text in _texts(drawn))


def test_the_tasks_of_a_model_are_columns_beside_each_other():
    model = postil.load(next(path for path in GOLDEN if "multi-task" in path.name))
    drawn = ElementTree.fromstring(drawn_network(model, "both")).iter(f"{SVG}text")
    places = {(one.text or "").partition(":")[0]: one for one in drawn}
    assert float(places["case"].get("x")) - float(places["names"].get("x")) > 100
    assert places["case"].get("y") == places["names"].get("y")


def test_an_ensemble_is_one_network_with_the_number_of_its_copies():
    network = architecture_of(postil.load(next(path for path in GOLDEN if path.stem == "tagger-2")))
    alone, pile = (replace(network, copies=copies).drawn("m") for copies in (1, 3))
    assert not any("networks" in text for text in _texts(alone))
    expected = f"tagger, {3 * network.parameters:,} parameters in 3 networks, whose scores are averaged"
    assert expected in _texts(pile)


def test_of_many_long_labels_the_first_are_shown():
    names = [f"B-{'LONG' * 9}{i}" for i in range(80)]
    X = [[f"w{i}" for i in range(80)]] * 2
    network = architecture_of(postil.Tagger(preset="linear-crf", epochs=1).fit(X, [names, names]))
    last = network.heads["main"][-1]
    assert last.title.endswith("labels, 30 of them here")
    assert sum(len(line.split()) for line in last.details) == 30
    assert all(len(name) <= 18 for line in last.details for name in line.split())

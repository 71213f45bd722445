"""The packages of the models of other languages, and how their recipe reads corpora. All sentences are made up."""

import tomllib
from pathlib import Path

import pytest

import postil
from postil import archive
from postil.reports.card import card_of, card_path
from postil.text import read
from recipes import languages

PACKAGES = Path(__file__).parent.parent / "languages"
MOST_BYTES = 8_000_000
TAGGED = {
    "danish": ("Mette Frederiksen bor i Aarhus. Hun er 48.", ["Mette Frederiksen", "Aarhus"], 2),
    "swedish": ("Astrid Lindgren bodde i Stockholm. Hon var bl.a. författare.", ["Astrid Lindgren", "Stockholm"], 2),
    "portuguese": ("O presidente Lula da Silva mora no Brasil. Foi ontem.", ["Lula da Silva", "Brasil"], 2),
    "slovak": ("Peter Novák žije v Bratislave. Kde je?", ["Peter Novák", "Bratislave"], 2),
    "chinese": ("他在北京工作。她住在日本。", ["北京", "日本"], 2),
}


def test_all_languages_of_the_recipe_have_a_package():
    assert set(TAGGED) == set(languages.LANGUAGES) == {folder.name[7:] for folder in PACKAGES.iterdir()}


@pytest.mark.parametrize("name", TAGGED)
def test_a_package_is_small_whole_and_says_where_it_comes_from(name):
    package = PACKAGES / f"postil-{name}"
    model = package / "src" / f"postil_{name}" / f"{name}.postil"
    project = tomllib.loads((package / "pyproject.toml").read_text("utf-8"))
    assert project["project"]["entry-points"]["postil.models"] == {name: f"postil_{name}:MODEL"}
    assert project["tool"]["setuptools"]["package-data"][f"postil_{name}"] == [
        *(model.name, card_path(model).name, "ATTRIBUTIONS.md")
    ]
    assert (package / "LICENSE").read_text("utf-8").startswith("Attribution-ShareAlike 4.0 International")
    attributions = model.with_name("ATTRIBUTIONS.md").read_text("utf-8")
    assert "Universal NER" in attributions and languages.LANGUAGES[name].treebank in attributions
    assert model.stat().st_size <= MOST_BYTES
    archive.check(model)
    assert b"/tmp" not in model.read_bytes()[: archive.MOST_HEADER_BYTES]
    card = card_of(model, name)
    assert {"Sources", "Names on the test part, with its tokens"} <= {table.title for table in card.tables}
    assert card.weaknesses and card.texts["date"] and "CC BY-SA 4.0" in card.texts["licence"]
    assert (package / "README.md").read_text("utf-8").endswith(card.to_markdown())


@pytest.mark.parametrize("name", TAGGED)
def test_a_model_finds_sentences_and_names(name):
    text, names, sentences = TAGGED[name]
    tagger = postil.load(PACKAGES / f"postil-{name}" / "src" / f"postil_{name}" / f"{name}.postil")
    document = tagger.tag(text)
    assert [entity.text for entity in document.entities] == names
    assert len(document.sentences) == sentences and tagger.model.segmenter.learned is not None
    assert tagger.model.codec.classes == ("LOC", "ORG", "PER") and tagger.vectors is None


# ------------------------------------------------------------------------------------------------ the recipe


def test_portuguese_contractions_are_restored():
    rows = [("Em", "O"), ("o", "O"), ("Banco", "B-ORG"), ("de", "I-ORG"), ("o", "I-ORG"), ("Sul", "I-ORG"), (".", "O")]
    text, joined = languages.contracted("Em o Banco de o Sul.", rows)
    assert text == "No Banco do Sul."
    assert joined == [("No", "O"), ("Banco", "B-ORG"), ("do", "I-ORG"), ("Sul", "I-ORG"), (".", "O")]
    apart = [("de", "O"), ("o", "B-ORG"), ("Globo", "I-ORG")]
    assert languages.contracted("de o Globo", apart) == ("de o Globo", apart)


@pytest.mark.slow
def test_the_recipe_makes_a_package_and_repeats_itself(tmp_path):
    data = tmp_path / "data" / "uner_da"
    data.mkdir(parents=True)
    rows = [f"{a} B-PER|bor O|i O|{b} B-LOC|. O" for a in ("Ane", "Bo", "Ida") for b in ("Ry", "Hov", "Søby")] * 12
    blocks = []
    for row in [*rows, "Bag O|Solen B-OTH|. O"]:
        words = [word.split() for word in row.split("|")]
        lines = (f"{i}\t{word}\t{label}\t-\t-\n" for i, (word, label) in enumerate(words, 1))
        blocks.append(f"# text = {' '.join(word for word, _ in words[:-1])}.\n" + "".join(lines))
    for part in ("train", "dev", "test"):
        (data / f"{part}.iob2").write_text("\n".join(blocks) + "\n", encoding="utf-8")
    models = []
    for run in ("one", "two"):
        command = [str(data.parent), "-o", str(tmp_path / run), "--only", "danish", "--date", "2026-01-01"]
        assert languages.main([*command, "--packages", str(tmp_path / run / "packages"), "--install"]) == 0
        package = tmp_path / run / "packages" / "postil-danish"
        models.append((package / "src" / "postil_danish" / "danish.postil").read_bytes())
        assert (package / "README.md").is_file() and (package / "pyproject.toml").is_file()
    assert models[0] == models[1]
    assert {label for one in read(tmp_path / "one" / "danish" / "train.iob2") for label in one.labels} == {
        *("O", "B-PER", "B-LOC")
    }
    assert postil.load(tmp_path / "one" / "danish" / "danish.postil").tag("Bo bor i Ry.").entities[0].label == "PER"

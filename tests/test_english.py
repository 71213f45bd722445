"""The package of the English model, and how its recipe reads corpora. Only made-up sentences stand here."""

import importlib
import json
import sys
import tomllib
from pathlib import Path

import pytest

import postil
from postil import archive
from postil.models import storage
from postil.reports.card import card_of, card_path
from postil.text import frames_of

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "postil-english"
MODEL = PACKAGE / "src" / "postil_english" / "english.postil"
MOST_BYTES = 16_000_000


def recipe(name):
    """A module of the recipe."""
    sys.path.insert(0, str(ROOT))
    try:
        return importlib.import_module(f"recipes.{name}")
    finally:
        sys.path.remove(str(ROOT))


@pytest.fixture(scope="module")
def data():
    return recipe("english_data")


# ------------------------------------------------------------------------------------------------ the package


def test_the_entry_point_names_the_file():
    project = tomllib.loads((PACKAGE / "pyproject.toml").read_text("utf-8"))
    assert project["project"]["entry-points"]["postil.models"] == {"english": "postil_english:MODEL"}
    assert project["tool"]["setuptools"]["package-data"]["postil_english"] == [
        *(MODEL.name, card_path(MODEL).name, "ATTRIBUTIONS.md")
    ]
    names: dict[str, object] = {"__file__": str(MODEL.with_name("__init__.py"))}
    exec(MODEL.with_name("__init__.py").read_text("utf-8"), names)
    assert names["MODEL"] == MODEL


def test_its_licence_and_the_attributions_of_all_its_data(data):
    assert (PACKAGE / "LICENSE").read_text("utf-8").startswith("Attribution-ShareAlike 4.0 International")
    told = MODEL.with_name("ATTRIBUTIONS.md").read_text("utf-8")
    titles = {
        "wikigold": "WikiGold",
        "btc": "Broad Twitter Corpus",
        "wnut17": "WNUT 17",
        "gum_open": "GUM",
        "crossner_politics": "CrossNER",
        "crossner_science": "CrossNER",
        "crossner_music": "CrossNER",
        "ud_ewt": "English EWT",
        "masc_pos": "MASC",
        "srl_ewt": "PropBank",
    }
    assert set(titles) == {*data.NAMES, *data.UPOS, *data.XPOS, data.ROLES}
    assert not [title for title in (*titles.values(), "GloVe", "Wikipedia", "GeoNames", "census") if title not in told]


def test_the_model_is_small_whole_and_from_nowhere():
    assert MODEL.stat().st_size <= MOST_BYTES
    archive.check(MODEL)
    english = postil.load(MODEL)
    assert english.tasks == ["names", "upos", "xpos", "chunks"]
    assert english["names"].model.codec.classes == ("LOC", "MISC", "ORG", "PER")
    assert english.vectors is None and english.clusters is None  # no paths of the machine that trained it
    assert b"/tmp" not in MODEL.read_bytes()[: archive.MOST_HEADER_BYTES]


def test_it_knows_names_parts_of_speech_and_chunks():
    document = postil.load(MODEL).tag("Angela Merkel met Tim Cook in Cupertino.")
    found = [(entity.text, entity.label) for entity in document.entities]
    assert found == [("Angela Merkel", "PER"), ("Tim Cook", "PER"), ("Cupertino", "LOC")]
    assert all(0.5 < entity.probability <= 1 for entity in document.entities)
    assert document.layers["upos"].sentences[0].labels == "PROPN PROPN VERB PROPN PROPN ADP PROPN PUNCT".split()
    assert document.layers["xpos"].sentences[0].labels == "NNP NNP VBD NNP NNP IN NNP .".split()
    chunks = document.layers["chunks"].entities
    assert [chunk.label for chunk in chunks] == ["NP", "VP", "NP", "PP", "NP"]


def test_it_knows_who_did_what_to_whom():
    english = postil.load(MODEL)
    (sentence,) = english["roles"].tag("Angela Merkel met Tim Cook yesterday.").sentences
    (frame,) = frames_of(sentence)
    found = {role.label: " ".join(sentence.tokens[role.start : role.end]) for role in frame.roles}
    assert found["V"] == "met" and found["ARG0"] == "Angela Merkel" and found["ARG1"] == "Tim Cook"
    assert found["ARGM-TMP"] == "yesterday" and all(0.5 < probability <= 1 for probability in frame.probabilities)
    assert english["roles"].tagger.model.head is english.model.heads["xpos"]
    assert english["roles"].model.network.vectors is english.model.network.vectors


def test_a_name_is_found_whatever_its_case():
    names = postil.load(MODEL)["names"]
    for text in ("i live in london", "I LIVE IN LONDON", "I live in London"):
        assert [entity.label for entity in names.tag(text).entities] == ["LOC"]


def test_the_card_is_complete_and_the_readme_shows_it():
    card = card_of(MODEL, "english")
    titles = "Sources", "Names, each corpus left out of the training", "Semantic roles", "Calibration on test parts"
    for title in titles:
        assert title in [table.title for table in card.tables]
    assert card.weaknesses and card.texts["date"] and "CC BY-SA 4.0" in card.texts["licence"]
    assert "date" not in json.dumps(archive.load(MODEL)[1])
    assert (PACKAGE / "README.md").read_text("utf-8").endswith(card.to_markdown())


# ------------------------------------------------------------------------------------------------ the recipe


def corpus(folder, name, content, part="train.txt"):
    (folder / name).mkdir()
    (folder / name / part).write_text(content)
    return folder


def test_what_a_corpus_does_not_annotate_is_unknown(data, tmp_path):
    tweets = corpus(tmp_path, "btc", "Anna\tB-PER\nlikes\tO\nGerman\tO\nfood\tO\n")
    assert data.read_names(tweets, "btc", "train").y == [["B-PER", "O|MISC", "O|MISC", "O|MISC"]]
    wiki = corpus(tmp_path, "wikigold", "Anna\tB-PER\nlikes\tO\nGerman\tB-MISC\n")
    assert data.read_names(wiki, "wikigold", "train").y == [["B-PER", "O", "B-MISC"]]


def test_classes_are_mapped(data, tmp_path):
    lines = "Anna\tB-politician\nof\tO\nLand\tB-country\n,\tO\nParty\tB-politicalparty\n,\tO\nGene\tB-protein\n"
    found = data.read_names(corpus(tmp_path, "crossner_science", lines), "crossner_science", "train")
    assert found.y == [["B-PER", "O", "B-LOC", "O", "B-ORG", "O", "O|MISC"]]


def test_of_derived_names_only_proper_nouns_are_sure(data, tmp_path):
    rows = [
        ("Anna", "NNP", "B-person"),
        ("saw", "VBD", "O"),
        ("President", "NNP", "B-person"),
        ("Ray", "NNP", "I-person"),
        (",", ",", "O"),
        ("old", "JJ", "B-place"),
        ("Rome", "NNP", "I-place"),
        ("and", "CC", "O"),
        ("Monday", "NNP", "B-time"),
        ("Bond", "NNP", "B-abstract"),
    ]
    lines = "".join("\t".join(row) + "\n" for row in rows)
    found = data.read_names(corpus(tmp_path, "gum_open", lines, "train.ner.txt"), "gum_open", "train")
    sure = ["B-PER", "O|MISC", "?", "?", "O|MISC", "?", "?", "O|MISC", "?", "?"]
    assert found == ([[form for form, _, _ in rows]], [sure])


def test_a_corpus_of_tags_leaves_its_proper_nouns_open(data, tmp_path):
    rows = "She|PRP saw|VBD the|DT University|NNP of|IN Oslo|NNP of|IN old|JJ".split()
    lines = "".join(row.replace("|", "\t") + "\n" for row in rows)
    found = data.read_open_names(corpus(tmp_path, "masc_pos", lines), "masc_pos", "train")
    assert found.y == [["O|MISC"] * 3 + ["?"] * 3 + ["O|MISC"] * 2]


def test_chunks_are_derived_from_trees(data, tmp_path):
    tree = corpus(tmp_path, "gum_trees", "(S (NP (DT the) (NN cat)) (VP (VBZ sleeps)))\n", "train.ptb")
    assert data.read_chunks(tree, "train") == ([["the", "cat", "sleeps"]], [["B-NP", "I-NP", "B-VP"]])


def test_roles_are_read_with_their_predicates(data, tmp_path):
    lines = "Anna\t-\tB-ARG0\nsold\tsell\tB-V\nmaps\t-\tB-ARG1\n"
    X, y = data.read_roles(corpus(tmp_path, "srl_ewt", lines, "train.conll05.txt"), "train")
    assert X == [["Anna", "sold", "maps"]] and [frame.predicate for frame in y[0]] == [1]


def test_tags_that_another_corpus_spells_differently(data, tmp_path):
    marks = corpus(tmp_path, "masc_pos", "(\t(\nx\tNN\n-\t-\nhm\tUH`\n...\t...\n")
    assert data.read_speech(marks, "masc_pos", "train", penn=True).y == [["-LRB-", "NN", "?", "?", ":"]]


def test_copies_in_other_cases_repeat_and_keep_their_labels(data):
    part = data.Part([["Anna", "@Bob", "http://X"]] * 40, [["B-PER", "O", "O"]] * 40)
    once, again = (data.with_cases(part, {"lower": 0.5, "upper": 0.25}, seed=3) for _ in range(2))
    assert once == again and once.X[:40] == part.X
    copies = once.X[40:]
    assert 20 < len(copies) < 40 and len(once.y) == len(once.X)
    assert {tuple(tokens) for tokens in copies} == {("anna", "@Bob", "http://X"), ("ANNA", "@Bob", "http://X")}


# ------------------------------------------------------------------------------------------------ the recipe as a whole

SENTENCES = [
    "Anna B-PER NNP PROPN|lives O VBZ VERB|in O IN ADP|Oslo B-LOC NNP PROPN",
    "they O PRP PRON|left O VBD VERB|Acme B-ORG NNP PROPN|Bank I-ORG NNP PROPN",
    "Boris B-PER NNP PROPN|read O VBD VERB|Faust B-MISC NNP PROPN|in O IN ADP|Lima B-LOC NNP PROPN",
]
CLASSES = {
    "wnut17": {"PER": "person", "LOC": "location", "ORG": "corporation", "MISC": "product"},
    "gum_open": {"PER": "person", "LOC": "place", "ORG": "organization", "MISC": "object"},
}
CROSSNER = {"PER": "person", "LOC": "location", "ORG": "organisation", "MISC": "misc"}


def made_up_data(folder):
    """Tiny corpora in the formats of the real ones, a raw text and vectors."""
    rows = [[word.split() for word in sentence.split("|")] for sentence in SENTENCES] * 12

    def write(path, columns):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join("".join("\t".join(columns(*row)) + "\n" for row in one) + "\n" for one in rows))

    def named(corpus, label):
        ours = label[2:]
        names = CROSSNER if corpus.startswith("crossner") else CLASSES.get(corpus, {})
        return label if label == "O" else label[:2] + names.get(ours, ours)

    def with_roles(word, _, xpos, __):
        return (word, word, "B-V") if xpos.startswith("VB") else (word, "-", "B-ARG0" if word == "Anna" else "O")

    for part in ("train", "dev"):
        for corpus in ("wikigold", "btc", "wnut17", "crossner_politics", "crossner_science", "crossner_music"):
            write(folder / corpus / f"{part}.txt", lambda w, n, x, u, corpus=corpus: (w, named(corpus, n)))
        write(folder / "gum_open" / f"{part}.ner.txt", lambda w, n, x, u: (w, x, named("gum_open", n)))
        for corpus in ("gum_open", "ud_ewt"):
            write(folder / corpus / f"{part}.pos.txt", lambda w, n, x, u: (w, x, u))
        write(folder / "masc_pos" / f"{part}.txt", lambda w, n, x, u: (w, x))
        trees = ("(S " + " ".join(f"(NP ({x} {w}))" for w, _, x, _ in one) + ")\n" for one in rows)
        write(folder / "srl_ewt" / f"{part}.conll05.txt", with_roles)
        (folder / "gum_trees").mkdir(exist_ok=True)
        (folder / "gum_trees" / f"{part}.ptb").write_text("".join(trees))
    words = sorted({word.lower() for one in rows for word, *_ in one})
    (folder / "vectors.txt").write_text("".join(f"{w} {i} {i % 3} 1\n" for i, w in enumerate(words)))
    text = "".join(" ".join(row[0] for row in one) + " .\n" for one in rows)
    (folder / "raw.txt").write_text(text)


@pytest.mark.slow
def test_the_recipe_runs_from_end_to_end_and_repeats_to_the_bit(tmp_path, monkeypatch):
    english = recipe("english")
    made_up_data(tmp_path)
    small = {"epochs": 2, "hidden": 8, "word_dim": 6}
    for name, value in {
        "GLOVE": str(tmp_path / "vectors.txt"),
        "LISTS": (),
        "CLUSTERS": 4,
        "CLUSTERED_WORDS": 20,
        "MASC_SENTENCES": 10,
        "LESSON_TOKENS": 60,
        "OPEN_TOKENS": {"ud_ewt": 40},
        "LEAST_COUNT": 1,
        "TEACHER": english.TEACHER | small,
        "SETTINGS": english.SETTINGS | small,
        "ROLES": {"epochs": 2, "hidden": 8, "layers": 2},
        "LEAST_PACKED": 3,
    }.items():
        monkeypatch.setattr(english, name, value)

    def made(folder):
        assert english.main([str(tmp_path), "--raw", str(tmp_path / "raw.txt"), "-o", str(tmp_path / folder)]) == 0
        return (tmp_path / folder / "english.postil").read_bytes()

    first = made("one")
    assert made("two") == first
    for step in ("full.postil", "packed.postil", "english.postil"):  # a step whose file is missing is made again
        (tmp_path / "one" / step).unlink()
    assert made("one") == first
    model = postil.load(tmp_path / "one" / "english.postil")
    assert model.tasks == ["names", "upos", "xpos", "chunks"]
    assert "unlabelled" in model.model.about["data"]["tasks"]["names"]
    packed = postil.load(tmp_path / "one" / "packed.postil")
    assert storage.to_bytes(model.with_roles(None)) == storage.to_bytes(packed), "roles are added, and nothing else"
    assert model["roles"].tagger.model.head is model.model.heads["xpos"] and model["roles"].vectors is None
    whole = postil.load(tmp_path / "one" / "full.postil")
    X = [[row.split()[0] for row in sentence.split("|")] for sentence in SENTENCES]
    assert packed.predict(X) == whole.predict(X)

"""Words that are spelt in different ways are looked up as one; texts and offsets stay as they are."""

import pickle
import random
import unicodedata

import numpy as np
import pytest

import postil
from export.test_flat import check_text
from oracles.c_runtime import Runtime, needs_compiler
from postil import Tagger
from postil.errors import ModelFileError
from postil.export.flat import exported
from postil.features.folds import Folds
from postil.text.splitting.rules import NEUTRAL_SENTENCES

SMALL = {"hidden": 8, "epochs": 3, "seed": 0}
WORDS = "Việt Nam ở đâu học tiếng ệ 한국 각 ثَ می‌روم کتاب یک Ärger für l'été ǖ ᾧ が ﬁ ক্ো Å אָב".split()


def corpus(count: int = 60):
    rng = random.Random(0)
    X = [[rng.choice(WORDS) for _ in range(rng.randint(3, 9))] for _ in range(count)]
    return X, [["B-X" if ord(word[0]) > 0x300 else "O" for word in words] for words in X]


@pytest.fixture(scope="module")
def tagger():
    return Tagger(**SMALL).fit(*corpus())


def spellings(count: int) -> list[str]:
    """Random words with marks in any order, composed and decomposed."""
    rng = random.Random(1)
    marks = "\u0301\u0302\u0316\u0323\u0308\u0304\u0327\u3099\u0654\u05b0\u0345\u09be"
    letters = "".join(WORDS) + "eaoucかàçệ가각ᄀ\u1161\u11a8ﬀＡ１ـ\u00ad\u200cي ك’,"
    made = ["".join(rng.choice(letters + marks) for _ in range(rng.randint(1, 6))) for _ in range(count)]
    made = [one.replace(" ", "") or "x" for one in made]
    return [
        unicodedata.normalize(rng.choice(["NFC", "NFD", "NFKD"]), one) if rng.random() < 0.5 else one for one in made
    ]


def test_decomposed_words_have_the_same_answers(tagger):
    X, _ = corpus(20)
    for form in ("NFD", "NFC"):
        spelt = [[unicodedata.normalize(form, word) for word in words] for words in X]
        assert tagger.predict(spelt) == tagger.predict(X)
    text = unicodedata.normalize("NFD", "học ở Việt")
    document = tagger.tag(text)
    assert [text[e.start : e.end] for e in document.entities] == [e.text for e in document.entities]
    assert [token for sentence in document.sentences for token in sentence.tokens] == text.split()


def test_which_characters_are_folded_depends_on_the_training_words():
    persian = Folds.chosen({"کتابی": 5000, "را": 10})
    assert persian("كتابي") == "کتابی" and persian("کتـابی") == "کتابی"
    arabic = Folds.chosen({"كتابي": 5000})
    assert arabic("کتابی") == "كتابي" and arabic("كِتَابي") == "كتابي" and arabic("ﻛتابي") == "كتابي"
    french = Folds.chosen({"l'": 900, "ami": 5000, "fin": 10})
    assert french("l’") == "l'" and french("ａｍｉ") == "ami" and french("a\u00admi") == "ami" and french("ﬁn") == "fin"
    chinese = Folds.chosen({"，": 9000, "A": 10_000})
    assert chinese(",") == "，" and chinese("Ａ") == "A"
    both = Folds.chosen({"，": 900, ",": 900})
    assert both(",") == "," and both("，") == "，"
    assert french("\u00ad") == "\u00ad", "no word is empty"
    assert french("e\u0301" * 200) == "e\u0301" * 200, "too long to be a word"


def test_c_and_python_agree(tagger):
    if not tagger._posteriors.takes_cells:
        pytest.skip("nothing was compiled")
    engine, features = tagger.model.engine(), tagger.model.features
    X = [[word] for word in spellings(3000)]
    assert sum(features.words.folds(word) != word for (word,) in X) > 1000
    compiled = engine.scores(X, ["main"])[0]["main"]
    np.testing.assert_allclose(compiled, engine._by_graph(X, ["main"])["main"], atol=1e-5)


@needs_compiler
def test_exported_models_fold_as_well(tagger):
    content = exported(tagger)
    runtime, fixed = Runtime(content), Runtime(content, max_bytes=20_000)
    for first in range(0, 1000, 20):
        text = " ".join(spellings(1000)[first : first + 20]).encode("utf-8", "replace").decode()
        check_text(tagger, runtime, text)
        check_text(tagger, fixed, text)


def test_folds_are_part_of_the_model(tagger, tmp_path):
    tagger.save(tmp_path / "model.postil")
    X = [[unicodedata.normalize("NFD", word) for word in WORDS]]
    for one in (postil.load(tmp_path / "model.postil"), pickle.loads(pickle.dumps(tagger))):
        assert one.predict(X) == tagger.predict(X)
        assert np.array_equal(one.model.features.words.folds.table, tagger.model.features.words.folds.table)
    more = Tagger(**SMALL).fit(*corpus(10), warm_start=tagger)
    assert np.array_equal(more.model.features.words.folds.table, tagger.model.features.words.folds.table)


@pytest.mark.parametrize(
    "table",
    [
        np.zeros((1, 3), np.int32),
        np.zeros((1, 4), np.int64),
        np.array([[5, 0, 0, 0], [4, 0, 0, 0]], np.int32),
        np.array([[0xD800, 1, 0, 0]], np.int32),
        np.array([[0x110000, 1, 0, 0]], np.int32),
    ],
)
def test_forged_folds(table):
    with pytest.raises(ModelFileError, match="folds"):
        Folds.from_array(table)


def test_english_models_look_words_up_as_they_are():
    X = [["the", "man", "and", "the", "café", "that", "was"]] * 20
    english = Tagger(**SMALL).fit(X, [["O"] * 7] * 20).model
    assert english.features.words.folds is None and english.segmentation is None


def test_other_languages_get_neutral_rules(tagger):
    assert tagger.model.segmenter.sentence_rules == NEUTRAL_SENTENCES
    text = "Je dont im 3. cannot। Über etwas? l'été peut-être"
    words = [token for sentence in tagger.tag(text).sentences for token in sentence.tokens]
    assert words == "Je dont im 3 . cannot । Über etwas ? l'été peut-être".split()
    X = [["l'", "été", "où", "l'", "âme"], ["à", "côté", "d'", "elle"]] * 30
    french = Tagger(**SMALL).fit(X, [["O"] * len(words) for words in X])
    assert french.tag("l'été d’elle").sentences[0].tokens == ["l'", "été", "d’", "elle"]
    assert str(french.model.segmenter) == "neutral (apostrophes)"

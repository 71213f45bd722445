"""Samples of raw text: uniform, the same for the same seed, and of sentences of the usual lengths."""

import random

import pytest

from postil import Tagger
from postil.commands import teaching as raw_text
from postil.commands.main import main
from postil.errors import DataError
from postil.pretraining import CorpusConfig, read_corpus
from postil.text import Segmenter


def test_a_sample_of_a_stream_is_uniform():
    drawn = [0] * 10
    for seed in range(2000):
        for (item,) in raw_text._reservoir(([i] for i in range(10)), 3, random.Random(seed)):
            drawn[item] += 1
    assert min(drawn) > 500
    assert max(drawn) < 700


def test_the_first_sentences_have_at_least_the_tokens():
    sentences = [["a", "b"], ["c"], ["d", "e"], ["f"]]
    assert raw_text.first_sentences(sentences, 1) == sentences[:1]
    assert raw_text.first_sentences(sentences, 3) == sentences[:2]
    assert raw_text.first_sentences(sentences, 4) == sentences[:3]
    assert raw_text.first_sentences(iter(sentences), 99) == sentences
    assert raw_text.first_sentences(sentences, 0) == []


@pytest.fixture
def texts(tmp_path):
    """Two files with forty sentences of four tokens each."""
    paths = [tmp_path / "one.txt", tmp_path / "two.txt"]
    for path in paths:
        path.write_text("".join(f"{path.stem} is number{i}.\n" for i in range(40)))
    return paths


def test_sentences_are_sampled_from_all_files(texts, capsys):
    drawn = raw_text.sampled_sentences(texts, 160, seed=0)
    assert sum(map(len, drawn)) == 160
    assert len({tuple(sentence) for sentence in drawn}) == 40
    assert {sentence[0] for sentence in drawn} == {"one", "two"}
    assert all(sentence[1] == "is" and sentence[3] == "." for sentence in drawn)
    assert "40 sentences of raw text, 160 tokens" in capsys.readouterr().err


def test_a_sample_depends_on_the_seed_alone(texts):
    drawn = raw_text.sampled_sentences(texts, 160, seed=1)
    assert raw_text.sampled_sentences(list(map(str, texts)), 160, seed=1) == drawn
    assert raw_text.sampled_sentences(texts, 160, seed=2) != drawn


def test_all_of_a_short_text_is_used(texts):
    assert len(raw_text.sampled_sentences(texts, 10**6, seed=0)) == 80


def test_headings_and_lists_are_left_out(tmp_path):
    path = tmp_path / "x.txt"
    words = {length: " ".join(["word"] * length) for length in (2, 3, 80, 81)}
    path.write_text("\n\n".join(words.values()) + "\n")
    drawn = raw_text.sampled_sentences([path], 1000, seed=0)
    assert sorted(map(len, drawn)) == [3, 80]
    path.write_text("One two\n")
    with pytest.raises(DataError) as error:
        raw_text.sampled_sentences([path], 1000, seed=0)
    assert str(error.value) == f"{path}: no sentences in the raw text: expected 3 words or more"


GERMAN = "Käthe schläft im Bücherzimmer. Dann öffnet sie die große Tür.\n" * 40


def test_text_that_is_not_english_is_split_by_neutral_rules(tmp_path, capsys):
    path = tmp_path / "german.txt"
    path.write_text(GERMAN, encoding="utf-8")
    assert ["Käthe", "schläft", "im", "Bücherzimmer", "."] in raw_text.sampled_sentences([path], 1000, seed=0)
    with read_corpus([path], CorpusConfig(min_count=1)) as corpus:
        assert "im" in corpus.words and "i" not in corpus.words
    assert main(["convert", str(path), str(tmp_path / "words.conllu")]) == 0
    assert "\tim\t" in (tmp_path / "words.conllu").read_text("utf-8")


def test_the_segmenter_of_a_model_splits_its_raw_text(tmp_path, monkeypatch):
    path = tmp_path / "letters.txt"
    path.write_text("abc abd\n" * 9, encoding="utf-8")
    single = Segmenter(characters=True)
    assert raw_text.sampled_sentences([path], 6, seed=0, segmenter=single) == [list("abcabd")]
    with read_corpus([path], CorpusConfig(min_count=1), segmenter=single) as corpus:
        assert sorted(corpus.words) == ["a", "b", "c", "d"]
    chinese, german = [list("我住在北京")] * 3, [["Käthe", "schläft", "im", "Bücherzimmer", "."]] * 300
    assert raw_text.segmenter_of(Tagger(), chinese).characters
    assert raw_text.segmenter_of(Tagger(), german).tokenise("im Zimmer").tokens == ["im", "Zimmer"]
    assert raw_text.segmenter_of(Tagger(segmenter=single), german) == single


def test_tag_warns_of_text_that_is_not_english(names_model, tmp_path, capsys):
    path = tmp_path / "german.txt"
    path.write_text(GERMAN, encoding="utf-8")
    assert main(["tag", str(names_model), str(path), "-o", str(tmp_path / "out.txt")]) == 0
    assert (
        f"{path}: the text does not look English, but the model splits text by English rules" in capsys.readouterr().err
    )


def test_raw_text_of_train_has_another_name(capsys):
    with pytest.raises(SystemExit):
        main(["train", "x.txt", "--raw", "y.txt", "-o", "z.postil"])
    assert "unknown option --raw y.txt; did you mean --unlabelled?" in capsys.readouterr().err

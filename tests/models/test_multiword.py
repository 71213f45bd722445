"""Multiword tokens: learned from ranges of CoNLL-U, taken apart in raw text, written as ranges again."""

import io
import json
import pickle
import random
from pathlib import Path

import numpy as np
import pytest

import postil
from postil import archive
from postil.commands.main import main
from postil.errors import ModelFileError
from postil.export.flat import whole_tokens
from postil.models.segmentation import Splits, learn_segmenter, texts_of
from postil.tagging import Labeller, TaggingOptions
from postil.text import Segmenter, Sentence, read
from postil.text.lines import Passage

WORDS = "anna berta caesar dora emil fritz gustav haus ida jana kurt lampe mond nacht otto paul quelle rose".split()
STEMS = "faz tem quer pod diz trag".split()


def conllu(count: int, seed: int) -> str:
    """A made-up language: du = de + le, -n't is a word, fazê-lo = fazer + lo."""
    rng = random.Random(seed)
    lines = []
    for _ in range(count):
        tokens: list[tuple[str, list[str], bool]] = []  # with its words, and whether a space follows
        for _ in range(rng.randint(3, 8)):
            word, kind = rng.choice(WORDS), rng.random()
            stem = rng.choice(STEMS) + rng.choice(["", "a", "e"])
            if kind < 0.15:
                tokens.append(("du", ["de", "le"], True))
            elif kind < 0.25:
                tokens.append((f"{word}n't", [word, "n't"], True))
            elif kind < 0.35:
                tokens.append((f"{stem}ê-lo", [f"{stem}er", "lo"], True))
            elif kind < 0.5:
                tokens += [(word, [word], False), (",", [","], True)]
            else:
                tokens.append((word, [word], True))
        tokens = tokens[:-1] if tokens[-1][0] == "," else tokens
        tokens = [*tokens[:-1], (*tokens[-1][:2], False), (".", ["."], True)]
        lines.append("# text = " + "".join(form + " " * space for form, _, space in tokens).strip())
        number = 0
        for form, words, space in tokens:
            misc = "_" if space else "SpaceAfter=No"
            if len(words) > 1:
                lines.append("\t".join([f"{number + 1}-{number + len(words)}", form, *["_"] * 7, misc]))
            for word in words:
                number += 1
                label = "P" if word in ".," else "D" if word in ("le", "lo") else "W"
                lines.append("\t".join([str(number), word, "_", label, *["_"] * 5, "_" if len(words) > 1 else misc]))
        lines.append("")
    return "\n".join(lines) + "\n"


def sentences(count: int, seed: int) -> list[Sentence]:
    return list(read(io.BytesIO(conllu(count, seed).encode()), format="conllu"))


@pytest.fixture(scope="module")
def segmenter() -> Segmenter:
    return learn_segmenter(sentences(300, seed=0))


@pytest.fixture(scope="module")
def taggers(segmenter: Segmenter) -> dict[str, postil.Tagger]:
    train = sentences(100, seed=0)
    X = [one.tokens for one in train]
    names = [["B-X" if word in ("de", "haus") else "O" for word in tokens] for tokens in X]
    labels = {"pos": [one.labels or [] for one in train], "names": names}
    return {task: postil.Tagger(epochs=8, hidden=20, segmenter=segmenter).fit(X, y) for task, y in labels.items()}


def test_words_share_the_place_of_their_token(segmenter: Segmenter) -> None:
    text = "anna, du haus paul. mondn't fazê-lo."
    (first, second) = segmenter.sentences(text)
    assert first.tokens == ["anna", ",", "de", "le", "haus", "paul", "."]
    assert [(a, b) for a, b in zip(first.starts or (), first.ends or (), strict=True)][2:4] == [(6, 8), (6, 8)]
    assert first.joined == [False, False, False, True, False, False, False]
    assert second.tokens == ["mond", "n't", "fazer", "lo", "."]
    assert [text[a:b] for a, b in zip(second.starts or (), second.ends or (), strict=True)] == [
        "mond",
        "n't",
        "fazê-lo",
        "fazê-lo",
        ".",
    ]


@pytest.mark.parametrize(
    ("token", "words"),
    [
        ("du", ["de", "le"]),
        ("Du", ["De", "le"]),
        ("DU", ["DE", "LE"]),
        ("mandê-lo", ["mander", "lo"]),  # a regular ending of an unknown token
        ("mande\u0302-lo", ["mander", "lo"]),  # the same letters, decomposed
        ("ê-lo", []),  # nothing is before the ending
        ("Haus", []),
    ],
)
def test_tokens_that_training_did_not_show(segmenter: Segmenter, token: str, words: list[str]) -> None:
    assert list(segmenter.learned.splits.words(token)) == words  # type: ignore[union-attr]


def test_the_most_frequent_words_win() -> None:
    row = "{}\t{}" + "\t_" * 8
    split = ["# text = des", "1-2\tdes" + "\t_" * 8, row.format(1, "de"), row.format(2, "les"), ""]
    whole = ["# text = des", row.format(1, "des"), ""]
    capital = ["# text = Des", row.format(1, "Des"), ""]

    def learned(*blocks: list[str]) -> Splits | None:
        content = "\n".join(line for block in blocks for line in block) + "\n"
        return Splits.learned(texts_of(list(read(io.BytesIO(content.encode()), format="conllu"))))

    assert learned(split, whole, whole) is None
    splits = learned(split, split, whole, capital)
    assert splits is not None
    assert list(splits.words("des")) == ["de", "les"]
    assert list(splits.words("Des")) == []
    assert splits.suffixes == {}  # one token is not a rule


def test_an_ending_that_other_tokens_contradict_is_no_rule() -> None:
    train = sentences(300, seed=0)
    other = "# text = bê-lo\n1\tbê-lo" + "\t_" * 8 + "\n\n"
    contradicted = Splits.learned(texts_of([*train, *read(io.BytesIO(other.encode()), format="conllu")]))
    assert contradicted is not None
    assert list(contradicted.words("mandê-lo")) == []


@pytest.mark.parametrize("task", ["pos", "names"])
@pytest.mark.parametrize("output", [None, "conllu", "jsonl"])
@pytest.mark.parametrize("format", ["text", "jsonl"])
def test_both_paths_of_tag_write_the_same(taggers: dict, task: str, output: str | None, format: str) -> None:
    texts = [one.text for one in sentences(30, seed=3)]
    lines = texts if format == "text" else [json.dumps({"text": text}) for text in texts]
    content = "".join(f"{line}\n" for line in lines)
    passage = Passage(name="x", format=format, first=1, text=content, whole=True)
    for probabilities in (False, output != "conllu"):
        labeller = Labeller(taggers[task], TaggingOptions(output=output, probabilities=probabilities))
        assert labeller.label(passage).content == labeller.general.label(passage).content


def test_entities_of_records_take_the_fast_path(taggers: dict) -> None:
    labeller = Labeller(taggers["names"], TaggingOptions(output="jsonl"))
    answer = labeller.fast and labeller.fast.label_texts(["anna, du haus. du.", "mondn't"])
    assert answer
    records = [json.loads(line) for line in answer.content.splitlines()]
    assert [(one["start"], one["end"]) for one in records[0]["spans"]] == [(6, 8), (9, 13), (15, 17)]
    assert records[1]["spans"] == []


def test_ranges_of_columns_are_those_of_the_treebank(taggers: dict) -> None:
    held_out = sentences(40, seed=4)
    labeller = Labeller(taggers["pos"], TaggingOptions(output="conllu"))
    text = "".join(f"{one.text}\n" for one in held_out)
    written = labeller.label(Passage(name="x", format="text", first=1, text=text, whole=True)).content.decode()
    assert written == conllu(40, seed=4)


def test_answers_can_be_read_again(taggers: dict) -> None:
    labeller = Labeller(taggers["pos"], TaggingOptions(output="jsonl"))
    text = "anna, du haus.\n"
    written = labeller.label(Passage(name="x", format="text", first=1, text=text, whole=True)).content
    (again,) = read(io.BytesIO(written), format="jsonl")
    assert again.tokens == ["anna", ",", "de", "le", "haus", "."]
    assert again.joined == [False, False, False, True, False, False]


def test_entities_end_with_their_token(taggers: dict) -> None:
    (entity, other) = taggers["names"].tag("anna, du haus.").entities
    assert (entity.text, entity.start, entity.end, other.text) == ("du", 6, 8, "haus")


def test_labels_are_shown_in_the_order_of_the_words(taggers: dict) -> None:
    page = taggers["pos"].tag("anna du haus.").to_html()
    shown = page[page.index(">du<") :]
    assert shown.index("<bdi>W</bdi>") < shown.index("<bdi>D</bdi>")


def test_half_characters_do_not_disturb(taggers: dict) -> None:
    document = taggers["pos"].tag("anna \ud800 du haus.")
    assert [token for one in document.sentences for token in one.tokens][-4:] == ["de", "le", "haus", "."]


def test_saved_loaded_and_pickled(taggers: dict, segmenter: Segmenter, tmp_path: object) -> None:
    path = f"{tmp_path}/model.postil"
    taggers["pos"].save(path)
    text = "anna du haus. mandê-lo."
    assert postil.load(path).tag(text).sentences == taggers["pos"].tag(text).sentences
    assert postil.load(path).model.segmenter == segmenter == pickle.loads(pickle.dumps(segmenter))


@pytest.mark.parametrize(
    "forged",
    [
        None,
        {},
        {"table": {}, "suffixes": {}, "more": {}},
        {"table": [], "suffixes": {}},
        {"table": {"du": ["de"]}, "suffixes": {}},
        {"table": {"du": "de le"}, "suffixes": {}},
        {"table": {"du": ["de", ""]}, "suffixes": {}},
        {"table": {"du": ["de", "l\te"]}, "suffixes": {}},
        {"table": {"du": ["de", "\ud800"]}, "suffixes": {}},
        {"table": {"du": ["de", 3]}, "suffixes": {}},
        {"table": {"du": ["de", "l" * 5000]}, "suffixes": {}},
        {"table": {"du": ["de"] * 50}, "suffixes": {}},
        {"table": {}, "suffixes": {"lo": []}},
        {"table": {}, "suffixes": {"": ["er", "lo"]}},
        {"table": {}, "suffixes": {"lo": ["\n", "lo"]}},
    ],
)
def test_a_forged_table_is_an_error(forged: object) -> None:
    with pytest.raises(ModelFileError, match="multiword tokens"):
        Splits.from_dict(forged)


def test_a_file_with_a_forged_table_does_not_open(taggers: dict, tmp_path: object) -> None:
    path = f"{tmp_path}/model.postil"
    taggers["pos"].save(path)
    arrays, metadata = archive.load(path)
    metadata["segmentation"]["splits"] = {"table": {"du": ["de"]}, "suffixes": {}}
    archive.save(path, {name: np.array(array) for name, array in arrays.items()}, metadata)
    with pytest.raises(ModelFileError, match="multiword tokens"):
        postil.load(path)


def test_an_export_has_no_table_and_says_so(
    taggers: dict, tmp_path: object, capsys: pytest.CaptureFixture[str]
) -> None:
    taggers["pos"].save(f"{tmp_path}/model.postil")
    assert main(["export", f"{tmp_path}/model.postil", "--to", "c", "-o", f"{tmp_path}/c"]) == 0
    error = capsys.readouterr().err.strip()
    assert "no table of multiword tokens" in error and "\n" not in error
    whole = whole_tokens(taggers["pos"])
    text = "anna du berta, fazê-lo haus."
    assert [one.tokens for one in whole.tag(text).sentences] == [["anna", "du", "berta", ",", "fazê-lo", "haus", "."]]
    assert "de" in taggers["pos"].tag(text).sentences[0].tokens  # which is as it was


def test_scores_on_raw_text(taggers: dict, tmp_path: object, capsys: pytest.CaptureFixture[str]) -> None:
    taggers["pos"].save(f"{tmp_path}/model.postil")
    Path(f"{tmp_path}/gold.conllu").write_text(conllu(60, seed=6), encoding="utf-8")
    assert main(["evaluate", f"{tmp_path}/model.postil", f"{tmp_path}/gold.conllu", "--raw", "--json"]) == 0
    scores = json.loads(capsys.readouterr().out)
    assert scores["words"]["f1"] > 99 and scores["tokens"]["f1"] > 99

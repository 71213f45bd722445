"""Segmentation belongs to the model: each cuts raw text by its own rules, in one process, everywhere."""

import io
import json
import pickle

import numpy as np
import pytest

import postil
from oracles import forgeries
from oracles.c_runtime import Runtime, needs_compiler
from oracles.golden import FOLDER
from postil import Detector, Ensemble, MultiTaskTagger, Tagger
from postil.errors import ConfigurationError, ModelFileError
from postil.export.c import conformance_file
from postil.export.flat import exported
from postil.models import storage
from postil.reports.card import card_of
from postil.tagging.bulk import Labeller, label
from postil.tagging.options import TaggingOptions
from postil.text import Segmenter, SentenceRules, TokenRules, read
from postil.text.splitting.segmenter import CHARACTERS

KEEP = Segmenter(TokenRules(hyphens="keep"))
SMALL = {"hidden": 8, "epochs": 2, "seed": 0}
X = [["a", "well-known", "woman", "of", "Oslo"], ["the", "ice", "-", "cold", "sea", "of", "Lima"]] * 6
y = [["O", "O", "O", "O", "B-LOC"], ["O", "O", "O", "O", "O", "O", "B-LOC"]] * 6
TEXT = "A well-known man of Oslo."
SPLIT = ["A", "well", "-", "known", "man", "of", "Oslo", "."]
KEPT = ["A", "well-known", "man", "of", "Oslo", "."]


@pytest.fixture(scope="module")
def taggers():
    """One with the default rules, one that keeps hyphens."""
    return Tagger(**SMALL).fit(X, y), Tagger(**SMALL, segmenter=KEEP).fit(X, y)


def tokens_of(document):
    return [token for sentence in document.sentences for token in sentence.tokens]


def check_both(by_words, keeping):
    assert [tokens_of(tagger.tag(TEXT)) for tagger in (by_words, keeping)] == [SPLIT, KEPT]


def test_two_models_in_one_process(taggers):
    check_both(*taggers)
    assert [tokens_of(document) for document in taggers[1].tag_many([TEXT, "ice-cold"])] == [KEPT, ["ice-cold"]]
    for first, second in zip(
        taggers[0].model.network.parameters().values(), taggers[1].model.network.parameters().values(), strict=True
    ):
        assert np.array_equal(first.value, second.value), "the rules concern raw text only"


def test_after_saving_and_in_a_pickle(taggers, tmp_path):
    for place, tagger in enumerate(taggers):
        tagger.save(tmp_path / f"{place}.postil")
    by_words, keeping = (postil.load(tmp_path / f"{place}.postil") for place in range(2))
    check_both(by_words, keeping)
    check_both(*pickle.loads(pickle.dumps(taggers)))
    assert (by_words.segmenter, keeping.segmenter) == (None, KEEP)
    assert card_of(tmp_path / "0.postil").facts["segmentation"] == "default rules"
    assert card_of(tmp_path / "1.postil").facts["segmentation"] == "english (hyphens)"


@pytest.mark.parametrize("way", [{"output": "conll"}, {"output": "jsonl", "nbest": 1}], ids=["fast", "general"])
def test_bulk_tagging(taggers, tmp_path, way):
    (tmp_path / "text.txt").write_text(TEXT + "\n", encoding="utf-8")
    for tagger, expected in zip(taggers, (SPLIT, KEPT), strict=True):
        written = io.BytesIO()
        with read(tmp_path / "text.txt") as reading:
            label(tagger, [reading], TaggingOptions(**way), written)
        lines = written.getvalue().decode().splitlines()
        if way["output"] == "conll":
            assert [line.split("\t")[0] for line in lines if line] == expected
        else:
            ((best,),) = json.loads(lines[0])["nbest"]
            assert len(best["labels"]) == len(expected)


def test_the_labeller_reads_by_the_rules_of_its_model(taggers):
    by_words, keeping = (Labeller(tagger, TaggingOptions(output="jsonl")) for tagger in taggers)
    assert (by_words.options.reading.segmenter, keeping.options.reading.segmenter) == (Segmenter(), KEEP)
    asked = TaggingOptions(output="jsonl", reading=postil.text.ReadOptions(features=(), segmenter=CHARACTERS))
    assert Labeller(taggers[1], asked).options.reading.segmenter == CHARACTERS


def test_other_kinds_of_models(tmp_path):
    detector = Detector(label="LOC", **SMALL, segmenter=KEEP).fit(X, y)
    tasks = MultiTaskTagger(**SMALL, segmenter=KEEP).fit({"places": X, "again": X}, {"places": y, "again": y})
    for model in (detector, tasks, tasks["again"]):
        model.save(tmp_path / "model.postil")
        for one in (model, postil.load(tmp_path / "model.postil")):
            assert tokens_of(one.tag(TEXT)) == KEPT
            assert one.segmenter == KEEP


def test_a_training_that_continues_keeps_the_rules(taggers):
    assert Tagger(**SMALL).fit(X, y, warm_start=taggers[1]).model.segmenter == KEEP
    other = Segmenter(sentence_rules=SentenceRules(line_breaks="every"))
    assert Tagger(**SMALL, segmenter=other).fit(X, y, warm_start=taggers[1]).model.segmenter == other
    with pytest.raises(ConfigurationError, match=r"the segmentation english, got english .hyphens."):
        Ensemble(taggers)


def test_characters_may_be_chosen_and_refused(tmp_path):
    """By default they depend on the training data."""
    chosen = Tagger(**SMALL, segmenter=CHARACTERS).fit(X, y)
    chosen.save(tmp_path / "characters.postil")
    for one in (chosen, postil.load(tmp_path / "characters.postil")):
        assert tokens_of(one.tag("A man")) == list("Aman")
    single, labels = [list("東京は大きい")] * 4, [["B-LOC", "I-LOC", "O", "O", "O", "O"]] * 4
    assert Tagger(**SMALL).fit(single, labels).model.segmenter == CHARACTERS
    assert Tagger(**SMALL, segmenter=KEEP).fit(single, labels).model.segmenter == KEEP


def test_it_is_a_parameter(taggers):
    base = pytest.importorskip("sklearn.base")
    tagger = Tagger(segmenter=KEEP)
    assert base.clone(tagger).get_params()["segmenter"] == KEEP
    assert base.clone(taggers[1]).segmenter == KEEP
    assert tagger.set_params(segmenter=None).segmenter is None
    assert pickle.loads(pickle.dumps(Tagger(segmenter=KEEP))).segmenter == KEEP


@pytest.mark.parametrize(
    ("segmenter", "message"),
    [
        ("english", "segmenter must be a postil.text.Segmenter or None"),
        (Segmenter(TokenRules(extra_patterns=["x+"])), "rules without extra_patterns: a model file has no regular"),
        (Segmenter(TokenRules(units=["u" * 41])), "words of at most 40 characters"),
    ],
)
def test_impossible_segmenters_are_refused_before_training(segmenter, message):
    with pytest.raises(ConfigurationError, match=message):
        Tagger(**SMALL, segmenter=segmenter).fit(X, y)


def forged(segmentation, **about):
    draft = forgeries.Draft.of((FOLDER / "tagger-2.postil").read_bytes())
    draft.metadata["segmentation"] = segmentation
    draft.metadata["about"] |= about
    return draft.packed()


@pytest.mark.parametrize(
    ("segmentation", "message"),
    [
        (None, "segmentation must be a JSON object"),
        ([], "segmentation must be a JSON object"),
        ({}, "unknown rules of a segmenter"),
        ({"rules": "klingon"}, "unknown rules of a segmenter"),
        ({"rules": "english", "hyphen": "keep"}, "unknown option of the rules 'english'"),
        ({"rules": "english", "hyphens": ["keep"]}, "rule 'hyphens' is unknown"),
        ({"rules": "english", "urls": 1}, "rule 'urls' is a switch"),
        ({"rules": "english", "units": "kg"}, "rule 'units' is a list"),
        ({"rules": "english", "units": [1]}, "rule 'units' has a wrong entry"),
        ({"rules": "english", "units": [f"u{i}" for i in range(20_000)]}, "40,000 characters together"),
        ({"rules": "english", "fused": ["|".join("a" * 20)] * 900}, "40,000 characters together"),
        ({"rules": "english", "extra_patterns": ["("]}, "segmentation must be rules without regular expressions"),
        ({"rules": "characters"}, "characters, if and only if"),
        ({"rules": "characters", "urls": False}, "unknown option of the rules 'characters'"),
    ],
)
def test_a_forged_segmentation_is_refused(segmentation, message):
    with pytest.raises(ModelFileError, match=message) as refused:
        storage.from_bytes(forged(segmentation))
    assert "\n" not in str(refused.value)


def test_a_parameter_of_the_estimator_is_no_segmentation():
    draft = forgeries.Draft.of((FOLDER / "tagger-2.postil").read_bytes())
    draft.metadata["estimator"]["segmenter"] = {"rules": "english"}
    with pytest.raises(ModelFileError, match="no segmenter"):
        storage.from_bytes(draft.packed())


def test_a_file_without_the_key_has_the_default_rules():
    tagger = postil.load(FOLDER / "tagger-2.postil")
    assert tagger.model.segmenter == Segmenter() and tagger.segmenter is None
    assert card_of(FOLDER / "tagger-2.postil").facts["segmentation"] == "default rules"


@pytest.mark.slow
@needs_compiler
def test_exported_models_have_the_rules_of_the_model(taggers):
    for tagger, expected in zip(taggers, (SPLIT, KEPT), strict=True):
        runtime = Runtime(exported(tagger))
        tagged, content = runtime.tag(TEXT), TEXT.encode()
        assert [content[begin:end].decode() for begin, end in tagged.tokens] == expected
    assert conformance_file(taggers[0], [TEXT]) != conformance_file(taggers[1], [TEXT])


def test_rules_without_a_program_cannot_be_exported():
    tagger = Tagger(**SMALL, segmenter=Segmenter(TokenRules(urls=False))).fit(X, y)
    with pytest.raises(ConfigurationError, match=r"the segmentation english .urls."):
        exported(tagger)

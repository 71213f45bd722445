"""The recogniser in Presidio's own engines: real scores, offsets, threads, and patterns that win over names."""

import sys
from concurrent.futures import ThreadPoolExecutor
from functools import cache

import pytest

import postil
from oracles.corpora import named_entities, parts_of_speech
from postil.errors import ConfigurationError

pytestmark = [
    pytest.mark.extra("presidio_analyzer", "presidio_anonymizer", "spacy"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),  # of the packages that Presidio imports
]
IBAN = "DE89370400440532013000"


@cache
def tagger():
    X, y = named_entities(120)
    X = [[*tokens, IBAN] for tokens in X]  # the model takes a bank account for a person
    return postil.Tagger(hidden=16, epochs=12, seed=0).fit(X, [[*labels, "B-PER"] for labels in y])


@cache
def recognizer(**options):
    from presidio_analyzer.predefined_recognizers import IbanRecognizer

    from postil.presidio import Recognizer

    return Recognizer(tagger(), patterns=[IbanRecognizer()], **options)


def analyzer(engine):
    from presidio_analyzer import AnalyzerEngine, RecognizerRegistry
    from presidio_analyzer.predefined_recognizers import IbanRecognizer

    registry = RecognizerRegistry(supported_languages=["en"], recognizers=[IbanRecognizer(), recognizer()])
    return AnalyzerEngine(registry=registry, nlp_engine=engine)


def no_engine():
    from presidio_analyzer.nlp_engine import NoOpNlpEngine

    engine = NoOpNlpEngine([{"lang_code": "en", "model_name": "no_op"}])
    engine.load()
    return engine


def spacy_engine():
    import spacy
    from presidio_analyzer.nlp_engine import SpacyNlpEngine

    engine = SpacyNlpEngine()
    engine.nlp = {"en": spacy.blank("en")}
    return engine


@pytest.mark.parametrize("engine", [no_engine, spacy_engine])
def test_names_and_patterns_are_found_and_anonymised_together(engine):
    from presidio_anonymizer import AnonymizerEngine

    text = f"Anna lives in New York {IBAN}"
    results = analyzer(engine()).analyze(text, language="en")
    assert {(one.entity_type, text[one.start : one.end]) for one in results} == {
        ("PERSON", "Anna"),
        ("LOCATION", "New York"),
        ("IBAN_CODE", IBAN),
    }
    assert AnonymizerEngine().anonymize(text, results).text == "<PERSON> lives in <LOCATION> <IBAN_CODE>"


def test_scores_are_probabilities_given_that_patterns_are_no_names():
    text = f"Anna lives in Oslo {IBAN}"
    scores = {text[one.start : one.end]: one.score for one in recognizer().analyze(text, ["PERSON", "LOCATION"])}
    start = text.index(IBAN)
    given = postil.Constraints(allow=[(start, len(text), ["O"])])
    entities = tagger().tag(text, constraints=given).entities
    assert scores == pytest.approx({one.text: one.probability for one in entities})
    assert IBAN in {one.text for one in tagger().tag(text).entities} and IBAN not in scores
    plain = "Anna lives in Oslo"
    assert [one.score for one in recognizer().analyze(plain, ["PERSON"])] == [
        tagger().tag(plain).entities[0].probability
    ]


def test_the_usual_patterns_are_those_of_presidio():
    from postil.presidio import Recognizer

    one = Recognizer(tagger())
    text = f"Anna lives in Oslo {IBAN}"
    assert {text[found.start : found.end] for found in one.analyze(text, ["PERSON", "LOCATION"])} == {"Anna", "Oslo"}


def test_offsets_are_right_in_every_script():
    text = "🎉 日本 Zoë\u0301 — Anna lives in Lima"
    found = recognizer().analyze(text, ["PERSON", "LOCATION"])
    assert {"Anna", "Lima"} <= {text[one.start : one.end] for one in found}
    assert all(0 <= one.start < one.end <= len(text) for one in found)


def test_threads_and_batches_answer_alike():
    texts = [" ".join(tokens) for tokens in named_entities(80, seed=3)[0]]

    def listed(results):
        return [(one.entity_type, one.start, one.end, pytest.approx(one.score)) for one in results]

    alone = [listed(recognizer().analyze(text, ["PERSON", "LOCATION"])) for text in texts]
    assert [listed(results) for results in recognizer().analyze_many(texts)] == alone
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        with ThreadPoolExecutor(8) as pool:
            together = list(pool.map(lambda text: recognizer().analyze(text, ["PERSON", "LOCATION"]), texts * 4))
    finally:
        sys.setswitchinterval(interval)
    assert [listed(results) for results in together] == alone * 4


def test_a_yaml_file_names_the_model(tmp_path):
    from presidio_analyzer.recognizer_registry import RecognizerRegistryProvider

    tagger().save(tmp_path / "ner.postil")
    (tmp_path / "recognizers.yaml").write_text(
        f"supported_languages: [en]\nrecognizers:\n  - name: {tmp_path}/ner.postil\n    class_name: Recognizer\n"
        "    type: predefined\n    supported_languages: [en]\n    score_thresholds: {default: 0.5}\n"
    )
    import postil.presidio  # noqa: F401 - Presidio finds classes that are imported

    registry = RecognizerRegistryProvider(conf_file=tmp_path / "recognizers.yaml").create_recognizer_registry()
    (one,) = registry.recognizers
    assert one.supported_entities == ["LOCATION", "PERSON"]
    assert [found.entity_type for found in one.analyze("Anna left", ["PERSON"])] == ["PERSON"]
    assert one.score_thresholds == {"default": 0.5}


def test_entities_and_thresholds_are_chosen():
    from postil.presidio import Recognizer

    one = Recognizer(tagger(), {"PER": "CLIENT"}, patterns=[])
    assert one.supported_entities == ["CLIENT"]
    assert [found.entity_type for found in one.analyze("Anna lives in Oslo", ["CLIENT"])] == ["CLIENT"]
    for some in (["PERSON"], ("PER",)):
        assert Recognizer(tagger(), some, patterns=[]).supported_entities == ["PERSON"]
    assert Recognizer(tagger(), threshold=1.0, patterns=[]).analyze("Anna lives in Oslo", ["PERSON"]) == []


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"entities": {"MISC": "NRP"}}, "classes of the model: LOC, PER"),
        ({"entities": ["PER", "NRP"]}, "got NRP"),
        ({"threshold": 2}, "threshold"),
        ({"task": "names"}, "the model has one"),
        ({"entities": "PERSON"}, "a list or dict of names .got 'PERSON'"),
        ({"entities": []}, "a list or dict of names"),
        ({"entities": {"PER": 3}}, "a list or dict of names"),
        ({"patterns": ["iban"]}, "recognisers of Presidio"),
    ],
)
def test_mistakes_are_named(options, message):
    from postil.presidio import Recognizer

    with pytest.raises(ConfigurationError, match=message):
        Recognizer(tagger(), **options)


def test_only_taggers_of_spans_recognise():
    from postil.presidio import Recognizer

    with pytest.raises(ConfigurationError, match="a tagger of spans"):
        Recognizer(postil.Tagger(hidden=4, word_dim=4, epochs=1).fit(*parts_of_speech(10)))

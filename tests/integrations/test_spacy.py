"""The component of spaCy's pipelines, run by spaCy itself."""

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import postil
from postil.errors import ConfigurationError, ModelFileError
from postil.text import Sentence

pytestmark = [pytest.mark.extra("spacy"), pytest.mark.filterwarnings("ignore:.*:DeprecationWarning")]

TEXT = "Anna lives  in Oslo.\n\nBob met \n Anna in New York ."


def pipeline(model, sentencizer=False, **config):
    import spacy

    assert postil.spacy.PostilComponent is not None  # registers the factory
    nlp = spacy.blank("en")
    if sentencizer:
        nlp.add_pipe("sentencizer")
    nlp.add_pipe("postil", config={"model": str(model), **config})
    return nlp


def entities(doc):
    return [(span.text, span.label_, span.start_char, span.end_char, span._.probability) for span in doc.ents]


def expected(tagger, nlp, text):
    """Entities of the words of spaCy, with Postil's sentences, by the tagger itself."""
    from postil.text import Tokens, split_sentences

    doc = nlp.make_doc(text)
    words = [token for token in doc if not token.is_space]
    starts = [token.idx for token in words]
    tokens = Tokens(text, [token.text for token in words], starts, [t.idx + len(t) for t in words])
    found = []
    for first, end in split_sentences(tokens) if words else []:
        sentence = Sentence(tokens.tokens[first:end], text=text, starts=starts[first:end], ends=tokens.ends[first:end])
        (of_sentence,) = tagger.annotate([sentence])
        found += [(e.text, e.label, e.start, e.end, pytest.approx(e.probability, abs=1e-6)) for e in of_sentence]
    return found


@pytest.fixture(scope="module")
def three_tasks(tmp_path_factory):
    """Names, parts of speech with universal tags, and places as spans of their own."""
    X = [["Anna", "lives", "in", "Oslo", "."], ["Bob", "met", "Anna", "in", "New", "York", "."]] * 8
    y = {
        "upos": [
            ["PROPN", "VERB", "ADP", "PROPN", "PUNCT"],
            ["PROPN", "VERB", "PROPN", "ADP", "PROPN", "PROPN", "PUNCT"],
        ]
        * 8,
        "names": [["B-PER", "O", "O", "B-LOC", "O"], ["B-PER", "O", "B-PER", "O", "B-LOC", "I-LOC", "O"]] * 8,
        "xpos": [["NNP", "VBZ", "IN", "NNP", "."], ["NNP", "VBD", "NNP", "IN", "NNP", "NNP", "."]] * 8,
        "towns": [["O", "O", "O", "B-TOWN", "O"], ["O", "O", "O", "O", "B-TOWN", "I-TOWN", "O"]] * 8,
    }
    path = tmp_path_factory.mktemp("tasks") / "m.postil"
    postil.MultiTaskTagger(hidden=16, seed=0).fit(X, y).save(path)
    return path


def test_only_the_tasks_that_are_named_are_written_to_the_doc(three_tasks):
    nlp = pipeline(three_tasks, tasks=["towns", "xpos"])
    doc = nlp.make_doc(TEXT)
    for token in doc:
        token.pos_ = "X"
    doc = nlp(doc)
    assert [span.text for span in doc.ents] == [span.text for span in doc.spans["postil"]] == ["Oslo", "New York"]
    assert {*doc.spans} == {"postil"}
    words = [token for token in doc if not token.is_space]
    assert [token.tag_ for token in words[:5]] == ["NNP", "VBZ", "IN", "NNP", "."]
    assert {token.pos_ for token in words} == {"X"}, "what an earlier component has set stays"
    with pytest.raises(ConfigurationError, match=r"task must be one of upos, names, xpos, towns \(got 'town'\)"):
        pipeline(three_tasks, tasks=["town"])(TEXT)
    with pytest.raises(ConfigurationError, match=r"tasks must be a list of names \(got 'towns'\)"):
        postil.spacy.PostilComponent(model=three_tasks, tasks="towns")


def test_a_model_of_one_task_has_none_to_choose(names_model):
    with pytest.raises(ConfigurationError, match="the model has one task"):
        pipeline(names_model, tasks=["names"])(TEXT)


def test_the_entities_of_a_doc_are_set_once_however_many_sentences_it_has(names_model):
    import spacy
    from spacy.tokens import Doc

    class CountingDoc(Doc):
        times = 0

        @property
        def ents(self):
            return super().ents

        @ents.setter
        def ents(self, spans):
            self.times += 1
            Doc.ents.__set__(self, spans)

    nlp = spacy.blank("en")
    words = [token.text for token in nlp.make_doc("Anna lives in Oslo. Bob met Anna. " * 20)]
    doc = postil.spacy.PostilComponent(model=names_model)(CountingDoc(nlp.vocab, words=words))
    assert len(doc.ents) == len(doc.spans["postil"]) >= 40 and doc.times == 1


def test_several_tasks_set_entities_spans_and_both_kinds_of_tags(three_tasks):
    doc = pipeline(three_tasks)(TEXT)
    names = [("Anna", "PER"), ("Oslo", "LOC"), ("Bob", "PER"), ("Anna", "PER"), ("New York", "LOC")]
    assert [(span.text, span.label_) for span in doc.ents] == names
    assert list(doc.spans["postil"]) == list(doc.ents) and "names" not in doc.spans
    assert [span.text for span in doc.spans["towns"]] == ["Oslo", "New York"]
    words = [token for token in doc if not token.is_space]
    assert [token.pos_ for token in words[:5]] == ["PROPN", "VERB", "ADP", "PROPN", "PUNCT"]
    assert [token.tag_ for token in words[:5]] == ["NNP", "VBZ", "IN", "NNP", "."]
    assert all(0 < token._.probability <= 1 for token in words)


def test_entities_are_those_of_the_tagger(names_model):
    tagger, nlp = postil.load(names_model), pipeline(names_model)
    doc = nlp(TEXT)
    assert entities(doc) == expected(tagger, nlp, TEXT)
    assert {"Anna", "Oslo"} <= {span.text for span in doc.ents}
    assert list(doc.spans["postil"]) == list(doc.ents)
    for text in ("", " \n ", "\n"):
        assert entities(nlp(text)) == [] and list(nlp(text).spans["postil"]) == []


words = st.lists(st.sampled_from(["Anna", "lives", "in", "Oslo", ".", "\n\n", " ", "é", "😀", "Bob", "'s", "\t"]))


@given(texts=st.lists(words.map(" ".join), max_size=5), batch=st.sampled_from([1, 2, 128]))
@settings(deadline=None, max_examples=30)
def test_any_white_space_is_mapped_back(names_model, texts, batch):
    tagger, nlp = postil.load(names_model), pipeline(names_model)
    for text, doc in zip(texts, nlp.pipe(texts, batch_size=batch), strict=True):
        assert entities(doc) == expected(tagger, nlp, text)


def test_sentences_of_earlier_components_are_kept(names_model):
    tagger, nlp = postil.load(names_model), pipeline(names_model, sentencizer=True)
    text = "Anna met Bob. in Oslo ! and Lima"
    doc = nlp(text)
    sentences = [[token.text for token in sent] for sent in doc.sents]
    assert len(sentences) == 3
    labels = tagger.predict(sentences)
    assert sum(len(one) for one in sentences) == len(doc)
    assert [t.ent_iob_ != "O" for t in doc] == [label != "O" for of_sent in labels for label in of_sent]


def test_every_probable_span_is_in_the_group(names_model):
    tagger, nlp = postil.load(names_model), pipeline(names_model, above=0.01, spans_key="probable")
    doc = nlp("Anna met New York in Oslo")
    above = tagger.spans_above([token.text for token in doc], 0.01)
    group = [(span.start, span.end, span.label_) for span in doc.spans["probable"]]
    assert group == [(e.start, e.end, e.label) for e in above] and len(group) > len(doc.ents)
    for span, entity in zip(doc.spans["probable"], above, strict=True):
        assert span._.probability == pytest.approx(entity.probability, abs=1e-6)
    assert len({span._.probability for span in doc.spans["probable"]}) > 1
    with pytest.raises(ConfigurationError):
        pipeline(names_model, above=2.0)


def test_thresholds_and_earlier_entities(names_model):
    import spacy

    assert pipeline(names_model, threshold=1.0)(TEXT).ents == ()
    for overwrite, label in ((True, "PER"), (False, "RULE")):
        nlp = spacy.blank("en")
        ruler = nlp.add_pipe("entity_ruler")
        ruler.add_patterns([{"label": "RULE", "pattern": "Anna"}, {"label": "RULE", "pattern": "lives"}])
        nlp.add_pipe("postil", config={"model": str(names_model), "overwrite": overwrite})
        found = {span.text: span.label_ for span in nlp("Anna lives in Oslo").ents}
        assert found == {"Anna": label, "lives": "RULE", "Oslo": "LOC"}


def test_words_get_tags(speech_model):
    tagger, nlp = postil.load(speech_model), pipeline(speech_model)
    doc = nlp("Anna  lives in Oslo.")
    words = [token for token in doc if not token.is_space]
    labels, figures = tagger.predict_with_probabilities([[token.text for token in words]])
    assert [token.tag_ for token in words] == labels[0] and doc.ents == ()
    assert [token._.probability for token in words] == pytest.approx(figures[0].tolist())
    assert [token.tag_ for token in doc if token.is_space] == ["_SP"]


def test_a_pipeline_is_stored_with_its_model(names_model, tmp_path):
    import spacy

    model = tmp_path / "ner.postil"
    model.write_bytes(Path(names_model).read_bytes())
    nlp = pipeline(model)
    before = entities(nlp(TEXT))
    nlp.to_disk(tmp_path / "pipeline")
    data = nlp.to_bytes()
    model.unlink()
    assert entities(spacy.load(tmp_path / "pipeline")(TEXT)) == before
    other = pipeline(model)
    other.from_bytes(data)
    assert entities(other(TEXT)) == before


def test_docs_keep_their_probabilities(names_model):
    from spacy.tokens import DocBin

    nlp = pipeline(names_model, above=0.01)
    docs = list(nlp.pipe([TEXT, ""]))
    stored = DocBin(store_user_data=True)
    for doc in docs:
        stored.add(doc)
    again = list(DocBin().from_bytes(stored.to_bytes()).get_docs(nlp.vocab))
    for doc, other in zip(docs, again, strict=True):
        assert entities(other) == entities(doc)
        group = [(s.start, s.end, s.label_, s._.probability) for s in other.spans["postil"]]
        assert group == [(s.start, s.end, s.label_, s._.probability) for s in doc.spans["postil"]]


def test_two_processes_answer_the_same(names_model):
    nlp = pipeline(names_model)
    texts = [TEXT, "", "Oslo and Lima"] * 4
    assert [entities(d) for d in nlp.pipe(texts, n_process=2, batch_size=3)] == [entities(nlp(t)) for t in texts]


def test_displacy_draws_our_answers(names_model):
    from spacy import displacy

    doc = pipeline(names_model, above=0.2)(TEXT)
    html = displacy.render(doc, style="ent", jupyter=False)
    assert "Anna" in html and "PER" in html
    assert "PER" in displacy.render(doc, style="span", jupyter=False, options={"spans_key": "postil"})


def test_detectors_have_no_probabilities(names_model, tmp_path):
    from oracles.corpora import named_entities

    path = tmp_path / "per.postil"
    postil.Detector(label="PER", epochs=2).fit(*named_entities(40)).save(path)
    doc = pipeline(path)("Anna lives in Oslo")
    assert [(span.text, span._.probability) for span in doc.ents] == [("Anna", None)]


def test_mistakes_are_told(tmp_path):
    nlp = pipeline(tmp_path / "none.postil")
    with pytest.raises(ModelFileError, match=r"none\.postil: no such model file"):
        nlp("Anna")
    from postil.integrations.spacy import PostilComponent

    with pytest.raises(ConfigurationError, match="model needs a file"):
        PostilComponent().tagger  # noqa: B018
    with pytest.raises(
        ConfigurationError, match="model must be a Tagger, a MultiTaskTagger, a Detector or the file of one"
    ):
        PostilComponent(model=postil.TreeClassifier()).tagger  # noqa: B018


def test_spacy_finds_the_factory_by_its_entry_point(names_model, tmp_path):
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf8"))["project"]
    (name, target), *_ = project["entry-points"]["spacy_factories"].items()
    metadata = tmp_path / "somebody-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: somebody\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text(f"[spacy_factories]\n{name} = {target}\n")
    program = (
        f"import sys; sys.path.insert(0, {str(tmp_path)!r})\n"
        "import spacy\nnlp = spacy.blank('en')\n"
        f"nlp.add_pipe('postil', config={{'model': {str(names_model)!r}}})\n"
        "print([span.text for span in nlp('Anna lives in Oslo').ents])"
    )
    ran = subprocess.run([sys.executable, "-W", "ignore", "-c", program], capture_output=True, text=True, check=True)
    assert ran.stdout == "['Anna', 'Oslo']\n"

"""Files of spaCy's docs: what is written is what spaCy reads, and the other way round."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from postil.commands.main import main
from postil.errors import DataError
from postil.text import Sentence, read, write

pytestmark = [pytest.mark.extra("spacy"), pytest.mark.filterwarnings("ignore:.*:DeprecationWarning")]


def docs_of(path):
    from spacy.tokens import DocBin
    from spacy.vocab import Vocab

    return list(DocBin().from_disk(path).get_docs(Vocab()))


def store(path, docs):
    from spacy.tokens import DocBin

    DocBin(docs=docs).to_disk(path)


def doc_of(words, spaces, ents=None, firsts=()):
    from spacy.tokens import Doc, Span
    from spacy.vocab import Vocab

    doc = Doc(Vocab(), words=words, spaces=spaces)
    for i in firsts:
        doc[i].is_sent_start = True
    if ents is not None:
        doc.set_ents([Span(doc, start, end, label=label) for start, end, label in ents], default="outside")
    return doc


def entities(doc):
    return [(span.text, span.label_, span.start_char) for span in doc.ents]


word = st.tuples(st.sampled_from(["Anna", "lives", "é", "😀", ".", "\n", "  ", "\t\n"]), st.booleans())


@given(st.lists(st.tuples(st.lists(word, min_size=1, max_size=8), st.data()), max_size=4))
@settings(deadline=None, max_examples=40)
def test_docs_survive_the_way_there_and_back(tmp_path_factory, drawn):
    folder = tmp_path_factory.mktemp("docs")
    docs = []
    for words, data in drawn:
        places = [i for i, (text, _) in enumerate(words) if not text.isspace()]
        if not places:
            continue  # counted as lost
        start = data.draw(st.sampled_from(places))
        end = data.draw(st.sampled_from([i for i in places if i >= start])) + 1
        docs.append(doc_of([w for w, _ in words], [s for _, s in words], [(start, end, "PER")], firsts=[start]))
    if not docs:
        return  # a file without a sentence is an error
    store(folder / "a.spacy", docs)
    reading = read(folder / "a.spacy")
    write(reading, folder / "b.spacy", scheme="bio")
    again = docs_of(folder / "b.spacy")
    assert [doc.text for doc in again] == [doc.text for doc in docs]
    assert [entities(doc) for doc in again] == [entities(doc) for doc in docs]
    assert reading.report.notes["docs"] == len(docs)


def test_sentences_and_labels_of_a_doc(tmp_path):
    words, spaces = ["Anna", "met", " ", "New", "York", ".", "\n", "Bob", "left"], [True] * 3 + [True, False, False] * 2
    store(tmp_path / "a.spacy", [doc_of(words, spaces, [(0, 1, "PER"), (2, 5, "LOC"), (7, 8, "PER")], firsts=[0, 6])])
    first, second = read(tmp_path / "a.spacy")
    assert first.tokens == ["Anna", "met", "New", "York", "."] and second.tokens == ["Bob", "left"]
    assert first.labels == ["B-PER", "O", "B-LOC", "I-LOC", "O"] and second.labels == ["B-PER", "O"]
    assert [first.text[a:b] for a, b in zip(first.starts, first.ends, strict=True)] == first.tokens
    assert first.document == "" and second.document is None and first.rest is second.rest


def test_tags_where_there_are_no_entities(tmp_path):
    doc = doc_of(["Anna", "left"], [True, False])
    for token, tag in zip(doc, ["NNP", "VBD"], strict=True):
        token.tag_ = tag
    store(tmp_path / "a.spacy", [doc, doc_of(["so"], [False])])
    tagged, plain = read(tmp_path / "a.spacy")
    assert tagged.labels == ["NNP", "VBD"] and plain.labels is None
    write([tagged], tmp_path / "b.spacy", scheme="none")
    (again,) = docs_of(tmp_path / "b.spacy")
    assert [token.tag_ for token in again] == ["NNP", "VBD"] and again.text == "Anna left"


def test_what_a_doc_has_besides_is_counted(tmp_path):
    from spacy.tokens import Span

    doc = doc_of(["Anna", "left", "\n"], [True, False, False], [(0, 1, "PER")])
    doc.spans["other"] = [Span(doc, 0, 2, label="X")]
    doc.cats["news"] = 1.0
    for token in doc:
        token.lemma_, token.tag_ = "x", "X"
    store(tmp_path / "a.spacy", [doc, doc_of([" "], [False])])
    reading = read(tmp_path / "a.spacy")
    assert len(list(reading)) == 1
    expected = {"docs with lemmas": 1, "docs with tags in addition to entities": 1, "docs without words": 1}
    dropped = {what: number for what, number in reading.report.dropped.items() if number}
    assert dropped == {**expected, "spans of groups": 1, "categories": 1}


def test_groups_of_sentences_become_docs(tmp_path):
    apart = [Sentence(["Anna"], ["B-PER"]), Sentence(["left"], ["O"])]
    write(apart, tmp_path / "a.spacy", scheme="bio")
    assert [doc.text for doc in docs_of(tmp_path / "a.spacy")] == ["Anna ", "left "]
    together = [Sentence(["Anna"], ["B-PER"], document="a"), *apart, Sentence(["so"], ["O"], document="")]
    write(together, tmp_path / "b.spacy", scheme="bio")
    docs = docs_of(tmp_path / "b.spacy")
    assert [doc.text for doc in docs] == ["Anna Anna left ", "so "]
    assert [[token.text for token in sent] for sent in docs[0].sents] == [["Anna"], ["Anna"], ["left"]]


def test_the_command_converts_both_ways(tmp_path, capsys):
    (tmp_path / "a.conll").write_text("Anna\tB-PER\nleft\tO\n\nin\tO\nNew\tB-LOC\nYork\tI-LOC\n\n")
    assert main(["convert", str(tmp_path / "a.conll"), str(tmp_path / "a.spacy")]) == 0
    assert "written as spaCy's DocBin" in capsys.readouterr().err
    assert [entities(doc) for doc in docs_of(tmp_path / "a.spacy")] == [[("Anna", "PER", 0)], [("New York", "LOC", 3)]]
    assert main(["convert", str(tmp_path / "a.spacy"), str(tmp_path / "b.conll")]) == 0
    assert (tmp_path / "b.conll").read_text() == (tmp_path / "a.conll").read_text()
    assert main(["convert", str(tmp_path / "a.spacy"), str(tmp_path / "b.jsonl")]) == 0
    assert [s.labels for s in read(tmp_path / "b.jsonl")] == [s.labels for s in read(tmp_path / "a.conll")]
    assert main(["convert", str(tmp_path / "b.jsonl"), str(tmp_path / "c.spacy"), "--scheme", "iobes"]) == 0
    assert [entities(d) for d in docs_of(tmp_path / "c.spacy")] == [entities(d) for d in docs_of(tmp_path / "a.spacy")]
    assert main(["convert", str(tmp_path / "a.conll"), str(tmp_path / "a.spacy")]) == 0  # replaces its own kind
    capsys.readouterr()
    assert main(["convert", str(tmp_path / "a.conll"), str(tmp_path / "x.conll"), "--from", "spacy"]) == 1
    assert "a.conll: not a file of spaCy's DocBin" in capsys.readouterr().err


def test_a_foreign_file_is_refused(tmp_path):
    for content in (b"", b"x\x9c", b"Anna\tB-PER\n"):
        (tmp_path / "a.spacy").write_bytes(content)
        with pytest.raises(DataError, match=r"a.spacy: not a file of spaCy's DocBin"):
            list(read(tmp_path / "a.spacy"))

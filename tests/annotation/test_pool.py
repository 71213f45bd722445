"""The pool: read as it is needed, each sentence once, with places that survive."""

import itertools
import json

import pytest

from postil.annotation.annotation import AT_FIRST, REVIEWED, Pool, key_of
from postil.errors import DataError
from postil.text import Sentence, Span, read


def sentences(count, **others):
    return (Sentence(["word", str(number)], **others) for number in range(count))


def of_file(tmp_path, content, name="pool.jsonl", identity=None, **options):
    path = tmp_path / name
    path.write_text(content, encoding="utf8")
    pool = Pool(read(str(path), **options), name=name, identity=identity)
    pool.fill()
    return list(pool.records.values())


def test_an_endless_pool_is_read_as_far_as_it_is_needed():
    counted = itertools.count()
    pool = Pool((Sentence(["word", str(next(counted))]) for _ in itertools.repeat(None)), window=5 * AT_FIRST)
    pool.fill(most=10)
    assert len(pool.records) == AT_FIRST and not pool.is_at_end
    pool.fill(most=10)
    assert next(counted) == AT_FIRST, "nothing more was read"
    pool.fill()
    assert len(pool.records) == 5 * AT_FIRST
    pool.fill(set(list(pool.records)[:3000]).__contains__)
    assert len(pool.records) == 8 * AT_FIRST, "as many wait as before"


def test_equal_sentences_come_once():
    pool = Pool([Sentence(["a", "b"]), Sentence(["a b"]), Sentence(["a", "b"]), Sentence([])])
    pool.fill()
    assert [record.tokens for record in pool.records.values()] == [["a", "b"], ["a b"]]
    assert pool.is_at_end
    assert next(iter(pool.records)) == key_of(["a", "b"])


def test_a_mistake_in_the_middle_ends_the_pool_there():
    def broken(count):
        yield from sentences(count)
        raise DataError("not valid JSON", where="pool, line 9")

    pool = Pool(broken(3))
    pool.fill()
    assert len(pool.records) == 3 and pool.is_at_end and pool.problem == "pool, line 9: not valid JSON"
    with pytest.raises(DataError):
        Pool(broken(0)).fill()


def test_sentences_of_a_text_know_what_is_around_them(tmp_path):
    one, two = of_file(tmp_path, "Anna lives in Oslo. She is 😀 there.\n", "pool.txt", format="text")
    assert one.tokens == ["Anna", "lives", "in", "Oslo", "."] and two.tokens == ["She", "is", "😀", "there", "."]
    assert one.text is two.text
    assert two.where == "pool.txt, line 1"


def test_records_keep_their_fields_and_their_spans_with_probabilities(tmp_path):
    spans = [{"start": 0, "end": 4, "label": "PER", "probability": 0.75}, {"start": 14, "end": 18, "label": "LOC"}]
    record = {"text": "Anna lives in Oslo", "spans": spans, "id": 3, "answer": None, "unsure": []}
    (only,) = of_file(tmp_path, json.dumps(record) + "\n")
    assert only.spans == (Span("PER", 0, 1), Span("LOC", 3, 4))
    assert only.probabilities == {Span("PER", 0, 1): 0.75}
    assert only.fields == {"id": 3}


@pytest.mark.parametrize(
    "labels, spans",
    [
        (["B-PER", "I-PER"], (Span("PER", 0, 2),)),
        (["B-PER", "E-PER"], (Span("PER", 0, 2),)),
        (["NN", "VB"], None),
        (["O", "O"], None),
    ],
)
def test_labels_of_columns_are_proposals_if_they_are_spans(tmp_path, labels, spans):
    lines = "".join(f"w{number}\t{label}\n" for number, label in enumerate(labels))
    (only,) = of_file(tmp_path, lines, "pool.conll", format="conll")
    assert only.spans == spans and only.text == "w0 w1"


def test_a_scheme_is_recognised_when_the_first_label_comes():
    plain = list(sentences(AT_FIRST, labels=["O", "O"]))
    pool = Pool([*plain, Sentence(["New", "York"], labels=["B-LOC", "E-LOC"])])
    pool.fill()
    assert list(pool.records.values())[-1].spans == (Span("LOC", 0, 2),)


def test_reviewed_sentences_with_the_same_words_are_told_apart(tmp_path):
    lines = "".join(json.dumps({"tokens": ["a"], "spans": [], "sentence": number}) + "\n" for number in (4, 9, 4))
    assert len(of_file(tmp_path, lines, identity=REVIEWED)) == 2
    assert len(of_file(tmp_path, lines)) == 1

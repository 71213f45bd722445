"""Columns of text: what is answered about each row is what ``tagger.tag`` answers about its text."""

from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import postil
from oracles.corpora import named_entities, parts_of_speech
from postil.errors import ConfigurationError, DataError, UnspacedTextWarning
from postil.integrations import arrow
from postil.integrations import arrow as column_answers
from postil.models.decoding.posteriors import Posteriors
from postil.text.offsets import utf8_offsets, utf16_offsets

pytestmark = pytest.mark.extra("pyarrow")

X, Y = named_entities(40)
TEXTS = ["Anna lives in Oslo. Bob left.", None, "", "  ", "😀 é Anna met Ünal in Oslo!\n\nLima", "no names here"]


@cache
def tagger_of(kind):
    labels = {"bio": Y, "iob1": named_entities(40, scheme="iob1")[1], "words": parts_of_speech(40)[1]}[kind]
    return postil.Tagger(hidden=12, word_dim=8, epochs=3, rate=0.02).fit(X, labels)


@pytest.fixture(params=[True, False], ids=["fast", "general"])
def path(request, monkeypatch):
    if not request.param:
        monkeypatch.setattr(Posteriors, "takes_cells", False)


def table(texts):
    import pyarrow as pa

    return pa.array(texts, pa.string())


COUNTS = {"characters": lambda text, offsets: offsets, "utf16": utf16_offsets, "bytes": utf8_offsets}


def rows_of(spans, text, units):
    """(start, end, label, probability) by units, from objects with characters."""
    counted = COUNTS[units](text, [place for span in spans for place in span[:2]])
    return [
        (int(counted[2 * i]), int(counted[2 * i + 1]), label, None if p is None else pytest.approx(p, abs=2e-6))
        for i, (_, _, label, p) in enumerate(spans)
    ]


def expected(tagger, text, part, units="characters"):
    if text is None:
        return None
    document = tagger.tag(text)
    if part == "entities":
        return rows_of([(e.start, e.end, e.label, e.probability) for e in document.entities], text, units)
    if part == "labels":
        return [label for sentence in document.sentences for label in sentence.labels]
    answers = tagger.answers(document.sentences)
    if part == "sentences":
        spans = [
            (s.starts[0], s.ends[-1], None, a.probability) for s, a in zip(document.sentences, answers, strict=True)
        ]
        return rows_of(spans, text, units)
    _, figures = tagger.predict_with_probabilities([s.tokens for s in document.sentences])
    spans = [
        (*place, float(p))
        for s, of_sentence in zip(document.sentences, figures, strict=True)
        for *place, p in zip(s.starts, s.ends, s.labels, of_sentence, strict=True)
    ]
    return rows_of(spans, text, units)


def rows(answer, part):
    """What a column says, as ``expected`` does."""
    if part == "labels":
        return answer.to_pylist()
    return [
        None if of_text is None else [(a["start"], a["end"], a.get("label"), a["probability"]) for a in of_text]
        for of_text in answer.to_pylist()
    ]


hostile = st.lists(
    st.one_of(
        st.none(),
        st.lists(st.sampled_from(["Anna lives in Oslo.", "Ünal", "😀", "", "\n\n", "Oslo", "é", "\0", "x" * 50])).map(
            " ".join
        ),
        st.text(st.characters(codec="utf-8"), max_size=30),
    ),
    max_size=10,
)


@pytest.mark.filterwarnings("ignore::postil.errors.UnspacedTextWarning")
@pytest.mark.parametrize("kind", ["bio", "iob1", "words"])
@given(
    texts=hostile,
    part=st.sampled_from(column_answers.PARTS),
    units=st.sampled_from(column_answers.UNITS),
    batch=st.sampled_from([1, 40, 1 << 19]),
    fast=st.booleans(),
    threads=st.sampled_from([1, 2]),
)
@settings(deadline=None, max_examples=60)
def test_every_row_is_what_the_tagger_says(kind, texts, part, units, batch, fast, threads):
    tagger = tagger_of(kind)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(arrow, "BATCH", batch)
        if not fast:
            patch.setattr(Posteriors, "takes_cells", False)
        answer = arrow.tag(table(texts), tagger, parts=part, offsets=units, threads=threads)
    answer.validate(full=True)
    assert rows(answer, part) == [expected(tagger, text, part, units) for text in texts]


def test_the_types_are_those_of_the_page(path):
    import pyarrow as pa

    tagger, label = tagger_of("bio"), pa.dictionary(pa.int32(), pa.string())
    place = [("start", pa.int32()), ("end", pa.int32())]
    span = pa.struct([*place, ("label", label), ("probability", pa.float32())])
    for texts in (TEXTS, [], [None], ["", ""]):
        column = table(texts)
        assert arrow.tag(column, tagger).type == pa.list_(span) == arrow.tag(column, tagger, parts="tokens").type
        assert arrow.tag(column, tagger, parts="labels").type == pa.list_(label)
        sentence = pa.struct([*place, ("probability", pa.float32())])
        assert arrow.tag(column, tagger, parts="sentences").type == pa.list_(sentence)
    assert rows(arrow.tag(table(TEXTS), tagger), "entities")[1:4] == [None, [], []]


def test_labels_without_spans_answer_tokens():
    tagger = tagger_of("words")
    assert arrow.tag(table(TEXTS), tagger).equals(arrow.tag(table(TEXTS), tagger, parts="tokens"))
    assert arrow.tag(table(TEXTS), tagger, parts="entities").to_pylist() == [[], None, [], [], [], []]


def test_all_forms_of_a_column_answer_the_same(path):
    import pyarrow as pa

    tagger, column = tagger_of("bio"), table(TEXTS)
    plain = arrow.tag(column, tagger)
    forms = [column.cast(pa.large_string()), column.cast(pa.string_view()), column.dictionary_encode()]
    for form in forms:
        assert arrow.tag(form, tagger).equals(plain)
    chunked = pa.chunked_array([column[:2], column[2:2], column[2:]])
    answer = arrow.tag(chunked, tagger)
    assert answer.to_pylist() == plain.to_pylist() and [len(chunk) for chunk in answer.chunks] == [2, 0, 4]
    batch = pa.record_batch({"id": range(6), "body": column})
    assert arrow.tag(batch, tagger, "body").equals(plain)
    assert arrow.tag(pa.Table.from_batches([batch]), tagger, column="body").equals(pa.chunked_array([plain]))
    assert arrow.tag(column[3:], tagger).equals(plain[3:])
    assert arrow.tag(pa.nulls(2), tagger).to_pylist() == [None, None]
    empty = arrow.tag(pa.chunked_array([], pa.string()), tagger)
    assert len(empty) == 0 and empty.type == plain.type


def test_bytes_under_a_null_are_not_read(path):
    import pyarrow as pa

    content, places = pa.py_buffer(b"AnnaOsloAnna"), pa.py_buffer(np.array([0, 4, 8, 12], np.int32))
    column = pa.Array.from_buffers(pa.string(), 3, [pa.py_buffer(bytes([0b101])), places, content])
    assert column.to_pylist() == ["Anna", None, "Anna"]
    assert arrow.tag(column, tagger_of("bio"), parts="tokens").to_pylist()[1] is None
    labels = arrow.tag(column, tagger_of("bio"), parts="labels")
    assert [len(one or "") for one in labels.to_pylist()] == [1, 0, 1] and len(labels.flatten()) == 2


def test_several_parts_come_together():
    import pyarrow as pa

    tagger = tagger_of("bio")
    both = arrow.tag(table(TEXTS), tagger, parts=["entities", "labels"])
    assert both.type.names == ["entities", "labels"] and both.to_pylist()[1] is None
    given_table = pa.table({"text": table(TEXTS), "labels": range(6)})
    added = arrow.tag_table(given_table, tagger, parts=["entities", "labels"])
    assert added.column_names == ["text", "labels", "entities"]
    for part in ("entities", "labels"):
        assert added[part].to_pylist() == arrow.tag(table(TEXTS), tagger, parts=part).to_pylist()
    with pytest.raises(ConfigurationError, match="the answers 'labels' would replace the texts"):
        arrow.tag_table(given_table, tagger, "labels", parts="labels")


def test_thresholds_and_model_files(names_model):
    everything, some = (arrow.tag(table([" ".join(x) for x in X]), names_model, threshold=t) for t in (None, 0.9))
    kept = [[e for e in row if e["probability"] >= 0.9] for row in everything.to_pylist()]
    assert some.to_pylist() == kept and sum(map(len, kept)) < len(everything.flatten())
    tagger = postil.load(names_model)
    lowest = {"PER": 0.0, "LOC": 1.0}
    labels = {e["label"] for row in arrow.tag(table(TEXTS), tagger, threshold=lowest).to_pylist() for e in row or ()}
    assert labels == {"PER"}


@pytest.mark.extra("pandas")
def test_pandas_keeps_its_index():
    import pandas as pd

    tagger = tagger_of("bio")
    plain = arrow.tag(table(TEXTS), tagger).to_pylist()
    frame = pd.DataFrame({"text": TEXTS}, index=[f"row {i}" for i in range(6)])
    for given_data in (frame, frame["text"], frame["text"].astype(object), frame["text"].astype("category")):
        answer = arrow.tag(given_data, tagger)
        assert list(answer.index) == list(frame.index) and answer.isna().tolist() == frame["text"].isna().tolist()
        assert [None if answer.isna().iloc[i] else answer.iloc[i] for i in range(6)] == plain
    assert arrow.tag(frame["text"], tagger).name == "text"
    frame["entities"] = arrow.tag(frame, tagger)
    assert len(arrow.tag(frame[:0], tagger)) == 0
    with pytest.raises(DataError, match="the column to tag: expected strings"):
        arrow.tag(pd.Series(["Anna", 1]), tagger)


@pytest.mark.extra("polars")
def test_polars_goes_through_arrow():
    import polars as pl

    tagger = tagger_of("bio")
    plain = arrow.tag(table(TEXTS), tagger).to_pylist()
    frame = pl.DataFrame({"text": TEXTS})
    answer = arrow.tag(frame["text"], tagger)
    assert isinstance(answer, pl.Series) and answer.name == "text" and answer.to_list() == plain
    assert arrow.tag(frame, tagger).to_list() == plain
    assert arrow.tag(frame["text"].cast(pl.Categorical), tagger).to_list() == plain
    lazy = frame.lazy().with_columns(entities=pl.col("text").map_batches(lambda s: arrow.tag(s, tagger)))
    assert lazy.collect()["entities"].to_list() == plain


def test_other_libraries_go_through_the_arrow_interface():
    import pyarrow as pa

    class Exports:
        def __init__(self, data):
            self.data = data

    class Stream(Exports):
        def __arrow_c_stream__(self, requested_schema=None):
            return self.data.__arrow_c_stream__(requested_schema)

    class OneArray(Exports):
        def __arrow_c_array__(self, requested_schema=None):
            return self.data.__arrow_c_array__(requested_schema)

    tagger, column = tagger_of("bio"), table(TEXTS)
    plain = arrow.tag(column, tagger).to_pylist()
    batch = pa.record_batch({"text": column})
    for data in (pa.chunked_array([column]), pa.Table.from_batches([batch])):
        assert arrow.tag(Stream(data), tagger).to_pylist() == plain
    for data in (column, batch):
        assert arrow.tag(OneArray(data), tagger).to_pylist() == plain


def test_labels_that_may_break_their_scheme():
    loose = postil.Tagger(hidden=4, epochs=1, constrained=False).fit(X, Y)
    for part in ("entities", "tokens"):
        column = arrow.tag(table(TEXTS), loose, parts=part)
        assert rows(column, part) == [expected(loose, text, part) for text in TEXTS]


def test_detectors_have_no_probabilities():
    detector = postil.Detector(label="PER", epochs=1).fit(X, Y)
    answer = arrow.tag(table(TEXTS), detector)
    for text, of_text in zip(TEXTS, answer.to_pylist(), strict=True):
        entities = None if text is None else [(e.start, e.end, e.label) for e in detector.tag(text).entities]
        assert (of_text and [(e["start"], e["end"], e["label"]) for e in of_text]) == entities or not entities
        assert all(e["probability"] is None for e in of_text or ())
    assert any(of_text for of_text in answer.to_pylist())
    for text, labels in zip(TEXTS, arrow.tag(table(TEXTS), detector, parts="labels").to_pylist(), strict=True):
        tagged = None if text is None else [label for one in detector.tag(text).sentences for label in one.labels]
        assert labels == tagged


def test_unspaced_text_is_told(path):
    with pytest.warns(UnspacedTextWarning, match="text without spaces"):
        arrow.tag(table(["Anna", "東京都に住んでいる山田さんは、大阪に行きました。" * 2]), tagger_of("bio"))


def test_mistakes_are_told():
    import pyarrow as pa

    tagger, column = tagger_of("bio"), table(TEXTS)
    with pytest.raises(DataError, match=r"^no column 'text' \(choose one of the columns id, body\)$"):
        arrow.tag(pa.table({"id": [1], "body": ["a"]}), tagger)
    with pytest.raises(DataError, match=r"^several columns 'text': expected one$"):
        arrow.tag(pa.Table.from_arrays([column, column], names=["text", "text"]), tagger)
    with pytest.raises(DataError, match=r"^the column to tag: expected strings, got int64$"):
        arrow.tag(pa.array([1, 2]), tagger)
    broken = pa.Array.from_buffers(
        pa.string(), 1, [None, pa.py_buffer(np.array([0, 2], np.int32)), pa.py_buffer(b"\xff\xff")]
    )
    with pytest.raises(DataError, match=r"^the column to tag: expected strings in UTF-8"):
        arrow.tag(broken, tagger)
    with pytest.raises(
        DataError, match=r"^data to tag: expected an Arrow, pandas or Polars column or table, got a list"
    ):
        arrow.tag(["Anna"], tagger)
    with pytest.raises(DataError, match=r"^a table to tag: expected an Arrow Table or RecordBatch"):
        arrow.tag_table(column, tagger)
    with pytest.raises(ConfigurationError, match=r"^parts must be some of entities, tokens, labels, sentences"):
        arrow.tag(column, tagger, parts="words")
    with pytest.raises(ConfigurationError, match=r"^parts must be some of"):
        arrow.tag(column, tagger, parts=[])
    with pytest.raises(ConfigurationError, match=r"^offsets must be characters, utf16 or bytes"):
        arrow.tag(column, tagger, offsets="utf8")
    with pytest.raises(ConfigurationError, match=r"^threads must be at least 1"):
        arrow.tag(column, tagger, threads=0)
    with pytest.raises(ConfigurationError, match=r"^model must be a Tagger, a MultiTaskTagger, a Detector or"):
        arrow.tag(column, postil.TreeClassifier())
    with pytest.raises(ConfigurationError):
        arrow.tag(column, tagger, threshold=2.0)

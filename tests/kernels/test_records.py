"""The kernel that writes labelled texts as JSON Lines against its twin, and its decimals against Python's."""

import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oracles import columns as plain_columns
from oracles import records as plain
from postil.errors import IndexRangeError, ShapeError
from postil.kernels import Records
from postil.kernels.plain_records import UNITS
from postil.text.splitting.segmenter import Segmenter

compiled = pytest.importorskip("postil.kernels.compiled_text", reason="the kernels were not compiled here")

BOTH = pytest.mark.parametrize("module", [plain, compiled], ids=["plain", "compiled"])
SEGMENTER = Segmenter()
ODD = 'a"\\\b\f\n\r\t\x00\x01\x1f\x7f\x85\u2028\u2029\u2027\u202aé中😀. '
shares = st.one_of(
    st.floats(0, 1),
    st.integers(0, 2_000_001).map(lambda n: n / 2e6),  # half-way between two decimals, more or less
    st.integers(0, 200_001).map(lambda n: float(np.nextafter(n / 2e5, 1))),
    st.integers(0, 300).map(lambda n: n / 2e6),
    st.integers(0, 64).map(lambda n: n / 64),  # exactly half-way
)


@st.composite
def records(draw):
    texts = draw(st.lists(st.text(st.sampled_from(ODD) | st.characters(exclude_categories=["Cs"]), max_size=30)))
    text = "".join(texts).encode()
    ends = np.cumsum([0, *(len(part.encode()) for part in texts)])
    segments = SEGMENTER.cells(text, documents=np.stack([ends[:-1], ends[1:]], axis=1))
    N, B = len(segments.cells), len(segments.offsets) - 1
    names = draw(st.lists(st.text('PER"\\é\u2028', max_size=4), min_size=1, max_size=3))
    figures = lambda n: np.array(draw(st.lists(shares, min_size=n, max_size=n)), np.float64)  # noqa: E731
    probable = draw(st.booleans())
    answers = {}
    if draw(st.booleans()):
        answers["labels"] = np.array(draw(st.lists(st.integers(0, len(names) - 1), min_size=N, max_size=N)), np.int64)
        answers["figures"] = figures(N) if probable else None
    else:
        answers["spans"] = spans = _spans(draw, segments.offsets, len(names))
        answers["probabilities"] = figures(len(spans)) if probable else None
        answers["groups"] = draw(st.sampled_from([None, [f'"{name}\n' for name in names]]))
    fields = [draw(st.sampled_from([b"", b', "id": 1', ', "ü": "ö"'.encode()])) for _ in texts]
    return Records(
        text=text,
        documents=np.stack([ends[:-1], ends[1:]], axis=1),
        tokens=segments.documents,
        cells=segments.cells,
        sentences=segments.offsets,
        names=names,
        whole=figures(B) if probable else None,
        fields=fields if draw(st.booleans()) else None,
        units=draw(st.sampled_from(UNITS)),
        **draw(st.sampled_from([{}, {"lists_tokens": True}, {"has_layers": True}, {"is_layer": True}])),
        **answers,
    )


def _spans(draw, offsets, classes):
    """Inside of sentences, in their order; some overlap."""
    spans = []
    for low, high in zip(offsets[:-1].tolist(), offsets[1:].tolist(), strict=True):
        edges = st.lists(st.integers(low, high), min_size=2, max_size=2, unique=True).map(sorted)
        pairs = sorted(draw(st.lists(edges, max_size=4))) if high > low else []
        spans += [(*pair, draw(st.integers(0, classes - 1))) for pair in pairs]
    return np.array(spans, np.int64).reshape(-1, 3)


@pytest.mark.slow
@given(records())
def test_both_write_the_same(given_records):
    expected = plain.write_records(given_records)
    assert compiled.write_records(given_records) == expected
    assert expected.count(b"\n") == len(given_records.documents)
    for line, (first, end) in zip(expected.split(b"\n"), given_records.documents.tolist(), strict=False):
        if given_records.is_layer:
            assert json.loads(b'{"text": ""%b}' % line)
            continue
        fields = json.loads(line)
        assert fields["text"] == given_records.text[first:end].decode()
        for span in fields.get("spans", []):
            start, end = (_characters(fields["text"], span[edge], given_records.units) for edge in ("start", "end"))
            assert "text" not in span or fields["text"][start:end] == span["text"]


def _characters(text, place, units):
    """The number of characters before a place that counts other units."""
    encoding, size = {"characters": ("utf-32-le", 4), "utf16": ("utf-16-le", 2), "bytes": ("utf-8", 1)}[units]
    return len(text.encode(encoding)[: size * place].decode(encoding))


@pytest.mark.slow
@given(records(), st.integers(1, 60))
def test_there_is_never_too_little_room(given_records, room):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(compiled, "_first_room", lambda *_: room)
        assert compiled.write_records(given_records) == plain.write_records(given_records)


@given(st.lists(shares, min_size=1, max_size=20))
def test_decimals_are_those_of_python(values):
    N, cells = len(values), np.zeros((len(values), 2), np.int64)
    columns, _ = compiled.write_rows(
        b"", cells, np.array([0, N]), np.zeros((N, 1), np.int64), [b"O"], np.array(values)[:, None]
    )
    assert columns.decode() == "".join(f"\t{value:.4f}\tO\n" for value in values) + "\n"
    assert (
        plain_columns.write_rows(
            b"", cells, np.array([0, N]), np.zeros((N, 1), np.int64), [b"O"], np.array(values)[:, None]
        )[0]
        == columns
    )
    text = "a" * N
    cells = np.stack([np.arange(N), np.arange(1, N + 1)], axis=1)
    one = Records(
        text=text.encode(),
        documents=np.array([[0, N]]),
        tokens=np.array([0, N]),
        cells=cells,
        sentences=np.arange(N + 1),
        names=["X"],
        spans=np.zeros((0, 3), np.int64),
        whole=np.array(values),
    )
    shown = ", ".join(repr(round(value, 6)) for value in values)
    assert f'"labelling_probabilities": [{shown}]}}\n'.encode() in compiled.write_records(one)


def one_record(**changes):
    given_records = Records(
        text="“Oslo” ü".encode(),
        documents=np.array([[0, 13]]),
        tokens=np.array([0, 4]),
        cells=np.array([[0, 3], [3, 7], [7, 10], [11, 13]]),
        sentences=np.array([0, 3, 4]),
        names=["LOC"],
        spans=np.array([[1, 2, 0]]),
        probabilities=np.array([0.25]),
        whole=np.array([1.0, 0.00005]),
    )
    return replace(given_records, **changes)


@BOTH
def test_by_hand(module):
    assert module.write_records(one_record()).decode() == (
        '{"text": "“Oslo” ü", "spans": [{"start": 1, "end": 5, "label": "LOC", "text": "Oslo", "probability": 0.25}], '
        '"labelling_probabilities": [1.0, 5e-05]}\n'
    )
    words = one_record(spans=None, probabilities=None, whole=None, labels=np.array([0, 0, 0, 0]), fields=[b', "id": 7'])
    assert json.loads(module.write_records(words)) == {
        "text": "“Oslo” ü",
        "labels": ["LOC"] * 4,
        "id": 7,
        "tokens": [
            {"text": text, "start": start, "end": end, "id": number, "label": "LOC"}
            for number, (text, start, end) in enumerate([("“", 0, 1), ("Oslo", 1, 5), ("”", 5, 6), ("ü", 7, 8)])
        ],
    }


@BOTH
@pytest.mark.parametrize(
    "changes",
    [
        {"spans": np.array([[1, 2, 1]])},
        {"spans": np.array([[1, 1, 0]])},
        {"spans": np.array([[3, 5, 0]])},
        {"spans": np.array([[-1, 2, 0]])},
        {"spans": np.array([[2, 3, 0], [1, 3, 0]]), "probabilities": None},
        {"probabilities": np.array([2.0])},
        {"probabilities": np.array([-0.1])},
        {"whole": np.array([np.nan, 0.5])},
        {"documents": np.array([[0, 14]])},
        {"cells": np.array([[0, 3], [3, 7], [5, 10], [11, 13]])},
        {"cells": np.array([[0, 3], [3, 7], [7, 10], [11, 14]])},
        {"labels": np.array([0, 0, 0, 1]), "spans": None, "probabilities": None},
        {"fields": []},
    ],
)
def test_what_does_not_fit_is_refused(module, changes):
    with pytest.raises(IndexRangeError):
        module.write_records(one_record(**changes))


@BOTH
def test_wrong_shapes(module):
    for changes in ({"tokens": np.array([0, 5])}, {"whole": np.ones(3)}, {"spans": np.zeros((1, 4), np.int64)}):
        with pytest.raises(ShapeError):
            module.write_records(one_record(**changes))

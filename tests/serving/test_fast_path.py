"""The fast path: the bytes of the general path, and a clear rule for when it is taken."""

import io

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import postil
from oracles.corpora import as_conll, named_entities, parts_of_speech
from postil.errors import PostilError
from postil.serving import Labeller, TaggingOptions, fast_path, general_path, labelled
from postil.serving.fast_path import FastPath
from postil.text import lines, read
from postil.text.options import ReadOptions

X, Y = named_entities(30)


def trained(path, labels=Y, **settings):
    tagger = postil.Tagger(**{"preset": "fast", "hidden": 16, "word_dim": 12, "epochs": 3, "rate": 0.02} | settings)
    tagger.fit(X, labels).save(path)
    return path


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return trained(tmp_path_factory.mktemp("models") / "ner.postil")


@pytest.fixture(scope="module")
def both(model):
    labeller = Labeller(postil.load(model), TaggingOptions())
    labeller.fast = FastPath(labeller.model, ReadOptions(features=()))
    return labeller


@pytest.fixture(autouse=True)
def small(monkeypatch):
    monkeypatch.setattr(labelled, "BLOCK_TOKENS", 20)
    monkeypatch.setattr(fast_path, "PAYS", True)  # the same results without a compiler


def outcome(label, data, size, format="conll"):
    """What is written and what is said, and for how many passages."""
    content, tokens, long, passages = b"", 0, [], 0
    try:
        with read(io.BytesIO(data), format, features=()) as reading:
            for passage in reading.passages(size):
                answer = label(passage)
                content += answer.content
                tokens, passages = tokens + answer.tokens, passages + 1
                long += answer.long_sentences
                if answer.mistake is not None:
                    raise answer.mistake
    except PostilError as error:
        return content, tokens, long, passages, str(error)
    return content, tokens, long, passages, None


def check(both, data, size):
    for format in ("conll", "tokens"):
        assert outcome(both.label, data, size, format) == outcome(both.general.label, data, size, format)


ROWS = ["Anna\tO", "lives\tO", "Oslo\tB-LOC", "é\tO", "#\tO", "#tag\tO", "- \tO", "\tO", "", "", "", " \t", "# said"]
ROWS += ["-DOCSTART-\tO", "-DOCSTART-", "#begin document", "# annotates: PER", "a b\t O", "x" * 1200 + "\tO"]
SPACED = ["Anna O", "lives  O", " Oslo B-LOC ", "# said so", "#tag O", "- O", "", "", "-DOCSTART- O", "a \t O"]
BROKEN = ["one", "a\tb\tc", "a\t", "a\0\tO", "x\tO\n-DOCSTART-\tO", "# Anna O"]
kinds = st.one_of(*(st.sampled_from(kind) for kind in (ROWS, ROWS[:3], SPACED, SPACED[:3], BROKEN)))
hostile = st.builds(
    lambda rows, end, mark, last, bad, place: _broken(mark + end.join(rows) + end * last, bad, place),
    st.one_of(
        st.lists(st.sampled_from(ROWS), max_size=60),
        st.lists(st.sampled_from(SPACED), max_size=60),
        st.lists(kinds, max_size=60),
    ),
    st.sampled_from(["\n", "\r\n", "\r"]),
    st.sampled_from(["", "\ufeff"]),
    st.booleans(),
    st.sampled_from([b"", b"", b"\xff", b"\xc3", b"\0"]),
    st.integers(0, 300),
)


def _broken(text, bad, place):
    data = text.encode()
    return data[:place] + bad + data[place:] if bad else data


@given(hostile, st.integers(0, 120), st.sampled_from([1, 7, 1 << 18]))
@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_the_same_bytes_the_same_mistakes(both, data, size, piece):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lines, "PIECE", piece)
        check(both, data, size)


@given(st.lists(st.sampled_from(b"a#- \t\n\r\xc3\xa9O"), max_size=60).map(bytes), st.integers(0, 30))
@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_the_same_on_noise(both, data, size):
    check(both, data, size)


def test_plain_files_take_the_fast_path(both, monkeypatch):
    data = ("-DOCSTART-\tO\n\n" + as_conll(X, Y)).encode() + b"# kept\n\n# too\nAnna\tO\n\n"
    expected = outcome(both.general.label, data, 150)
    monkeypatch.setattr(both, "general", None)
    assert outcome(both.label, data, 150) == expected
    assert expected[0].startswith(b"-DOCSTART-\tO\n\n") and expected[0].endswith(b"# kept\n# too\nAnna\tB-PER\n\n")


def test_very_long_sentences_are_noted(both, monkeypatch):
    for path in (fast_path, general_path):
        monkeypatch.setattr(path, "LONGEST_VIEW", 5)
    data = b"Anna\tO\n" * 9 + b"\nOslo\tO\n"
    assert outcome(both.label, data, 1000)[1:] == (10, [9], 1, None)
    check(both, data, 1000)


@pytest.mark.parametrize(
    ("options", "taken"),
    [
        ({}, True),
        ({"output": "conll"}, True),
        ({"reading": ReadOptions(features=(), label=None)}, True),
        ({"output": "jsonl"}, False),
        ({"probabilities": True}, False),
        ({"threshold": 0.5}, False),
        ({"threshold": 0.0}, False),
        ({"class_thresholds": {"LOC": 0.5}}, False),
        ({"constraints": postil.Constraints(force=[(0, 4, None)])}, False),
        ({"output": "jsonl", "nbest": 2}, False),
        ({"output": "jsonl", "all_above": 0.5}, False),
        ({"reading": ReadOptions(features=(1,))}, False),
    ],
)
def test_which_options_it_is_taken_for(model, options, taken):
    assert (FastPath.of(postil.load(model), TaggingOptions(**options)) is not None) == taken


@pytest.mark.parametrize(
    ("labels", "settings", "taken"),
    [
        (Y, {"preset": "accurate", "layers": 2}, True),
        (named_entities(30, scheme="iob1")[1], {}, True),
        (Y, {"preset": "linear-crf"}, True),
        (Y, {"preset": "average-softmax"}, True),
        (parts_of_speech(30)[1], {}, True),
        (Y, {"constrained": False}, False),
    ],
    ids=["accurate", "iob1", "linear-crf", "average-softmax", "no scheme", "unconstrained"],
)
def test_which_models_it_is_taken_for(tmp_path, labels, settings, taken):
    both = Labeller(postil.load(trained(tmp_path / "m.postil", labels, **settings)), TaggingOptions())
    assert (both.fast is not None) == taken
    check(both, as_conll(X, Y).encode(), 300)


def test_detectors_and_gazetteers_take_the_general_path(tmp_path):
    (tmp_path / "places.txt").write_text("Oslo\n")
    path = trained(tmp_path / "m.postil", gazetteers=[tmp_path / "places.txt"])
    assert FastPath.of(postil.load(path), TaggingOptions()) is None
    postil.Detector(label="PER", epochs=1).fit(X, Y).save(tmp_path / "d.postil")
    assert FastPath.of(postil.load(tmp_path / "d.postil"), TaggingOptions()) is None

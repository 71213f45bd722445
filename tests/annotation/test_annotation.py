"""What a person is asked, what becomes of the answers, and what is learnt from them. Without a browser."""

import json
import shutil
import tempfile
import threading
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

import postil
from oracles import corpora
from postil.annotation import REVIEWED, Answer, Journal, Pool, key_of
from postil.annotation.annotation import Annotation, checked_class, curve_of
from postil.errors import DataError
from postil.text import Sentence, Span, labels_from_spans, read, spans_from_labels

X, Y = corpora.named_entities(60)
SPANS = {key_of(tokens): spans_from_labels(labels, "bio") for tokens, labels in zip(X, Y, strict=True)}


def pool_of(tokens=X, **options):
    return Pool([Sentence(list(words)) for words in tokens], **options)


@pytest.fixture
def journal(tmp_path):
    with Journal(tmp_path / "answers.jsonl") as journal:
        yield journal


@pytest.fixture(scope="module")
def tagger():
    return postil.Tagger(hidden=16, epochs=4, rate=0.02).fit(X, Y)


def learnt(annotation):
    """Train now, in this thread."""
    tagger, fitting = annotation.new_training()
    for _ in fitting:
        pass
    return annotation.use(tagger)


def answer_gold(annotation, count=1):
    for _ in range(count):
        key = annotation.next()["key"]
        annotation.answer(key, SPANS[key])


# ------------------------------------------------------------------------------------------------ from nothing


def test_from_nothing_records_come_in_the_order_of_the_pool(journal):
    annotation = Annotation(pool_of([["a", "b"], ["c"]]), journal, classes=["PER"])
    record = annotation.next()
    assert record["words"] == ["a", "b"] and record["gaps"] == [" "] and record["spans"] == []
    assert not record["answered"]
    annotation.answer(record["key"], [Span("PER", 0, 1), Span("LOC", 1, 2)])
    assert annotation.classes == ["PER", "LOC"]
    assert annotation.next()["words"] == ["c"]
    annotation.answer(annotation.next()["key"], is_skipped=True)
    assert annotation.next() is None
    progress = annotation.progress()
    assert (progress["answered"], progress["skipped"], progress["spans"], progress["waiting"]) == (1, 1, 2, 0)
    assert not annotation.is_due() and not annotation.learns


def test_the_answers_can_be_trained_on(journal):
    annotation = Annotation(pool_of(), journal, classes=["PER", "LOC"])
    answer_gold(annotation, len(SPANS))
    with read(str(journal.path)) as reading:
        labels = {key_of(sentence.tokens): sentence.labels for sentence in reading}
    assert labels == {key_of(tokens): list(gold) for tokens, gold in zip(X, Y, strict=True)}


@pytest.mark.parametrize(
    "spans, message",
    [
        ([Span("PER", 0, 0)], "a span must be within the 2 words"),
        ([Span("PER", -1, 1)], "a span must be within the 2 words"),
        ([Span("PER", 1, 3)], "a span must be within the 2 words"),
        ([Span("PER", 1, 2), Span("PER", 0, 2)], "spans must not overlap"),
        ([Span("O", 0, 1)], "a class must be a name"),
        ([Span("a|b", 0, 1)], "a class must be a name"),
        ([Span("", 0, 1)], "a class must be a name"),
        ([Span("a b", 0, 1)], "a class must be a name"),
        ([Span("x" * 101, 0, 1)], "a class must be a name"),
    ],
)
def test_impossible_answers_are_refused_and_change_nothing(journal, spans, message):
    annotation = Annotation(pool_of([["a", "b"]]), journal)
    key = annotation.next()["key"]
    with pytest.raises(DataError, match=message):
        annotation.answer(key, spans)
    assert len(journal) == 0 and annotation.next()["key"] == key
    with pytest.raises(DataError, match="a record must be one of the pool"):
        annotation.answer("elsewhere")


def test_classes_may_have_any_letters():
    assert [checked_class(name) for name in ("Ort", "地名", "B-PER", "a_b.c")] == ["Ort", "地名", "B-PER", "a_b.c"]


# ------------------------------------------------------------------------------------------------ proposals


def test_only_what_a_model_is_unsure_of_is_asked_for(journal):
    tagger = postil.Tagger(hidden=8, epochs=2, rate=0.02).fit(X[:20], Y[:20])
    annotation = Annotation(pool_of(), journal, tagger=tagger, sure=0.6)
    states = set()
    for key in SPANS:
        record = annotation.shown(key)
        (entities,) = tagger.annotate([Sentence(record["words"])])
        best = {(one.start, one.end, one.label): one.probability for one in entities}
        for span in record["spans"]:
            place = span["start"], span["end"], span["label"]
            states.add(span["state"])
            if span["state"] == "maybe":
                assert place not in best and span["probability"] >= 0.3
            else:
                assert span["probability"] == pytest.approx(best.pop(place), abs=1e-4)
                assert (span["state"] == "sure") == (span["probability"] >= 0.6)
        assert not best
    assert states == {"sure", "asked", "maybe"}


def test_what_is_suggested_comes_first_and_then_all_others(journal, tagger, monkeypatch):
    monkeypatch.setattr("postil.annotation.annotation.AHEAD", 5)
    annotation = Annotation(pool_of(), journal, tagger=tagger)
    order = []
    while (record := annotation.next()) is not None:
        order.append(record["words"])
        annotation.answer(record["key"])
    assert order[:5] == [one.tokens for one in postil.suggest(tagger, X, 5)]
    assert sorted(order) == sorted(map(list, {tuple(tokens) for tokens in X}))
    assert Annotation(Pool([]), journal, tagger=tagger).next() is None


def test_of_what_suggest_has_written_only_the_unsure_is_asked_for(tmp_path, journal, tagger):
    suggestions = postil.suggest(tagger, X, 5)
    path = tmp_path / "next.jsonl"
    path.write_text("".join(json.dumps(one.record()) + "\n" for one in suggestions))
    with read(str(path)) as reading:
        annotation = Annotation(Pool(reading), journal)
        for one in suggestions:
            shown = annotation.next()
            assert shown["words"] == one.tokens
            expected = [(span.label, span.start, "sure" if span.probability >= 0.9 else "asked") for span in one.spans]
            assert [(span["label"], span["start"], span["state"]) for span in shown["spans"]] == expected
            annotation.answer(shown["key"])


def test_with_labels_only_those_classes_are_proposed(journal, tagger):
    annotation = Annotation(pool_of(), journal, tagger=tagger, classes=["PER"], estimator=postil.Tagger())
    assert annotation.classes == ["PER"]
    assert {span["label"] for key in SPANS for span in annotation.shown(key)["spans"]} == {"PER"}


def test_a_pool_brings_its_own_proposals(journal):
    labelled = [Sentence(list(words), labels=list(labels)) for words, labels in zip(X, Y, strict=True)]
    annotation = Annotation(Pool(labelled), journal)
    assert annotation.classes == ["LOC", "PER"]
    for key, spans in SPANS.items():
        shown = annotation.shown(key)["spans"]
        assert [(one["label"], one["start"], one["end"]) for one in shown] == [tuple(span) for span in spans]
        assert {one["state"] for one in shown} <= {"asked"}


# ------------------------------------------------------------------------------------------------ undo, back, restart


def test_undo_shows_the_record_again_with_what_was_said(journal):
    annotation = Annotation(pool_of([["a", "b"], ["c"], ["d"]]), journal)
    first = annotation.next()["key"]
    annotation.answer(first, [Span("PER", 0, 2)])
    second = annotation.next()["key"]
    annotation.answer(second, is_skipped=True)
    assert annotation.undo()["key"] == second
    record = annotation.undo()
    assert record["key"] == first and not record["answered"]
    assert record["spans"] == [{"label": "PER", "start": 0, "end": 2, "probability": None, "state": "sure"}]
    assert annotation.undo() is None and annotation.progress()["answered"] == 0
    assert annotation.next()["key"] == first, "asked again before all others"
    annotation.answer(first)
    assert annotation.next()["key"] == second


def test_an_earlier_answer_can_be_changed_and_that_undone(journal):
    annotation = Annotation(pool_of([["a"], ["b"], ["c"]]), journal)
    keys = []
    for label in ("PER", "LOC"):
        keys.append(annotation.next()["key"])
        annotation.answer(keys[-1], [Span(label, 0, 1)])
    assert annotation.answered(2)["key"] == keys[0] and annotation.answered(2)["answered"]
    assert annotation.answered(0) is None and annotation.answered(3) is None
    annotation.answer(keys[0], [Span("ORG", 0, 1)])
    assert annotation.answered(1)["spans"][0]["label"] == "ORG" and len(journal) == 2
    assert annotation.undo()["spans"][0]["label"] == "PER"
    assert annotation.answered(2)["spans"][0]["label"] == "PER" and len(journal) == 2


def test_a_restart_goes_on_where_it_was(tmp_path):
    asked = []
    for _ in range(4):
        with Journal(tmp_path / "answers.jsonl") as journal:
            annotation = Annotation(pool_of(), journal)
            for _ in range(3):
                asked.append(annotation.next()["key"])
                annotation.answer(asked[-1], [Span(f"C{len(asked)}", 0, 1)])
    assert asked == list(SPANS)[:12]
    with Journal(tmp_path / "answers.jsonl") as journal:
        annotation = Annotation(pool_of(reversed(X)), journal)
        assert annotation.next()["key"] == list(SPANS)[-1], "of a pool in another order, what was not answered"
        assert annotation.classes == sorted(f"C{number}" for number in range(1, 13))
        assert annotation.undo()["key"] == asked[-1]


def test_an_answer_outlives_its_pool(tmp_path):
    with Journal(tmp_path / "answers.jsonl") as journal:
        annotation = Annotation(pool_of([["a", "b"]]), journal)
        annotation.answer(annotation.next()["key"], [Span("PER", 0, 1)])
    with Journal(tmp_path / "answers.jsonl") as journal:
        annotation = Annotation(pool_of([["c"]]), journal)
        record = annotation.answered(1)
        assert record["words"] == ["a", "b"] and record["gaps"] == [" "]
        annotation.answer(record["key"], [Span("LOC", 0, 1)])
        assert annotation.undo()["spans"][0]["label"] == "PER"
        assert annotation.undo()["words"] == ["c"]


def test_known_records_are_not_asked_for(journal):
    annotation = Annotation(pool_of([["a"], ["b"]]), journal, known=frozenset([key_of(["a"])]))
    assert annotation.next()["words"] == ["b"]


def test_a_pool_larger_than_its_window_is_asked_to_its_end(journal, monkeypatch):
    monkeypatch.setattr("postil.annotation.annotation.AT_FIRST", 5)
    annotation = Annotation(pool_of([[str(number)] for number in range(23)], window=5), journal)
    seen = []
    while (record := annotation.next()) is not None:
        seen += record["words"]
        assert annotation.progress()["waiting"] <= 5
        annotation.answer(record["key"])
    assert seen == [str(number) for number in range(23)]


# ------------------------------------------------------------------------------------------------ learning


def test_learning_every_few_answers(journal):
    estimator = postil.Tagger(hidden=16, epochs=4, rate=0.02)
    annotation = Annotation(pool_of(), journal, estimator=estimator, classes=["PER", "LOC"], every=10)
    answer_gold(annotation, 9)
    assert not annotation.is_due() and annotation.progress()["until"] == 1
    annotation.answer(annotation.next()["key"], is_skipped=True)
    assert not annotation.is_due(), "nothing is learnt from what is skipped"
    answer_gold(annotation)
    assert annotation.is_due()
    learnt(annotation)
    assert not annotation.is_due() and annotation.progress()["round"] == 0
    assert any(annotation.shown(key)["spans"] for key in SPANS if key not in journal)
    assert annotation.curve() == {"points": [], "rounds": []}
    answer_gold(annotation, 10)
    (point,) = annotation.curve()["rounds"]
    assert (point["round"], point["answers"], point["records"]) == (0, 20, 10)
    learnt(annotation)
    answer_gold(annotation, 3)
    assert [point["round"] for point in annotation.curve()["rounds"]] == [0, 1]


def test_what_is_learnt_is_all_answers_and_the_given_data(journal):
    annotation = Annotation(
        pool_of(X[:30]), journal, estimator=postil.Tagger(hidden=8, epochs=1), labelled=(X[30:], Y[30:])
    )
    answer_gold(annotation, 5)
    annotation.answer(annotation.next()["key"], is_skipped=True)
    _, fitting = annotation.new_training()
    assert fitting.model.about["data"]["sentences"] == 35
    assert annotation.classes == ["LOC", "PER"]


def test_nothing_is_learnt_before_there_is_a_span(journal):
    annotation = Annotation(pool_of(), journal, estimator=postil.Tagger(), every=2)
    for _ in range(4):
        annotation.answer(annotation.next()["key"])
    assert not annotation.is_due()
    annotation.answer(annotation.next()["key"], [Span("PER", 0, 1)])
    assert annotation.is_due()


def test_a_given_model_is_trained_on_and_keeps_classes_that_are_not_labelled(journal, tagger):
    estimator = postil.Tagger(preset=tagger.preset, **tagger.settings)
    annotation = Annotation(pool_of(), journal, tagger=tagger, estimator=estimator, classes=["PER", "NEW"], every=3)
    for _ in range(3):
        key = annotation.next()["key"]
        annotation.answer(key, [span for span in SPANS[key] if span.label == "PER"] or [Span("NEW", 0, 1)])
    trained = learnt(annotation)
    assert set(trained.model.codec.classes) == {"LOC", "NEW", "PER"}
    assert trained.score(X, Y) > 0.5, "LOC is not forgotten"
    assert {span["label"] for key in SPANS for span in annotation.shown(key)["spans"]} <= {"PER", "NEW"}


def test_after_a_restart_the_answers_are_learnt_at_once(tmp_path):
    estimator = postil.Tagger(hidden=8, epochs=1)
    for is_due in (False, True):
        with Journal(tmp_path / "answers.jsonl") as journal:
            annotation = Annotation(pool_of(), journal, estimator=estimator, every=4)
            assert annotation.is_due() == is_due
            answer_gold(annotation, 4)


def test_answers_may_come_while_a_model_is_learnt(journal):
    annotation = Annotation(pool_of(), journal, estimator=postil.Tagger(hidden=8, epochs=2), every=5)
    answer_gold(annotation, 5)
    threads = [threading.Thread(target=learnt, args=(annotation,)) for _ in range(1)]
    threads[0].start()
    answer_gold(annotation, 20)
    threads[0].join(120)
    assert len(journal) == 25 and annotation.progress()["round"] == 0


# ------------------------------------------------------------------------------------------------ the curve


def test_a_model_is_not_judged_by_what_it_has_learnt(journal):
    """An answer that is undone and given again keeps the prediction of the model that had not learnt it."""
    annotation = Annotation(pool_of(), journal, estimator=postil.Tagger(hidden=8, epochs=1), every=5)
    answer_gold(annotation, 5)
    learnt(annotation)
    key = annotation.undo()["key"]
    annotation.answer(key, SPANS[key])
    assert journal.get(key).predicted is None and annotation.curve()["rounds"] == []


# ------------------------------------------------------------------------------------------------ review


def test_a_review_is_a_pool_and_its_answers_can_be_applied(tmp_path):
    from postil.quality import apply

    record = {
        "text": "Anna left",
        "tokens": [{"text": "Anna", "start": 0, "end": 4}, {"text": "left", "start": 5, "end": 9}],
    }
    doubt = {"in the data": "nothing", "models": "PER Anna", "probability": 0.1}
    more = {"spans": [{"start": 0, "end": 4, "label": "PER"}], "sentence": 1, "where": "x, line 3", "answer": None}
    path = tmp_path / "review.jsonl"
    lines = [{**record, **more, "doubts": [doubt]}, {**record, **more, "sentence": 0}]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    with Journal(tmp_path / "answers.jsonl") as journal, read(str(path)) as reading:
        annotation = Annotation(Pool(reading, identity=REVIEWED), journal)
        shown = annotation.next()
        assert shown["where"] == "x, line 3" and shown["doubts"] == [{"data": "nothing", "models": "PER Anna"}]
        annotation.answer(shown["key"], [Span("ORG", 0, 1)])
        annotation.answer(annotation.next()["key"], is_skipped=True)
    sentences = [Sentence(["Anna", "left"], labels=["O", "O"]) for _ in range(2)]
    with read(str(tmp_path / "answers.jsonl"), split=False) as reviewed:
        assert apply(reviewed, sentences, "bio").changed == 1
    assert [sentence.labels for sentence in sentences] == [["O", "O"], ["B-ORG", "O"]]


# ------------------------------------------------------------------------------------------------ any order of events


class Annotating(RuleBasedStateMachine):
    """Answers, changes, undoing and restarts in any order, beside a plain stack of states."""

    @initialize(count=st.integers(1, 6))
    def begin(self, count):
        self.folder, self.count = Path(tempfile.mkdtemp()), count
        self.journal = None
        self.stack = [{}]  # key -> spans or None, after each answer
        self.open()

    def open(self):
        if self.journal is not None:
            self.journal.__exit__()
        self.journal = Journal(self.folder / "answers.jsonl").__enter__()
        self.annotation = Annotation(pool_of([["a", str(number)] for number in range(self.count)]), self.journal)

    def answer(self, key, label):
        spans = [] if label is None else [Span(label, 0, 2)]
        self.annotation.answer(key, spans, is_skipped=label is None)
        self.stack.append({**self.stack[-1], key: label})

    @rule(label=st.sampled_from([None, "PER", "LOC"]))
    def answer_next(self, label):
        record = self.annotation.next()
        assert (record is None) == (len(self.stack[-1]) == self.count)
        if record is not None:
            assert record["key"] not in self.stack[-1]
            self.answer(record["key"], label)

    @rule(label=st.sampled_from([None, "PER", "LOC"]), back=st.integers(1, 6))
    def change(self, label, back):
        record = self.annotation.answered(back)
        assert (record is None) == (back > len(self.stack[-1]))
        if record is not None:
            self.answer(record["key"], label)

    @rule()
    def undo(self):
        assert (self.annotation.undo() is None) == (len(self.stack) == 1 or len(self.stack[-1]) == self.count == 0)
        if len(self.stack) > 1:
            self.stack.pop()

    @rule()
    def restart(self):
        self.open()

    @invariant()
    def answers_are_those_of_the_stack(self):
        if hasattr(self, "stack"):
            actual = {one.key: None if one.is_skipped else one.spans[0].label for one in self.journal}
            assert actual == self.stack[-1]

    def teardown(self):
        if hasattr(self, "stack"):
            self.journal.__exit__()
            shutil.rmtree(self.folder)


Annotating.TestCase.settings = settings(max_examples=25, stateful_step_count=25, deadline=None)
TestAnnotating = Annotating.TestCase


def test_labels_of_spans_are_those_that_are_learnt():
    assert labels_from_spans([Span("PER", 0, 2)], 3, "bio") == ["B-PER", "I-PER", "O"]


# ------------------------------------------------ agreement


def guess(key, gold, predicted, number=0):
    spans, predicted = ([Span("PER", start, start + 1) for start in places] for places in (gold, predicted))
    return Answer(
        key=key,
        text="a b c",
        tokens=((0, 1), (2, 3), (4, 5)),
        spans=tuple(spans),
        predicted=tuple(predicted),
        round=number,
    )


def test_agreement_is_that_of_spans():
    answers = [guess("a", [0, 1], [0, 2]), guess("b", [0], [0]), guess("c", [], [], 1), guess("d", [], [1], 2)]
    first, second, third = curve_of(answers)["rounds"]
    assert first == {
        "round": 0,
        "answers": 2,
        "records": 2,
        "unchanged": 0.5,
        "precision": 2 / 3,
        "recall": 2 / 3,
        "f1": 2 / 3,
    }
    assert (second["f1"], second["unchanged"]) == (None, 1.0)
    assert (third["f1"], third["precision"], third["recall"]) == (0.0, 0.0, None)


def test_the_curve_runs_over_the_last_answers():
    wrong, right = [guess(f"w{i}", [0], []) for i in range(30)], [guess(f"r{i}", [0], [0], 1) for i in range(30)]
    assert curve_of(wrong[:4])["points"] == []
    points = curve_of([*wrong, *right])["points"]
    assert [point["answers"] for point in points] == list(range(5, 61))
    assert [point["f1"] for point in points[:26]] == [0.0] * 26 and points[-11]["f1"] == 1.0
    assert points[35]["answers"] == 40 and points[35]["unchanged"] == 0.5 and points[35]["records"] == 20
    many = curve_of(wrong * 40)["points"]
    assert len(many) == 200 and many[-1]["answers"] == 1200
    assert curve_of([answer("a", predicted=None), *wrong[:5]])["points"][0]["answers"] == 6


def answer(key, predicted):
    return Answer(key=key, text="a", tokens=((0, 1),), predicted=predicted)

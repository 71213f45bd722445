"""Rules in an annotation: files that a person edits, models trained on votes and answers, what they change."""

import gzip

import pytest

import postil
from oracles import corpora
from postil.annotation import Annotation, EditedRules, Journal, Pool, key_of, rules_of_names
from postil.annotation.rules import MOST_EDITED, differences, voted_spans
from postil.errors import DataError, PostilError
from postil.rules import ListRule, Rules
from postil.text import Sentence, Span, spans_from_labels

X, Y = corpora.named_entities(80)
SPANS = {key_of(tokens): spans_from_labels(labels, "bio") for tokens, labels in zip(X, Y, strict=True)}
RULES = """\
[[rule]]
name = "people"
label = "PER"
list = ["Anna", "Boris"]

[[rule]]
name = "places"
label = "LOC"
list = "places.txt"
"""
SMALL = {"hidden": 16, "epochs": 4, "rate": 0.02}


@pytest.fixture
def path(tmp_path):
    (tmp_path / "places.txt").write_text("Oslo\nParis\n")
    (tmp_path / "rules.toml").write_text(RULES)
    return tmp_path / "rules.toml"


@pytest.fixture
def journal(tmp_path):
    with Journal(tmp_path / "answers.jsonl") as journal:
        yield journal


def files_of(rules):
    return {file["name"]: file for file in rules.state()["files"]}


def learnt(annotation):
    tagger, fitting = annotation.new_training()
    for _ in fitting:
        pass
    return annotation.use(tagger)


# ------------------------------------------------------------------------------------------------ files


def test_the_rules_and_their_lists_can_be_edited(path):
    rules = EditedRules(path)
    files = files_of(rules)
    assert list(files) == ["rules.toml", "places.txt"] and files["places.txt"]["text"] == "Oslo\nParis\n"
    rules.save("places.txt", "Oslo\nLima\n", files["places.txt"]["stamp"])
    rules.save("rules.toml", RULES + "# more\n", files["rules.toml"]["stamp"])
    assert path.with_name("places.txt").read_text() == "Oslo\nLima\n" and path.read_text() == RULES + "# more\n"
    assert sorted(one.name for one in path.parent.iterdir()) == ["places.txt", "rules.toml"]


@pytest.mark.parametrize(
    "text, message",
    [
        (RULES.replace('name = "places"', "name = places"), "line 7: the rules cannot be read as TOML"),
        (RULES.replace('label = "LOC"', 'lable = "LOC"'), "line 6: a rule with list: expected .* did you mean label"),
        (RULES + '\n[[rule]]\nlabel = "X"\npattern = "/(a+)+/"\n', "line 11: a regular expression"),
        ("", "at least one"),
        (RULES.replace("places.txt", "none.txt"), "the list"),
    ],
)
def test_rules_with_a_mistake_are_not_written(path, text, message):
    rules = EditedRules(path)
    with pytest.raises(PostilError, match=message) as caught:
        rules.save("rules.toml", text, files_of(rules)["rules.toml"]["stamp"])
    assert path.read_text() == RULES
    if message.startswith("line"):
        assert str(path.parent) not in f"{caught.value.what} {caught.value.got}"


def test_a_file_that_has_changed_on_the_disk_is_replaced_only_if_asked(path):
    rules = EditedRules(path)
    stamp = files_of(rules)["rules.toml"]["stamp"]
    path.write_text(RULES + "# by another editor\n")
    with pytest.raises(DataError, match=r"rules\.toml has changed on disk since it was opened here"):
        rules.save("rules.toml", RULES, stamp)
    assert path.read_text().endswith("editor\n")
    rules.save("rules.toml", RULES, files_of(rules)["rules.toml"]["stamp"])
    path.unlink()
    with pytest.raises(DataError, match="changed on disk"):
        rules.save("rules.toml", RULES, stamp)
    rules.save("rules.toml", RULES, stamp, replace=True)
    assert path.read_text() == RULES


def test_ends_of_lines_stay_as_they_are(path):
    path.write_bytes(RULES.replace("\n", "\r\n").encode())
    rules = EditedRules(path)
    rules.save("rules.toml", RULES + "# more\n", files_of(rules)["rules.toml"]["stamp"])
    assert path.read_bytes() == (RULES + "# more\n").replace("\n", "\r\n").encode()


def test_files_that_a_browser_would_spoil_and_files_elsewhere_are_left_alone(path):
    folder = path.parent / "inside"
    folder.mkdir()
    (path.parent / "elsewhere.txt").write_text("a\n")
    (folder / "link.txt").symlink_to(path.parent / "elsewhere.txt")
    (folder / "packed.txt").write_bytes(gzip.compress(b"a\n"))
    (folder / "large.txt").write_text("a\n" * MOST_EDITED)
    (folder / "good.txt").write_text("a\n")
    names = ["../elsewhere.txt", "link.txt", "packed.txt", "large.txt", "good.txt", str(path.parent / "elsewhere.txt")]
    tables = [f'[[rule]]\nname = "{i}"\nlabel = "X"\nlist = "{name}"\n' for i, name in enumerate(names)]
    (folder / "rules.toml").write_text("".join(tables))
    rules = EditedRules(folder / "rules.toml")
    assert list(files_of(rules)) == ["rules.toml", "good.txt"]
    for name in (*names[:4], "/etc/passwd", ""):
        with pytest.raises(DataError, match="must be the rules or one of their lists"):
            rules.save(name, "a", "", replace=True)
    with pytest.raises(DataError, match="at least one name"):
        rules.save("good.txt", " \n", files_of(rules)["good.txt"]["stamp"])


# ------------------------------------------------------------------------------------------------ what is proposed


def test_names_are_proposed_until_there_is_a_model(journal):
    names = rules_of_names([("LOC", "New York"), ("LOC", "York"), ("PER", "Anna")])
    pool = Pool([Sentence(["Anna", "left", "New", "York"]), Sentence(["Lima"])])
    annotation = Annotation(pool, journal, names=names, estimator=postil.Tagger(**SMALL))
    record = annotation.next()
    assert annotation.classes == ["LOC", "PER"] and "votes" not in record
    shown = [(one["label"], one["start"], one["end"], one["state"]) for one in record["spans"]]
    assert shown == [("PER", 0, 1, "asked"), ("LOC", 2, 4, "asked")]
    annotation.answer(record["key"], [Span("PER", 0, 1)])
    learnt(annotation)
    assert all(one["probability"] is not None for one in annotation.next()["spans"]), "the model proposes now"


def test_votes_against_a_span_and_overlapping_votes():
    rules = Rules(
        [
            ListRule(name="a", label="LOC", phrases=["New York", "Lima"]),
            ListRule(name="b", label="ORG", phrases=["York Foods"]),
            ListRule(name="c", label="LOC", phrases=["Lima"], negated=True),
            ListRule(name="d", label="ORG", phrases=["York Foods of Lima"]),
        ]
    )
    assert voted_spans(rules, ["New", "York", "Foods"]) == [Span("LOC", 0, 2)]
    assert voted_spans(rules, ["Lima"]) == []
    assert voted_spans(rules, ["New", "York", "Foods", "of", "Lima"]) == [Span("ORG", 1, 5)]


# ------------------------------------------------------------------------------------------------ learning


def test_what_has_changed():
    sentences = [["a"], ["b", "c"], ["d"], ["e"]]
    before = [[Span("X", 0, 1)], [Span("X", 0, 1)], [Span("X", 0, 1)], []]
    after = [[Span("X", 0, 1)], [Span("X", 0, 2)], [Span("Y", 0, 1)], [Span("Y", 0, 1)]]
    changes = differences(sentences, before, after)
    assert {name: changes[name] for name in ("sentences", "added", "removed", "relabelled")} == {
        "sentences": 3,
        "added": 2,
        "removed": 1,
        "relabelled": 1,
    }
    assert changes["classes"] == [{"label": "X", "before": 3, "after": 2}, {"label": "Y", "before": 0, "after": 2}]
    marks = {
        tuple(one["words"]): [(m["kind"], m["was"], m["label"]) for m in one["marks"]] for one in changes["changed"]
    }
    assert marks["d",] == [("relabelled", "X", "Y")] and marks["e",] == [("added", None, "Y")]
    assert sorted(marks["b", "c"]) == [("added", None, "X"), ("removed", "X", "X")]
    assert differences(sentences, before, before) == {
        **changes,
        "sentences": 0,
        "added": 0,
        "removed": 0,
        "relabelled": 0,
    } | {
        "classes": [{"label": "X", "before": 3, "after": 3}],
        "changed": [],
    }


def test_the_loop(path, journal):
    rules = EditedRules(path)
    pool = Pool([Sentence(list(tokens)) for tokens in X])
    annotation = Annotation(pool, journal, rules=rules, estimator=postil.Tagger(hidden=16), every=5)
    assert annotation.classes == ["LOC", "PER"] and rules.state()["report"] is None
    learnt(annotation)
    state = rules.state()
    assert [row["rule"] for row in state["report"]["rows"]] == ["people", "places"] and state["changes"] is None
    assert state["seconds"] > 0
    record = annotation.next()
    assert {vote["rule"] for vote in record["votes"]} <= {"people", "places"}
    for number in range(5):
        key = annotation.next()["key"]
        annotation.answer(key, SPANS[key] if number else [Span("NEW", 0, 1)])
    assert annotation.is_due()
    judged = annotation.judged()
    assert judged["records"] == 5 and "NEW" in judged["labels"]

    file = files_of(rules)["rules.toml"]
    another = '\n[[rule]]\nname = "in"\nlabel = "LOC"\npattern = "in ( <capital> )"\n'
    rules.save("rules.toml", file["text"] + another, file["stamp"])
    tagger = learnt(annotation)
    assert "NEW" in tagger.model.codec.classes, "answers are gold"
    later = rules.state()
    assert later["report"]["sentences"] == state["report"]["sentences"] - 5, "and not raw text"
    assert [row["rule"] for row in later["report"]["rows"]] == ["people", "places", "in"]
    assert later["changes"] is not None and rules.rules.names == ["people", "places", "in"]


def test_a_class_that_is_gone_is_not_predicted_any_more(path, journal):
    rules = EditedRules(path)
    annotation = Annotation(
        Pool([Sentence(list(tokens)) for tokens in X]), journal, rules=rules, estimator=postil.Tagger(**SMALL)
    )
    learnt(annotation)
    path.write_text(RULES.partition("\n\n")[0])
    assert learnt(annotation).model.codec.classes == ("PER",)
    changes = {one["label"]: one["after"] for one in rules.state()["changes"]["classes"]}
    assert changes.get("LOC", 0) == 0


def test_rules_without_a_vote_are_an_error(path, journal):
    path.write_text('[[rule]]\nlabel = "X"\nlist = ["nobody"]\n')
    annotation = Annotation(Pool([Sentence(["a"])]), journal, rules=EditedRules(path), estimator=postil.Tagger(**SMALL))
    with pytest.raises(DataError, match="at least one vote on the raw text"):
        annotation.new_training()

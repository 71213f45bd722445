"""Semantic roles on the command line: train, evaluate, tag, and mistakes in one line."""

import json

import pytest

import postil
from oracles.corpora import semantic_roles
from postil.commands.main import main
from postil.text import Sentence, write
from postil.text.document import Frames

SMALL = "--set hidden=24 --set layers=4 --set epochs=12 --set batch_sentences=4".split()


def save(path, count, seed):
    X, y = semantic_roles(count, seed)
    write([Sentence(tokens, rest=Frames(tuple(frames))) for tokens, frames in zip(X, y, strict=True)], path)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("roles")
    for name, count in (("train", 60), ("dev", 15), ("test", 20)):
        save(folder / f"{name}.conll05", count, len(name))
    files = [str(folder / "train.conll05"), "--dev", str(folder / "dev.conll05")]
    assert main(["train", *files, "--roles", *SMALL, "-o", str(folder / "roles.postil")]) == 0
    return folder


@pytest.fixture
def run(folder, monkeypatch, capsys):
    monkeypatch.chdir(folder)

    def run(*words):
        capsys.readouterr()
        code = main(list(words))
        shown = capsys.readouterr()
        return code, shown.out, shown.err

    return run


def test_a_model_is_scored_on_given_and_on_found_predicates(run):
    code, out, _ = run("evaluate", "roles.postil", "test.conll05", "--json")
    scores = json.loads(out)
    assert code == 0 and scores["f1"] > 90 and scores["found"]["predicates"]["f1"] > 90
    assert scores["predicates"]["f1"] == 100 and "V" not in scores["labels"]
    code, out, _ = run("evaluate", "roles.postil", "test.conll05")
    assert code == 0 and "predicates found: F1" in out and "ARGM-TMP" in out


def test_tagged_columns_are_read_and_scored_again(run):
    code, out, _ = run("tag", "roles.postil", "test.conll05", "-o", "out.conll05")
    assert code == 0
    code, out, _ = run("evaluate", "out.conll05", "test.conll05", "--json")
    assert code == 0 and json.loads(out)["predicates"]["f1"] == 100, "the predicates of the input are kept"


def test_raw_text_in_columns_and_in_json(run):
    code, out, _ = run("tag", "roles.postil", "--text", "Anna sold the map yesterday .")
    assert code == 0 and out.splitlines()[1].split("\t")[1:] == ["sold", "B-V"]
    code, out, _ = run("tag", "roles.postil", "--text", "Anna sold the map .", "--to", "jsonl", "--probabilities")
    (predicate,) = json.loads(out)["predicates"]
    assert predicate["predicate"] == 1 and 0 < predicate["roles"][0]["probability"] <= 1


def test_a_page_has_a_row_for_each_predicate(run, folder):
    assert run("tag", "roles.postil", "--text", "Anna sold the map. Ben slept.", "-o", "page.html")[0] == 0
    page = (folder / "page.html").read_text("utf-8")
    assert "No entities" not in page and page.count('<p class="excerpt') == 2 and "ARG1" in page
    assert run("tag", "roles.postil", "test.conll05", "-o", "given.html", "--overwrite")[0] == 0
    count = sum(len(frames) for frames in semantic_roles(20, len("test"))[1])
    assert (folder / "given.html").read_text("utf-8").count('<p class="excerpt') >= count


def test_on_a_terminal_each_predicate_has_a_row(run, monkeypatch):
    monkeypatch.setenv("TERM", "dumb")
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    code, out, _ = run("tag", "roles.postil", "--text", "Anna sold the map .")
    assert code == 0
    sentence, row = out.splitlines()
    assert sentence == "Anna sold the map ." and row.startswith("  sold  ARG0 [Anna] ")
    code, out, _ = run("tag", "roles.postil", "--text", "Anna sold the map.")
    assert out.splitlines()[0] == "Anna sold the map.", "as the text is written"


@pytest.fixture(scope="module")
def with_tagger(folder):
    """Role models with a tagger inside: that of a file, and that of a task."""
    X, _ = semantic_roles(40, 6)
    lines = ("".join(f"{token}\t{'VB' if t == 1 else 'NN'}\n" for t, token in enumerate(one)) + "\n" for one in X)
    (folder / "tags.txt").write_text("".join(lines))
    tiny = "--set hidden=8 --set word_dim=6 --set epochs=3".split()
    tags = str(folder / "tags.txt")
    assert main(["train", tags, *tiny, "-o", str(folder / "tags.postil")]) == 0
    assert main(["train", "--task", f"a={tags}", "--task", f"b={tags}", *tiny, "-o", str(folder / "tasks.postil")]) == 0
    files = [str(folder / "train.conll05"), "--dev", str(folder / "dev.conll05"), "--roles", *SMALL]
    for name, tagger in (("tagged", "tags.postil"), ("of-task", "tasks.postil:b")):
        words = [*files, "--tagger", str(folder / tagger), "-o", str(folder / f"{name}.postil")]
        assert main(["train", *words]) == 0
    return folder


@pytest.mark.parametrize("name", ["tagged.postil", "of-task.postil"])
def test_a_role_model_makes_its_tags(with_tagger, run, name):
    code, out, _ = run("tag", name, "--text", "Anna sold the map.", "--to", "jsonl")
    assert code == 0 and [one["predicate"] for one in json.loads(out)["predicates"]] == [1]
    code, out, _ = run("evaluate", name, "test.conll05", "--json")
    assert code == 0 and json.loads(out)["f1"] > 90
    code, out, _ = run("info", name)
    assert code == 0 and "tagger inside" in out


@pytest.mark.parametrize(
    "words, message",
    [
        ("--tagger tasks.postil", "--tagger tasks.postil: expected one task: a or b, got several"),
        ("--tagger tasks.postil:c", "--tagger tasks.postil:c: expected one of a, b"),
        ("--tagger tags.postil:a", "--tagger must be MODEL without a task: it has one"),
        ("--tagger tagged.postil", "--tagger tagged.postil: expected a tagger of words, got a role-labeller"),
        ("--tagger missing.postil", "no such model file"),
        ("--tagger train.conll05", "not a Postil model file"),
        ("--tagger tags.postil -o tags.postil --overwrite", "tags.postil"),
    ],
)
def test_mistakes_about_the_tagger(with_tagger, run, words, message):
    code, out, err = run("train", "train.conll05", "--roles", "-o", "x.postil", *words.split())
    assert code == 1 and out == "" and message in err and len(err.splitlines()) == 1
    code, _, err = run("train", "train.conll05", "--tagger", "tags.postil", "-o", "x.postil")
    assert code in (1, 2) and "--tagger needs --roles" in err


@pytest.fixture(scope="module")
def several(with_tagger):
    """A model of several tasks with roles inside, as the English one."""
    model = postil.load(with_tagger / "tasks.postil")
    model.with_roles(postil.load(with_tagger / "of-task.postil")).save(with_tagger / "several.postil")
    return with_tagger


def test_roles_of_a_model_of_several_tasks(several, run):
    text = ("--text", "Anna sold the map.")
    assert run("tag", "several.postil", *text)[1] == run("tag", "tasks.postil", *text)[1], "only where asked"
    for more in ([], ["--to", "jsonl", "--probabilities"]):
        code, out, _ = run("tag", "several.postil", "--task", "roles", *text, *more)
        assert code == 0 and out == run("tag", "of-task.postil", *text, *more)[1]
    (predicate,) = json.loads(out)["predicates"]
    assert all(0 < role["probability"] <= 1 for role in predicate["roles"])
    assert run("tag", "several.postil", "--task", "roles", *text, "-o", "several.html")[0] == 0
    scores = [
        run("evaluate", model, "test.conll05", "--json", *task)[1]
        for model, task in (("several.postil", ["--task", "roles"]), ("of-task.postil", []))
    ]
    assert scores[0] == scores[1]
    assert "roles inside" in run("info", "several.postil")[1]


def test_an_export_leaves_roles_out_and_says_so(several, run):
    code, _, err = run("export", "several.postil", "--to", "c", "-o", "exported")
    assert code == 0 and err.splitlines() == ["postil: the export is without roles"]


@pytest.mark.parametrize(
    "words, message",
    [
        ("tag several.postil --text Anna --task roles --task a", "tasks must be roles alone (got a, roles)"),
        ("tag several.postil --text Anna --task rolls", "must be one of a, b, roles (got 'rolls')"),
        ("tag tasks.postil --text Anna --task roles", "must be one of a, b (got 'roles')"),
        ("tag roles.postil --text Anna --task roles", "--task cannot be used here"),
        ("tag several.postil --text Anna --task roles --to conll", "--to must be conll05, jsonl or html"),
        ("tag several.postil --text Anna --task roles --threshold 0.5", "threshold cannot be used here"),
        ("explain several.postil --text Anna --task roles", "model must be a tagger (got one of semantic roles)"),
        ("tune several.postil test.conll05 --task roles -o x.postil", "a tagger (got one of semantic roles)"),
        ("tag missing --text Anna", "no such model file, nor an installed model ('missing')"),
    ],
)
def test_mistakes_about_roles_of_several_tasks(several, run, words, message):
    code, out, err = run(*words.split())
    assert code == 1 and out == "" and message in err and len(err.splitlines()) == 1


@pytest.mark.parametrize(
    "words, message",
    [
        (
            "train names.txt --roles -o x.postil",
            "names.txt, line 1: not a file of CoNLL-2005 columns",
        ),
        (
            "train wrong.conll05 --roles -o x.postil",
            "line 5: not a file of CoNLL-2005 columns of roles: V of",
        ),
        ("train train.conll05 -o x.postil", "no labels: expected a label for every token"),
        ("train train.conll05 --roles --label ARG0 -o x.postil", "--label cannot be used here"),
        ("tag roles.postil test.conll05 --to conll", "--to must be conll05, jsonl or html for semantic roles"),
        ("tag roles.postil test.conll05 --nbest 2", "--nbest"),
        ("explain roles.postil --text Anna", "model must be a tagger (got one of semantic roles)"),
        ("evaluate roles.postil names.txt", "names.txt, line 1: not a file of CoNLL-2005"),
        ("export roles.postil --to c -o exported", "got a model of the kind RoleLabeller"),
    ],
)
def test_mistakes_are_told_in_one_line(folder, run, words, message):
    (folder / "names.txt").write_text("Anna\tB-PER\nsleeps\tO\n\n")
    (folder / "wrong.conll05").write_text("ran\trun\tB-V\n\nAnna\t-\tO\nran\trun\tO\nfar\t-\tB-V\n\n")
    code, out, err = run(*words.split())
    assert code == 1 and out == "" and message in err and len(err.splitlines()) == 1

"""Semantic roles on the command line: train, evaluate, tag, and mistakes in one line."""

import json

import pytest

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


@pytest.mark.parametrize(
    "words, message",
    [
        (
            "train names.txt --roles -o x.postil",
            "names.txt, line 1: not a file of CoNLL-2005 columns",
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
    code, out, err = run(*words.split())
    assert code == 1 and out == "" and message in err and len(err.splitlines()) == 1

"""Classifiers of trees through the commands: train, evaluate, tag."""

import io
import json
import random

import pytest

import postil
from oracles.pages import read_page
from postil.commands.main import main
from postil.text import Tree, parse_tree, read_trees, write_trees

SETTINGS = ["--set", "hidden=12", "--set", "word_dim=12", "--set", "epochs=8", "--set", "rate=0.01", "--seed", "1"]
WORDS = {"3": ["good", "fine"], "1": ["bad", "dull"]}


def made_up_tree(rng: random.Random) -> Tree:
    """(3 (2 (2 the) (2 film)) (3 (2 is) (1 bad))), with "not" before the last word in half of the trees."""
    label = rng.choice("13")
    last = (label, rng.choice(WORDS[label]))
    if rng.random() < 0.5:
        label = "4" if label == "1" else "0"
        last = (label, ("2", "not"), last)
    return Tree.of((label, ("2", ("2", "the"), ("2", "film")), (label, ("2", "is"), last)))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("trees")
    for name, count in (("train", 200), ("dev", 50), ("test", 50)):
        rng = random.Random(count)
        write_trees([made_up_tree(rng) for _ in range(count)], folder / f"{name}.txt")
    return folder


def train(folder, *options, output="m.postil"):
    files = [str(folder / "train.txt"), "--dev", str(folder / "dev.txt")]
    return main(["train", *files, *SETTINGS, "-o", str(folder / output), *options])


@pytest.fixture(scope="module")
def model(folder):
    assert train(folder, "--test", str(folder / "test.txt"), "--log", str(folder / "log.jsonl")) == 0
    return folder / "m.postil"


def run(capsys, *words) -> str:
    assert main([str(word) for word in words]) == 0
    return capsys.readouterr().out


def refused(capsys, *words) -> str:
    assert main([str(word) for word in words]) == 1
    printed = capsys.readouterr()
    assert printed.out == "" and printed.err.count("\n") == 1
    return printed.err.removeprefix("postil: ").rstrip("\n")


# Train


@pytest.mark.slow
def test_training_recognises_trees_and_says_how_good_it_is(folder, model, capsys):
    assert type(postil.load(model)) is postil.TreeClassifier
    epochs = [json.loads(line) for line in (folder / "log.jsonl").read_text().splitlines()]
    assert len(epochs) == 8 and max(epoch["score"] for epoch in epochs) > 0.9
    assert train(folder, output="again.postil") == 0
    printed = capsys.readouterr().out
    assert "dev   root accuracy" in printed and "all nodes" in printed and "good or bad" in printed
    scores = postil.load(model).model.about["scores"]
    assert set(scores) == {"dev", "test"} and scores["test"]["root_accuracy"] > 90


def test_options_of_the_network(folder):
    options = ["--set", "composition=sum", "--set", "binarise=right", "--set", "loss=root", "--set", "epochs=1"]
    assert train(folder, *options, output="sum.postil") == 0
    config = postil.load(folder / "sum.postil").config
    assert (config.composition, config.binarise, config.loss, config.epochs) == ("sum", "right", "root", 1)


def test_a_preset_makes_a_tagger_of_the_words_labels(folder, capsys):
    assert (
        main(["train", str(folder / "dev.txt"), "--preset", "fast", "--set", "epochs=1", "-o", str(folder / "t")]) == 0
    )
    assert type(postil.load(folder / "t")) is postil.Tagger
    capsys.readouterr()
    tagged = run(capsys, "tag", folder / "t", folder / "dev.txt")
    assert tagged.startswith("the\t2\nfilm\t2\n")
    assert "output trees needs a tree classifier" in refused(
        capsys, "tag", folder / "t", folder / "dev.txt", "--to", "trees"
    )


def test_an_interrupted_training_goes_on(folder):
    """Half of the epochs, then the rest from the checkpoint: the same bits as without a break."""
    classifier = postil.TreeClassifier(hidden=8, word_dim=8, epochs=3, seed=2)
    trees = list(read_trees(folder / "dev.txt"))
    checkpoint = folder / "resumed.postil.checkpoint"
    for event in classifier.fitting(trees, checkpoint=checkpoint):
        if getattr(event, "is_best", None) is not None:
            break
    options = ["--set", "hidden=8", "--set", "word_dim=8", "--set", "epochs=3", "--seed", "2"]
    words = ["train", str(folder / "dev.txt"), *options, "-o", str(folder / "resumed.postil")]
    assert main([*words, "--resume"]) == 0
    assert not checkpoint.exists()
    whole = postil.TreeClassifier(hidden=8, word_dim=8, epochs=3, seed=2).fit(trees)
    resumed = postil.load(folder / "resumed.postil")
    for one, other in zip(whole.node_probabilities(trees), resumed.node_probabilities(trees), strict=True):
        assert (one == other).all()


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("(3 (2 good) (2 film)\n", (), "train, line 1, column 1: a bracket is never closed"),
        ("( ( good) ( film))\n", (), "train: no labels: expected trees such as (3 (2 good) (2 film))"),
        ("( (2 good) (2 film))\n", ("--set", "loss=root"), "train: no labels at the roots"),
        ("(3 (2 good) (2 film))\n", ("--set", "hiden=3"), "unknown setting 'hiden'; did you mean hidden?"),
        (
            "(3 (2 good) (2 film))\n",
            ("--gazetteer", "g"),
            "--gazetteer cannot be used here: tree classifiers use no gazetteers",
        ),
        (
            "(3 (2 good) (2 film))\n",
            ("--dev", "dev"),
            "dev: not a file of trees: expected bracketed trees: (LABEL (LABEL word) …)",
        ),
        ("(3 (2 good) (2 film))\n", ("--dev", "rootless"), "rootless: no labels at the roots"),
        (
            "(3 (2 good) (2 film))\n",
            ("--preset", "fast", "--set", "composition=sum"),
            "unknown setting 'composition'",
        ),
        ("a\tO\n", ("--set", "composition=sum"), "train: not a file of trees"),
        (
            "# only this\n",
            ("--set", "composition=sum"),
            "train: not a file of trees: expected bracketed trees: (LABEL (LABEL word) …), "
            "got what looks like plain text",
        ),
    ],
)
def test_mistakes(text, options, message, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train").write_text(text, encoding="utf8")
    (tmp_path / "dev").write_text("Oslo\tB-LOC\n", encoding="utf8")
    (tmp_path / "rootless").write_text("( (2 good) (2 film))\n", encoding="utf8")
    assert refused(capsys, "train", "train", "-o", "m.postil", *options).startswith(message)


def test_trees_from_a_pipe_need_a_word_about_what_to_learn(folder, monkeypatch, capsys):
    text = (folder / "dev.txt").read_bytes()
    for options, code in ((), 1), (("--set", "composition=sum"), 0):
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text)))
        assert main(["train", "-", "--set", "epochs=1", "-o", str(folder / "p.postil"), *options]) == code
    assert "trees from a pipe: expected --set composition=tree-lstm" in capsys.readouterr().err


def test_unknown_labels_are_told(folder, capsys, tmp_path):
    strange = tmp_path / "strange.txt"
    strange.write_text("(x (2 good) (2 film))\n", encoding="utf8")
    words = [
        "train",
        str(folder / "train.txt"),
        "--dev",
        str(strange),
        "--set",
        "epochs=1",
        "-o",
        str(folder / "u.postil"),
    ]
    assert main(words) == 0
    assert "1 of its labels do not occur" in capsys.readouterr().err


def test_a_model_of_trees_is_no_warm_start_of_a_tagger(folder, model, capsys):
    words = ["train", folder / "dev.txt", "--preset", "fast", "--warm-start", model, "-o", folder / "w.postil"]
    assert refused(capsys, *words) == "--warm-start must be a tagger or a detector (got a tree-classifier)"
    words = ["train", folder / "dev.txt", "--warm-start", model, "-o", folder / "w.postil"]
    assert refused(capsys, *words) == "--warm-start cannot be used here: tree classifiers always start from scratch"


# Evaluate


def test_evaluate(folder, model, capsys):
    figures = json.loads(run(capsys, "evaluate", model, folder / "test.txt", "--json"))
    assert figures["root_accuracy"] > 90 and figures["node_accuracy"] > 90
    assert figures["root_binary_accuracy"] >= figures["root_accuracy"]
    assert figures["interval"]["low"] <= figures["root_accuracy"] <= figures["interval"]["high"]
    assert sum(figures["phrase_lengths"][name]["nodes"] for name in figures["phrase_lengths"]) == figures["nodes"]
    text = run(capsys, "evaluate", model, folder / "test.txt")
    for title in ("root accuracy", "interval", "Roots: confusion", "All nodes: reliability", "Phrases by length"):
        assert title in text


def test_the_report_draws_trees(folder, model, capsys):
    run(capsys, "evaluate", model, folder / "test.txt", "--report", folder / "report.html")
    html = (folder / "report.html").read_text(encoding="utf8")
    for part in ("root accuracy", "Confusion at the roots", "Phrases by length", "<svg", ">film</text>"):
        assert part in html
    assert any(f"fill:var(--degree-{label})" in html for label in (1, 2, 3))
    message = refused(capsys, "evaluate", model, folder / "test.txt", "--train", folder / "dev.txt")
    assert message.startswith("--train cannot be used here: a tree classifier")


def test_right_trees_are_not_called_mistakes(folder, model, capsys):
    root = postil.load(model).predict_nodes([["good", "film"]])[0][-1].label
    for gold in (root, next(label for label in "12345" if label != root)):
        (folder / "one.txt").write_text(f"({gold} (3 good) (3 film))\n", encoding="utf8")
        run(capsys, "evaluate", model, folder / "one.txt", "--report", folder / "one.html", "--overwrite")
        html = (folder / "one.html").read_text(encoding="utf8")
        assert ("confident mistakes" in html) is (gold != root)
        assert ("is right in all of these trees" in html) is (gold == root)


def test_a_model_of_roots_is_not_asked_for_other_labels(tmp_path, capsys):
    text = "(q (S (NP it) (VP ends)))\n(decl (S (NP it) (VP (VB may) (VB end))))\n" * 5
    (tmp_path / "t").write_text(text.replace("(NP it)", "(NP (PRP it))").replace("(VP ends)", "(VP (VB ends))"))
    assert main(["train", str(tmp_path / "t"), "--set", "loss=root", "-o", str(tmp_path / "m")]) == 0
    capsys.readouterr()
    figures = json.loads(run(capsys, "evaluate", tmp_path / "m", tmp_path / "t", "--json"))
    assert figures["nodes"] == figures["roots"] == 10
    assert figures["root_binary_accuracy"] is None


def test_evaluate_refuses_what_has_no_labels(folder, model, capsys, tmp_path):
    (tmp_path / "plain.txt").write_text("( ( good) ( film))\n", encoding="utf8")
    assert "no labels" in refused(capsys, "evaluate", model, tmp_path / "plain.txt")
    (tmp_path / "columns.txt").write_text("Oslo\tB-LOC\n", encoding="utf8")
    assert "not a file of trees" in refused(capsys, "evaluate", model, tmp_path / "columns.txt")


# Tag


def test_trees_in_trees_out(folder, model, capsys):
    gold = list(read_trees(folder / "test.txt"))
    found = list(read_trees(io.BytesIO(run(capsys, "tag", model, folder / "test.txt").encode())))
    assert [(tree.words, tree.children) for tree in found] == [(tree.words, tree.children) for tree in gold]
    assert [tree.root_label for tree in found] == postil.load(model).predict(gold)
    right = sum(
        one == other for a, b in zip(found, gold, strict=True) for one, other in zip(a.labels, b.labels, strict=True)
    )
    assert right > 0.9 * sum(map(len, gold))


def test_a_tree_keeps_its_shape_and_its_comments(model, capsys, tmp_path):
    text = "# one\n(x (S (NP (DT the) (NN film) (NN -LRB-)) ( (VP (VBZ is) ( good)))))\n"
    (tmp_path / "t").write_text(text, encoding="utf8")
    comment, line = run(capsys, "tag", model, tmp_path / "t").splitlines()
    found, given = parse_tree(line), parse_tree(text)
    assert comment == "# one"
    assert (found.words, found.children) == (given.words, given.children)
    labels = found.labels
    assert labels[-1] == labels[-2], "a chain is one phrase"
    assert None not in labels


def test_plain_sentences_get_trees(model, capsys, monkeypatch, tmp_path):
    (tmp_path / "tokens").write_text("the film is not -LRB- bad\n", encoding="utf8")
    right = parse_tree(run(capsys, "tag", model, tmp_path / "tokens", "--from", "tokens", "--tree", "right"))
    assert right.children == Tree.of(["w"] * 6, shape="right").children
    assert right.tokens[4] == "("
    balanced = parse_tree(run(capsys, "tag", model, tmp_path / "tokens", "--from", "tokens"))
    assert balanced.children == Tree.of(["w"] * 6).children


def test_json_lines(model, capsys):
    text = "The film is not bad. The film is good."
    first, second = map(json.loads, run(capsys, "tag", model, "--text", text, "--to", "jsonl").splitlines())
    assert first["text"] == "The film is not bad." and second["tokens"] == ["The", "film", "is", "good", "."]
    assert first["label"] == max(first["probabilities"], key=first["probabilities"].get)
    assert first["probability"] == first["probabilities"][first["label"]]
    assert sum(first["probabilities"].values()) == pytest.approx(1, abs=1e-5)
    assert parse_tree(first["tree"]).root_label == first["label"]
    assert "phrases" not in first
    out = run(capsys, "tag", model, "--text", text, "--to", "jsonl", "--probabilities")
    phrases = json.loads(out.splitlines()[0])["phrases"]
    assert phrases[-1] == {"start": 0, "end": 6, "label": first["label"], "probability": first["probability"]}
    assert len(phrases) == 11


def test_threads_do_not_change_the_answer(folder, model, capsys):
    assert run(capsys, "tag", model, folder / "test.txt") == run(
        capsys, "tag", model, folder / "test.txt", "--threads", "2"
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--to", "conll"], "output of a tree classifier must be trees or jsonl"),
        (["--probabilities"], "--probabilities needs --to jsonl (got trees)"),
        (["--scores"], "--scores cannot be used here: a tree classifier has probabilities"),
        (
            ["--nbest", "2", "--to", "jsonl"],
            "--nbest cannot be used here: a tree classifier decides about each phrase alone",
        ),
    ],
)
def test_impossible_wishes(options, message, folder, model, capsys):
    assert refused(capsys, "tag", model, folder / "test.txt", *options).startswith(message)


# Explain


def test_explain(folder, model, capsys):
    text = run(capsys, "explain", model, "the film is not bad", "--from", "tokens")
    for title in ("probability", "Words", "Phrases left out", "not bad"):
        assert title in text
    words = ("explain", model, "(x (2 (2 the) (2 film)) (2 (2 is) (2 (2 not) (2 bad))))", "--from", "trees")
    (found,) = json.loads(run(capsys, *words, "--json"))["explanations"]
    assert [word["word"] for word in found["words"]] == ["the", "film", "is", "not", "bad"]
    tree = ("x", ("2", ("2", "the"), ("2", "film")), ("2", ("2", "is"), ("2", ("2", "not"), ("2", "bad"))))
    assert found == postil.load(model).explain(tree).to_dict()
    (other,) = json.loads(run(capsys, *words, "--json", "--label", "0"))["explanations"]
    assert other["label"] == "0"
    assert run(capsys, "explain", model, "--text", "good", "--from", "tokens").count("left out") == 2
    report = folder / "why.html"
    run(capsys, "explain", model, "the film is not bad", "--from", "tokens", "--report", report)
    page = read_page(report.read_text(encoding="utf8"))
    assert len(list(page.one("section", id="explanation-1").all("svg"))) == 2  # the answer and the effects


def test_explain_refuses_what_is_about_entities(model, capsys):
    message = refused(capsys, "explain", model, "not bad", "--span", "0:1")
    assert message == "--span cannot be used here: a tree classifier explains whole sentences"
    assert "label to explain" in refused(capsys, "explain", model, "not bad", "--label", "x")


def test_the_gradient_of_a_model_is_checked(model, capsys):
    assert "WRONG" not in run(capsys, "gradcheck", model)

"""``postil train --segmenter`` and ``postil evaluate --raw``."""

import json

import pytest

import postil
from models.test_learned_segmentation import treebank
from postil.commands.main import main

SMALL = ["--set", "epochs=2", "--set", "hidden=12"]


def as_conllu(sentences):
    rows = []
    for sentence in sentences:
        rows.append(f"# text = {sentence.text}")
        rows += [
            f"{i}\t{token}\t_\t{'P' if token in '.,!?' else 'W'}" + "\t_" * 6
            for i, token in enumerate(sentence.tokens, 1)
        ]
        rows.append("")
    return "\n".join(rows) + "\n"


def as_iob2(sentences):
    """As the files of Universal NER are written."""
    rows = []
    for sentence in sentences:
        rows += ["# sent_id = 1", f"# text = {sentence.text}"]
        rows += [
            f"{i}\t{token}\t{'B-NUM' if token[0].isdigit() else 'O'}\t-\t-"
            for i, token in enumerate(sentence.tokens, 1)
        ]
        rows.append("")
    return "\n".join(rows) + "\n"


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    folder = tmp_path_factory.mktemp("segmenter")
    (folder / "train.conllu").write_text(as_conllu(treebank(300, seed=0)))
    (folder / "dev.conllu").write_text(as_conllu(treebank(80, seed=1)))
    (folder / "few.conllu").write_text(as_conllu(treebank(20, seed=2)))
    (folder / "ner.iob2").write_text(as_iob2(treebank(30, seed=3)))
    assert main(["train", str(folder / "train.conllu"), *SMALL, "-o", str(folder / "pos.postil")]) == 0
    return folder


@pytest.mark.slow
def test_a_treebank_teaches_segmentation(trained, capsys):
    model = postil.load(trained / "pos.postil")
    assert model.model.segmenter.learned is not None
    assert "l'" in [token for one in model.tag("Anna l'emil haus.").sentences for token in one.tokens]
    assert main(["evaluate", str(trained / "pos.postil"), str(trained / "dev.conllu"), "--raw", "--json"]) == 0
    scores = json.loads(capsys.readouterr().out)
    assert scores["tokens"]["f1"] > 98 and scores["sentences"]["f1"] > 95
    assert scores["labels"]["f1"] <= scores["tokens"]["f1"]
    assert main(["evaluate", str(trained / "pos.postil"), str(trained / "dev.conllu"), "--raw"]) == 0
    assert "sentences" in capsys.readouterr().out
    assert main(["info", str(trained / "pos.postil")]) == 0
    assert "learned from a treebank" in capsys.readouterr().out


@pytest.mark.slow
def test_raw_text_of_a_model_of_several_tasks(trained, capsys):
    out, train = str(trained / "tasks.postil"), trained / "train.conllu"
    assert main(["train", "--task", f"pos={train}", "--task", f"again={train}", *SMALL, "-o", out]) == 0
    capsys.readouterr()
    arguments = ["evaluate", out, str(trained / "dev.conllu"), "--task", "pos", "--raw"]
    assert main([*arguments, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["pos"]["tokens"]["f1"] > 98
    assert main(arguments) == 0
    assert "sentences" in capsys.readouterr().out


def test_words_of_unknown_multiword_tokens_are_missed(trained, tmp_path, capsys):
    row = "{}\t{}\t_\tW" + "\t_" * 6
    lines = ["# text = Anna du haus.", row.format(1, "Anna"), "2-3\tdu" + "\t_" * 8, row.format(2, "de")]
    lines += [row.format(3, "le"), row.format(4, "haus"), row.format(5, ".").replace("W", "P"), "", ""]
    (tmp_path / "gold.conllu").write_text("\n".join(lines))
    assert main(["evaluate", str(trained / "pos.postil"), str(tmp_path / "gold.conllu"), "--raw", "--json"]) == 0
    scores = json.loads(capsys.readouterr().out)
    assert scores["tokens"]["f1"] == 100
    assert (scores["words"]["recall"], scores["words"]["precision"]) == (60, 75)
    assert scores["labels"]["recall"] <= 60


def test_files_are_tagged_as_single_texts(trained, capsys):
    texts = [one.text for one in treebank(40, seed=5)]
    (trained / "raw.txt").write_text("\n".join(texts) + "\n")
    assert main(["tag", str(trained / "pos.postil"), str(trained / "raw.txt"), "--to", "jsonl"]) == 0
    records = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    model = postil.load(trained / "pos.postil")
    expected = [one.tokens for text in texts for one in model.tag(text).sentences]
    written = [[record["text"][token["start"] : token["end"]] for token in record["tokens"]] for record in records]
    assert [token for tokens in written for token in tokens] == [token for tokens in expected for token in tokens]


def test_the_card_names_language_and_script(trained, tmp_path, capsys):
    source = tmp_path / "da_ddt-ud-train.conllu"
    source.write_text(as_conllu(treebank(40, seed=0)))
    assert main(["train", str(source), *SMALL, "-o", str(tmp_path / "x.postil")]) == 0
    capsys.readouterr()
    assert main(["info", str(tmp_path / "x.postil"), "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)["facts"]
    assert (facts["language"], facts["script"]) == ("Danish", "Latin")


@pytest.mark.parametrize(("text", "warnings"), [("Анна живёт в Осло.", 1), ("Anna lever.", 0), ("12 + 3", 0)])
def test_text_of_another_script_is_reported_once(trained, tmp_path, capsys, text, warnings):
    for name in ("a.txt", "b.txt"):
        (tmp_path / name).write_text(text + "\n", encoding="utf-8")
    files = [str(tmp_path / "a.txt"), str(tmp_path / "b.txt")]
    assert main(["tag", str(trained / "pos.postil"), *files, "--to", "conll"]) == 0
    assert capsys.readouterr().err.count("the text is in Cyrillic script, the model was trained on Latin") == warnings


def as_spans(texts):
    spans = [[{"start": 0, "end": text.index(" "), "label": "X"}] for text in texts]
    return "".join(json.dumps({"text": text, "spans": one}) + "\n" for text, one in zip(texts, spans, strict=True))


@pytest.mark.parametrize(
    ("text", "rules", "tokens"),
    [
        ("Jürgen geht im Wald dort spazieren, dont Grüße.", "neutral", ["im", "dont"]),
        ("Ann and the men went with us, dont worry.", "english", ["do", "nt"]),
    ],
)
def test_texts_with_spans_are_cut_by_the_rules_of_their_language(tmp_path, capsys, text, rules, tokens):
    (tmp_path / "train.jsonl").write_text(as_spans([text] * 120))
    out = str(tmp_path / "x.postil")
    assert main(["train", str(tmp_path / "train.jsonl"), *SMALL, "-o", out]) == 0
    assert ("English rules" if rules == "english" else "rules for any language") in capsys.readouterr().err
    model = postil.load(out)
    assert str(model.model.segmenter) == rules
    assert {*tokens} <= {token for one in model.tag(text).sentences for token in one.tokens}
    assert {token.lower() for token in tokens} <= {*model.model.features.words.vocabularies["word"]}


def test_texts_with_spans_are_cut_by_a_model(trained, tmp_path):
    (tmp_path / "train.jsonl").write_text(as_spans(["Anna l'emil haus."] * 20))
    arguments = ["train", str(tmp_path / "train.jsonl"), "--segmenter", str(trained / "pos.postil"), *SMALL]
    assert main([*arguments, "-o", str(tmp_path / "x.postil")]) == 0
    assert "l'" in postil.load(tmp_path / "x.postil").model.features.words.vocabularies["word"]


@pytest.mark.slow
def test_rules_if_asked_for_or_little_data(trained):
    out = str(trained / "rules.postil")
    assert main(["train", str(trained / "train.conllu"), "--segmenter", "rules", *SMALL, "-o", out, "--overwrite"]) == 0
    assert postil.load(out).model.segmenter.has_rules
    assert main(["train", str(trained / "few.conllu"), *SMALL, "-o", out, "--overwrite"]) == 0
    assert postil.load(out).model.segmenter.has_rules


@pytest.mark.slow
@pytest.mark.parametrize("source", ["train.conllu", "pos.postil"])
def test_from_another_treebank_or_model(trained, source, capsys):
    out = str(trained / "ner.postil")
    arguments = ["train", str(trained / "ner.iob2"), "--segmenter", str(trained / source), *SMALL]
    assert main([*arguments, "-o", out, "--overwrite"]) == 0
    model = postil.load(out)
    assert model.model.segmenter.learned is not None
    assert model.model.codec.classes == ("NUM",)
    capsys.readouterr()
    assert main(["evaluate", out, str(trained / "ner.iob2"), "--raw", "--json"]) == 0
    assert set(json.loads(capsys.readouterr().out)) == {"tokens", "sentences", "entities"}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["train", "few.conllu", "--segmenter", "learned", "-o", "x.postil"], "at least 100 sentences"),
        (["train", "few.conllu", "--segmenter", "missing.conllu", "-o", "x.postil"], "missing.conllu"),
        (
            ["train", "few.conllu", "--segmenter", "prose.txt", "-o", "x.postil"],
            "prose.txt: nothing to learn segmentation",
        ),
        (["evaluate", "pos.postil", "plain.txt", "--raw"], "no raw text"),
    ],
)
def test_mistakes_are_one_line(trained, monkeypatch, capsys, arguments, message):
    monkeypatch.chdir(trained)
    (trained / "prose.txt").write_text("Anna lives in Oslo.\n" * 200)
    (trained / "plain.txt").write_text("Anna W\n. P\n\nEmil W\n! P\n\n")
    assert main(arguments) == 1
    error = capsys.readouterr().err.strip()
    assert message in error and "\n" not in error

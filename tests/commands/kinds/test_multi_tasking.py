"""Commands on models of several tasks: ``train --task``, ``evaluate``, ``tag``, ``check``, ``explain``, ``tune``."""

import json
import shutil
from dataclasses import replace

import pytest

import postil
from oracles.corpora import as_conll, named_entities, parts_of_speech
from postil.commands.main import main

SMALL = ["--set", "hidden=16", "--set", "rate=0.02", "--set", "epochs=4", "--partial", "no"]


def write_files(folder):
    """Names in the last column; parts of speech in the third of four."""
    for name, data in {"names": named_entities(60), "names-dev": named_entities(20, seed=3)}.items():
        (folder / name).write_text(as_conll(*data))
    for name, (X, y) in {"words": parts_of_speech(90, seed=2), "words-dev": parts_of_speech(20, seed=4)}.items():
        tagged = [[f"{word}\t_\t{label}" for word, label in zip(*pair, strict=True)] for pair in zip(X, y, strict=True)]
        (folder / name).write_text(as_conll(tagged, [["_"] * len(labels) for labels in y]))


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A folder with the files of two tasks and a model of both."""
    folder = tmp_path_factory.mktemp("tasks")
    write_files(folder)
    files = [f"--task=names={folder}/names", f"--task=words={folder}/words:2"]
    files += [f"--dev=names={folder}/names-dev", f"--dev=words={folder}/words-dev:2"]
    assert main(["train", *files, *SMALL, "-o", str(folder / "both.postil")]) == 0
    return folder


@pytest.fixture
def folder(trained, tmp_path):
    return shutil.copytree(trained, tmp_path / "tasks")


def test_training_of_several_tasks(trained):
    model = postil.load(trained / "both.postil")
    assert isinstance(model, postil.MultiTaskTagger) and model.tasks == ["names", "words"]
    scores = model.model.about["scores"]["dev"]
    assert scores["names"]["f1"] > 90 and scores["words"]["accuracy"] > 90
    assert model.model.about["data"]["tasks"]["words"]["sentences"] == 90


def test_the_summary_names_the_tasks(folder, capsys):
    files = [f"--task=names={folder}/names", f"--task=words={folder}/words:2", f"--test=words={folder}/words-dev:2"]
    assert main(["train", *files, *SMALL, "-o", str(folder / "other.postil")]) == 0
    assert "test  words: accuracy" in capsys.readouterr().out


def test_several_files_of_one_task(folder):
    files = [f"--task=names={folder}/names", f"--task=names={folder}/names-dev", f"--task=words={folder}/words:2"]
    held_out = [f"--dev=names={folder}/names-dev", f"--dev=names={folder}/names"]
    assert main(["train", *files, *held_out, *SMALL, "--set", "epochs=1", "-o", str(folder / "other.postil")]) == 0
    assert postil.load(folder / "other.postil").model.about["data"]["tasks"]["names"]["sentences"] == 80


def test_one_task_makes_an_ordinary_tagger(folder):
    assert main(["train", f"--task=names={folder}/names", *SMALL, "-o", str(folder / "one.postil")]) == 0
    assert main(["train", f"{folder}/names", *SMALL, "-o", str(folder / "two.postil")]) == 0
    assert (folder / "one.postil").read_bytes() == (folder / "two.postil").read_bytes()


def test_a_task_is_added_to_a_trained_model(folder, capsys):
    one, both = str(folder / "one.postil"), str(folder / "more.postil")
    assert main(["train", f"{folder}/names", *SMALL, "-o", one]) == 0
    added = ["train", f"--task=words={folder}/words:2", "--warm-start", one, *SMALL, "-o", both, "--overwrite"]
    assert main([*added, "--freeze-encoder"]) == 0
    X, _ = named_entities(20, seed=9)
    assert postil.load(both).tasks == ["main", "words"]
    assert postil.load(both).predict(X)["main"] == postil.load(one).predict(X)
    assert "no data for" not in capsys.readouterr().err
    assert main(added) == 0
    assert "no data for the tagger's own task, main" in capsys.readouterr().err


@pytest.mark.slow
def test_an_interrupted_training_is_resumed(folder, monkeypatch):
    files = [f"--task=names={folder}/names", f"--task=words={folder}/words:2", f"--dev=names={folder}/names-dev"]
    command = ["train", *files, *SMALL, "-o"]
    assert main([*command, str(folder / "whole.postil")]) == 0
    from postil.commands.fitting import Display

    def fail(self, event):
        if event.epoch == 2:
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Display, "show", fail)
        assert main([*command, str(folder / "again.postil")]) == 130
    assert main([*command, str(folder / "again.postil"), "--resume"]) == 0
    assert (folder / "again.postil").read_bytes() == (folder / "whole.postil").read_bytes()


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        ([], 2, "TRAIN or --task is needed"),
        (["{}/names", "--task", "a={}/names"], 2, "TRAIN and --task exclude each other"),
        (["--task", "{}/names"], 1, "--task must be NAME=FILE or NAME=FILE:COLUMN"),
        (["--task", "a/b={}/names"], 1, "name of a task"),
        (["--task", "a={}/names", "--dev", "b={}/names"], 1, "--dev must name one of the tasks a (got 'b')"),
        (["--task", "a={}/names", "--task", "b={}/words", "--freeze-encoder"], 1, "needs a model to start from"),
        (["{}/names", "--freeze-encoder"], 1, "--freeze-encoder cannot be used here"),
        (["{}/names", "--dev", "{}/names", "--dev", "{}/words"], 1, "--dev must be one file without --task"),
        (["--task", "a={}/names", "--task", "b={}/words", "--unlabelled", "{}/words"], 1, "got no --teacher"),
        (["--task", "a={}/names", "--task", "b={}/words", "--set", "ensemble=2"], 1, "an ensemble of several tasks"),
        (["--task", "a={}/nothing", "--task", "b={}/words"], 1, "nothing"),
        (["{}/names", "--map", "PER"], 1, "--map must be [FILE=]OLD:NEW"),
        (["{}/names", "--map", "other=PER:X"], 1, "--map must name one of the labelled files"),
        (["{}/names", "--map", "PRE:X"], 1, "--map must name classes of"),
    ],
)
def test_mistakes_are_one_line(words, code, message, folder, capsys):
    command = ["train", *(word.format(folder) for word in words), *SMALL, "-o", str(folder / "other.postil")]
    if code == 2:
        with pytest.raises(SystemExit) as found:
            main(command)
        assert found.value.code == 2
    else:
        assert main(command) == code
    assert message in capsys.readouterr().err


# ------------------------------------------------------------------------------------------------ names of labels


def test_labels_are_mapped_on_reading(folder, capsys):
    model = str(folder / "mapped.postil")
    mapped = ["--map", f"{folder}/names=PER:HUMAN,LOC:O"]
    assert main(["train", f"{folder}/names", *mapped, *SMALL, "-o", model]) == 0
    assert postil.load(model).classes_ == ["O", "B-HUMAN", "I-HUMAN"]
    capsys.readouterr()
    assert main(["evaluate", model, f"{folder}/names-dev", "--map", "PER:HUMAN,*:O", "--json"]) == 0
    assert set(json.loads(capsys.readouterr().out)["labels"]) == {"HUMAN"}


def test_a_class_can_be_mapped_to_unknown(folder, capsys):
    command = ["train", f"{folder}/names", "--map", "LOC:?", "--set", "epochs=1", "-o", str(folder / "mapped.postil")]
    assert main(command) == 0
    assert "tokens have an unknown label" in capsys.readouterr().err
    assert postil.load(folder / "mapped.postil").classes_ == ["O", "B-PER", "I-PER"]


# ------------------------------------------------------------------------------------------------ scores


def test_evaluate_answers_by_task(trained, capsys):
    model, names, words = str(trained / "both.postil"), f"names={trained}/names-dev", f"words={trained}/words-dev:2"
    assert main(["evaluate", model, "--task", names, "--task", words, "--partial", "no", "--json"]) == 0
    scores = json.loads(capsys.readouterr().out)
    assert list(scores) == ["names", "words"]
    assert scores["names"]["f1"] > 90 and scores["words"]["accuracy"] > 90
    assert main(["evaluate", model, f"{trained}/names-dev", "--task", "names", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"names": scores["names"]}
    assert main(["evaluate", model, f"{trained}/words-dev", "--task", "words:2", "--partial", "no"]) == 0
    assert capsys.readouterr().out.startswith("words: ")


def test_evaluate_writes_a_page_for_each_task(folder, capsys):
    model, names, words = str(folder / "both.postil"), f"names={folder}/names-dev", f"words={folder}/words-dev:2"
    page = folder / "report.html"
    command = ["evaluate", model, "--task", names, "--partial", "no", "--report", str(page)]
    assert main(command) == 0
    assert "both.postil[names]" in page.read_text()
    assert main([*command, "--task", words]) == 0
    assert {path.name for path in folder.glob("*.html")} == {"report.html", "report-names.html", "report-words.html"}
    assert "report-words.html" in capsys.readouterr().out


def test_wrong_tasks_of_evaluate(trained, names_model, capsys):
    model, file = str(trained / "both.postil"), f"{trained}/names-dev"
    for words, message in [
        ([model, file], "the model has several tasks: choose one with --task names, or --task names=FILE"),
        ([model, file, "--task", "chunks"], "task must be one of names, words (got 'chunks')"),
        ([model, "--task", "names"], "--task must be NAME=FILE if DATA is not given"),
        ([str(names_model), file, "--task", "names"], "tasks cannot be chosen here: the model has one task"),
    ]:
        assert main(["evaluate", *words]) == 1
        assert message in capsys.readouterr().err
    with pytest.raises(SystemExit) as found:
        main(["evaluate", str(names_model)])
    assert found.value.code == 2


# ------------------------------------------------------------------------------------------------ answers

TEXT = "Anna lives in Oslo"


def test_tag_writes_a_column_for_each_task(trained, capsys):
    model = str(trained / "both.postil")
    assert main(["tag", model, "--text", TEXT]) == 0
    out = capsys.readouterr().out
    assert out == "Anna\tB-PER\tNAME\nlives\tO\tVERB\nin\tO\tX|Y\nOslo\tB-LOC\tNAME\n\n"
    assert main(["tag", model, "--text", TEXT, "--task", "words"]) == 0
    assert capsys.readouterr().out == "Anna\tNAME\nlives\tVERB\nin\tX|Y\nOslo\tNAME\n\n"
    assert main(["tag", model, "--text", TEXT, "--probabilities"]) == 0
    first = capsys.readouterr().out.splitlines()[0].split("\t")
    assert first[::2] == ["Anna", "B-PER", "NAME"] and all(0 < float(cell) <= 1 for cell in first[1::2])


def test_tag_writes_layers(trained, capsys):
    model = str(trained / "both.postil")
    for options in ([], ["--probabilities"]):
        assert main(["tag", model, "--text", TEXT, "--to", "jsonl", *options]) == 0
        record = json.loads(capsys.readouterr().out)
        assert list(record) == ["text", "spans", "layers"]
        for task, field in (("names", "spans"), ("words", "tokens")):
            assert main(["tag", model, "--text", TEXT, "--to", "jsonl", "--task", task, *options]) == 0
            alone = json.loads(capsys.readouterr().out)
            assert record["layers"][task][field] == alone[field], "as a model of this task alone"
            assert record["layers"][task].get("labelling_probabilities") == alone.get("labelling_probabilities")
        plain = [
            {name: span[name] for name in ("start", "end", "label")} for span in record["layers"]["names"]["spans"]
        ]
        assert record["spans"] == plain


def test_records_without_words_have_layers(trained, tmp_path, capsys):
    (tmp_path / "texts.jsonl").write_text(json.dumps({"text": ""}) + "\n" + json.dumps({"text": TEXT, "id": 7}) + "\n")
    assert main(["tag", str(trained / "both.postil"), str(tmp_path / "texts.jsonl"), "--to", "jsonl"]) == 0
    empty, full = map(json.loads, capsys.readouterr().out.splitlines())
    assert empty["layers"] == {"names": {"spans": []}, "words": {"tokens": []}}
    assert full["id"] == 7 and len(full["layers"]["words"]["tokens"]) == 4


@pytest.mark.parametrize("options", [[], ["--task", "names"], ["--to", "jsonl"]])
def test_workers_answer_the_same(trained, options, tmp_path):
    text = tmp_path / "text.txt"
    text.write_text("Anna lives in Oslo.\nThey met Clara in New York.\n" * 300)
    command = ["tag", str(trained / "both.postil"), str(text), *options]
    for threads in ("1", "2"):
        assert main([*command, "--threads", threads, "-o", str(tmp_path / threads)]) == 0
    assert (tmp_path / "1").read_bytes() == (tmp_path / "2").read_bytes()


CONLLU = """# newdoc
# text = Anna livesin Oslo
1\tAnna\tanna\tX\t_\t_\t0\troot\t_\tId=1|NER=B-LOC
2-3\tlivesin\t_\t_\t_\t_\t_\t_\t_\t_
2\tlives\tlive\tX\t_\t_\t1\tdep\t_\tNER=O
3\tin\tin\tX\t_\t_\t1\tdep\t_\t_
3.1\tx\t_\t_\t_\t_\t_\t_\t_\t_
4\tOslo\toslo\tX\t_\t_\t1\tdep\t_\t_
"""


def test_conllu_has_a_place_for_each_task(tmp_path, capsys):
    data = {"names": named_entities(30), "words": parts_of_speech(30)}
    labels = {task: [[one.replace("|", "/") for one in labels] for labels in y] for task, (_, y) in data.items()}
    tagger = postil.MultiTaskTagger(hidden=16, epochs=2).fit({task: X for task, (X, _) in data.items()}, labels)
    model = str(tmp_path / "m.postil")
    tagger.save(model)
    assert main(["tag", model, "--text", "Anna lives in Oslo.", "--to", "conllu"]) == 0
    comment, *rows = capsys.readouterr().out.splitlines()[:-1]
    assert comment == "# text = Anna lives in Oslo."
    found = [row.split("\t") for row in rows]
    answers = postil.load(model).predict([["Anna", "lives", "in", "Oslo", "."]])
    keys = [dict(pair.split("=") for pair in row[9].split("|")) for row in found]
    assert [one["NER"] for one in keys] == answers["names"][0]
    assert [one["words"] for one in keys] == answers["words"][0]
    assert keys[3]["SpaceAfter"] == "No" and {row[3] for row in found} == {"_"}


def test_conllu_keeps_every_byte_but_those_of_the_tasks(trained, tmp_path, capsys):
    model = postil.load(trained / "both.postil")
    X = [["Anna", "lives", "in", "Oslo"]]
    heads = {"upos": model["words"], "names": model["names"]}
    fitted = postil.MultiTaskTagger(hidden=16, epochs=2, rate=0.02).fit(
        {task: named_entities(20)[0] for task in heads},
        {task: head.predict(named_entities(20)[0]) for task, head in heads.items()},
    )
    fitted.save(tmp_path / "named.postil")
    source = tmp_path / "a.conllu"
    source.write_bytes(CONLLU.replace("\n", "\r\n").encode())
    assert main(["tag", str(tmp_path / "named.postil"), str(source), "--to", "conllu"]) == 0
    answers, written = fitted.predict(X), capsys.readouterr().out
    rows = iter(zip(answers["upos"][0], answers["names"][0], strict=True))
    expected = []
    for line in CONLLU.splitlines():
        cells = line.split("\t")
        if cells[0].isdecimal():
            cells[3], name = next(rows)
            kept = [pair for pair in cells[9].split("|") if pair != "_" and not pair.startswith("NER=")]
            cells[9] = "|".join([*kept, f"NER={name}"])
        expected.append("\t".join(cells))
    assert written.splitlines() == expected


def test_labels_that_would_be_cut_in_conllu_are_refused(trained, capsys):
    assert main(["tag", str(trained / "both.postil"), "--text", "Anna", "--to", "conllu"]) == 1
    message = "labels of the task 'words' for CoNLL-U must have no | (or choose others with --task names) (got 'X|Y')"
    assert capsys.readouterr().err == f"postil: {message}\n"


def test_two_tasks_cannot_share_a_place_in_conllu(tmp_path, capsys):
    X, y = named_entities(20)
    model = postil.MultiTaskTagger(hidden=16, epochs=1).fit({"names": X, "NER": X}, {"names": y, "NER": y})
    model.save(tmp_path / "m.postil")
    assert main(["tag", str(tmp_path / "m.postil"), "--text", "Anna", "--to", "conllu"]) == 1
    message = "two tasks have the same place in CoNLL-U: expected --task with some of names, NER, got misc:NER"
    assert capsys.readouterr().err == f"postil: {message}\n"


@pytest.fixture(scope="module")
def layered(trained):
    """Texts with the layers of both tasks, two sentences to a record."""
    lines = [f"{' '.join(a)} {' '.join(b)}" for a, b in zip(*[iter(named_entities(60)[0])] * 2, strict=True)]
    (trained / "texts.txt").write_text("\n".join(lines) + "\n")
    path = trained / "layered.jsonl"
    words = [str(trained / "both.postil"), str(trained / "texts.txt"), "--to", "jsonl", "--probabilities"]
    assert main(["tag", *words, "-o", str(path)]) == 0
    return path


def test_layers_of_json_lines_are_read_by_task(trained, layered, tmp_path, capsys):
    model, path = trained / "both.postil", tmp_path / "again.postil"
    files = [f"--task=names={layered}", f"--task=upos={layered}:words"]
    assert main(["train", *files, *SMALL, "--set", "epochs=1", "-o", str(path)]) == 0
    again, first = postil.load(path), postil.load(model)
    assert again.classes_ == {"names": first.classes_["names"], "upos": again.classes_["upos"]}
    assert set(again.classes_["upos"]) <= set(first.classes_["words"])
    about = again.model.about["data"]["tasks"]
    assert about["names"]["sentences"] == about["upos"]["sentences"] > 0
    capsys.readouterr()
    words = [f"--task=names={layered}", f"--task=words={layered}", "--partial=no", "--json"]
    assert main(["evaluate", str(model), *words]) == 0
    scores = json.loads(capsys.readouterr().out)
    assert scores["names"]["accuracy"] == scores["words"]["accuracy"] == 100.0, "they are its own answers"


def test_a_layer_that_is_missing_is_one_line(trained, layered, tmp_path, capsys):
    files = [f"--task=names={layered}", f"--task=chunks={layered}"]
    assert main(["train", *files, *SMALL, "-o", str(tmp_path / "m.postil")]) == 1
    message = "no layer 'chunks': expected one of the layers of the record, got names, words"
    assert capsys.readouterr().err == f"postil: {layered}, line 1: {message}\n"


def test_options_of_one_task_need_one(trained, names_model, capsys):
    model = str(trained / "both.postil")
    for words, message in [
        ([model, "--nbest", "2", "--to", "jsonl"], "choose one with --task"),
        ([model, "--threshold", "0.5"], "choose one with --task"),
        ([model, "--task", "chunks"], "task must be one of names, words (got 'chunks')"),
        ([str(names_model), "--task", "names"], "the model has one task"),
    ]:
        assert main(["tag", *words, "--text", TEXT]) == 1
        assert message in capsys.readouterr().err
    assert main(["tag", model, "--task", "names", "--nbest", "2", "--to", "jsonl", "--text", TEXT]) == 0
    assert len(json.loads(capsys.readouterr().out)["nbest"][0]) == 2


@pytest.mark.slow
def test_check_explain_and_tune(folder, capsys):
    model = str(folder / "both.postil")
    assert main(["gradcheck", model, "--json"]) == 0
    checked = json.loads(capsys.readouterr().out)
    assert {"heads.names.output0.W", "heads.words.output0.W"} <= {entry["name"] for entry in checked["checks"]}
    assert main(["explain", model, TEXT, "--task", "names", "--json"]) == 0
    explained = capsys.readouterr().out
    assert [one["label"] for one in json.loads(explained)["explanations"]] == ["PER", "LOC"]
    assert main(["explain", model, TEXT, "--json"]) == 0  # entities are those of the first task with spans
    assert capsys.readouterr().out == explained
    strict = postil.load(model)
    before = strict.decoding
    strict["names"].decoding = replace(before["names"], thresholds={"PER": 1.0, "LOC": 1.0})  # finds nothing
    strict.save(model)
    assert main(["tune", model, f"{folder}/names-dev", "--task", "names", "--recall", "0.5", "--in-place"]) == 0
    after = postil.load(model)
    assert after.decoding["names"] != strict["names"].decoding and after.decoding["words"] == before["words"]
    assert after.tasks == ["names", "words"]
    assert main(["tune", model, "--task", "names", "--reset", "--in-place"]) == 0
    assert postil.load(model).decoding == before


# ------------------------------------------------------------------------------------------------ teachers


@pytest.mark.parametrize("teacher", ["names={}/both.postil", "{}/both.postil"])
def test_raw_text_is_learnt_from_the_teachers_of_tasks(folder, teacher, tmp_path):
    (tmp_path / "raw.txt").write_text("Anna lives in Oslo .\nthe museums of Lima are old\n" * 20)
    files = [f"--task=names={folder}/names", f"--task=words={folder}/words:2"]
    lesson = [f"--unlabelled={tmp_path}/raw.txt", f"--teacher={teacher.format(folder)}"]
    assert main(["train", *files, *lesson, *SMALL, "-o", str(tmp_path / "taught.postil")]) == 0
    about = postil.load(tmp_path / "taught.postil").model.about["data"]["tasks"]
    assert about["names"]["unlabelled"]["sentences"] > 10
    assert ("unlabelled" in about["words"]) == (not teacher.startswith("names="))


def test_teachers_that_do_not_fit_are_one_line(folder, names_model, tmp_path, capsys):
    (tmp_path / "raw.txt").write_text("Anna lives in Oslo .\n")
    words = ["train", f"--task=names={folder}/names", f"--task=words={folder}/words:2", "-o", str(tmp_path / "m")]
    for teachers, message in [
        ([], "--unlabelled with several tasks: expected --teacher names=MODEL"),
        ([f"--teacher={names_model}"], "--teacher must be NAME=MODEL with a task (names, words)"),
        ([f"--teacher=words={names_model}"], "labels of the teacher"),
    ]:
        assert main([*words, f"--unlabelled={tmp_path}/raw.txt", *teachers]) == 1
        error = capsys.readouterr().err
        assert message in error and "Traceback" not in error


# ------------------------------------------------------------------------------------------------ tables


@pytest.mark.extra("pyarrow")
def test_tables_have_a_column_for_each_task(folder, tmp_path, capsys):
    import pyarrow as pa
    from pyarrow import parquet

    parquet.write_table(pa.table({"text": ["Anna lives in Oslo.", None]}), tmp_path / "t.parquet")
    model, table = str(folder / "both.postil"), str(tmp_path / "t.parquet")
    assert main(["tag", model, table, "-o", str(tmp_path / "all.parquet")]) == 0
    answered = parquet.read_table(tmp_path / "all.parquet")
    assert answered.column_names == ["text", "names", "words"]
    assert [(e["start"], e["label"]) for e in answered["names"][0].as_py()] == [(0, "PER"), (14, "LOC")]
    assert len(answered["words"][0].as_py()) == 5 and answered["words"][1].as_py() is None
    assert main(["tag", model, table, "--task", "names", "-o", str(tmp_path / "folder")]) == 0
    assert parquet.read_table(tmp_path / "folder").column_names == ["text", "entities"]
    capsys.readouterr()
    assert main(["tag", model, table, "--task", "words", "-o", str(tmp_path / "folder")]) == 1
    assert "the folder holds parts of another job" in capsys.readouterr().err
    assert main(["tag", model, table, "--threshold", "0.9", "-o", str(tmp_path / "x.parquet")]) == 1
    assert "choose a task with --task" in capsys.readouterr().err


def conllu(labels):
    """One word a sentence: the same part of speech, another feature."""
    rows = [f"1\tw{label}\t_\tNOUN\t_\tCase={label}\t0\troot\t_\t_\n\n" for label in labels]
    return "".join(rows)


@pytest.mark.slow
def test_held_out_files_have_the_column_of_their_task(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.conllu").write_text(conllu(["Nom", "Acc"] * 30))
    (tmp_path / "dev.conllu").write_text(conllu(["Nom", "Acc"] * 5))
    words = ["--task", "case=train.conllu:feats", "--task", "pos=train.conllu", "--set", "epochs=6", "-o", "m"]
    for option in (["case=dev.conllu"], ["case=dev.conllu:feats"]):
        assert main(["train", *words, "--dev", *option, "--test", "case=dev.conllu"]) == 0
        out, err = capsys.readouterr()
        assert "do not occur" not in err
        assert out.count("case: accuracy 100.00") == 2
    (tmp_path / "other.conllu").write_text(conllu(["Nom"]))
    several = ["--task", "case=train.conllu:feats", "--task", "case=other.conllu:upos", *words[2:]]
    assert main(["train", *several, "--dev", "case=dev.conllu"]) == 1
    assert "--dev must name the column: the training files of the task have several" in capsys.readouterr().err

"""The page that trains: the same kernels, numbers and files as in Python, in Node; labels and files in a browser."""

import json
import shutil
import subprocess
from dataclasses import asdict

import numpy as np
import pytest

import postil
from oracles.visitors import BROWSERS, broken_rules
from postil import archive
from postil.errors import ConfigurationError
from postil.export.web import trainer
from postil.features.words import WordFeatures
from postil.graph import dense as dense_of
from postil.kernels import Crew
from postil.models.config import adapted, configured
from postil.optimisation.loop import Workers
from postil.samples.corpora import made_up_sentences
from postil.text import spans_from_labels
from postil.text.formats import read
from postil.threads import Team

NEEDS_NODE = pytest.mark.extra("node")
CODE = trainer.__file__.rpartition("/")[0]


def sample(count, seed=1, **options):
    """Made-up sentences: tokens, labels, and {tokens, spans} as JavaScript takes them."""
    drawn = made_up_sentences(count, np.random.default_rng(seed), **options)
    X, y = [list(one.tokens) for one in drawn], [list(one.labels) for one in drawn]
    spans = [[{"start": s.start, "end": s.end, "label": s.label} for s in spans_from_labels(of, "bio")] for of in y]
    return X, y, [{"tokens": tokens, "spans": of} for tokens, of in zip(X, spans, strict=True)]


def json_lines(count, seed=1, labelled=None):
    """The same as texts with spans; those after the first ``labelled`` have none."""
    lines = []
    for number, sentence in enumerate(sample(count, seed)[2]):
        starts = np.cumsum([0, *(len(token) + 1 for token in sentence["tokens"])]).tolist()
        spans = [{**s, "start": starts[s["start"]], "end": starts[s["end"]] - 1} for s in sentence["spans"]]
        record = {"text": " ".join(sentence["tokens"]), "spans": spans}
        lines.append(json.dumps(record if labelled is None or number < labelled else {"text": record["text"]}))
    return "\n".join(lines) + "\n"


@pytest.fixture
def node(tmp_path):
    """Runs code in Node with the modules of the page, ``value`` and ``train``; returns what it returns."""

    def run(code, value=None, **files):
        (tmp_path / "constants.bin").write_bytes(trainer.constants())
        for name, content in files.items():
            (tmp_path / name).write_bytes(content)
        script = f"""
            import fs from "node:fs";
            import * as T from {json.dumps(CODE + "/training.mjs")};
            import * as R from {json.dumps(CODE + "/records.mjs")};
            import {{ open }} from {json.dumps(CODE + "/runtime.mjs")};
            const {{ start, value }} = JSON.parse(fs.readFileSync(0, "utf8"));
            const file = (name) => new Uint8Array(fs.readFileSync({json.dumps(str(tmp_path))} + "/" + name));
            const constants = T.readFlat(file("constants.bin"));
            const wasm = fs.readFileSync({json.dumps(CODE + "/trainer.wasm")});
            const tagger = (model) => open(wasm, T.flatModel(model, constants));
            const instance = async () => (await WebAssembly.instantiate(wasm)).instance.exports;
            const train = async (sentences, options) => {{
                const steps = T.training(await instance(), start, constants, sentences, options);
                for (;;) {{ const step = steps.next(); if (step.done) return step.value; }}
            }};
            const save = (bytes, name) => fs.writeFileSync({json.dumps(str(tmp_path))} + "/" + name, bytes);
            const answer = await (async () => {{ {code} }})();
            process.stdout.write(JSON.stringify(answer ?? null));
        """
        (tmp_path / "script.mjs").write_text(script, encoding="utf8")
        given = json.dumps({"start": trainer.settings(), "value": value}).encode()
        run = subprocess.run(
            [shutil.which("node"), tmp_path / "script.mjs"], input=given, capture_output=True, check=False, timeout=300
        )
        assert run.returncode == 0 and not run.stderr, run.stderr.decode()
        return json.loads(run.stdout)

    return run


def assert_answers(tagger, X, answers, tolerance=1e-5):
    assert [answer["labels"] for answer in answers] == tagger.predict(X)
    for tokens, answer in zip(X, answers, strict=True):
        wanted = [m[label] for m, label in zip(tagger.marginals(tokens), answer["labels"], strict=True)]
        assert answer["probabilities"] == pytest.approx(wanted, abs=tolerance)


# ------------------------------------------------------------------------------------------------ training


@NEEDS_NODE
def test_gradients_are_those_of_the_kernel(node):
    """Of the first batch, with its noise: the weights, batches and random numbers are NumPy's."""
    X, y, sentences = sample(40)
    found = node(
        """const wasm = await instance();
        const { loss } = T.training(wasm, start, constants, value, { seed: 3 }).next().value;
        const model = await train(value, { seed: 3, epochs: 1 });
        const gradient = (i, count) => Array.from(new Float32Array(wasm.memory.buffer, wasm.gradient(i), count));
        return { loss, gradients: model.parameters.map((of, i) => gradient(i, of.length)) };""",
        sentences,
    )
    fitting = postil.Tagger(seed=3).fitting(X, y)
    run = fitting.training
    batch = run.batches(np.random.default_rng([3, 0]))[0]
    with Team(1) as team, Crew(1) as crew:
        prepared = run.gradient_step.prepare(batch, lambda shard: np.random.default_rng([3, 0, 0, shard]))
        run.gradient_step.begin(prepared, Workers(team, crew))
        loss, gradients = run.gradient_step.finish(prepared, Workers(team, crew))
    assert found["loss"] == pytest.approx(loss, rel=1e-5)
    by_name = {node: name for name, node in fitting.model.network.parameters().items()}
    wanted = {by_name[node]: gradient for node, gradient in gradients.items()}
    assert len(wanted) == len(found["gradients"]) == 10
    for name, of in zip(fitting.model.network.parameters(), found["gradients"], strict=True):
        dense = wanted[name] if isinstance(wanted[name], np.ndarray) else dense_of(wanted[name])
        assert np.abs(dense).max() > 1e-4, name
        assert np.allclose(np.reshape(of, dense.shape), dense, atol=1e-5, rtol=1e-4), name


@NEEDS_NODE
@pytest.mark.parametrize("count", [30, pytest.param(800, marks=pytest.mark.slow)])
def test_a_model_has_the_answers_of_python_for_the_same_seed(node, tmp_path, count):
    """30: few sentences, with small batches and much noise. 800: full epochs."""
    X, y, sentences = sample(count)
    T = sample(100, seed=2, new_names=True)[0]
    answers = node(
        """const model = await train(value.sentences, { seed: 7 });
        save(T.modelFile(model, start), "page.postil");
        return (await tagger(T.openModelFile(file("page.postil"), start))).tagTokens(value.T);""",
        {"sentences": sentences, "T": T},
    )
    loaded, trained = postil.load(tmp_path / "page.postil"), postil.Tagger(seed=7).fit(X, y)
    archive.check(tmp_path / "page.postil")
    assert_answers(loaded, T, answers)
    assert_answers(trained, T, answers, tolerance=1e-3)
    assert loaded.model.config == trained.model.config
    words = loaded.model.features.words.arrays()
    assert all(np.array_equal(array, words[name]) for name, array in trained.model.features.words.arrays().items())
    assert loaded.get_params() == trained.get_params()
    losses = [[epoch["loss"] for epoch in of.model.about["training"]["history"]] for of in (loaded, trained)]
    assert losses[0] == pytest.approx(losses[1], rel=1e-2)


@NEEDS_NODE
def test_settings_adapt_to_the_data_as_in_python(node):
    amounts = [
        (1, 5, None),
        (2, 30, None),
        (180, 2000, None),
        (719, 9000, None),
        (720, 9000, None),
        (5000, 60000, None),
        (100, 900, 3),
    ]
    found = node("return value.map((of) => T.adapted(start, ...of));", amounts)
    for (sentences, tokens, epochs), config in zip(amounts, found, strict=True):
        chosen = {} if epochs is None else {"epochs": epochs}
        wanted = adapted(configured("fast", chosen), sentences, tokens)
        assert {name: tuple(of) if isinstance(of, list) else of for name, of in config.items()} == asdict(wanted)


@NEEDS_NODE
def test_words_of_all_scripts_have_the_features_of_python(node, tmp_path):
    X = [
        ["Ünal", "𝒪slo", "İstanbul", "ΟΔΟΣ", "東京", "٣٤x", "McDonald-7", "é", "\uf8ffA", "😀", "a", "\U0001f600b"]
    ] * 3
    node(
        """save(T.modelFile(await train(value, { epochs: 1 }), start), "page.postil");""",
        [{"tokens": tokens, "spans": [{"start": 0, "end": 2, "label": "X"}]} for tokens in X],
    )
    found = postil.load(tmp_path / "page.postil").model.features.words
    wanted = WordFeatures.build(found.config, X)
    for name, array in wanted.arrays().items():
        assert np.array_equal(array, found.arrays()[name]), name


# ------------------------------------------------------------------------------------------------ files


@pytest.fixture(scope="module")
def python_model(tmp_path_factory):
    """A calibrated and tuned model of Python's."""
    X, y, _ = sample(60)
    path = tmp_path_factory.mktemp("models") / "python.postil"
    tagger = postil.Tagger(epochs=3).fit(X, y, dev=sample(40, seed=5)[:2])
    assert tagger.decoding.temperature != 1
    tagger.save(path)
    return path


@NEEDS_NODE
def test_a_file_of_python_has_its_answers_in_the_page(node, python_model, tmp_path):
    T = sample(100, seed=2, new_names=True)[0]
    answers = node(
        """const model = T.openModelFile(file("python"), start);
        save(T.modelFile(model, start), "again.postil");
        return (await tagger(model)).tagTokens(value);""",
        T,
        python=python_model.read_bytes(),
    )
    assert_answers(postil.load(python_model), T, answers)
    assert_answers(postil.load(tmp_path / "again.postil"), T, answers)


def forgeries(path):
    """Name -> bytes of files that are not what they seem; checksums are right but where the name says otherwise."""
    content = path.read_bytes()
    arrays, metadata = archive.load(path)
    arrays = {name: np.array(array) for name, array in arrays.items()}

    def written(change):
        new_arrays, new = {**arrays}, json.loads(json.dumps(metadata))
        change(new_arrays, new)
        return archive.to_bytes(new_arrays, new)

    def with_array(name, array):
        return written(lambda a, m: a.update({name: array}))

    weights, words = "network/encoder.layers.1.W", "features/words/word/"
    nan = arrays[weights].copy()
    nan[0, 0] = np.nan
    offsets = arrays[words + "offsets"].copy()
    offsets[1] = 10**6
    text = arrays[words + "text"].copy()
    text[:] = 0xFF
    return {
        "empty": b"",
        "text": b"not a model at all, but long enough to be looked at",
        "truncated": content[:-100],
        "one byte more": content + b"\0",
        "checksum of an array": content[:-5] + bytes([content[-5] ^ 1]) + content[-4:],
        "checksum of the header": content[:200] + bytes([content[200] ^ 1]) + content[201:],
        "another program's": content.replace(b'"postil":"2"', b'"format":"2"', 1),
        "a later format": content.replace(b'"postil":"2"', b'"postil":"3"', 1),
        "NaN": with_array(weights, nan),
        "another shape": with_array(weights, arrays[weights].T.copy()),
        "vectors": with_array("features/words/vector/table", np.zeros((3, 4), np.float32)),
        "offsets": with_array(words + "offsets", offsets),
        "no UTF-8": with_array(words + "text", text),
        "no array": written(lambda a, m: a.pop(weights)),
        "no heads": written(lambda a, m: m.pop("heads")),
        "null": written(lambda a, m: m.update(config=None)),
        "more labels": written(lambda a, m: m["heads"]["main"]["labels"].update(classes=["A", "B", "C", "D"])),
        "hidden": written(lambda a, m: m["config"].update(hidden=10**9)),
        "a name of a class": written(lambda a, m: m["heads"]["main"]["labels"].update(classes=["A", "B\u202e", "C"])),
        "temperature": written(lambda a, m: m["heads"]["main"]["decoding"].update(temperature=0)),
        "segmentation": written(lambda a, m: m.update(segmentation={"rules": "__proto__"})),
        "rules": written(lambda a, m: m.update(needs=["rules"])),
        "a detector": written(lambda a, m: m.update(kind="detector")),
    }


@NEEDS_NODE
def test_forged_model_files_are_refused_in_one_line(node, python_model):
    files = forgeries(python_model)
    found = node(
        """return Object.fromEntries(value.map((name, i) => {
            try { T.openModelFile(file(`forged${i}`), start); return [name, null]; }
            catch (error) { return [name, [error.name, error.message]]; }
        }));""",
        list(files),
        **{f"forged{i}": content for i, content in enumerate(files.values())},
    )
    for name, error in found.items():
        assert error is not None, f"{name} was opened"
        assert error[0] == "PostilError" and "\n" not in error[1] and 10 < len(error[1]) < 250, (name, error)


@NEEDS_NODE
def test_labels_are_json_lines_that_python_reads(node, tmp_path):
    """Offsets count characters in the file, and what is not labelled is left out by ``postil train``."""
    lines = [
        {
            "text": "😀 Anna met 𝒪lga in Rio de Janeiro.",
            "spans": [{"start": 2, "end": 6, "label": "PER"}, {"start": 19, "end": 33, "label": "LOC"}],
            "id": 7,
        },
        {"text": "Nobody knows.", "spans": []},
        {"text": "Later."},
    ]
    content = "\n".join(json.dumps(line) for line in lines)
    sentences = node(
        """const records = R.readRecords(value, "labels.jsonl");
        const cutter = await tagger(T.blank(start));
        save(R.writeRecords(records), "saved.jsonl");
        return records.filter((record) => record.isDone).flatMap((record) => R.sentencesOf(record, cutter));""",
        content,
    )
    records = [json.loads(line) for line in (tmp_path / "saved.jsonl").read_text("utf8").splitlines()]
    assert records == [lines[0], lines[1], {**lines[2], "spans": [], "answer": "ignore"}]
    read_by_python = list(read(tmp_path / "saved.jsonl"))
    assert [one["tokens"] for one in sentences] == [sentence.tokens for sentence in read_by_python]
    spans = [[(s.start, s.end, s.label) for s in spans_from_labels(of.labels, "bio")] for of in read_by_python]
    assert [[(s["start"], s["end"], s["label"]) for s in one["spans"]] for one in sentences] == spans


@NEEDS_NODE
@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", ": there are no records in it"),
        ('{"text": "a"}\n[1]', ', line 2: expected one object a line, {"text": "…", "spans": […]}'),
        ('{"text": "a", "spans": 3}', ", line 1: spans: expected a list"),
        ('{"text": "a", "spans": [{"start": 0, "end": 2, "label": "X"}]}', ", line 1: the span 0 to 2 is not inside"),
        ('{"text": "a", "spans": [{"start": 0, "end": 1, "label": ["X", "O"]}]}', ", line 1: a span without one label"),
    ],
)
def test_other_json_lines_are_refused_in_one_line(node, content, message):
    found = node("try { R.readRecords(value, 'x.jsonl'); } catch (error) { return error.message; }", content)
    assert found.startswith(f"x.jsonl{message}")


# ------------------------------------------------------------------------------------------------ the command


def test_models_that_the_page_cannot_open_are_refused(tmp_path, speech_model, names_model):
    message = r"a page that trains: expected a tagger of spans of the preset fast, without vectors, got hidden=16"
    for model in (speech_model, names_model):
        with pytest.raises(ConfigurationError, match=message):
            trainer.write_trainer(tmp_path / "x.html", model)
    with pytest.raises(ConfigurationError, match=r"-o must end in \.html"):
        trainer.write_trainer(tmp_path / "x.mjs")
    assert not list(tmp_path.iterdir())


# ------------------------------------------------------------------------------------------------ the page


@pytest.fixture(scope="module")
def trainer_page(tmp_path_factory):
    path = tmp_path_factory.mktemp("page") / "trainer.html"
    trainer.write_trainer(path)
    return path


@pytest.fixture
def visit(browser):
    """Opens the page without a network; nothing may be asked for, and nothing may go wrong in it."""
    visits = []

    def opened(path, width=1400, **options):
        context = browser.new_context(viewport={"width": width, "height": 900}, offline=True, **options)
        page, problems, requests = context.new_page(), [], []
        page.on("console", lambda message: problems.append(message.text))
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.on("request", lambda request: requests.append(request.url))
        page.set_default_timeout(60_000)
        page.goto(path.as_uri())
        page.wait_for_selector("html[data-ready]", state="attached")
        visits.append((context, problems, requests))
        return page

    yield opened
    for context, problems, requests in visits:
        context.close()
        assert problems == []
        assert [url for url in requests if not url.startswith(("file:", "data:", "blob:"))] == []


def saved(page, button, path):
    with page.expect_download() as download:
        page.click(button)
    download.value.save_as(path)
    return path


@pytest.mark.slow
@pytest.mark.extra("playwright")
@pytest.mark.extra(*BROWSERS)
def test_three_hundred_sentences_are_labelled_trained_and_tagged_offline(visit, trainer_page, tmp_path):
    page = visit(trainer_page)
    (tmp_path / "labels.jsonl").write_text(json_lines(300, labelled=299), encoding="utf8")
    page.set_input_files("#file", tmp_path / "labels.jsonl")
    page.wait_for_selector("#count:has-text('299 of 300 sentences labelled')")
    page.click("#train button")
    page.wait_for_selector("#told:has-text('held-out sentences')")
    assert float(page.inner_text("#told strong").removeprefix("F1 ")) > 80
    # The last sentence has what the model proposes; it is corrected and saved.
    assert page.inner_text("#where") == "Sentence 300 of 300"
    page.keyboard.press("Shift+Enter")
    page.wait_for_selector("#count:has-text('300 of 300 sentences labelled')")
    labels, model = saved(page, "#save-labels", tmp_path / "l.jsonl"), saved(page, "#save-model", tmp_path / "m.postil")
    T = sample(50, seed=2, new_names=True)[0]
    assert_answers(postil.load(model), T, page.evaluate("T => page.tagTokens(T)", T))
    assert len(list(read(labels))) == 300
    page.fill("#text", "Anna Reed lives in Oslo 😀.")
    page.wait_for_selector("#answer mark:has-text('Oslo')")
    assert "%" in page.inner_text("#answer mark >> nth=0")
    # What was kept is there again.
    page.wait_for_timeout(600)
    page.reload()
    page.wait_for_selector("#count:has-text('300 of 300 sentences labelled')")
    assert page.locator("#answer mark").count() > 0
    with_model = tmp_path / "with-model.html"
    trainer.write_trainer(with_model, model)
    other = visit(with_model)
    assert_answers(postil.load(model), T, other.evaluate("T => page.tagTokens(T)", T))


@pytest.mark.extra("playwright")
@pytest.mark.extra(*BROWSERS)
def test_words_are_labelled_by_mouse_keyboard_and_finger(visit, trainer_page, tmp_path):
    page = visit(trainer_page, has_touch=True)
    page.fill("#paste", "Anna Smith lives in New York. Boris is old.")
    page.click("text=Add the text")
    page.fill("#new-class", "PER")
    page.keyboard.press("Enter")
    page.fill("#new-class", "LOC")
    page.keyboard.press("Enter")
    word = "#sentence [data-word='{}']".format
    page.drag_and_drop(word(0), word(1))
    page.click("#choices button >> nth=0")
    assert page.locator("#sentence .entity").all_inner_texts() == ["Anna SmithPER"]
    page.locator(word(4)).tap()
    page.keyboard.press("Shift+ArrowRight")
    page.keyboard.press("2")
    assert page.locator("#sentence .entity").all_inner_texts() == ["Anna SmithPER", "New YorkLOC"]
    page.keyboard.press("r")
    page.keyboard.press("u")
    page.keyboard.press("Shift+Enter")
    page.wait_for_selector("#where:has-text('Sentence 2 of 2')")
    page.keyboard.press("1")
    page.keyboard.press("Shift+Enter")
    content = saved(page, "#save-labels", tmp_path / "labels.jsonl").read_text("utf8")
    assert [json.loads(line)["spans"] for line in content.splitlines()] == [
        [{"start": 0, "end": 10, "label": "PER"}, {"start": 20, "end": 28, "label": "LOC"}],
        [],
    ]


@pytest.mark.extra("playwright")
@pytest.mark.extra(*BROWSERS)
def test_what_the_browser_keeps_is_checked_and_can_be_switched_off(visit, trainer_page):
    page = visit(trainer_page)
    kept = "localStorage.getItem('postil trainer ' + location.pathname)"
    page.fill("#paste", "Anna is here.")
    page.click("text=Add the text")
    page.wait_for_timeout(600)
    assert "Anna is here." in page.evaluate(kept)
    page.uncheck("#keeps")
    assert page.evaluate(kept) is None
    page.evaluate("localStorage.setItem('postil trainer ' + location.pathname, '{broken')")
    page.reload()
    page.wait_for_selector("#problem:has-text('this browser keeps something that cannot be opened')")
    page.wait_for_timeout(600)
    assert page.evaluate(kept) == "{broken", "nobody has overwritten it"


@pytest.mark.extra("playwright")
@pytest.mark.extra(*BROWSERS)
def test_other_files_are_refused_in_one_line(visit, trainer_page, python_model, tmp_path):
    page = visit(trainer_page)
    for name, content in (("x.postil", python_model.read_bytes()[:-9]), ("x.jsonl", b"{}"), ("x.txt", b"\xff\xfe")):
        (tmp_path / name).write_bytes(content)
        page.set_input_files("#file", tmp_path / name)
        page.wait_for_selector("#problem .error")
        assert len(page.inner_text("#problem").splitlines()) == 1
    page.set_input_files("#file", python_model)
    page.wait_for_selector("#told:has-text('is in use')")
    assert page.inner_text("#problem") == ""


@pytest.mark.extra("playwright")
@pytest.mark.extra("axe_playwright_python")
@pytest.mark.extra(*BROWSERS)
def test_no_accessibility_rule_is_broken_and_nothing_sticks_out(visit, trainer_page, python_model, tmp_path):
    (tmp_path / "labels.jsonl").write_text(json_lines(12, labelled=10), encoding="utf8")
    for width in (390, 900, 1400):
        page = visit(trainer_page, width, bypass_csp=True)
        assert broken_rules(page) == []
        page.set_input_files("#file", [tmp_path / "labels.jsonl", python_model])
        page.wait_for_selector("#told:has-text('is in use')")
        page.click("#sentence [data-word='0']")
        assert broken_rules(page) == []
        assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth"), width

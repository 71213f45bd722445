"""Exported models in Node: the answers of Python, offsets of JavaScript, strings of all kinds."""

import json

import numpy as np
import pytest

import postil
from models.test_learned_segmentation import treebank
from oracles import corpora
from postil.export import web
from postil.models.decoding.posteriors import Posteriors
from postil.models.segmentation import learn_segmenter
from postil.samples.corpora import made_up_trees
from postil.text.splitting.segmenter import CHARACTERS
from postil.text.trees.treebank import parse_tree

pytestmark = pytest.mark.extra("node")
TOLERANCE = 1e-5
TEXTS = [
    "Anna lives in Oslo. The museums of Rio de Janeiro are old!",
    "😀 Anna 👩‍👩‍👧 met Boris in 𝒪slo; naïve café – “Paris”… 東京",
    "Anna e\u0301 \u200bBoris\u00a0\u2028Lima \u05e9\u05dc\u05d5\u05dd Paris \U0010ffff",
    "",
    " \n\t ",
    "...",
    "Paris",
    "they met Anna Boris\r\n\r\nthe museums of New York are old\u0000Clara",
]


def units(text, place):
    """An offset in characters as one in UTF-16 code units."""
    return len(text[:place].encode("utf-16-le", "surrogatepass")) // 2


def expected(tagger, text):
    """What Python answers, as JavaScript says it."""
    document = tagger.tag(text)
    tokens = [
        (token, units(text, start), units(text, end), label)
        for sentence in document.sentences
        for token, start, end, label in zip(
            sentence.tokens, sentence.starts, sentence.ends, sentence.labels, strict=True
        )
    ]
    entities = [(e.text, units(text, e.start), units(text, e.end), e.label, e.probability) for e in document.entities]
    return tokens, entities, [len(sentence) for sentence in document.sentences]


def assert_same_entities(found, wanted):
    assert [tuple(one)[:4] for one in found] == [tuple(one)[:4] for one in wanted]
    assert [one[4] for one in found] == pytest.approx([one[4] for one in wanted], abs=TOLERANCE)


IN_LISTS = """
    const lists = (a) => ({
        tokens: a.tokens.map((t) => [t.text, t.start, t.end, t.label]),
        entities: a.entities.map((e) => [e.text, e.start, e.end, e.label, e.probability]),
        lengths: a.sentences.map(([first, end]) => end - first),
        slices: a.tokens.every((t) => t.text === a.text.slice(t.start, t.end)),
    });
"""


@pytest.mark.parametrize("simd", [True, False], ids=["simd", "plain"])
@pytest.mark.parametrize("kind", ["names", "speech"])
def test_texts_have_the_labels_of_python(request, node, kind, simd):
    tagger = web.as_exported(postil.load(request.getfixturevalue(f"{kind}_model")))[0]
    run = node(request.getfixturevalue(f"{kind}_package"))
    answers = run(f"{IN_LISTS} return value.map((text) => lists(tagger.tag(text)));", TEXTS, simd)
    for text, answer in zip(TEXTS, answers, strict=True):
        tokens, entities, lengths = expected(tagger, text)
        assert [tuple(one) for one in answer["tokens"]] == tokens
        assert_same_entities(answer["entities"], entities)
        assert answer["lengths"] == lengths and answer["slices"]


@pytest.mark.parametrize("how", ["learned", "characters"])
def test_texts_are_cut_as_in_python(node, exported, tmp_path, how):
    sentences = treebank(150, seed=0)
    cuts = learn_segmenter(sentences) if how == "learned" else CHARACTERS
    X, y = [one.tokens for one in sentences], [["B-X", *["O"] * (len(one.tokens) - 1)] for one in sentences]
    postil.Tagger(hidden=8, epochs=2, segmenter=cuts).fit(X, y).save(tmp_path / "cut.postil")
    tagger = web.as_exported(postil.load(tmp_path / "cut.postil"))[0]
    texts = [*TEXTS, " ".join(str(one.text) for one in treebank(100, seed=3)) + " See www.x.org/a, or a@b.org"]
    answers = node(exported(tmp_path / "cut.postil"))(
        f"{IN_LISTS} return value.map((text) => lists(tagger.tag(text)));", texts
    )
    for text, answer in zip(texts, answers, strict=True):
        tokens, _, lengths = expected(tagger, text)
        assert [tuple(one) for one in answer["tokens"]] == tokens
        assert answer["lengths"] == lengths and answer["slices"]


@pytest.mark.parametrize("simd", [True, False], ids=["simd", "plain"])
@pytest.mark.parametrize("kind", ["names", "speech"])
def test_tokens_have_the_labels_and_probabilities_of_python(request, node, kind, simd):
    tagger = web.as_exported(postil.load(request.getfixturevalue(f"{kind}_model")))[0]
    run = node(request.getfixturevalue(f"{kind}_package"))
    corpus = {"names": corpora.named_entities, "speech": corpora.parts_of_speech}[kind]
    X = [*corpus(150, seed=7)[0], ["Zürich", "東京", "😀", "a b", "x" * 300], ["Anna"]]
    answers, labels = run("return [tagger.tagTokens(value), tagger.predict(value)];", X, simd)
    assert labels == [answer["labels"] for answer in answers] == tagger.predict(X)
    assert len({label for sentence in labels for label in sentence}) > 2, "the model says something"
    for tokens, answer in zip(X, answers, strict=True):
        marginals = tagger.marginals(tokens)
        wanted = [marginal[label] for marginal, label in zip(marginals, answer["labels"], strict=True)]
        assert answer["probabilities"] == pytest.approx(wanted, abs=TOLERANCE)


@pytest.mark.parametrize("simd", [True, False], ids=["simd", "plain"])
def test_lattices_have_the_calibrated_scores_of_python(node, exported, names_model, tmp_path, simd):
    tagger = postil.load(names_model)
    tagger.decoding = postil.Decoding(shift=0.3, temperature=1.5)
    tagger.save(tmp_path / "calibrated.postil")
    tagger = web.as_exported(tagger)[0]
    run = node(exported(tmp_path / "calibrated.postil"))
    found = run("return tagger.lattices(value);", TEXTS[0], simd)  # JSON has null for what is impossible
    assert [one["tokens"] for one in found] == [list(one.tokens) for one in tagger.tag(TEXTS[0]).sentences]
    for one in found:
        _, wanted = next(Posteriors(tagger.model).lattices([one["tokens"]]))
        chain = {name: getattr(wanted.chain, name) for name in ("transitions", "start", "end")}
        for name, scores in {"unary": wanted.unary, **chain}.items():
            numbers = np.array(one[name], float)
            assert np.array_equal(np.isnan(numbers), np.isneginf(scores)), name
            np.testing.assert_allclose(numbers[np.isfinite(scores)], scores[np.isfinite(scores)], atol=1e-4)


def test_a_task_that_a_model_lacks_has_no_lattice(node, names_package):
    said = node(names_package)(
        "try { tagger.lattices(value, 'moods'); } catch (error) { return error.message; }", "Anna"
    )
    assert said == "the model has no task moods"


def test_labels_that_depend_on_a_probability_are_those_of_python(node, exported, names_model, tmp_path):
    tagger = postil.load(names_model)
    tagger.decoding = postil.Decoding(thresholds={"PER": 0.9999}, temperature=1.5)
    tagger.save(tmp_path / "careful.postil")
    X = corpora.named_entities(100, seed=5)[0]
    run = node(exported(tmp_path / "careful.postil"))
    labels, answers = run("return [tagger.predict(value), tagger.tagTokens(value)];", X)
    wanted = web.as_exported(tagger)[0].predict(X)
    assert labels == [answer["labels"] for answer in answers] == wanted != postil.load(names_model).predict(X)


def test_rules_vote_as_in_python(node, exported, names_model, tmp_path):
    rules = [
        postil.rules.ListRule(name="people", label="PER", phrases=["Zoë Quux"], ignore_case=True),
        postil.rules.PatternRule(name="places", label="LOC", pattern="in|to ( <lower>{1,2} )"),
    ]
    postil.load(names_model).with_rules(rules).save(tmp_path / "rules.postil")
    tagger = web.as_exported(postil.load(tmp_path / "rules.postil"))[0]
    X = [["then", "ZOË", "quux", "went", "to", "bed"], ["zoe\u0308", "QUUX"], *corpora.named_entities(20)[0]]
    for tokens, answer in zip(
        X, node(exported(tmp_path / "rules.postil"))("return tagger.tagTokens(value);", X), strict=True
    ):
        marginals = tagger.marginals(tokens)
        assert answer["labels"] == tagger.predict([tokens])[0]
        wanted = [marginal[label] for marginal, label in zip(marginals, answer["labels"], strict=True)]
        assert answer["probabilities"] == pytest.approx(wanted, abs=TOLERANCE)
    assert tagger.predict(X[:2]) != tagger.with_rules(None).predict(X[:2])


def test_entities_of_tokens_count_tokens_of_their_sentence(node, names_package):
    X = [["Anna", "lives", "in", "Rio", "de", "Janeiro"], [], ["Oslo"]]
    first, second, third = node(names_package)("return tagger.tagTokens(value);", X)
    assert [(e["start"], e["end"], e["label"]) for e in first["entities"]] == [(0, 1, "PER"), (3, 6, "LOC")]
    assert second == {"labels": [], "probabilities": [], "entities": []}
    assert [(e["start"], e["end"], e["label"]) for e in third["entities"]] == [(0, 1, "LOC")]


def test_nothing_has_no_answers(node, names_package):
    code = "return [tagger.tagTokens([]), tagger.predict([[]]), tagger.tag('')];"
    nothing = {"text": "", "sentences": [], "tokens": [], "entities": []}
    assert node(names_package)(code) == [[], [[]], nothing]


def test_a_lone_surrogate_is_read_as_a_replacement_character(node, names_package, names_model):
    """As everywhere in the web; offsets stay those of the string."""
    code = r"""
        const text = "Anna \ud83d lives in Oslo \ude00";
        const { tokens, entities } = tagger.tag(text);
        const inTokens = tagger.predict([["Anna", "\ud83d", "\ude00", "Oslo"]]);
        const areSlices = tokens.every((t) => t.text === text.slice(t.start, t.end));
        return [areSlices, tokens.map((t) => [t.start, t.end, t.label]), entities.map((e) => e.text), inTokens];
    """
    sliced, tokens, entities, labels = node(names_package)(code)
    tagger = web.as_exported(postil.load(names_model))[0]
    wanted, _, _ = expected(tagger, "Anna \ufffd lives in Oslo \ufffd")
    assert sliced and tokens == [list(token[1:]) for token in wanted]
    assert "Anna" in entities and "Oslo" in entities
    assert labels == tagger.predict([["Anna", "\ufffd", "\ufffd", "Oslo"]])


def test_memory_grows_with_a_long_text_and_is_used_again(node, names_package, names_model):
    text = "Anna lives in Oslo. " * 20_000
    code = """
        const before = tagger.memory;
        const first = tagger.tag(value);
        const grown = tagger.memory;
        let last;
        for (let i = 0; i < 5; i++) last = tagger.tag(value);
        return [before < grown, tagger.memory === grown, first.tokens.length, last.entities.length,
            JSON.stringify(first) === JSON.stringify(last), first.entities.slice(-2).map((e) => e.text)];
    """
    found = node(names_package)(code, text)
    assert found == [True, True, 100_000, 40_000, True, ["Anna", "Oslo"]]


def test_many_sentences_are_answered_in_pieces(node, names_package, names_model):
    """More tokens than are labelled at once."""
    X = corpora.named_entities(200)[0]
    code = """
        const many = Array.from({ length: 100 }, () => value).flat();
        const answers = tagger.tagTokens(many);
        const one = tagger.tagTokens(value);
        const same = answers.every((a, i) => JSON.stringify(a) === JSON.stringify(one[i % value.length]));
        return many.flat().length > 65536 && same;
    """
    assert node(names_package)(code, X) is True


def test_the_module_of_one_file_answers_alike(node, exported, names_model, names_package):
    module = exported(names_model, "ner.mjs")
    code = "return tagger.tag(value);"
    assert node(module)(code, TEXTS[1]) == node(names_package)(code, TEXTS[1])
    assert node(module)(code, TEXTS[1], simd=False)["entities"], "without vector instructions, too"


def test_a_damaged_model_is_refused(node, names_package):
    code = """
        const bytes = new Uint8Array(fs.readFileSync(new URL(value)));
        const messages = [];
        const changed = bytes.map((b, i) => (i === 5000 ? b ^ 1 : b));
        for (const model of [bytes.slice(0, -1), changed, new Uint8Array(0), "./none.bin"]) {
            const told = (error) => messages.push([error.name, error.message.length > 10]);
            await load({ model }).then(() => messages.push(null), told);
        }
        return messages;
    """
    messages = node(names_package)(code, (names_package / "model.bin").as_uri())
    assert messages[:3] == [["PostilError", True]] * 3 and messages[3] == ["Error", True]


def test_the_files_may_lie_elsewhere(node, names_package):
    code = """
        const model = fs.readFileSync(new URL("model.bin", value)).buffer.slice(0);
        const wasm = new URL("postil.wasm", value).href;
        const read = new Uint8Array(fs.readFileSync(new URL("model.bin", value)));
        const other = await load({ model: read, wasm });
        return [other.tag("Anna").entities, tagger.tag("Anna").entities];
    """
    first, second = node(names_package)(code, f"{names_package.as_uri()}/")
    assert first == second != []


def test_the_tasks_are_described(node, names_package, speech_package):
    code = "return [tagger.tasks, tagger.kind, tagger.about.postil];"
    (task,), kind, version = node(names_package)(code)
    assert task["classes"] == ["LOC", "PER"] and set(task["labels"]) == {"O", "B-LOC", "I-LOC", "B-PER", "I-PER"}
    assert kind == "tagger" and version == postil.__version__
    (task,), _, _ = node(speech_package)(code)
    assert task["classes"] is None and set(task["labels"]) == {"NAME", "VERB", "X|Y"}


def test_several_tasks_answer_in_layers(node, exported, tmp_path):
    X, y = corpora.named_entities(60)
    _, words = corpora.parts_of_speech(60)
    tagger = postil.MultiTaskTagger(hidden=16, epochs=3, rate=0.02).fit(X, {"words": words, "names": y})
    tagger.save(tmp_path / "both.postil")
    run = node(exported(tmp_path / "both.postil"))
    answer, labels = run("return [tagger.tag(value[0]), tagger.predict(value[1])];", [TEXTS[1], X])
    document = tagger.tag(TEXTS[1])
    assert [e["text"] for e in answer["entities"]] == [e.text for e in document.entities]
    assert answer["entities"] == answer["layers"]["names"]["entities"]
    for task, layer in document.layers.items():
        wanted = [label for sentence in layer.sentences for label in sentence.labels]
        assert [token["label"] for token in answer["layers"][task]["tokens"]] == wanted
    assert json.dumps(labels, sort_keys=True) == json.dumps(tagger.predict(X), sort_keys=True)


def test_every_node_of_a_tree_has_the_label_of_python(node, exported, tmp_path):
    trees = made_up_trees(60, np.random.default_rng(0))
    classifier = postil.TreeClassifier(epochs=2).fit(trees)
    classifier.save(tmp_path / "opinions.postil")
    texts = ["(a (a this) (a (a fïlm) (a (a 😀) (a (a is) (a good)))))", "(a joke)"]
    code = """
        const all = (node) => [...node.children.flatMap(all), node];
        const facts = (n) => [n.label, n.probability, n.children.length ? "" : n.text];
        const labels = (text) => all(tagger.classifyTree(text)).map(facts);
        let told = "";
        try { tagger.classifyTree("(a"); } catch (error) { told = error.message; }
        return [value.map(labels), told, tagger.kind];
    """
    found, told, kind = node(exported(tmp_path / "opinions.postil"))(code, texts)
    assert told == "the text is not a tree in brackets" and kind == "tree-classifier"
    for text, nodes in zip(texts, found, strict=True):
        answers = classifier.predict_nodes([parse_tree(text)])[0]
        assert [label for label, _, _ in nodes] == [one.label for one in answers]
        assert [p for _, p, _ in nodes] == pytest.approx([one.probability for one in answers], abs=TOLERANCE)
    assert [word for _, _, word in found[0] if word] == ["this", "fïlm", "😀", "is", "good"]

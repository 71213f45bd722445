"""Small models of every kind, the questions that they are asked, and the model files kept for ever.

    PYTHONPATH=src:tests python -m oracles.golden       write tests/golden anew: for a new format version or a new kind

A file that a release has written stays: later versions must open it and answer the same. Only the files of a format
that was never released may be written anew. The data are made up (postil.samples), the vectors and gazetteers too.
"""

import json
import tempfile
from pathlib import Path

import numpy as np

import postil
from postil import archive
from postil.samples.corpora import made_up_sentences, made_up_trees

FOLDER = Path(__file__).parent.parent / "golden"
TINY = {"hidden": 6, "word_dim": 4, "caps_dim": 3, "shape_dim": 3, "prefix_dim": 3, "suffix_dim": 3, "epochs": 2}
FEW = {"prefix_lengths": (2,), "suffix_lengths": (2, 3)}
QUESTIONS = [
    ["Anna", "Moss", "flew", "to", "Berlin", "."],
    ["shares", "of", "Nimbus", "Electric", "fell", "on", "1984-05-07"],
    ["ŁÓDŹ", "iPhone", "東京", "naïve", "#!?"],
    [],
]
TREES = [("good", ("neither", "this"), ("good", ("bad", "not"), ("bad", "dull"))), ["unseen", "words", "only"]]


def corpus(count=60):
    sentences = made_up_sentences(count, np.random.default_rng(5))
    return [list(s.tokens) for s in sentences], [list(s.labels) for s in sentences]


def with_columns(X):
    """Two more columns: whether a word has a capital, and its length."""
    return [[(word, "up" if word[:1].isupper() else "low", str(min(len(word), 6))) for word in words] for words in X]


def tagger(**settings):
    return postil.Tagger(**TINY, **FEW, **settings).fit(*corpus())


def tagger_with_everything(folder):
    """Extra columns, a gazetteer of two classes and vectors; calibrated, with a threshold and a bias."""
    (folder / "names.txt").write_text("town\tBerlin\ntown\tNew York\ngiven\tAnna\ngiven\tBerlin\n", encoding="utf8")
    rng = np.random.default_rng(3)
    words = ["anna", "berlin", "oslo", "shares", "fell", "the", "of", "##", "東京"]
    lines = [f"{word} {' '.join(f'{x:.3f}' for x in rng.normal(size=5))}" for word in words]
    (folder / "vectors.txt").write_text("\n".join(lines) + "\n", encoding="utf8")
    X, y = corpus()
    files = {"vectors": str(folder / "vectors.txt"), "gazetteers": [str(folder / "names.txt")]}
    model = postil.Tagger(**TINY, **FEW, **files, column_dim=3, gazetteer_dim=2)
    model.fit(with_columns(X), y, dev=(with_columns(X[:20]), y[:20]))
    model.decoding = postil.Decoding(temperature=1.25, shift=0.1, bias=0.5, thresholds={"ORG": 0.2})
    return model


def multi_task_tagger(**settings):
    """Names, and which words are capitalised, on sentences of their own."""
    X, y = corpus()
    cased = [["up" if word[:1].isupper() else "low" for word in words] for words in X]
    model = postil.MultiTaskTagger(**TINY, **FEW, **settings)
    model.fit({"names": X[:40], "case": X[20:]}, {"names": y[:40], "case": cased[20:]}, dev={"names": (X[40:], y[40:])})
    model["names"].decoding = postil.Decoding(temperature=1.25, shift=0.1, bias=0.5, thresholds={"ORG": 0.2})
    return model


def detector(**settings):
    return postil.Detector(label="LOC", **TINY, **FEW, **settings).fit(*corpus())


def tree_classifier(**settings):
    trees = made_up_trees(60, np.random.default_rng(7))
    return postil.TreeClassifier(**{"hidden": 6, "word_dim": 6, "epochs": 2} | settings).fit(trees)


def role_labeller(tagger=None, **settings):
    gave = (["Anna", "gave", "Ben", "the", "map"], [(1, ["B-ARG0", "B-V", "B-ARG2", "B-ARG1", "I-ARG1"])])
    sold = (["Ben", "sold", "the", "lamp"], [(1, ["B-ARG0", "B-V", "B-ARG1", "I-ARG1"])])
    X, y = zip(*[gave, sold] * 10, strict=True)
    settings = TINY | {"layers": 2, "epochs": 8, "hidden": 12} | FEW | settings
    return postil.RoleLabeller(**settings).fit(X, y, tagger=tagger)


def with_roles(folder):
    """Several tasks and roles, which have the vectors of the others and their tags by one of them."""
    words = [*sorted({word.lower() for words in corpus()[0] for word in words} - {""}), "gave", "sold", "map", "lamp"]
    rows = "".join(
        f"{word} {' '.join(f'{x:.2f}' for x in row)}\n"
        for word, row in zip(dict.fromkeys(words), np.random.default_rng(4).normal(size=(len(words), 8)), strict=False)
    )
    (folder / "shared.txt").write_text(rows, encoding="utf8")
    vectors = str(folder / "shared.txt")
    model = multi_task_tagger(vectors=vectors)
    model = model.with_roles(role_labeller(model["case"], vectors=vectors))
    for one in (model, model["roles"]):
        one.set_params(vectors="shared.txt")
    return model


def golden_models():
    """Name of the file -> model."""
    with tempfile.TemporaryDirectory() as folder:
        everything = tagger_with_everything(Path(folder))
        several = with_roles(Path(folder))
    # The names of the files that it was made from are those of a folder that is gone.
    everything.set_params(vectors="vectors.txt", gazetteers=("names.txt",))
    return {
        "tagger": tagger(),
        "tagger-everything": everything,
        "multi-task-tagger": multi_task_tagger(),
        "detector": detector(),
        "tree-classifier": tree_classifier(),
        "role-labeller": role_labeller(),
        "multi-task-tagger-roles": several,
    }


def answers(model):
    """What a model says, in plain values."""
    if isinstance(model, postil.MultiTaskTagger):
        tasks = [*model.tasks, *model.model.parts]
        return {f"{task}, {name}": value for task in tasks for name, value in answers(model[task]).items()}
    if isinstance(model, postil.TreeClassifier):
        return {
            "labels": model.predict(TREES),
            "probabilities": [
                [list(node.probabilities.values()) for node in tree] for tree in model.predict_nodes(TREES)
            ],
        }
    if isinstance(model, postil.RoleLabeller):
        frames = model.predict([["Ben", "gave", "Anna", "the", "lamp"], *QUESTIONS], [[1], [2], [4], [0], []])
        return {
            "roles": [[[frame.predicate, *map(list, frame.roles)] for frame in of_sentence] for of_sentence in frames],
            "probabilities": [[list(frame.probabilities) for frame in of_sentence] for of_sentence in frames],
        }
    questions = with_columns(QUESTIONS) if model.model.features.columns else QUESTIONS
    if isinstance(model, postil.Detector):
        return {"labels": model.predict(questions), "scores": [scores.tolist() for scores in model.decision(questions)]}
    labels, probabilities = model.predict_with_probabilities(questions)
    return {
        "labels": labels,
        "probabilities": [found.tolist() for found in probabilities],
        "marginals": [[list(token.values()) for token in model.marginals(words)] for words in questions[:1]],
        "nbest": [[[*path], probability] for path, probability in model.nbest(questions[0], 3)],
    }


def main():
    FOLDER.mkdir(exist_ok=True)
    for name, model in golden_models().items():
        file = FOLDER / f"{name}-{archive.VERSION}.postil"
        model.save(file)
        expected = json.dumps(answers(postil.load(file)), indent=1, ensure_ascii=False)
        file.with_suffix(".json").write_text(expected + "\n", encoding="utf8")


if __name__ == "__main__":
    main()
